"""Response bodies as OpenAPI describes them; `evigraph.wire` makes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from evigraph.communities import Community
from evigraph.server.communities_shapes import CoverageShape, RouteShape
from evigraph.server.shape import Shape
from evigraph.views import AliasProposal, Merge


class ProblemBody(BaseModel):
    """RFC 9457 problem details. Some codes add members, such as `valid` or `report`."""

    type: str = Field(examples=["urn:evigraph:problem:unknown_mode"])
    title: str
    status: int
    detail: str = Field(description="The cause.")
    code: str = Field(description="Stable between releases.", examples=["unknown_mode"])
    hint: str = Field(description="The remedy.")


class CitationShape(Shape):
    """What `[n]` rests on: `quote` is the text, of a document or a web result, from `start` to `end` in code points."""

    n: int
    chunk_id: str
    document_id: str
    revision: int
    source: str
    title: str
    start: int
    end: int
    quote: str
    page: int | None
    web: bool


class SourceShape(Shape):
    document_id: str
    revision: int
    source: str
    title: str
    web: bool
    chunks: list[str]


class ChunkShape(Shape):
    """A passage. A signal that did not rank it is null; `score` is the order. One of a `level` above 0 is a summary: it
    has no span, and `supports` lists the passages it rests on."""

    id: str
    text: str
    document_id: str
    revision: int
    source: str
    title: str
    context: str
    page: int | None
    web: bool = Field(description="A web result: `source` is its address; it is no document's (`revision` 0).")
    start: int | None
    end: int | None
    level: int
    supports: list[str]
    matched: list[tuple[int, int]] = Field(
        description="Under `parent_context`: spans of the passages that matched; the others are their neighbours."
    )
    kept: list[tuple[int, int]] = Field(
        description="Under `compress`: spans of the sentences that the answer is made from; none: all of it."
    )
    vectorScore: float | None
    vectorRank: int | None
    bm25Score: float | None
    bm25Rank: int | None
    graphScore: float | None
    graphRank: int | None
    fusedScore: float | None
    rerankScore: float | None
    score: float


class EntityShape(Shape):
    id: str
    name: str
    type: str
    description: str
    degree: int
    score: float | None
    sourceChunks: list[str]


class RelationshipShape(Shape):
    """One assertion of one passage."""

    id: str
    source: str
    target: str
    type: str
    description: str
    weight: float
    sourceName: str
    sourceType: str
    targetName: str
    targetType: str
    chunk_id: str
    document_id: str
    revision: int
    start: int
    end: int
    confidence: float
    extractor: str
    verified: bool = Field(description="Whether the claim was found in its passage; else its span is the passage.")


class PathShape(Shape):
    """A walk that meets no entity twice: entities `i` and `i + 1` are joined by relationship `i`."""

    entities: list[str]
    names: list[str]
    relationships: list[RelationshipShape]
    score: float


class BindingShape(Shape):
    """A value of a step: an entity, or a count (for the entity `id`, where grouped)."""

    id: str
    name: str
    type: str
    count: int | None
    origins: list[str] = Field(description="Bindings of the steps before that led to it.")
    relationships: list[str] = Field(description="Ids of the assertions it rests on.")


class StepShape(Shape):
    """What one step did: bindings in and out, assertions read, milliseconds."""

    id: str
    op: str
    in_: int = Field(alias="in")
    out: int
    rows: int
    truncated: bool
    step_ms: float | None
    bindings: list[BindingShape]
    relationships: list[RelationshipShape]


class PlanShape(Shape):
    """A plan as executed; where it could not go on, the step, the reason, and what would have been valid."""

    plan: dict[str, Any] | None
    steps: list[StepShape]
    failed_step: str | None
    reason: str | None
    alternatives: list[str]
    proposed_by: Literal["caller", "model"]


class StageCountShape(Shape):
    """Things of one kind that passed through a stage beside its result, and what became of them."""

    items_in: int
    items_out: int
    lost: dict[str, int]


class StageShape(Shape):
    """One stage of a query: the `step` that it is part of; items that went in (where they can be lost), came out and
    were `lost`, by reason; the same of what passed `beside` them; calls to a chat model and the tokens of its replies
    (null where one did not tell); and what it did otherwise than asked. One that `failed`, and why, handed nothing on:
    what was at hand before still is. One that is `cached` belongs to the run whose answer was kept."""

    name: str
    step: str | None
    failed: str | None
    cached: bool
    items_in: int | None
    items_out: int | None
    lost: dict[str, int]
    beside: dict[str, StageCountShape]
    empty_because: str | None
    took_ms: float
    llm_calls: int
    failed_calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    degraded: list[str]


class QueryAnswer(BaseModel):
    """The one response shape of every mode and method."""

    answer: str | None
    context: str | None
    prompt: str | None
    abstained: bool
    abstain_reason: str | None = Field(description="The stage that came up empty.")
    mode: str
    method: str = Field(description="The effective one; `requested` has the one asked for.")
    requested: dict[str, str]
    route: RouteShape | None = Field(description="Why `auto` chose its mode; null elsewhere.")
    citations: list[CitationShape]
    sources: list[SourceShape]
    chunks: list[ChunkShape]
    entities: list[EntityShape]
    relationships: list[RelationshipShape]
    evidence: dict[str, Any] | None
    paths: list[PathShape]
    plan: PlanShape | None
    communities: list[Community] = Field(description="Those that a corpus-wide answer draws on.")
    coverage: CoverageShape | None
    degraded: bool = Field(description="True exactly when `method_details.degraded` is not empty.")
    method_details: dict[str, Any]
    stats: dict[str, Any]
    ledger: list[StageShape] = Field(description="Every stage, in the order in which they began.")
    generation: int


class IndexedDocumentShape(Shape):
    document_id: str
    source: str
    status: Literal["added", "replaced", "unchanged", "deleted"]
    revision: int
    passages: int
    entities: int
    assertions: int
    summaries: int
    warnings: list[str]


class FileErrorShape(Shape):
    source: str
    code: str
    message: str
    hint: str


class ExtractionShape(Shape):
    """What extraction by the chat model cost. Tokens are those of this run; `dropped` counts records by reason."""

    model: str
    passages: int
    calls: int
    cached: int
    failed: int
    retried: int
    unusable: int
    unreported: int
    prompt_tokens: int
    completion_tokens: int
    entities: int
    assertions: int
    unverified: int
    dropped: dict[str, int]
    notes: dict[str, int]
    budget: int | None
    stopped_at: str | None = Field(description="Where the token budget ended the run.")


class TreesShape(Shape):
    """Trees of summaries, and what the chat model's share in them cost. Tokens are those of this run; `dropped` counts
    by reason what was left out of summaries."""

    trees: int
    too_short: int
    summaries: int
    by_model: int
    model: str | None
    calls: int
    cached: int
    failed: int
    unusable: int
    unreported: int
    prompt_tokens: int
    completion_tokens: int
    dropped: dict[str, int]
    stopped_at: str | None


class IndexAnswer(Shape):
    """What became of each document."""

    documents: list[IndexedDocumentShape]
    errors: list[FileErrorShape]
    generation: int
    seconds: float
    warnings: list[str]
    job_id: str
    extraction: ExtractionShape | None = Field(description="Null where no chat model extracts.")
    trees: TreesShape | None = Field(description="Null where no tree of summaries was asked for or renewed.")
    degraded: list[str] = Field(description="What was asked for and not done, and why.")


class DocumentShape(Shape):
    """A visible document."""

    document_id: str
    source: str
    origin: str
    title: str
    revision: int
    generation: int
    published_at: str
    date: str | None
    metadata: dict[str, str]
    passages: int
    media_type: str
    language: str
    content_hash: str


class DocumentsAnswer(Shape):
    generation: int = Field(description="The state that was read: what `as_of` resolved to, else the newest.")
    documents: list[DocumentShape]


class RevisionShape(Shape):
    """One entry of a document's history; a deletion is a revision without passages."""

    document_id: str
    revision: int
    generation: int
    published_at: str
    deleted: bool
    passages: int
    title: str
    content_hash: str


class RevisionsAnswer(Shape):
    revisions: list[RevisionShape]


class TextAnswer(Shape):
    """Extracted text of one revision: what spans point into."""

    document_id: str
    revision: int
    text: str


class DeletedAnswer(Shape):
    document_id: str
    generation: int


class PrunedAnswer(Shape):
    documents: int
    revisions: int
    horizon: int
    seconds: float


class ReembeddedAnswer(Shape):
    generation: int
    left_alone: int = Field(description="Documents of knowledge bases that have an embedding model of their own.")


class JobShape(Shape):
    job_id: str
    kind: str
    state: Literal["running", "done", "failed"]
    started_at: str
    updated_at: str
    detail: dict[str, Any]


class JobsAnswer(Shape):
    jobs: list[JobShape]


class MergesAnswer(Shape):
    merges: list[Merge]


class ProposalsAnswer(Shape):
    proposals: list[AliasProposal]


class UnmergedAnswer(Shape):
    merge_id: int
    generation: int


class EntityTypeShape(Shape):
    name: str
    description: str
    count: int | None = Field(description="Visible entities, where inferred.")


class PredicateShape(Shape):
    name: str
    description: str
    domain: list[str]
    range: list[str]
    functional: bool
    synonyms: list[str]
    count: int | None = Field(description="Visible assertions, where inferred.")


class SchemaAnswer(Shape):
    """The domain schema; `inferred` from the visible assertions where none was given."""

    types: list[EntityTypeShape]
    predicates: list[PredicateShape]
    inferred: bool
    omitted: int = Field(description="Predicates too rare to be listed, where inferred.")


class SchemaChanged(Shape):
    generation: int
