"""Tokens: how many a call may cost at most, how many it will probably cost, and how many are left."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.models.ports import ChatReply, Message

REPLY_TOKENS = 4_096
"""What a reply may be long. Also what a call is taken to cost, where the model cannot be held to it."""

PER_MESSAGE = 8
"""Tokens a chat template adds to a message, at most."""

_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\W\d_]+|\S")


def count_tokens(text: str) -> int:
    """Tokens of `text` as byte-pair vocabularies count, within about a fifth for English: a word of six letters is one,
    three digits are one, other alphabets take two letters a token, scripts without spaces one character."""
    total = 0
    for piece in _PIECE.finditer(text):
        letters = piece.group()
        if letters.isascii():
            total += -(-len(letters) // (3 if letters.isdigit() else 6))
        else:
            total += len(letters) if letters[0] >= "\u2e80" else -(-len(letters) // 2)
    return total


def expected_prompt(messages: Sequence[Message]) -> int:
    return sum(count_tokens(message.content) + PER_MESSAGE // 2 for message in messages)


def most_prompt(messages: Sequence[Message]) -> int:
    """No byte-pair vocabulary makes more tokens of a text than it has bytes."""
    return sum(len(message.content.encode("utf-8", "replace")) + PER_MESSAGE for message in messages)


def expected_reply(passage_tokens: int, gleaning: bool = False) -> int:
    """Replies grow with their passage: about its own length again in JSON, and a third of that for a gleaning pass."""
    return 40 + passage_tokens // 3 if gleaning else 60 + passage_tokens


class TokenBudget:
    """A hard limit on the tokens of one run. A call is let in only while what was spent, what calls under way may cost
    at most, and what it may cost at most stay within the limit together."""

    def __init__(self, limit: int | None, reply_tokens: int = REPLY_TOKENS) -> None:
        self.limit = limit
        self.reply_tokens = reply_tokens
        self.spent = 0
        self.reserved = 0

    def most(self, messages: Sequence[Message]) -> int:
        return most_prompt(messages) + self.reply_tokens

    def admits(self, tokens: int) -> bool:
        return self.limit is None or self.spent + self.reserved + tokens <= self.limit

    def reserve(self, tokens: int) -> None:
        self.reserved += tokens

    def settle(self, tokens: int, messages: Sequence[Message], reply: ChatReply | None) -> None:
        """Replace a reservation by what the call cost: as reported, else as estimated; a failed one its prompt."""
        self.reserved -= tokens
        self.spent += cost(messages, reply)


def cost(messages: Sequence[Message], reply: ChatReply | None) -> int:
    if reply is None:
        return expected_prompt(messages)
    asked = expected_prompt(messages) if reply.prompt_tokens is None else reply.prompt_tokens
    said = count_tokens(reply.text) if reply.completion_tokens is None else reply.completion_tokens
    return asked + said
