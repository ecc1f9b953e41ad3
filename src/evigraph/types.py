"""The vocabulary: every value that crosses a module boundary, as frozen dataclasses.

Offsets are Unicode code points into one document revision's extracted text (Markdown), half open `[start, end)`.
A passage always satisfies `passage.text == document_text[passage.start:passage.end]`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

ENTITY_TYPES = ("PERSON", "ORGANIZATION", "TECHNOLOGY", "PRODUCT", "LOCATION", "EVENT", "CONCEPT")

CO_OCCURS = "CO_OCCURS"
"""Predicate of the weak assertion that two entities stand in one sentence; says nothing more."""


class Mode(enum.StrEnum):
    """Where evidence comes from."""

    NAIVE = "naive"
    LOCAL = "local"
    GLOBAL = "global"
    HYBRID = "hybrid"
    MIX = "mix"
    BYPASS = "bypass"
    KEYWORD_LOOKUP = "keyword_lookup"


class Method(enum.StrEnum):
    """How the question is asked."""

    STANDARD = "standard"


# --------------------------------------------------------------------------- ingest


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A run of a document's extracted text, cut only between blocks.

    `start` is the offset of its first code point in the document; `pages` lists `(offset, page number)` for every page
    that begins inside it. Concatenating a document's segments gives its text.
    """

    text: str
    start: int
    pages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDocument:
    """One readable document, before it has a revision. `segments` may be called more than once and re-reads the source,
    so that a document of any size is held one segment at a time."""

    document_id: str
    source: str
    title: str
    segments: Callable[[], Iterator[Segment]]
    content_hash: str
    date: date | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "text/plain"
    origin: str = ""
    """The folder its source is relative to; empty for items and uploads. `sync` compares only within one origin."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A span of one document revision: the unit that is searched and cited.

    `context` (title, heading path, table header row) is searched and embedded with the text, outside it. `sentences`
    are absolute `(start, end)` spans inside the passage. Level 0 is document text; higher levels are summaries.
    """

    document_id: str
    revision: int
    index: int
    start: int
    end: int
    text: str
    context: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    token_count: int = 0
    sentences: tuple[tuple[int, int], ...] = ()
    level: int = 0

    @property
    def id(self) -> str:
        return f"{self.document_id}#{self.index}"

    @property
    def searchable_text(self) -> str:
        """What the embedder and the lexical index read."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """An entity's surface form at a span of a passage. `key` is the normalised name, shared by homographs of several
    types; `entity_id` adds the type. `role` tells how it was found: `text` at its span, `title` or `heading` in the
    passage's context (then the span is the whole passage), `alias` another name its own text gives it."""

    passage_index: int
    entity_id: str
    key: str
    name: str
    type: str
    start: int
    end: int
    role: Literal["text", "title", "heading", "alias"] = "text"
    weight: float = 1.0
    confidence: float = 1.0
    extractor: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assertion:
    """One directed claim made by one passage revision: subject -predicate-> object, with the span that says it."""

    passage_index: int
    subject_id: str
    subject_name: str
    subject_type: str
    predicate: str
    object_id: str
    object_name: str
    object_type: str
    description: str
    start: int
    end: int
    confidence: float = 1.0
    weight: float = 1.0
    extractor: str = ""
    verified: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """What one extractor found in a batch of passages."""

    mentions: tuple[Mention, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    warnings: tuple[str, ...] = ()


# --------------------------------------------------------------------------- documents and revisions


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentInfo:
    """A visible document as published."""

    document_id: str
    source: str
    title: str
    revision: int
    generation: int
    published_at: datetime
    date: date | None
    metadata: Mapping[str, str]
    passages: int
    media_type: str
    language: str
    content_hash: str
    origin: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionInfo:
    """One entry of a document's history; a deletion is a revision without passages."""

    document_id: str
    revision: int
    generation: int
    published_at: datetime
    deleted: bool
    passages: int
    title: str
    content_hash: str


# --------------------------------------------------------------------------- questions


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentFilter:
    """Allow-list: (ids or sources matching the glob) and dates. An empty id list is an empty scope."""

    document_ids: tuple[str, ...] | None = None
    pattern: str | None = None
    date_from: date | None = None
    date_to: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryRequest:
    """Everything a question may carry. `evigraph.query.request.parse` builds it from plain fields and validates."""

    query: str
    mode: Mode = Mode.MIX
    method: Method = Method.STANDARD
    max_chunks: int = 10
    max_entities: int = 20
    max_relationships: int = 500
    max_context_tokens: int = 4000
    graph_depth: int = 2
    per_node_limit: int = 20
    predicates: tuple[str, ...] | None = None
    min_score: float = 0.1
    include_sources: bool = True
    fusion: Literal["gate", "rrf"] = "gate"
    vector_weight: float = 0.7
    graph_weight: float = 0.3
    mix_weights: Mapping[str, float] | None = None
    hybrid: bool = False
    parent_context: bool = False
    rerank: bool = False
    rerank_top_k: int | None = None
    compress: bool = False
    context_only: bool = False
    prompt_only: bool = False
    document_filter: DocumentFilter | None = None
    metadata_filter: Mapping[str, str] | None = None
    llm_model: str | None = None
    as_of: int | datetime | None = None


# --------------------------------------------------------------------------- evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A passage as evidence. A signal that did not rank it is None."""

    id: str
    document_id: str
    revision: int
    source: str
    title: str
    text: str
    start: int
    end: int
    context: str = ""
    page: int | None = None
    token_count: int = 0
    sentences: tuple[tuple[int, int], ...] = ()
    vector_score: float | None = None
    vector_rank: int | None = None
    bm25_score: float | None = None
    bm25_rank: int | None = None
    graph_score: float | None = None
    graph_rank: int | None = None
    fused_score: float | None = None
    rerank_score: float | None = None
    score: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """An entity as the visible evidence shows it; `description` and `degree` are derived from that alone."""

    id: str
    name: str
    type: str
    description: str
    degree: int
    source_chunks: tuple[str, ...]
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Relationship:
    """An assertion as evidence, with the passage span that makes it."""

    id: str
    source: str
    target: str
    type: str
    description: str
    weight: float
    source_name: str
    source_type: str
    target_name: str
    target_type: str
    chunk_id: str
    document_id: str
    revision: int
    start: int
    end: int
    confidence: float
    extractor: str
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What every retriever returns, whatever the mode."""

    question: str
    mode: Mode
    generation: int
    chunks: tuple[Chunk, ...] = ()
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    degraded: tuple[str, ...] = ()
    retrieval: str = ""
    stats: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """Marker `[n]` in an answer: `quote == document_text[start:end]`, at most 300 characters."""

    n: int
    chunk_id: str
    document_id: str
    revision: int
    source: str
    title: str
    start: int
    end: int
    quote: str
    page: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A cited answer, or an abstention that names the stage which came up empty."""

    text: str | None
    citations: tuple[Citation, ...]
    evidence: Evidence
    request: QueryRequest
    abstained: bool = False
    abstain_reason: str | None = None
    unsupported: tuple[str, ...] = ()
    removed_citations: tuple[int, ...] = ()
    degraded: tuple[str, ...] = ()
    answered_by: Literal["extractive", "model", "none"] = "extractive"
    context: str | None = None
    prompt: str | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
