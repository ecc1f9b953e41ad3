"""Paths over a small graph held in a dictionary: limits, ties and what is reported as cut."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.graph.traverse import FIRST, MIN_WIDTH, Expand, Limits, Traversal, traverse
from evigraph.store.assertions import Edge
from evigraph.store.keys import PassageKey
from evigraph.types import CO_OCCURS

Claim = tuple[str, str, str, float]


def source(claims: Sequence[Claim], asked: list[list[str]] | None = None) -> Expand:
    """Edges of the claims `(subject, predicate, object, confidence)`, both ways, as the store orders them."""

    def expand(frontier: Sequence[str], per_node: int, rows: int) -> list[Edge]:
        if asked is not None:
            asked.append(list(frontier))
        found = []
        for origin in sorted(set(frontier)):
            edges = [
                Edge(
                    origin=origin,
                    other=target if subject == origin else subject,
                    id=f"c{number:03}",
                    predicate=predicate,
                    confidence=confidence,
                    forward=subject == origin,
                    passage=PassageKey(number, 0),
                )
                for number, (subject, predicate, target, confidence) in enumerate(claims)
                if origin in (subject, target) and subject != target
            ]
            edges.sort(key=lambda edge: (edge.predicate == CO_OCCURS, -edge.confidence, edge.passage, edge.id))
            found += edges[:per_node]
        return found[:rows]

    return expand


def limits(depth: int = 3, per_node: int = 20, paths: int = 50, **others: int) -> Limits:
    return Limits(depth=depth, per_node=per_node, paths=paths, **others)


def entities(found: Traversal) -> list[str]:
    return ["".join(walk.entities) for walk in found.walks]


CHAIN = [("a", "OWNS", "b", 0.9), ("b", "OWNS", "c", 0.9), ("c", "OWNS", "a", 0.9), ("c", "MET", "d", 0.5)]


def test_paths_of_every_length_meet_no_entity_twice() -> None:
    found = traverse({"a": 1.0}, source(CHAIN), limits())
    assert sorted(entities(found)) == ["ab", "abc", "abcd", "ac", "acb", "acd"]
    assert entities(found)[0] == "ab"
    assert [walk.score for walk in found.walks] == sorted((walk.score for walk in found.walks), reverse=True)
    assert found.walks[-1].edges[-1].predicate == "MET"


@pytest.mark.parametrize(("depth", "longest"), [(0, 0), (1, 1), (2, 2), (5, 3)])
def test_depth_bounds_the_length(depth: int, longest: int) -> None:
    found = traverse({"a": 1.0}, source(CHAIN), limits(depth))
    assert max((len(walk.edges) for walk in found.walks), default=0) == longest


def test_each_entity_of_a_frontier_is_asked_for_once() -> None:
    asked: list[list[str]] = []
    traverse({"a": 1.0, "b": 1.0}, source(CHAIN, asked), limits(2))
    assert asked == [["a", "b"], ["a", "b", "c"]]


def test_an_edge_that_is_stated_twice_makes_one_hop() -> None:
    claims = [("a", "OWNS", "b", 0.4), ("a", "OWNS", "b", 0.8), ("b", "OWNS", "a", 0.6), ("a", "MET", "b", 0.7)]
    found = traverse({"a": 1.0}, source(claims), limits())
    assert [(walk.edges[0].id, [edge.id for edge in walk.parallel[0]]) for walk in found.walks] == [
        ("c001", ["c000"]),
        ("c003", []),
        ("c002", []),
    ]


def test_co_occurrence_is_worth_less_than_what_is_stated() -> None:
    claims = [("a", CO_OCCURS, "b", 1.0), ("a", "OWNS", "c", 0.4)]
    assert entities(traverse({"a": 1.0}, source(claims), limits())) == ["ac", "ab"]


def test_per_node_limits_keep_the_strongest_and_are_reported() -> None:
    star = [("hub", "OWNS", f"x{n}", round(0.9 - n / 100, 2)) for n in range(10)]
    found = traverse({"hub": 1.0}, source(star), limits(1, per_node=3))
    assert [walk.entities[1] for walk in found.walks] == ["x0", "x1", "x2"]
    assert (found.hops[0].edges, found.hops[0].cut_entities) == (4, 1)
    exact = traverse({"hub": 1.0}, source(star), limits(1, per_node=10))
    assert (len(exact.walks), exact.hops[0].cut_entities) == (10, 0)


def test_the_limit_of_paths_drops_what_a_longer_path_contains_first() -> None:
    claims = [("a", "OWNS", "b", 0.9), ("b", "OWNS", "c", 0.5), ("a", "OWNS", "d", 0.4)]
    assert entities(traverse({"a": 1.0}, source(claims), limits(paths=3))) == ["ab", "abc", "ad"]
    found = traverse({"a": 1.0}, source(claims), limits(paths=2))
    assert entities(found) == ["abc", "ad"]
    assert found.found == 3


def test_a_hop_goes_on_with_the_best_paths_only() -> None:
    fan = [("a", "OWNS", f"b{n:03}", round(0.9 - n / 1000, 3)) for n in range(80)]
    fan += [(f"b{n:03}", "OWNS", f"c{n:03}", 0.9) for n in range(80)]
    found = traverse({"a": 1.0}, source(fan), limits(2, per_node=100, paths=10))
    assert (found.hops[0].found, found.hops[0].kept) == (80, MIN_WIDTH)
    assert (found.hops[1].entities, found.hops[1].spared) == (MIN_WIDTH, 0)
    assert len(found.walks) == 10
    assert all(walk.entities[1] < f"b{MIN_WIDTH:03}" for walk in found.walks)


def test_entities_whose_paths_could_not_go_on_are_spared() -> None:
    """The bound leaves the outcome as it is: with one weak seed less, nothing changes."""
    fan = [(f"s{n:02}", "OWNS", f"t{n:02}x{m:02}", 1.0) for n in range(30) for m in range(20)]
    asked: list[list[str]] = []
    seeds = {f"s{n:02}": 1.0 if n < FIRST else 0.5 for n in range(30)}
    found = traverse(seeds, source(fan, asked), limits(1))
    assert asked == [[f"s{n:02}" for n in range(FIRST)]]
    assert (found.hops[0].entities, found.hops[0].spared) == (FIRST, 10)
    strong = {name: weight for name, weight in seeds.items() if weight == 1.0}
    assert traverse(strong, source(fan), limits(1)).walks == found.walks
    tied = traverse(dict.fromkeys(seeds, 1.0), source(fan), limits(1))
    assert (tied.hops[0].entities, tied.hops[0].spared) == (30, 0)


def test_the_safety_cap_on_rows_is_told_from_other_limits() -> None:
    found = traverse({"a": 1.0}, source(CHAIN), limits(rows=2))
    assert found.hops[0].capped
    assert not traverse({"a": 1.0}, source(CHAIN), limits()).hops[0].capped


def test_seeds_that_lead_nowhere_and_no_seeds() -> None:
    assert traverse({"z": 1.0}, source(CHAIN), limits()).walks == ()
    assert traverse({}, source(CHAIN), limits()).hops == ()


NODES = "abcdef"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NODES),
            st.sampled_from(["OWNS", "MET", CO_OCCURS]),
            st.sampled_from(NODES),
            st.sampled_from([0.3, 0.6, 0.9]),
        ),
        max_size=14,
    ),
    st.integers(0, 4),
    st.integers(1, 5),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_paths_hold_what_they_promise(
    claims: list[Claim], depth: int, per_node: int, paths: int, rng: random.Random
) -> None:
    bounds = limits(depth, per_node, paths)
    found = traverse({"a": 1.0, "b": 0.5}, source(claims), bounds)
    assert len(found.walks) <= paths
    for walk in found.walks:
        assert len(set(walk.entities)) == len(walk.entities) == len(walk.edges) + 1 <= depth + 1
        for at, edge in enumerate(walk.edges):
            assert (edge.origin, edge.other) == walk.entities[at : at + 2]
    assert [walk.order for walk in found.walks] == sorted(walk.order for walk in found.walks)
    assert len({walk.order[2:] for walk in found.walks}) == len(found.walks)

    def shuffled(frontier: Sequence[str], many: int, rows: int) -> list[Edge]:
        edges = source(claims)(frontier, many, rows)
        origins = list(dict.fromkeys(edge.origin for edge in edges))
        rng.shuffle(origins)
        return [edge for origin in origins for edge in edges if edge.origin == origin]

    assert traverse({"b": 0.5, "a": 1.0}, shuffled, bounds) == found
