"""Shortest paths between two entities by searching from both ends.

Two frontiers meet in the middle, so that a path of length d costs about two searches of depth d/2 (Pohl, 1971). The
search goes level by level: when the frontiers first meet, every shortest path has been seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

Edge = tuple[str, str, bool]
"""From an entity of the frontier to a neighbour; True where an assertion states more than that they co-occur."""

Expand = Callable[[Sequence[str], bool], Iterable[Edge]]
"""Edges of a sorted frontier; the flag is True going forward, False going back from the goal."""

ENUMERATED = 1_000
"""Paths compared at most before the best are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Paths of one length, those with the fewest co-occurrence hops first, then by id. `more` says that there are more
    than were kept, `cut` that the search met `max_entities` and may have missed some. `explored` counts entities."""

    paths: tuple[tuple[str, ...], ...]
    explored: int
    more: bool = False
    cut: bool = False


@dataclass(kw_only=True, slots=True)
class _Half:
    """One side of the search: depths of the entities seen, and the links that led to each from one level before."""

    forward: bool
    start: str
    depth: int = 0
    depths: dict[str, int] = field(default_factory=dict)
    links: dict[str, dict[str, bool]] = field(default_factory=dict)
    frontier: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.depths[self.start] = 0
        self.frontier = [self.start]

    def grow(self, edges: Iterable[Edge]) -> None:
        self.depth += 1
        reached = set()
        for origin, neighbour, stated in edges:
            if self.depths.setdefault(neighbour, self.depth) == self.depth:
                self.links.setdefault(neighbour, {})[origin] = stated
                reached.add(neighbour)
        self.frontier = sorted(reached)


def shortest_paths(
    source: str, target: str, expand: Expand, *, max_length: int, limit: int, max_entities: int = 20_000
) -> Found:
    """All shortest paths from `source` to `target` of at most `max_length` hops, at most `limit`, best first.

    No entity occurs twice on a path. `source` and `target` must differ.
    """
    here, there = _Half(forward=True, start=source), _Half(forward=False, start=target)
    cut = False
    while not (meeting := here.depths.keys() & there.depths.keys()) and here.depth + there.depth < max_length:
        if len(here.depths) + len(there.depths) >= max_entities:
            cut = True
            break
        # The smaller frontier costs less to expand.
        half = here if len(here.frontier) <= len(there.frontier) else there
        if not half.frontier:
            break
        half.grow(expand(half.frontier, half.forward))
    explored = len(here.depths) + len(there.depths) - len(meeting)
    if not meeting:
        return Found(paths=(), explored=explored, cut=cut)
    length = min(here.depths[entity] + there.depths[entity] for entity in meeting)
    middle = sorted(entity for entity in meeting if here.depths[entity] + there.depths[entity] == length)
    # A limited expansion may see an edge from one end only; the least depth of the forward half keeps paths distinct.
    depth = min(here.depths[entity] for entity in middle)
    joined = (found for entity in middle if here.depths[entity] == depth for found in _through(entity, here, there))
    listed = list(islice(joined, ENUMERATED + 1))
    ranked = sorted(listed[:ENUMERATED])
    return Found(paths=tuple(path for _, path in ranked[:limit]), explored=explored, more=len(listed) > limit, cut=cut)


def _through(entity: str, here: _Half, there: _Half) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Paths by way of `entity`, each with its number of co-occurrence hops."""
    for weak_before, before in _back(entity, here.links):
        for weak_after, after in _back(entity, there.links):
            yield weak_before + weak_after, (*reversed(before), *after[1:])


def _back(entity: str, links: Mapping[str, Mapping[str, bool]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Ways from `entity` back to where its half began."""
    if entity not in links:
        yield 0, (entity,)
        return
    for origin, stated in sorted(links[entity].items()):
        for weak, rest in _back(origin, links):
            yield weak + (not stated), (entity, *rest)
