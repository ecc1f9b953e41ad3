"""What lies around an entity, and between two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from evigraph.graph.paths import Edge, shortest_paths
from evigraph.plans import Direction
from evigraph.store import Snapshot
from evigraph.store.explore import Reach, Supported
from evigraph.views import Neighbour, Neighbourhood, PathHop, PathList, PathView

RELATIONS = 1_000
"""Relationships shown of a neighbourhood at most."""
EDGES = 20_000
"""Edges read of one frontier at most."""
PER_HOP = 5
"""Assertions shown for one hop of a path."""

_BACK: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


class _Limits:
    """Remembers which limit cut what, as sentences."""

    def __init__(self, per_node_limit: int) -> None:
        self.per_node_limit = per_node_limit
        self._hubs: dict[str, int] = {}
        self._hops: list[str] = []
        self._sentences: list[str] = []

    def note(self, reached: Sequence[Reach], limit: int) -> None:
        """Note what a frontier's answer left out."""
        self._hubs |= {reach.origin: reach.degree for reach in reached if reach.degree > self.per_node_limit}
        if len(reached) >= limit:
            self.say(f"more than {limit} edges lead on from one step; the rest was not followed")

    def note_hop(self, source: str, target: str, shown: int, total: int) -> None:
        self._hops.append(f"{shown} of {total} assertions between {source} and {target} are shown")

    def say(self, sentence: str) -> None:
        if sentence not in self._sentences:
            self._sentences.append(sentence)

    def sentences(self) -> tuple[str, ...]:
        hubs = [
            f"{self.per_node_limit} of {degree} neighbours of {entity} were followed (per_node_limit)"
            for entity, degree in sorted(self._hubs.items(), key=lambda hub: (-hub[1], hub[0]))[:3]
        ]
        more = [f"so for {len(self._hubs) - 3} other entities"] if len(self._hubs) > 3 else []
        hops = self._hops[:3]
        hops += [f"so for {len(self._hops) - 3} other hops"] if len(self._hops) > 3 else []
        return (*hubs, *more, *self._sentences, *hops)


def neighbourhood(
    snapshot: Snapshot,
    entity_id: str,
    *,
    depth: int,
    per_node_limit: int,
    limit: int,
    predicates: Sequence[str] | None,
    direction: Direction,
) -> Neighbourhood:
    """Entities within `depth` hops, at most `limit` of them, and the relationships along which they were reached."""
    limits = _Limits(per_node_limit)
    distances = {entity_id: 0}
    expanded: list[str] = []
    frontier = [entity_id]
    for distance in range(1, depth + 1):
        if not frontier:
            break
        reached = snapshot.neighbours(
            frontier, per_node_limit=per_node_limit, limit=EDGES, predicates=predicates, direction=direction
        )
        limits.note(reached, EDGES)
        expanded += frontier
        new = list(
            dict.fromkeys(reach.neighbour for reach in _breadth_first(reached) if reach.neighbour not in distances)
        )
        room = limit - (len(distances) - 1)
        if len(new) > room:
            limits.say(f"{room} of {len(new)} entities at distance {distance} are shown (limit)")
        frontier = sorted(new[:room])
        distances |= dict.fromkeys(new[:room], distance)
    relations, total = snapshot.relations(
        expanded, sorted(distances), limit=RELATIONS, predicates=predicates, direction=direction
    )
    if total > len(relations):
        limits.say(f"{len(relations)} of {total} relationships are shown")
    profiles = snapshot.known_profiles(sorted(distances))
    around = [
        Neighbour(
            id=profile.entity_id, name=profile.name, type=profile.type, degree=profile.degree, distance=distances[found]
        )
        for found, profile in profiles.items()
        if found != entity_id
    ]
    return Neighbourhood(
        generation=snapshot.generation,
        entity=entity_id,
        entities=tuple(sorted(around, key=lambda one: (one.distance, -one.degree, one.id))),
        relationships=tuple(relations),
        truncated=limits.sentences(),
    )


def _breadth_first(reached: Sequence[Reach]) -> list[Reach]:
    """The first neighbour of each entity, then the second of each, so that a limit cuts no entity off alone."""
    place: dict[str, int] = {}
    ranked = []
    for reach in reached:
        place[reach.origin] = place.get(reach.origin, 0) + 1
        ranked.append((place[reach.origin], reach))
    return [reach for _, reach in sorted(ranked, key=lambda one: (one[0], one[1].origin, one[1].neighbour))]


def paths(
    snapshot: Snapshot,
    source: str,
    target: str,
    *,
    max_length: int,
    limit: int,
    per_node_limit: int,
    predicates: Sequence[str] | None,
    direction: Direction,
) -> PathList:
    """The shortest paths between two representatives, each hop with assertions of visible passages."""
    limits = _Limits(per_node_limit)

    def expand(frontier: Sequence[str], forward: bool) -> Iterable[Edge]:
        reached = snapshot.neighbours(
            frontier,
            per_node_limit=per_node_limit,
            limit=EDGES,
            predicates=predicates,
            direction=direction if forward else _BACK[direction],
        )
        limits.note(reached, EDGES)
        return [(reach.origin, reach.neighbour, reach.stated) for reach in reached]

    found = shortest_paths(source, target, expand, max_length=max_length, limit=limit)
    if found.cut:
        limits.say(f"the search ended after {found.explored} entities")
    if found.more:
        limits.say(f"there are more paths of this length than the {limit} shown (limit)")
    hops = sorted({hop for path in found.paths for hop in pairwise(path)})
    statements = snapshot.statements_between(hops, per_pair=PER_HOP, predicates=predicates, direction=direction)
    for one, other in hops:
        if statements[one, other].total > PER_HOP:
            limits.note_hop(one, other, PER_HOP, statements[one, other].total)
    profiles = snapshot.known_profiles(sorted({entity for path in found.paths for entity in path}))
    return PathList(
        generation=snapshot.generation,
        source=source,
        target=target,
        max_length=max_length,
        length=len(found.paths[0]) - 1 if found.paths else None,
        paths=tuple(
            PathView(
                entities=path,
                names=tuple(profiles[entity].name for entity in path),
                hops=tuple(_hop(one, other, statements[one, other]) for one, other in pairwise(path)),
            )
            for path in found.paths
        ),
        explored=found.explored,
        truncated=limits.sentences(),
    )


def _hop(source: str, target: str, supported: Supported) -> PathHop:
    return PathHop(source=source, target=target, statements=supported.shown, total=supported.total)
