"""The domain schema of a workspace: entity types, and predicates with their domain and range (SPEC 8)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityType:
    """`count` is the number of visible entities of the type, where the schema was inferred."""

    name: str
    description: str = ""
    count: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PredicateType:
    """A predicate, as written in assertions. Empty `domain` or `range` allow any type. `functional` means that a
    subject has one object at a time, so that two different ones contradict each other. `synonyms` are other spellings
    of the predicate, as extractors or users write it. `count` is the number of visible assertions, where the schema
    was inferred."""

    name: str
    description: str = ""
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    functional: bool = False
    synonyms: tuple[str, ...] = ()
    count: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainSchema:
    """Types and predicates by name. `inferred` says that it was read off the visible assertions, not given; then the
    commonest come first, and `omitted` counts the predicates too rare to be listed."""

    types: tuple[EntityType, ...] = ()
    predicates: tuple[PredicateType, ...] = ()
    inferred: bool = False
    omitted: int = 0


def predicate_key(text: str) -> str:
    """A predicate in upper snake case, under which spellings compare: `bornIn`, `born in` and `BORN_IN` are one.
    Empty for a text without letters or digits."""
    spaced = _CAMEL.sub(" ", unicodedata.normalize("NFC", text))
    kept = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in spaced)
    return "_".join("".join(kept).upper().split())
