"""Named entities of a parsed text: which spaCy labels count, as which type, and under what name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evigraph.ingest.extractors.demonyms import DEMONYMS
from evigraph.text.names import ARTICLES, name_key
from evigraph.types import ENTITY_TYPES

TYPE_BY_LABEL = {
    "PERSON": "PERSON",
    "ORG": "ORGANIZATION",
    "NORP": "ORGANIZATION",
    "GPE": "LOCATION",
    "LOC": "LOCATION",
    "FAC": "LOCATION",
    "PRODUCT": "PRODUCT",
    "WORK_OF_ART": "PRODUCT",
    "EVENT": "EVENT",
    "LAW": "CONCEPT",
    "LANGUAGE": "CONCEPT",
}
"""Our type by OntoNotes label. A film or book is a product someone made; a law is an idea; parties and faiths
(NORP) are organizations, but nationalities, also NORP, are concepts (see `typed`). Labels not listed (dates,
amounts) are no entities, and no label stands for TECHNOLOGY."""

# The tagger often takes a made-up company for a person; its last word settles it.
_ENDINGS = """
ag association authority bank bureau bv college committee company corp corporation council foundation gmbh
group holdings inc incorporated institute llc llp ltd limited ministry nv plc sa society spa university
"""
_ORGANIZATION_ENDINGS = frozenset(_ENDINGS.split())
MAX_NAME_TOKENS = 8
_EDGES = " \t\n\r\"'“”‘’«»()[]{}<>,;:.!?*#|`~-–—_/\\"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A name at `[start, end)` of one text."""

    start: int
    end: int
    name: str
    key: str
    type: str


def found_entities(doc: Any, text: str) -> list[Found]:
    """The named entities of a spaCy `doc` made of `as_prose(text)`, in text order."""
    entities = []
    for span in doc.ents:
        kind = TYPE_BY_LABEL.get(span.label_)
        if kind is None:
            continue
        # Two cells or paragraphs never are one name, though the model may take them for one.
        if "|" in text[span.start_char : span.end_char] or "\n\n" in span.text:
            continue
        trimmed = trim(text, span.start_char, span.end_char)
        if trimmed is None:
            continue
        start, end, name, key = trimmed
        if len(key.split()) <= MAX_NAME_TOKENS and any(letter.isalpha() for letter in key):
            entities.append(Found(start=start, end=end, name=name, key=key, type=typed(kind, key)))
    return entities


def typed(kind: str, key: str) -> str:
    """`kind`, except that a nationality is a concept, neither an organization nor a place, and that a name
    which ends in a legal form or the like is an organization."""
    words = key.split()
    if len(words) > 1 and words[-1] in _ORGANIZATION_ENDINGS:
        return "ORGANIZATION"
    return "CONCEPT" if kind in ("ORGANIZATION", "LOCATION") and _singular(key) in DEMONYMS else kind


def _singular(key: str) -> str:
    return key[:-1] if key.endswith("s") and key not in DEMONYMS else key


def trim(text: str, start: int, end: int) -> tuple[int, int, str, str] | None:
    """`(start, end, name, key)` of the span without articles, possessives and punctuation at its edges."""
    surface = text[start:end]
    if surface.rstrip(_EDGES)[-2:] in ("'s", "’s"):
        surface = surface.rstrip(_EDGES)[:-2]
    balanced = surface.count("(") == surface.count(")") > 0
    stripped = surface.rstrip(_EDGES.replace(")", "") if balanced else _EDGES)
    if surface[len(stripped) :].startswith(".") and _abbreviated(stripped):
        stripped += "."
    lead = len(stripped) - len(stripped.lstrip(_EDGES))
    words = stripped[lead:].split(None, 1)
    if len(words) == 2 and words[0].lower() in ARTICLES:
        lead = len(stripped) - len(words[1])
    name = " ".join(stripped[lead:].split())
    key = name_key(name)
    return (start + lead, start + len(stripped), name, key) if key else None


def _abbreviated(name: str) -> bool:
    """Whether a full stop after `name` belongs to it: "Northwind Ltd.", "Acme Inc.", "Washington D.C."."""
    last = name.rsplit(None, 1)[-1] if name else ""
    return "." in last or last in ("Ltd", "Inc", "Co", "Corp", "Jr", "Sr", "Bros", "St")


def majority_types(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One type per key: the most frequent of `(key, type)`, ties by the order of `ENTITY_TYPES`, then
    by name."""
    counts: dict[str, Counter[str]] = {}
    for key, kind in found:
        counts.setdefault(key, Counter())[kind] += 1
    order = {kind: rank for rank, kind in enumerate(ENTITY_TYPES)}
    rank = len(order)
    return {
        key: min(kinds, key=lambda kind: (-kinds[kind], order.get(kind, rank), kind)) for key, kinds in counts.items()
    }
