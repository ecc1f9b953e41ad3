"""Bodies of `/api/v1/communities`, and what a corpus-wide answer adds to an answer, as OpenAPI describes them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evigraph.communities import BuildCost, Community, GroupCoverage, LevelStatus, Origin
from evigraph.routing import RouteClass, Signal
from evigraph.server.shape import Shape


class StalenessShape(Shape):
    """What changed since `generation`: what is newer, and what is gone, of what was visible `then`."""

    generation: int
    stale: bool = Field(description="Whether anything changed.")
    documents: float = Field(description="Share of documents that are newer or gone, 0-1.")
    assertions: float = Field(description="Share of assertions that are newer or gone, 0-1.")
    documents_then: int
    documents_newer: int
    documents_gone: int
    assertions_then: int
    assertions_newer: int
    assertions_gone: int
    merges_changed: bool


class CommunitiesAnswer(Shape):
    """Communities of one level, largest first."""

    generation: int
    level: int
    origin: Origin = Field(
        description="`built`: as published; `scope`: clustered from the filtered documents alone; `restricted`: the "
        "built ones as far as the scope reaches; `components`: connected parts, because none are built."
    )
    total: int = Field(description="Before `limit` and `offset`.")
    communities: list[Community]
    staleness: StalenessShape | None = Field(description="Of the tree as `built`.")
    notes: list[str] = Field(description="What differs from a tree in force over all that is asked.")


class TreeStatusAnswer(Shape):
    """What is built, and how much has changed since."""

    generation: int
    built: bool
    summarised_by: Literal["extractive", "mixed", "model"] | None = Field(
        description="`model`: every summary that says something; `mixed`: some of them."
    )
    entities: int
    levels: list[LevelStatus]
    tree: StalenessShape | None = Field(description="Since the clustering.")
    summaries: StalenessShape | None = Field(description="Since the summaries were written or renewed.")
    build_estimate: BuildCost | None = Field(description="What a build would ask of the chat model.")


class CoverageShape(Shape):
    """What of its scope an answer draws on. `documents` are cited, `communities` drawn on."""

    documents: int
    documents_in_scope: int
    communities: int
    communities_consulted: int
    communities_in_scope: int
    assertions: int = Field(description="Of the consulted communities.")
    assertions_in_scope: int
    assertion_share: float = Field(description="`assertions` of `assertions_in_scope`, 0-1.")
    groups: dict[str, GroupCoverage] = Field(description="By metadata key: values represented and missing.")


class RouteShape(Shape):
    """Why `auto` chose a mode."""

    route: RouteClass
    mode: str
    margin: float = Field(description="Probability of the class less that of `second`.")
    second: RouteClass
    probabilities: dict[RouteClass, float]
    signals: list[Signal]
    decided_by: Literal["rules", "model"]
    fell_back: str | None = Field(description="Why another mode than the class's own answered in the end.")
