"""Request bodies as OpenAPI describes them. They document; `evigraph.query.request.parse` and `index`
validate, so that Python, command line and HTTP refuse the same things in the same words."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from evigraph.query.plan.parse import MAX_ENTITIES, MAX_PREDICATES, MAX_STEPS
from evigraph.query.plan.schema import MAX_DESCRIPTION, MAX_NAME, MAX_SYNONYMS, MAX_TYPES
from evigraph.query.plan.schema import MAX_PREDICATES as MAX_SCHEMA_PREDICATES
from evigraph.query.request import LIMITS
from evigraph.types import Method, Mode


def _bounded(name: str, default: int | None, description: str) -> Any:
    low, high = LIMITS[name]
    return Field(default, ge=low, le=high, description=description)


def _one_of(kind: type[Mode] | type[Method], default: str, description: str) -> Any:
    return Field(default, description=description, json_schema_extra={"enum": [item.value for item in kind]})


_BUILD_TREE: Any = Field(
    False, description="Also make a tree of summaries of each document, which method `raptor` searches."
)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DocumentFilterBody(Body):
    """Which documents may be evidence: (ids or sources matching the glob) and dates."""

    document_ids: list[str] | None = Field(None, description="Allow-list. An empty list is an empty scope.")
    pattern: str | None = Field(None, description="Glob on the source path, in union with `document_ids`.")
    date_from: str | None = Field(None, description="First day, YYYY-MM-DD. Undated documents are left out.")
    date_to: str | None = Field(None, description="Last day, YYYY-MM-DD.")
    knowledge_bases: list[str] | None = Field(
        None, description="Ids of knowledge bases: only documents of these. An empty list is an empty scope."
    )


class MixWeights(Body):
    """Weights of the arms of `hybrid` and `mix` in weighted reciprocal rank fusion."""

    local: float = Field(0.0, ge=0, le=1_000)
    global_: float = Field(0.0, ge=0, le=1_000, alias="global")
    naive: float = Field(0.0, ge=0, le=1_000)


class Params(Body):
    """The fusion fields, as some callers nest them; the same as at the top level."""

    vector_weight: float | None = Field(None, ge=0, le=1_000)
    graph_weight: float | None = Field(None, ge=0, le=1_000)
    mix_weights: MixWeights | None = None
    fusion: Literal["gate", "rrf"] | None = None


class PlanStep(Body):
    """One step. `match` takes `entity` or `entities` and `type`; `hop` takes `source`, `predicates` and `direction`;
    `intersect` takes `sources`; `filter` takes `source`, and `type`, or `predicates`, `direction` and `to`; `count`
    takes `source` and `by`."""

    id: str = Field(pattern="^[A-Za-z_][A-Za-z0-9_-]{0,31}$")
    op: Literal["match", "hop", "intersect", "filter", "count"]
    entity: str | None = Field(None, description="An entity's id, or a name that one entity alone carries.")
    entities: list[str] | None = Field(None, max_length=MAX_ENTITIES, description="Several of them.")
    type: str | None = None
    source: str | None = Field(None, description="Id of an earlier step.")
    sources: list[str] | None = None
    predicates: list[str] | None = Field(None, max_length=MAX_PREDICATES, description="Any of them will do.")
    direction: Literal["out", "in", "both"] | None = Field(None, description="Seen from the bindings; default out.")
    to: str | None = Field(None, description="Id of an earlier step whose bindings the assertion must lead to.")
    by: str | None = Field(None, description="Id of the step whose bindings are counted for.")


class PlanSteps(Body):
    """A typed plan. A step refers to earlier ones; the last one is the answer."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MAX_STEPS)


class QueryBody(Body):
    """A question and how to answer it. Only `query` is required."""

    query: str = Field(description="The question.", examples=["What did the Tarn office report about pumps?"])
    mode: str = _one_of(Mode, Mode.MIX, "Where evidence comes from.")
    method: str = _one_of(Method, Method.STANDARD, "How the question is asked.")
    max_chunks: int = _bounded("max_chunks", 10, "Passages returned at most.")
    max_entities: int = _bounded("max_entities", 20, "Entities returned at most.")
    max_relationships: int = _bounded("max_relationships", 500, "Relationships returned at most.")
    max_context_tokens: int = _bounded(
        "max_context_tokens", 4_000, "Token budget of the context; passages keep at least 40 % of it."
    )
    graph_depth: int = _bounded("graph_depth", 2, "Hops walked from the question's entities.")
    per_node_limit: int = _bounded("per_node_limit", 20, "Assertions followed from one entity at most.")
    predicates: list[str] | None = Field(None, description="Predicates the walk may follow; null: all.")
    direction: Literal["out", "in", "both"] = Field("both", description="Which way modes that walk follow assertions.")
    seeds: list[str] | None = Field(
        None, description="Where `traverse` starts: entity ids or names; null: the names in the question."
    )
    limit: int = _bounded("limit", 50, "Paths `traverse` returns at most.")
    plan: PlanSteps | None = Field(None, description="What `plan` executes; null: the chat model proposes one.")
    community_level: int | None = _bounded(
        "community_level",
        None,
        "Level of the communities of `thematic_overview`: 0 is the broadest, larger is finer; null: 0.",
    )
    min_score: float = Field(0.1, ge=-1, le=1, description="Least cosine of a passage found by its vector.")
    include_sources: bool = Field(True, description="Fill `sources`.")
    fusion: Literal["gate", "rrf"] | None = Field(
        None, description="How `mix` joins its arms: `gate` (default), or `rrf` (implied by weights)."
    )
    vector_weight: float = Field(0.7, ge=0, le=1_000, description="Weight of the vector arms under `rrf`.")
    graph_weight: float = Field(0.3, ge=0, le=1_000, description="Weight of the graph arm under `rrf`.")
    mix_weights: MixWeights | None = Field(None, description="The same, arm by arm.")
    params: Params | None = Field(None, description="Nested spelling of the fusion fields.")
    hybrid: bool = Field(False, description="Under `naive`: dense and BM25 instead of dense alone.")
    parent_context: bool = Field(False, description="Return each passage with its neighbours of the same document.")
    rerank: bool = Field(False, description="Re-rank the passages with the rerank backend.")
    enable_rerank: bool = Field(False, description="Another spelling of `rerank`.")
    rerank_top_k: int | None = _bounded(
        "rerank_top_k", None, "Candidates that are re-ranked; null: three for each of `max_chunks`, at least 30."
    )
    compress: bool = Field(False, description="Answer from the sentences that bear on the question.")
    context_only: bool = Field(False, description="Return the context, without an answer.")
    prompt_only: bool = Field(False, description="Return the prompt, without calling a model.")
    document_filter: DocumentFilterBody | None = Field(None, description="Holds for all of the evidence.")
    metadata_filter: dict[str, str | int | float | bool] | None = Field(
        None, description="`source` (file name), `document_id`, or any metadata key; all must match."
    )
    llm_model: str | None = Field(None, description="Chat model instead of the configured one.")
    web_search: bool = Field(
        True,
        description="Whether method `corrective` may put the question to the search service that is configured, if one "
        "is.",
    )
    as_of: int | str | None = Field(None, description="An earlier state: a generation, or a time in ISO 8601.")
    conversation_id: str | None = Field(
        None,
        description="Makes the question a turn of a conversation, whose earlier turns say what it points back to. A "
        "new id begins one. Ids are those of the user that `X-User-ID` names.",
    )
    conversation_owner: str | None = Field(
        None, description="Whose conversation it is, where it is a shared one of another user."
    )


class ShareBody(Body):
    """Who may read and continue a conversation."""

    shared: bool = Field(description="True: the whole workspace; false: its owner alone.")


class DocumentBody(Body):
    """One document as text."""

    text: str = Field(description="The text, plain or Markdown.")
    document_id: str | None = Field(None, description="Default: derived from workspace and source.")
    title: str | None = None
    source: str | None = Field(None, description="Where it comes from, such as a path or URL.")
    date: str | None = Field(None, description="YYYY-MM-DD.")
    metadata: dict[str, str | int | float | bool] | None = None


class OneDocumentBody(DocumentBody):
    """One document as text."""

    build_tree: bool = _BUILD_TREE


class DocumentsBody(Body):
    """Several documents."""

    documents: list[DocumentBody] = Field(min_length=1)
    build_tree: bool = _BUILD_TREE


class ImportBody(Body):
    """The files of a graph, under the names that their format gives them."""

    files: list[bytes] = Field(min_length=1, description="Tables, triples or JSON Lines, and texts they are about.")
    format: str | None = Field(None, description="`graphrag`, `openie` or `jsonl`. Default: found out.")
    metadata: str | None = Field(None, description="A JSON object added to each document.")
    extract: bool = Field(False, description="Also run the extractor over the passages, for what the graph lacks.")


class UploadBody(Body):
    """Files, and what holds for all of them."""

    files: list[bytes] = Field(
        min_length=1, description="One part a file; only the bare name of its file name is used."
    )
    metadata: str | None = Field(
        None, description='A JSON object added to each document, such as `{"region": "north"}`.'
    )
    sources: str | None = Field(
        None,
        description="A JSON list with a relative source name for each file, such as `reports/2019/a.md`: "
        "labels only, without `..`.",
    )
    build_tree: bool = _BUILD_TREE


class MergeBody(Body):
    """Entities that are one."""

    entities: list[str] = Field(
        min_length=2,
        max_length=1_000,
        description="Ids, or names that one entity alone has.",
        examples=[["person:j smith", "person:john smith"]],
    )
    canonical: str | None = Field(
        None, description="The one that stands for all; default: the one that most passages mention."
    )
    reason: str = Field("", description="Why; kept in the log.")


class PlanBody(Body):
    """A typed plan, or a question for which the chat model proposes one."""

    plan: PlanSteps | None = Field(None, description="What to execute.")
    query: str | None = Field(None, description="The question; without `plan`, what the model is asked.")
    max_chunks: int = _bounded("max_chunks", 10, "Passages returned at most.")
    max_entities: int = _bounded("max_entities", 20, "Entities returned at most.")
    max_relationships: int = _bounded("max_relationships", 500, "Relationships returned at most.")
    max_context_tokens: int = _bounded("max_context_tokens", 4_000, "Token budget of the context.")
    include_sources: bool = Field(True, description="Fill `sources`.")
    context_only: bool = Field(False, description="Return the context, without an answer.")
    prompt_only: bool = Field(False, description="Return the prompt, without calling a model.")
    document_filter: DocumentFilterBody | None = Field(None, description="Holds for every step.")
    metadata_filter: dict[str, str | int | float | bool] | None = Field(
        None, description="`source` (file name), `document_id`, or any metadata key; all must match."
    )
    llm_model: str | None = Field(None, description="Chat model instead of the configured one.")
    as_of: int | str | None = Field(None, description="An earlier state: a generation, or a time in ISO 8601.")


class EntityTypeBody(Body):
    name: str = Field(max_length=MAX_NAME, examples=["PERSON"])
    description: str = Field("", max_length=MAX_DESCRIPTION)


class PredicateBody(Body):
    name: str = Field(max_length=MAX_NAME, examples=["WORKS_FOR"])
    description: str = Field("", max_length=MAX_DESCRIPTION)
    domain: list[str] = Field([], description="Types of its subjects; empty: any.")
    range: list[str] = Field([], description="Types of its objects; empty: any.")
    functional: bool = Field(False, description="A subject has one object at a time.")
    synonyms: list[str] = Field([], max_length=MAX_SYNONYMS, description="Other spellings.")


class SchemaBody(Body):
    """A domain schema: entity types, and predicates with domain and range."""

    types: list[EntityTypeBody] = Field([], max_length=MAX_TYPES)
    predicates: list[PredicateBody] = Field([], max_length=MAX_SCHEMA_PREDICATES)
