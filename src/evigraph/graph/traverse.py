"""Bounded search for paths, frontier by frontier, over any source of edges.

A beam search (Lowerre, 1976): at each hop the best paths go on, up to a width, so that a hub costs no more than the
limits allow. What was cut is counted, hop by hop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from evigraph.store.assertions import Edge
from evigraph.types import CO_OCCURS

Expand = Callable[[Sequence[str], int, int], Sequence[Edge]]
"""Edges of a sorted frontier, by origin, strongest first: at most so many of each entity, and so many in all."""

WEAK = 0.3
"""What a co-occurrence is worth beside a stated assertion."""
MIN_WIDTH = 50
"""Paths that go on at each hop, whatever fewer are asked for."""
MAX_ROWS = 10_000
"""Edges fetched at once at most."""
FIRST = 20
"""Entities of a frontier that are expanded first, those with the best paths."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """`depth` in hops; `per_node`: edges followed from one entity; `paths`: how many are returned. `rows` is a safety
    cap on the edges fetched at once."""

    depth: int
    per_node: int
    paths: int
    rows: int = MAX_ROWS

    @property
    def width(self) -> int:
        return max(self.paths, MIN_WIDTH)


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """A path as found: `entities[i]` and `entities[i + 1]` are joined by `edges[i]`, the strongest of those that state
    the same; the others are in `parallel[i]`. `worth` is the seed's weight times the worth of each edge."""

    entities: tuple[str, ...]
    edges: tuple[Edge, ...] = ()
    parallel: tuple[tuple[Edge, ...], ...] = ()
    worth: float = 1.0

    @property
    def score(self) -> float:
        """Geometric mean of what seed and hops are worth, so that length alone rules no path out."""
        return _mean(self.worth, len(self.edges))

    @property
    def order(self) -> tuple[float, int, tuple[str, ...], tuple[str, ...]]:
        """Best first, then shorter, then by id: total, since a path is its entities and assertions."""
        return -self.score, len(self.edges), self.entities, tuple(edge.id for edge in self.edges)


@dataclass(frozen=True, kw_only=True, slots=True)
class HopReport:
    """One hop: entities expanded, and spared since no path through them could have gone on; edges read; how many
    entities have more edges than were followed; paths found and paths that went on; whether the safety cap bit."""

    entities: int
    spared: int
    edges: int
    cut_entities: int
    found: int
    kept: int
    capped: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Traversal:
    """Paths best first, at most as many as asked for, and how many there were among those that went on."""

    walks: tuple[Walk, ...]
    found: int
    hops: tuple[HopReport, ...] = field(default=())


def traverse(seeds: Mapping[str, float], expand: Expand, limits: Limits) -> Traversal:
    """Paths from the seeds (entity → weight in 0-1), of 1 to `limits.depth` hops, that meet no entity twice.

    At each hop every entity that an open path ends in is expanded once, unless the others' paths are all better. Edges
    of one predicate and direction between the same two entities make one hop. Where more paths are found than asked
    for, one that another goes on from is left out before others are.
    """
    front = [Walk(entities=(seed,), worth=weight) for seed, weight in sorted(seeds.items())]
    kept: list[Walk] = []
    hops: list[HopReport] = []
    for _ in range(limits.depth):
        if not front:
            break
        front, report = _hop(front, expand, limits)
        kept += front
        hops.append(report)
    return Traversal(walks=tuple(_best(kept, limits.paths)), found=len(kept), hops=tuple(hops))


def _hop(front: Sequence[Walk], expand: Expand, limits: Limits) -> tuple[list[Walk], HopReport]:
    """The best continuations of the open paths, by bound: no path gains worth by going on (Land and Doig, 1960)."""
    best: dict[str, float] = {}
    for walk in front:
        best[walk.entities[-1]] = max(best.get(walk.entities[-1], 0.0), walk.worth)
    waiting = sorted(best, key=lambda entity: (-best[entity], entity))
    longer: list[Walk] = []
    read = cut = expanded = 0
    capped = False
    for batch in (waiting[:FIRST], waiting[FIRST:]):
        if not batch or _beaten(longer, _mean(best[batch[0]], len(front[0].edges) + 1), limits.width):
            continue
        # One edge more than may be followed tells whether an entity was cut.
        edges = list(expand(sorted(batch), limits.per_node + 1, limits.rows))
        followed, more = _per_node(edges, limits.per_node)
        ends = set(batch)
        for start in front:
            if start.entities[-1] in ends:
                longer += _steps(start, followed.get(start.entities[-1], ()))
        longer.sort(key=attrgetter("order"))
        read, cut, expanded = read + len(edges), cut + more, expanded + len(batch)
        capped = capped or len(edges) >= limits.rows
    goes_on = longer[: limits.width]
    report = HopReport(
        entities=expanded,
        spared=len(waiting) - expanded,
        edges=read,
        cut_entities=cut,
        found=len(longer),
        kept=len(goes_on),
        capped=capped,
    )
    return goes_on, report


def _beaten(ranked: Sequence[Walk], bound: float, width: int) -> bool:
    """Whether as many paths as go on are better than any that could still be found."""
    return len(ranked) >= width and ranked[width - 1].score > bound


def _mean(worth: float, hops: int) -> float:
    return float(round(worth ** (1 / (hops + 1)), 9))


def _per_node(edges: Sequence[Edge], limit: int) -> tuple[dict[str, list[Edge]], int]:
    """Edges by origin, at most `limit` each, and how many origins have more."""
    by_origin: dict[str, list[Edge]] = {}
    for edge in edges:
        by_origin.setdefault(edge.origin, []).append(edge)
    cut = sum(len(found) > limit for found in by_origin.values())
    return {origin: found[:limit] for origin, found in by_origin.items()}, cut


def _steps(walk: Walk, edges: Sequence[Edge]) -> list[Walk]:
    """The walk gone on by one hop each way."""
    alike: dict[tuple[str, str, bool], list[Edge]] = {}
    for edge in edges:
        if edge.other not in walk.entities:
            alike.setdefault((edge.other, edge.predicate, edge.forward), []).append(edge)
    return [
        Walk(
            entities=(*walk.entities, other),
            edges=(*walk.edges, strongest),
            parallel=(*walk.parallel, tuple(others)),
            worth=walk.worth * worth(strongest.predicate, strongest.confidence),
        )
        for (other, _, _), (strongest, *others) in alike.items()
    ]


def worth(predicate: str, confidence: float) -> float:
    """What following an assertion is worth, 0-1."""
    return confidence * (WEAK if predicate == CO_OCCURS else 1.0)


def _best(walks: Sequence[Walk], limit: int) -> list[Walk]:
    """The best `limit` walks, best first."""
    ranked = sorted(walks, key=attrgetter("order"))
    if len(ranked) <= limit:
        return ranked
    gone_on = {(walk.entities[:-1], walk.edges[:-1]) for walk in ranked}
    ends = [walk for walk in ranked if (walk.entities, walk.edges) not in gone_on]
    passed = [walk for walk in ranked if (walk.entities, walk.edges) in gone_on]
    return sorted([*ends, *passed][:limit], key=attrgetter("order"))
