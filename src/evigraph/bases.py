"""The vocabulary of knowledge bases, and of the pipelines that question them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class KnowledgeBase:
    """A named set of documents of one workspace. `embedding_model` embeds all of it, and every question put to it: the
    workspace's, or one of its own. `llm_model` writes its summaries, and answers where neither the question nor its
    pipeline names another. `documents` and `passages` count what is visible."""

    id: str
    name: str
    description: str
    embedding_model: str
    llm_model: str | None
    documents: int
    passages: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseDeleted:
    """A knowledge base that is no more, and how many documents were deleted with it."""

    id: str
    documents: int
    generation: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """How the documents of some knowledge bases are questioned: `defaults` are fields of its queries that hold where a
    query does not say otherwise."""

    id: str
    name: str
    knowledge_bases: tuple[str, ...]
    llm_model: str | None
    created_at: datetime
    updated_at: datetime
    defaults: Mapping[str, Any] = field(default_factory=dict)
