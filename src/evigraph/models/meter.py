"""What stands between every chat model and the rest: replies put in order, and the count of what one query asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from evigraph.errors import ModelBadResponse
from evigraph.models.ports import ChatModel, ChatReply, Message
from evigraph.text.wellformed import well_formed

MOST_TOKENS = 2**31
"""A server that reports more, or less than none, reports nothing."""


def readable(reply: ChatReply) -> tuple[ChatReply, int]:
    """`reply` with what is no text removed and token counts that can be, and how many characters were removed. Raises
    `ModelBadResponse` where its text is no string. Every reply passes here, for a chat model may be anybody's."""
    if not isinstance(reply.text, str):
        raise ModelBadResponse(
            f"the chat model replied with {type(reply.text).__name__} instead of text",
            hint="`ChatReply.text` must be a string; use an empty one where the model says nothing",
        )
    text, removed = well_formed(reply.text)
    asked, said = _tokens(reply.prompt_tokens), _tokens(reply.completion_tokens)
    name = well_formed(str(reply.model))[0]
    return replace(reply, text=text, model=name, prompt_tokens=asked, completion_tokens=said), removed


def known_sum(one: int | None, other: int | None) -> int | None:
    """The sum of two counts, unknown (None) where one of them is."""
    return None if one is None or other is None else one + other


def _tokens(count: int | None) -> int | None:
    return count if isinstance(count, int) and 0 <= count < MOST_TOKENS else None


class Metered:
    """A `ChatModel` that counts, and whose replies are `readable`. Make one per query; safe across threads.

    `calls` counts attempts by the caller, `failed` those that raised, `unreported` replies without a full token
    account, `cut` those that a limit on their length ended. `prompt_tokens` and `completion_tokens` are those of all
    replies, None where one did not tell. `degrade` is told, in a sentence, when characters were removed or a reply was
    cut; `account` of every reply, and of None where a call brought none.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        degrade: Callable[[str], None] | None = None,
        account: Callable[[ChatReply | None], None] | None = None,
    ) -> None:
        self._chat = chat
        self._degrade = degrade
        self._account = account
        self._lock = threading.Lock()
        self.calls = 0
        self.failed = 0
        self.prompt_tokens: int | None = 0
        self.completion_tokens: int | None = 0
        self.unreported = 0
        self.cut = 0

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def total_tokens(self) -> int | None:
        return known_sum(self.prompt_tokens, self.completion_tokens)

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        with self._lock:
            self.calls += 1
        try:
            reply, removed = readable(self._chat.complete(messages, model=model))
        except BaseException:
            with self._lock:
                self.failed += 1
                if self._account is not None:
                    self._account(None)
            raise
        with self._lock:
            if self._account is not None:
                self._account(reply)
            self.prompt_tokens = known_sum(self.prompt_tokens, reply.prompt_tokens)
            self.completion_tokens = known_sum(self.completion_tokens, reply.completion_tokens)
            if reply.prompt_tokens is None or reply.completion_tokens is None:
                self.unreported += 1
            self.cut += reply.cut
        if removed and self._degrade is not None:
            self._degrade(f"chat model: characters that are no text were removed from its reply ({removed})")
        if reply.cut and self._degrade is not None:
            self._degrade("chat model: a reply was cut at its longest (EVIGRAPH_CHAT_REPLY_TOKENS)")
        return reply
