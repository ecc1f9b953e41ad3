"""What the `graph` commands need, here and over HTTP: JSON values, as `/api/v1/graph` answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from evigraph.engine import Evigraph
from evigraph.errors import InvalidValue
from evigraph.query.request import parse
from evigraph.wire import plain

Json = dict[str, Any]
Options = Mapping[str, Any]
"""Keyword arguments of `engine.entities`; what is None or absent is left to its default."""

PATH = "/api/v1/graph"
MAX_CHARS = 10_000
"""Characters of parameters that surely fit into one URL, percent-encoded."""
_AS_JSON = ("document_filter", "metadata_filter", "predicates")


class GraphBackend(Protocol):
    """`engine.entities` as JSON. Every method takes the options of the one of its name there, and raises the errors of
    `evigraph.errors`, also where a server raised them."""

    def search(self, text: str, options: Options) -> Json:
        """The answer of `Entities.search`."""
        ...

    def page(self, entity_id: str, options: Options) -> Json:
        """The page of one entity."""
        ...

    def neighbourhood(self, entity_id: str, options: Options) -> Json:
        """What lies around an entity, nearest first."""
        ...

    def paths(self, source: str, target: str, options: Options) -> Json:
        """The shortest paths between two entities."""
        ...

    def contradictions(self, entity_id: str | None, options: Options) -> Json:
        """Claims that do not go together; of all entities where `entity_id` is None."""
        ...

    def history(self, entity_id: str, options: Options) -> Json:
        """What was ever said of an entity, until it is pruned."""
        ...

    def merge(self, entities: Sequence[str], options: Options) -> Json:
        """Record that entities are one; the merge made."""
        ...

    def unmerge(self, merge_id: int) -> Json:
        """Take a merge back: `merge_id` and the new `generation`."""
        ...

    def merges(self, options: Options) -> Json:
        """`{"merges": [...]}`: those that stand, oldest first."""
        ...

    def proposals(self, options: Options) -> Json:
        """`{"proposals": [...]}`: entities that may be one, best first."""
        ...


class LocalGraph:
    """A `GraphBackend` over an open engine: each method reads or writes in this process."""

    def __init__(self, engine: Evigraph) -> None:
        self._entities = engine.entities

    def search(self, text: str, options: Options) -> Json:
        return _plain(self._entities.search(text, **read_options(options)))

    def page(self, entity_id: str, options: Options) -> Json:
        return _plain(self._entities.page(entity_id, **read_options(options)))

    def neighbourhood(self, entity_id: str, options: Options) -> Json:
        return _plain(self._entities.neighbourhood(entity_id, **read_options(options)))

    def paths(self, source: str, target: str, options: Options) -> Json:
        return _plain(self._entities.paths(source, target, **read_options(options)))

    def contradictions(self, entity_id: str | None, options: Options) -> Json:
        return _plain(self._entities.contradictions(entity_id, **read_options(options)))

    def history(self, entity_id: str, options: Options) -> Json:
        return _plain(self._entities.history(entity_id, **read_options(options)))

    def merge(self, entities: Sequence[str], options: Options) -> Json:
        return _plain(self._entities.merge(entities, **given(options)))

    def unmerge(self, merge_id: int) -> Json:
        return {"merge_id": merge_id, "generation": self._entities.unmerge(merge_id)}

    def merges(self, options: Options) -> Json:
        return {"merges": plain(self._entities.merges(**read_options(options)))}

    def proposals(self, options: Options) -> Json:
        return {"proposals": plain(self._entities.proposals(**read_options(options)))}


class RemoteGraph:
    """A `GraphBackend` over HTTP: each method is one request; `request(method, path, …)` is that of `RemoteEngine`."""

    def __init__(self, request: Callable[..., Json]) -> None:
        self._request = request

    def search(self, text: str, options: Options) -> Json:
        return self._get("entities", {**options, "q": text})

    def page(self, entity_id: str, options: Options) -> Json:
        return self._get(_entity(entity_id), options)

    def neighbourhood(self, entity_id: str, options: Options) -> Json:
        return self._get(f"{_entity(entity_id)}/neighbourhood", options)

    def paths(self, source: str, target: str, options: Options) -> Json:
        return self._get("paths", {**options, "from": source, "to": target})

    def contradictions(self, entity_id: str | None, options: Options) -> Json:
        return self._get("contradictions", {**options, "entity": entity_id})

    def history(self, entity_id: str, options: Options) -> Json:
        return self._get(f"{_entity(entity_id)}/history", options)

    def merge(self, entities: Sequence[str], options: Options) -> Json:
        return self._request("POST", f"{PATH}/merges", json={**given(options), "entities": list(entities)})

    def unmerge(self, merge_id: int) -> Json:
        return self._request("DELETE", f"{PATH}/merges/{merge_id}")

    def merges(self, options: Options) -> Json:
        return self._get("merges", options)

    def proposals(self, options: Options) -> Json:
        return self._get("proposals", options)

    def _get(self, path: str, options: Options) -> Json:
        return self._request("GET", f"{PATH}/{path}", params=url_parameters(options))


def _entity(entity_id: str) -> str:
    # An empty piece would make it the path of the list; a server refuses a blank one with the engine's words.
    return f"entities/{quote(entity_id or ' ', safe='')}"


def url_parameters(options: Options) -> dict[str, Any]:
    """The options as query parameters of a URL. Raises `InvalidValue` where they would not fit into one."""
    import json

    sent = {name: json.dumps(value) if name in _AS_JSON else value for name, value in given(options).items()}
    if sum(len(str(value)) for value in sent.values()) > MAX_CHARS:
        raise InvalidValue(
            "the filters are too long to be sent to the server that holds the store",
            hint="name fewer documents, or stop the server and run the command again",
        )
    return sent


def read_options(options: Options) -> dict[str, Any]:
    """The options of a read, `as_of` by the rules of the query API."""
    found = given(options)
    if "as_of" in found:
        found["as_of"] = parse({"query": "-", "as_of": found["as_of"]}).as_of
    return found


def given(options: Options) -> dict[str, Any]:
    """Without what is left to its default."""
    return {name: value for name, value in options.items() if value is not None}


def _plain(value: Any) -> Json:
    found: Json = plain(value)
    return found
