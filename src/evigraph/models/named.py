"""A chat model asked for by another name."""

from __future__ import annotations

from collections.abc import Sequence

from evigraph.models.ports import ChatModel, ChatReply, Message


class NamedChat:
    """A `ChatModel` whose every call that names no model asks the same server for this one."""

    def __init__(self, chat: ChatModel, model: str) -> None:
        self._chat = chat
        self.name = model

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        return self._chat.complete(messages, model=model or self.name)
