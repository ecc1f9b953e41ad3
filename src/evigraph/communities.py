"""The vocabulary of corpus-wide answers: communities, their summaries, coverage and staleness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Origin = Literal["built", "scope", "restricted", "components"]
"""Where a query's communities come from: the tree as `built`; clustered anew for a filtered `scope`; the built tree
`restricted` to a scope too large for that; or, without a tree, connected `components`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """A sentence of a visible passage: `text == document_text[start:end]`."""

    text: str
    chunk_id: str
    document_id: str
    revision: int
    source: str
    title: str
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Entities more densely connected among each other than with the rest, as the scope shows them.

    `id` (`c12`) holds within one tree. A community appears from its `level` (0 is the broadest) to `last_level`, where
    it is split. `entities` are ids of its most connected members, `size` counts all; `relationships` counts assertions
    among them, `documents` those that make them. `quotes` are the summary's sentences, or what a model's summary rests
    on. `usefulness` (0-100) and `partial` are what the question's map step made of it; None where it was not mapped.
    """

    id: str
    level: int
    last_level: int
    parent: str | None
    title: str
    size: int
    relationships: int
    documents: int
    entities: tuple[str, ...]
    summary: str
    quotes: tuple[Quote, ...]
    summarised_by: Literal["extractive", "model"] = "extractive"
    usefulness: int | None = None
    partial: str | None = None


FEW_VALUES = 12
"""Values up to which a group key ("region") is one whose values an answer should represent, and is named where its
coverage is told. With more ("author") nobody expects them all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupCoverage:
    """Values of one metadata key: those that cited documents have, and those of the scope that none of them has."""

    represented: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What of its scope an answer draws on. `documents` are cited, `communities` drawn on; `consulted` ones were
    read. `assertions` counts those of the consulted communities. `groups` is by metadata key."""

    documents: int
    documents_in_scope: int
    communities: int = 0
    communities_consulted: int = 0
    communities_in_scope: int = 0
    assertions: int = 0
    assertions_in_scope: int = 0
    groups: Mapping[str, GroupCoverage] = field(default_factory=dict)

    @property
    def assertion_share(self) -> float:
        """Share of the scope's assertions that was consulted, 0-1."""
        return self.assertions / self.assertions_in_scope if self.assertions_in_scope else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Staleness:
    """What has changed since a tree was built, or since its summaries were renewed: what is newer, and what is gone.

    A share is (newer + gone) / (then + newer), 0-1; `then` counts what was visible at `generation`.
    """

    generation: int
    documents_then: int
    documents_newer: int
    documents_gone: int
    assertions_then: int
    assertions_newer: int
    assertions_gone: int
    merges_changed: bool = False

    @property
    def documents(self) -> float:
        return _share(self.documents_then, self.documents_newer, self.documents_gone)

    @property
    def assertions(self) -> float:
        return _share(self.assertions_then, self.assertions_newer, self.assertions_gone)

    @property
    def stale(self) -> bool:
        return bool(self.documents_newer or self.documents_gone or self.merges_changed)


def _share(then: int, newer: int, gone: int) -> float:
    return (newer + gone) / (then + newer) if then + newer else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelStatus:
    """One level of a tree: how many communities it has, how large they are, and what one question at it would ask of
    the chat model (0 calls offline)."""

    level: int
    communities: int
    largest: int
    median: float
    smallest: int
    modularity: float
    query_calls: int
    query_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildCost:
    """What a build or refresh asks of the chat model: summaries to write, those reused, calls and tokens. As an
    estimate, or as counted afterwards (`failed` calls leave an extractive summary; tokens are None where a reply did
    not tell)."""

    communities: int
    written: int
    reused: int
    calls: int = 0
    failed: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildReport:
    """What `build` or `refresh` did. `generation` is that of the published tree; nothing is published where nothing
    changed (`published` is then False)."""

    action: Literal["build", "refresh"]
    generation: int
    published: bool
    entities: int
    assertions: int
    levels: tuple[LevelStatus, ...]
    estimate: BuildCost
    cost: BuildCost
    seconds: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeStatus:
    """The tree in force, if any. `tree` tells what changed since the clustering, `summaries` since their renewal.
    `summarised_by` is `model` where a chat model wrote every summary that says something, `mixed` where it wrote some.
    """

    generation: int
    built: bool
    summarised_by: Literal["extractive", "mixed", "model"] | None = None
    entities: int = 0
    levels: tuple[LevelStatus, ...] = ()
    tree: Staleness | None = None
    summaries: Staleness | None = None
    build_estimate: BuildCost | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityList:
    """Communities of one level, largest first; `total` before `limit` and `offset`. `notes` say, as sentences, what
    differs from a tree in force over all that is asked. `staleness` is of the tree as `built`."""

    generation: int
    level: int
    origin: Origin
    total: int
    communities: tuple[Community, ...]
    staleness: Staleness | None = None
    notes: tuple[str, ...] = ()
