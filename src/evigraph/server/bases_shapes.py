"""Bodies of `/knowledge-bases` and `/pipeline` that the vocabulary has no name for."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from evigraph.bases import KnowledgeBase
from evigraph.server.answers import DocumentShape, QueryAnswer
from evigraph.server.shape import Shape


class KnowledgeBasesAnswer(Shape):
    knowledge_bases: list[KnowledgeBase]


class BaseDocumentsAnswer(Shape):
    documents: list[DocumentShape]


class PipelineShape(Shape):
    """A pipeline; `defaults` are fields of its queries."""

    id: str
    name: str
    knowledge_bases: list[str]
    llm_model: str | None
    created_at: str
    updated_at: str
    defaults: dict[str, Any]


class PipelinesAnswer(Shape):
    pipelines: list[PipelineShape]


class PipelineDeleted(Shape):
    id: str
    deleted: bool


class PipelineAnswer(QueryAnswer):
    """The one response shape, and the pipeline that answered."""

    pipeline_id: str = Field(description="`method_details.llm_model` has the chat model, and who chose it.")
