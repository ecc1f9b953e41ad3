"""The vocabulary: every value that crosses a module boundary, as frozen dataclasses.

Offsets are Unicode code points into one document revision's extracted text (Markdown), half open `[start, end)`.
A passage always satisfies `passage.text == document_text[passage.start:passage.end]`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from evigraph.communities import Community, Coverage
from evigraph.conversations import ConversationUse
from evigraph.plans import Direction, Plan
from evigraph.reports import StageReport
from evigraph.routing import Route

ENTITY_TYPES = ("PERSON", "ORGANIZATION", "TECHNOLOGY", "PRODUCT", "LOCATION", "EVENT", "CONCEPT")

RELATED_TO = "RELATED_TO"
"""Predicate of an imported relationship that is described, not named: all it says is in its description."""

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
    ENTITY_CONNECTIONS = "entity_connections"
    TRAVERSE = "traverse"
    PLAN = "plan"
    THEMATIC_OVERVIEW = "thematic_overview"
    AUTO = "auto"


class Method(enum.StrEnum):
    """How the question is asked."""

    STANDARD = "standard"
    HYDE = "hyde"
    SELF_RAG = "self_rag"
    AUTO = "auto"
    CORRECTIVE = "corrective"
    RAPTOR = "raptor"
    MULTI_QUERY = "multi_query"


# --------------------------------------------------------------------------- ingest


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A span of one document revision: the unit that is searched and cited.

    `context` (title, heading path, table header row) is searched and embedded with the text, outside it. `sentences`
    are absolute `(start, end)` spans inside the passage. Level 0 is document text; higher levels are summaries, which
    have no span: `supports` lists the indexes of the passages of level 0 that they rest on.
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
    supports: tuple[int, ...] = ()

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
    """What one extractor found in a batch of passages. `descriptions` say what an entity (by id) is; they are searched
    with its name and shown nowhere, where descriptions are derived from assertions. `incomplete` says that a later
    attempt may find more: calls to a model failed."""

    mentions: tuple[Mention, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    warnings: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    incomplete: bool = False


# --------------------------------------------------------------------------- documents


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
    """Allow-list: (ids or sources matching the glob), dates, and knowledge bases, which all must hold. An empty list is
    an empty scope."""

    document_ids: tuple[str, ...] | None = None
    pattern: str | None = None
    date_from: date | None = None
    date_to: date | None = None
    knowledge_bases: tuple[str, ...] | None = None

    @property
    def only_bases(self) -> bool:
        """Whether knowledge bases are all that it asks for."""
        return self == DocumentFilter(knowledge_bases=self.knowledge_bases) != DocumentFilter()


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
    direction: Direction = "both"
    seeds: tuple[str, ...] | None = None
    limit: int = 50
    plan: Plan | None = None
    community_level: int | None = None
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
    web_search: bool = True
    """Whether `corrective` may search the web, where a search service is configured."""
    as_of: int | datetime | None = None
    user: str = ""
    conversation_id: str | None = None
    conversation_owner: str | None = None
    """Whose conversation it is, where it is not the user's own."""
    given: tuple[str, ...] = field(default=(), compare=False)
    """Names of the fields that were set, sorted."""


# --------------------------------------------------------------------------- evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A passage as evidence. A signal that did not rank it is None. One of a `level` above 0 is a summary: it has no
    span, and `supports` lists the chunks it rests on.

    One widened to its neighbours (`parent_context`) keeps the id of the passage that matched; `matched` are the spans
    of those that did, `pages` where the pages begin. Of one cut for the answer (`compress`), `kept` are the spans of
    the sentences that are read; none: all of it. `token_count` is that of what is read.

    A result of a `web` search belongs to no document: its `source` is the page's address, its `document_id` that
    address after `web:`, its `revision` 0, which no document has, and its span lies in the result's own text. Its
    `vector_score` was measured for it; no arm ranked it."""

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
    level: int = 0
    supports: tuple[str, ...] = ()
    matched: tuple[tuple[int, int], ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    web: bool = False

    def page_at(self, position: int) -> int | None:
        """The page of a position of the document inside this passage."""
        begun = [page for start, page in self.pages if start <= position]
        return begun[-1] if begun else self.page


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
    """An assertion as evidence, with its span; one not `verified` was not found in its passage, which is its span."""

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
    verified: bool = True
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A walk through the graph that meets no entity twice: `entities[i]` and `entities[i + 1]` are joined by
    `relationships[i]`, each made by a visible passage. `names` are those the passages use."""

    entities: tuple[str, ...]
    names: tuple[str, ...]
    relationships: tuple[Relationship, ...]
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Connections:
    """Relationships of the entities found: `direct` ones are asserted by the top passages, `extended` ones elsewhere,
    one hop away. `total` counts all visible ones, before the cap."""

    direct: tuple[Relationship, ...]
    extended: tuple[Relationship, ...]
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    """A value of a plan's step: an entity (`id`), or a count (`id` is then that of the entity it counts for, or "").
    `relationships` are ids of the assertions it rests on, best first; `origins` the bindings of the steps before that
    led to it."""

    id: str
    name: str
    type: str = ""
    count: int | None = None
    origins: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepOutcome:
    """What one step of a plan bound. `bindings_in` counts what it started from, `rows` the assertions it read;
    `truncated` says that a bound cut it."""

    id: str
    op: str
    bindings: tuple[Binding, ...]
    relationships: tuple[Relationship, ...] = ()
    bindings_in: int = 0
    rows: int = 0
    truncated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOutcome:
    """A plan as executed, step by step. Where it could not go on, `failed_step` and `reason` say why, and
    `alternatives` what would have been valid. `plan` is None where a model proposed none that is valid."""

    plan: Plan | None
    steps: tuple[StepOutcome, ...] = ()
    failed_step: str | None = None
    reason: str | None = None
    alternatives: tuple[str, ...] = ()
    proposed_by: Literal["caller", "model"] = "caller"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What every retriever returns, whatever the mode."""

    question: str
    mode: Mode
    generation: int
    chunks: tuple[Chunk, ...] = ()
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    paths: tuple[Path, ...] = ()
    connections: Connections | None = None
    plan: PlanOutcome | None = None
    communities: tuple[Community, ...] = ()
    coverage: Coverage | None = None
    route: Route | None = None
    conversation: ConversationUse | None = None
    degraded: tuple[str, ...] = ()
    retrieval: str = ""
    stats: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """Marker `[n]` in an answer: `quote == document_text[start:end]`, at most 300 characters. Of a `web` result (see
    `Chunk`) the text is that of its chunk."""

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
    web: bool = False


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
    method: Method = Method.STANDARD
    """The effective one; `request` has the one asked for."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the method did and decided."""
    ledger: tuple[StageReport, ...] = ()
    context: str | None = None
    prompt: str | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
