"""What the `communities` commands need, here and over HTTP: JSON values, as `/api/v1/communities` answers with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from evigraph.cli.graph import given, read_options, url_parameters
from evigraph.engine import Evigraph
from evigraph.reports import Progress
from evigraph.wire import plain

Json = dict[str, Any]
Options = Mapping[str, Any]
"""Keyword arguments of `engine.communities`; what is None or absent is left to its default."""

PATH = "/api/v1/communities"

_ID = re.compile(r"c?\d+")


class CommunityBackend(Protocol):
    """`engine.communities` as JSON. Raises the errors of `evigraph.errors`, also where a server raised them."""

    def build(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        """Cluster the graph, summarise the communities and publish them; what was done."""
        ...

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        """Renew the summaries whose inputs changed; the communities stay."""
        ...

    def status(self, options: Options) -> Json:
        """What is built, how much has changed since, and what a build would cost."""
        ...

    def show(self, options: Options) -> Json:
        """The communities of a level, largest first."""
        ...

    def community(self, community_id: str, options: Options) -> Json:
        """One community."""
        ...


class LocalCommunities:
    """A `CommunityBackend` over an open engine."""

    def __init__(self, engine: Evigraph) -> None:
        self._communities = engine.communities

    def build(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        return _plain(self._communities.build(progress=progress))

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        return _plain(self._communities.refresh(progress=progress))

    def status(self, options: Options) -> Json:
        return _plain(self._communities.status(**read_options(options)))

    def show(self, options: Options) -> Json:
        return _plain(self._communities.show(**read_options(options)))

    def community(self, community_id: str, options: Options) -> Json:
        return _plain(self._communities.community(community_id, **read_options(options)))


class RemoteCommunities:
    """A `CommunityBackend` over HTTP; `request(method, path, …)` is that of `RemoteEngine`. A server reports no steps
    of a build."""

    def __init__(self, request: Callable[..., Json]) -> None:
        self._request = request

    def build(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        return self._request("POST", f"{PATH}/build")

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        return self._request("POST", f"{PATH}/refresh")

    def status(self, options: Options) -> Json:
        return self._request("GET", f"{PATH}/status", params=given(options))

    def show(self, options: Options) -> Json:
        return self._request("GET", PATH, params=url_parameters(options))

    def community(self, community_id: str, options: Options) -> Json:
        # An empty piece would make it the path of the list, and a word that of another read; a server refuses what is
        # no id with the engine's words.
        path = f"{PATH}/{quote(community_id if _ID.fullmatch(community_id) else f' {community_id}', safe='')}"
        return self._request("GET", path, params=url_parameters(options))


def _plain(value: Any) -> Json:
    found: Json = plain(value)
    return found
