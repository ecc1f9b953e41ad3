"""Counts what one query (or one index run) asks of a chat model."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from evigraph.models.ports import ChatModel, ChatReply, Message


class Metered:
    """A `ChatModel` that counts. Make one per query; safe across threads.

    `calls` counts attempts by the caller, `failed` those that raised, `unreported` replies without a token
    account (their tokens are in neither sum).
    """

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._lock = threading.Lock()
        self.calls = 0
        self.failed = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.unreported = 0

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        with self._lock:
            self.calls += 1
        try:
            reply = self._chat.complete(messages, model=model)
        except BaseException:
            with self._lock:
                self.failed += 1
            raise
        with self._lock:
            self.prompt_tokens += reply.prompt_tokens or 0
            self.completion_tokens += reply.completion_tokens or 0
            if reply.prompt_tokens is None and reply.completion_tokens is None:
                self.unreported += 1
        return reply
