"""What the `conversations` commands need, here and over HTTP: JSON values, as `/api/v1/conversations` answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from evigraph.cli.graph import given
from evigraph.engine import Evigraph
from evigraph.query.converse.names import check_conversation_id, check_user
from evigraph.wire import plain

Json = dict[str, Any]
Options = Mapping[str, Any]
"""Keyword arguments of `engine.conversations` besides `user`; what is None or absent is left to its default."""

PATH = "/api/v1/conversations"


class ConversationBackend(Protocol):
    """`engine.conversations` as JSON. Raises the errors of `evigraph.errors`, also where a server raised them."""

    def list(self, user: str, options: Options) -> Json:
        """The conversations of a user, and those that are shared."""
        ...

    def show(self, conversation_id: str, user: str, options: Options) -> Json:
        """One conversation with its turns."""
        ...

    def share(self, conversation_id: str, user: str, shared: bool) -> Json:
        """Share a conversation, or end that."""
        ...

    def delete(self, conversation_id: str, user: str) -> Json:
        """Delete a conversation."""
        ...


class LocalConversations:
    """A `ConversationBackend` over an open engine."""

    def __init__(self, engine: Evigraph) -> None:
        self._conversations = engine.conversations

    def list(self, user: str, options: Options) -> Json:
        found: Json = plain(self._conversations.list(user=user, **given(options)))
        return found

    def show(self, conversation_id: str, user: str, options: Options) -> Json:
        found: Json = plain(self._conversations.show(conversation_id, user=user, **given(options)))
        return found

    def share(self, conversation_id: str, user: str, shared: bool) -> Json:
        self._conversations.share(conversation_id, shared, user=user)
        return {"id": conversation_id, "owner": user, "shared": shared}

    def delete(self, conversation_id: str, user: str) -> Json:
        self._conversations.delete(conversation_id, user=user)
        return {"id": conversation_id, "owner": user, "deleted": True}


class RemoteConversations:
    """A `ConversationBackend` over HTTP; `request(method, path, …)` is that of `RemoteEngine`."""

    def __init__(self, request: Callable[..., Json]) -> None:
        self._request = request

    def list(self, user: str, options: Options) -> Json:
        return self._request("GET", PATH, params=given(options), headers=user_header(user))

    def show(self, conversation_id: str, user: str, options: Options) -> Json:
        return self._request("GET", _path(conversation_id), params=given(options), headers=user_header(user))

    def share(self, conversation_id: str, user: str, shared: bool) -> Json:
        path = f"{_path(conversation_id)}/share"
        return self._request("POST", path, json={"shared": shared}, headers=user_header(user))

    def delete(self, conversation_id: str, user: str) -> Json:
        return self._request("DELETE", _path(conversation_id), headers=user_header(user))


def user_header(user: str) -> dict[str, str]:
    """The header that says who asks. Checked here, since no header can hold what is no user's name."""
    return {"X-User-ID": check_user(user)} if user else {}


def _path(conversation_id: str) -> str:
    # Checked here too: other letters would make it another path.
    return f"{PATH}/{quote(check_conversation_id(conversation_id), safe='')}"
