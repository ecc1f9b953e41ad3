"""A facade of communities with fixed answers, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from evigraph.communities import (
    BuildCost,
    BuildReport,
    Community,
    CommunityList,
    Coverage,
    GroupCoverage,
    LevelStatus,
    Quote,
    Staleness,
    TreeStatus,
)
from evigraph.errors import InvalidValue, NotFound
from evigraph.routing import Route, Signal

STALE = Staleness(
    generation=4,
    documents_then=3,
    documents_newer=1,
    documents_gone=1,
    assertions_then=10,
    assertions_newer=5,
    assertions_gone=1,
    merges_changed=True,
)
QUOTE = Quote(
    text="Corrick and Vane delivered four pumps to Tarn.",
    chunk_id="tarn#0",
    document_id="tarn",
    revision=1,
    source="north/tarn.md",
    title="Tarn note",
    start=0,
    end=46,
)
PUMPS = Community(
    id="c0",
    level=0,
    last_level=1,
    parent=None,
    title="Corrick and Vane, Tarn",
    size=7,
    relationships=9,
    documents=2,
    entities=("person:corrick vane", "location:tarn"),
    summary="Corrick and Vane delivered four pumps to Tarn.",
    quotes=(QUOTE,),
)
RODS = Community(
    id="c1",
    level=1,
    last_level=1,
    parent="c0",
    title="Joseph Amarra",
    size=2,
    relationships=1,
    documents=1,
    entities=("person:joseph amarra",),
    summary="Joseph Amarra tested the rods.",
    quotes=(),
    usefulness=40,
    partial="The rods were tested.",
)
LEVEL = LevelStatus(
    level=0,
    communities=2,
    largest=7,
    median=4.5,
    smallest=2,
    modularity=0.41,
    query_calls=0,
    query_tokens=0,
)
OFFLINE = BuildCost(communities=2, written=1, reused=1)
PAID = BuildCost(communities=2, written=1, reused=1, calls=3, failed=1, prompt_tokens=900, completion_tokens=90)
COVERAGE = Coverage(
    documents=2,
    documents_in_scope=3,
    communities=1,
    communities_consulted=2,
    communities_in_scope=4,
    assertions=5,
    assertions_in_scope=10,
    groups={"region": GroupCoverage(represented=("north",), missing=tuple(f"r{n}" for n in range(10)))},
)
ROUTE = Route(
    route="global",
    mode="thematic_overview",
    margin=0.31,
    second="local",
    probabilities={"lookup": 0.1, "local": 0.25, "linked": 0.09, "global": 0.56},
    signals=(
        Signal(name="themes", value=1.0, contribution=1.5, detail="recurs"),
        Signal(name="anchors", value=0.0, contribution=-0.25),
    ),
)


class FakeCommunities:
    """`engine.communities`: two levels, one community of each. Records what it was asked."""

    def __init__(self, cost: BuildCost = OFFLINE) -> None:
        self.cost = cost
        self.summarised_by: Literal["extractive", "mixed", "model"] = "mixed"
        self.asked: list[tuple[Any, ...]] = []

    def build(self, *, progress: Callable[..., None] | None = None) -> BuildReport:
        self.asked.append(("build",))
        return self._report("build", published=True)

    def refresh(self, *, progress: Callable[..., None] | None = None) -> BuildReport:
        self.asked.append(("refresh",))
        return self._report("refresh", published=False)

    def status(self, *, as_of: Any = None) -> TreeStatus:
        self.asked.append(("status", as_of))
        if as_of == 1:
            return TreeStatus(generation=1, built=False, build_estimate=self.cost)
        return TreeStatus(
            generation=7,
            built=True,
            summarised_by=self.summarised_by,
            entities=9,
            levels=(LEVEL,),
            tree=STALE,
            summaries=Staleness(
                generation=7,
                documents_then=3,
                documents_newer=0,
                documents_gone=0,
                assertions_then=14,
                assertions_newer=0,
                assertions_gone=0,
            ),
            build_estimate=self.cost,
        )

    def show(self, level: int = 0, *, limit: int = 50, offset: int = 0, **scope: Any) -> CommunityList:
        self.asked.append(("show", level, limit, offset, scope))
        if level not in (0, 1):
            raise InvalidValue(f"there is no level {level}", hint="valid levels: 0, 1")
        return CommunityList(
            generation=7,
            level=level,
            origin="scope" if scope.get("metadata_filter") else "built",
            total=2,
            communities=(PUMPS, RODS)[level : level + 1],
            staleness=STALE,
            notes=("communities: 50% of documents are newer than the tree",),
        )

    def community(self, community_id: str, **scope: Any) -> Community:
        self.asked.append(("community", community_id, scope))
        for one in (PUMPS, RODS):
            if one.id == community_id:
                return one
        raise NotFound(f"no community {community_id!r}", hint="`communities show` lists them")

    def _report(self, action: Any, *, published: bool) -> BuildReport:
        return BuildReport(
            action=action,
            generation=7,
            published=published,
            entities=9,
            assertions=14,
            levels=(LEVEL,),
            estimate=self.cost,
            cost=self.cost,
            seconds=0.5,
            warnings=("one summary is extractive",),
        )
