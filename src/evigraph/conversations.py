"""The vocabulary of conversations: their turns, and what a follow-up question took from them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

CondensedBy = Literal["model", "rules"]
"""Who made a follow-up stand alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One question of a conversation and its answer.

    `standalone_question` is what was retrieved with. `names` are those of the entities that the answer speaks of.
    A text is None, and `withheld` True, where a document that it was taken from is no longer what it was: deleted,
    replaced, or outside the scope that the turn is read in. `generation` is the one that was asked.
    """

    turn: int
    asked_by: str
    asked_at: datetime
    generation: int
    question: str
    standalone_question: str | None
    abstained: bool
    answer: str | None
    names: tuple[str, ...]
    documents: tuple[str, ...]
    withheld: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationInfo:
    """A conversation as listed: whose it is, whether the workspace may read and continue it, and how long it is."""

    id: str
    owner: str
    shared: bool
    turns: int
    started_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationList:
    """Conversations that a user may read, those with the newest turn first; `total` counts all."""

    total: int
    conversations: tuple[ConversationInfo, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """A conversation as it may be shown at a `generation`: turns, oldest first, and how many there are in `total`."""

    id: str
    owner: str
    shared: bool
    generation: int
    total: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationUse:
    """What a question took from its conversation. `turns_used` counts the earlier turns that were read; `condensed_by`
    is None where the question was retrieved with as it was asked. `turn` is the number it was recorded under; None
    where it was not recorded."""

    id: str
    owner: str
    turn: int | None
    turns_used: int
    standalone_question: str
    condensed_by: CondensedBy | None
