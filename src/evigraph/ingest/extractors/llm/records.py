"""Records of a reply, and the count of those that were dropped, by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evigraph.text.wellformed import well_formed

NAME_CHARS = 200
TEXT_CHARS = 1_000
"""Longer names are no names, and are dropped; longer descriptions and quotes are cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityRecord:
    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimRecord:
    """`strength` in [0, 1] is how close a relationship is; `confidence` how sure the model is of it."""

    subject: str
    predicate: str
    object: str
    description: str = ""
    quote: str = ""
    confidence: float | None = None
    strength: float | None = None


@dataclass(kw_only=True, slots=True)
class Parsed:
    """What was read off one reply. Every record met is kept or counted in `dropped`:
    `seen == len(entities) + len(claims) + sum(dropped.values())`.

    `usable` holds when the reply answers the question, be it with empty lists. `notes` counts repairs of records that
    were kept; `not_text` is a count of characters (see `well_formed`).
    """

    entities: list[EntityRecord] = field(default_factory=list)
    claims: list[ClaimRecord] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    answered: bool = False
    marks: set[EntityRecord | ClaimRecord] = field(default_factory=set)

    @property
    def seen(self) -> int:
        return len(self.entities) + len(self.claims) + self.dropped.total()

    @property
    def usable(self) -> bool:
        return self.answered or bool(self.entities or self.claims)

    @property
    def problem(self) -> str:
        """Why it is not usable, for the model."""
        if not self.dropped:
            return "it holds no JSON object"
        return f"it holds no usable record ({', '.join(sorted(self.dropped))})"

    def drop(self, reason: str) -> None:
        self.dropped[reason] += 1

    def add_entity(self, name: str, type: str, description: str) -> None:
        """Keep an entity, or count why not."""
        name, type, description = (self._text(part) for part in (name, type, description))
        reason = _unfit(name)
        if reason:
            return self.drop(reason)
        record = EntityRecord(name=name, type=type[:NAME_CHARS], description=self._cut(description))
        if record in self.marks:
            return self.drop("duplicate")
        self.marks.add(record)
        return self.entities.append(record)

    def add_claim(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        description: str = "",
        quote: str = "",
        confidence: float | None = None,
        strength: float | None = None,
    ) -> None:
        """Keep a claim, or count why not."""
        subject, predicate, object = (self._text(part) for part in (subject, predicate, object))
        description, quote = self._text(description), self._text(quote)
        reason = _unfit(subject) or _unfit(object) or ("no_predicate" if not predicate else "")
        if reason:
            return self.drop("no_endpoint" if reason == "no_name" else reason)
        record = ClaimRecord(
            subject=subject,
            predicate=predicate[:NAME_CHARS],
            object=object,
            description=self._cut(description),
            quote=self._cut(quote),
            confidence=confidence,
            strength=strength,
        )
        if record in self.marks:
            return self.drop("duplicate")
        self.marks.add(record)
        return self.claims.append(record)

    def _text(self, text: str) -> str:
        """One line of what can be stored: an escape in JSON may stand for what is no text."""
        kept, removed = well_formed(text)
        if removed:
            self.notes["not_text"] += removed
        return " ".join(kept.split())

    def _cut(self, text: str) -> str:
        if len(text) > TEXT_CHARS:
            self.notes["text_cut"] += 1
        return text[:TEXT_CHARS]


def _unfit(name: str) -> str:
    if not any(letter.isalnum() for letter in name):
        return "no_name"
    return "too_long" if len(name) > NAME_CHARS else ""
