"""What the changes of a workspace that are not publications amount to at a generation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from evigraph.domain import DomainSchema, EntityType, PredicateType
from evigraph.store.rows import utc
from evigraph.views import Merge


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeRecord:
    """A published tree of communities, and the edition of its summaries.

    `built_at` is the generation that was clustered, `summarised_at` the one that the summaries were made of; the counts
    are of documents and assertions visible then. `levels` holds figures of each level, the broadest first. `generation`
    is the one it was published as (0 before). `summarised_by` is `mixed` where a chat model wrote a part of them.
    """

    tree: str
    edition: str
    built_at: int
    built_documents: int
    built_assertions: int
    summarised_at: int
    summarised_documents: int
    summarised_assertions: int
    summarised_by: Literal["extractive", "mixed", "model"]
    entities: int
    levels: tuple[Mapping[str, Any], ...]
    generation: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceState:
    """The embedding model in force, the merges that stand, the domain schema and the tree of communities (None where
    there is none). `undone` holds `(generation, merge_id)` of every merge that was taken back, `base_models` the
    dimension of each model that some knowledge base was made with as its own."""

    model: str = ""
    dimension: int = 0
    merges: tuple[Merge, ...] = ()
    schema: DomainSchema | None = None
    tree: TreeRecord | None = None
    undone: tuple[tuple[int, int], ...] = ()
    base_models: Mapping[str, int] = field(default_factory=dict)


STATE_KINDS = ("embedder", "base_embedder", "merge", "unmerge", "schema", "communities")
"""Kinds of change that a state is folded from."""


def fold(rows: Iterable[tuple[str, int, datetime, str]]) -> WorkspaceState:
    """The state after changes `(kind, generation, at, detail)`, which come by rising generation."""
    state = WorkspaceState()
    merges: dict[int, Merge] = {}
    for kind, generation, at, text in rows:
        detail = json.loads(text)
        if kind == "embedder":
            state = replace(state, model=detail["model"], dimension=detail["dimension"])
        elif kind == "base_embedder":
            state = replace(state, base_models={**state.base_models, detail["model"]: detail["dimension"]})
        elif kind == "merge":
            merges[generation] = Merge(
                merge_id=generation,
                canonical=detail["canonical"],
                entities=tuple(detail["entities"]),
                reason=detail["reason"],
                merged_at=utc(at),
            )
        elif kind == "unmerge":
            merges.pop(detail["merge_id"], None)
            state = replace(state, undone=(*state.undone, (generation, detail["merge_id"])))
        elif kind == "communities":
            state = replace(
                state, tree=TreeRecord(**detail | {"levels": tuple(detail["levels"])}, generation=generation)
            )
        else:
            state = replace(state, schema=schema_from(detail))
    return replace(state, merges=tuple(merges.values()))


def schema_from(detail: dict[str, Any]) -> DomainSchema | None:
    """A stored schema; an empty record means that it was taken back."""
    if not detail:
        return None
    return DomainSchema(
        types=tuple(EntityType(**item) for item in detail["types"]),
        predicates=tuple(_predicate(item) for item in detail["predicates"]),
    )


def _predicate(item: dict[str, Any]) -> PredicateType:
    return PredicateType(
        name=item["name"],
        description=item["description"],
        domain=tuple(item["domain"]),
        range=tuple(item["range"]),
        functional=item["functional"],
        synonyms=tuple(item["synonyms"]),
    )
