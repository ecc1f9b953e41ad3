"""Request bodies of knowledge bases and pipelines as OpenAPI describes them; `evigraph.query.bases` validates."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from evigraph.query.bases.fields import MAX_BASES, MAX_DESCRIPTION, MAX_NAME, TOP_K
from evigraph.query.request import LIMITS
from evigraph.server.schemas import Body
from evigraph.types import Method, Mode

_MODEL = "Chat model of the server that is configured."


def _top_k(default: int | None, description: str) -> Any:
    return Field(default, ge=TOP_K[0], le=TOP_K[1], description=description)


def _one_of(kind: type[Mode] | type[Method], description: str) -> Any:
    return Field(None, description=description, json_schema_extra={"enum": [item.value for item in kind]})


def _rerank_top_k() -> Any:
    low, high = LIMITS["rerank_top_k"]
    return Field(None, ge=low, le=high, description="Candidates that are re-ranked; null: three for each of `top_k`.")


class KnowledgeBaseBody(Body):
    """A new knowledge base. Only `name` is required."""

    name: str = Field(min_length=1, max_length=MAX_NAME, description="Unique in the workspace.", examples=["wells"])
    description: str = Field("", max_length=MAX_DESCRIPTION)
    llm_model: str | None = Field(
        None, description=f"{_MODEL} Writes summaries, and answers where nothing more specific names another."
    )
    embedding_model: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="The workspace's, which is the default, or one that `EVIGRAPH_EMBEDDERS` configures, by the name of"
        " its entry or its own; `/capabilities` lists them. It cannot be changed.",
    )


class KnowledgeBaseChange(Body):
    """What to change; the rest stays. `llm_model` null leaves the choice to the configuration."""

    name: str | None = Field(None, min_length=1, max_length=MAX_NAME)
    description: str | None = Field(None, max_length=MAX_DESCRIPTION)
    llm_model: str | None = None


class PipelineDefaults(Body):
    """What holds for a pipeline's queries where a query does not say otherwise."""

    mode: str | None = _one_of(Mode, "Where evidence comes from.")
    method: str | None = _one_of(Method, "How the question is asked.")
    top_k: int | None = _top_k(None, "Passages returned at most.")
    rerank: bool | None = None
    rerank_top_k: int | None = _rerank_top_k()
    compress: bool | None = None
    hybrid: bool | None = None
    parent_context: bool | None = None
    web_search: bool | None = None


class PipelineBody(Body):
    """A new pipeline. `name` and `knowledge_bases` are required."""

    name: str = Field(min_length=1, max_length=MAX_NAME, description="Unique in the workspace.", examples=["water"])
    knowledge_bases: list[str] = Field(
        min_length=1, max_length=MAX_BASES, description="Ids of the bases whose documents are asked."
    )
    llm_model: str | None = Field(None, description=_MODEL)
    defaults: PipelineDefaults | None = None


class PipelineChange(Body):
    """What to change; the rest stays. `defaults` takes the place of all there were."""

    name: str | None = Field(None, min_length=1, max_length=MAX_NAME)
    knowledge_bases: list[str] | None = Field(None, min_length=1, max_length=MAX_BASES)
    llm_model: str | None = None
    defaults: PipelineDefaults | None = None


class PipelineQueryBody(Body):
    """A question to a pipeline. Only `question` is required; what neither it nor the pipeline says has the default
    that is named here. The embedding model is that of the documents, and no field changes it."""

    question: str = Field(description="The question.", examples=["Who delivered the pumps to Tarn?"])
    top_k: int | None = _top_k(5, "Passages returned at most.")
    mode: str | None = Field(
        Mode.NAIVE,
        description="Where evidence comes from. Default: `naive`, dense retrieval.",
        json_schema_extra={"enum": [item.value for item in Mode]},
    )
    method: str | None = Field(
        Method.STANDARD,
        description="How the question is asked.",
        json_schema_extra={"enum": [item.value for item in Method]},
    )
    conversation_id: str | None = Field(
        None, description="Makes the question a turn of a conversation of the user that `X-User-ID` names."
    )
    conversation_owner: str | None = Field(
        None, description="Whose conversation it is, where it is a shared one of another user."
    )
    rerank: bool | None = Field(False, description="Re-rank the passages with the rerank backend.")
    rerank_top_k: int | None = _rerank_top_k()
    compress: bool | None = Field(False, description="Answer from the sentences that bear on the question.")
    hybrid: bool | None = Field(False, description="Under `naive`: dense and BM25 instead of dense alone.")
    parent_context: bool | None = Field(False, description="Return each passage with its neighbours.")
    metadata_filter: dict[str, str | int | float | bool] | None = Field(
        None, description="`source` (file name), `document_id`, or any metadata key; all must match."
    )
    llm_model: str | None = Field(None, description="Chat model of this answer, before all others that are named.")
    web_search: bool | None = Field(
        True, description="Whether method `corrective` may search the web, where a search service is configured."
    )
