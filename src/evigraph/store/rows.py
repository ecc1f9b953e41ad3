"""Typed rows that statements return, and the batch that ingest stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evigraph.store.keys import PassageKey
from evigraph.types import Assertion, DocumentInfo, Mention, Passage


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A ranked passage: cosine in [-1, 1] or BM25 score."""

    key: PassageKey
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NameInfo:
    """What the visible set knows of a normalised name: passages that carry it and the strongest alias weight."""

    key: str
    passages: int
    alias_weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MentionRow:
    """An entity in a passage. `weight` is that of its strongest mention."""

    passage: PassageKey
    key: str
    entity_id: str
    name: str
    type: str
    role: str
    weight: float


class Tie(NamedTuple):
    """A name in a passage: `said` adds up the weights of its mentions in the text, `about` those of title, headings and
    aliases."""

    name: str
    said: float
    about: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeCounts:
    """Size of the visible, filtered set. `average_terms` is per passage, for BM25."""

    documents: int
    passages: int
    average_terms: float
    languages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityProfile:
    """An entity as derived from visible rows: commonest surface form, best description, distinct neighbours."""

    entity_id: str
    name: str
    type: str
    description: str
    extractor: str
    confidence: float
    degree: int
    passages: tuple[PassageKey, ...]
    passage_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FactVector:
    """The vector of an entity (`ref` is its id) or of an assertion, with the text that was embedded."""

    kind: Literal["entity", "assertion"]
    ref: str
    text: str
    vector: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedPassages:
    """Passages of one document revision with everything derived from them; row `i` of `vectors` is passage `i`."""

    passages: Sequence[Passage]
    vectors: NDArray[np.float32]
    terms: Sequence[Mapping[str, int]]
    mentions: Sequence[Mention] = ()
    assertions: Sequence[Assertion] = ()
    facts: Sequence[FactVector] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """The record that makes a staged revision visible."""

    document_id: str
    revision: int
    source: str
    title: str
    date: date | None
    metadata: Mapping[str, str]
    media_type: str
    language: str
    content_hash: str
    passages: int
    terms: int
    origin: str = ""
    deleted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownRevision:
    """The latest publication of a document: whether it is deleted, and the hash of what was published."""

    revision: int
    content_hash: str
    deleted: bool


def utc(moment: datetime) -> datetime:
    """The driver reads timestamps without a zone; all of ours are UTC."""
    return moment.replace(tzinfo=UTC)


def document_info(row: tuple[Any, ...]) -> DocumentInfo:
    """From the columns that the catalogue and the export select, in their order."""
    return DocumentInfo(
        document_id=row[0],
        source=row[1],
        title=row[2],
        revision=row[3],
        generation=row[4],
        published_at=utc(row[5]),
        date=row[6],
        metadata=row[7],
        passages=row[8],
        media_type=row[9],
        language=row[10],
        content_hash=row[11],
        origin=row[12],
    )
