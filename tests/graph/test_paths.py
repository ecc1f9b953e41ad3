"""Shortest paths by searching from both ends, against a breadth-first search that enumerates every path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.graph.paths import Edge, Found, shortest_paths

Links = set[tuple[str, str]]


def search(
    links: Iterable[tuple[str, str]], start: str, goal: str, *, weak: Links = frozenset(), **limits: int
) -> Found:  # type: ignore[assignment]
    """Over undirected links; those in `weak` are co-occurrences."""
    both = {pair for one, other in links for pair in ((one, other), (other, one))}

    def expand(frontier: Sequence[str], forward: bool) -> Iterable[Edge]:
        assert list(frontier) == sorted(frontier)
        return [
            (one, other, (one, other) not in weak and (other, one) not in weak)
            for one, other in sorted(both)
            if one in frontier
        ]

    return shortest_paths(start, goal, expand, **{"max_length": 6, "limit": 100, **limits})


def directed(links: Links, start: str, goal: str) -> Found:
    def expand(frontier: Sequence[str], forward: bool) -> Iterable[Edge]:
        pairs = links if forward else {(other, one) for one, other in links}
        return [(one, other, True) for one, other in sorted(pairs) if one in frontier]

    return shortest_paths(start, goal, expand, max_length=6, limit=100)


def every_path(links: Links, start: str, goal: str, longest: int) -> set[tuple[str, ...]]:
    """All simple paths of the least length, by plain enumeration."""
    both = {pair for one, other in links for pair in ((one, other), (other, one))}
    level = {(start,)}
    for _ in range(longest):
        level = {(*path, other) for path in level for one, other in both if one == path[-1] and other not in path}
        if found := {path for path in level if path[-1] == goal}:
            return found
    return set()


LINE = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}


def test_a_line() -> None:
    assert search(LINE, "a", "e").paths == (("a", "b", "c", "d", "e"),)
    assert search(LINE, "e", "a").paths == (("e", "d", "c", "b", "a"),)
    assert search(LINE, "a", "b").paths == (("a", "b"),)
    assert search(LINE, "a", "e", max_length=3).paths == ()
    assert search(LINE, "a", "nowhere").paths == ()


def test_stated_hops_come_before_co_occurrence() -> None:
    links = {("a", "b"), ("b", "z"), ("a", "c"), ("c", "z"), ("a", "d"), ("d", "z")}
    found = search(links, "a", "z", weak={("a", "b"), ("b", "z"), ("c", "z")})
    assert found.paths == (("a", "d", "z"), ("a", "c", "z"), ("a", "b", "z"))
    first = search(links, "a", "z", limit=1)
    assert (first.paths, first.more) == ((("a", "b", "z"),), True)


def test_direction_is_followed_from_both_ends() -> None:
    assert directed({("a", "b"), ("b", "c")}, "a", "c").paths == (("a", "b", "c"),)
    assert directed({("a", "b"), ("c", "b")}, "a", "c").paths == ()


def test_the_search_ends_at_its_limit_and_says_so() -> None:
    links = {("a", f"n{n:03}") for n in range(200)} | {(f"n{n:03}", f"m{n:03}") for n in range(200)}
    found = search(links | {("m007", "z")}, "a", "z", max_entities=3)
    assert (found.paths, found.cut) == ((), True)


def test_many_paths_are_enumerated_within_bounds() -> None:
    layers = [["a"], *([f"{layer}{n}" for n in range(10)] for layer in "bcdef"), ["z"]]
    links = {(one, other) for near, far in pairwise(layers) for one in near for other in far}
    found = search(links, "a", "z", limit=5)
    assert len(found.paths) == 5
    assert found.more
    assert all(len(path) == 7 for path in found.paths)


names = st.sampled_from("abcdefgh")


@settings(max_examples=200, deadline=None)
@given(links=st.sets(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1])), longest=st.integers(1, 6))
def test_it_finds_what_enumeration_finds(links: Links, longest: int) -> None:
    found = search(links, "a", "h", max_length=longest)
    assert set(found.paths) == every_path(links, "a", "h", longest)
    assert all(len(set(path)) == len(path) for path in found.paths)
    assert not found.cut and not found.more


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_edges_makes_no_difference(order: int) -> None:
    links = [("a", "b"), ("a", "c"), ("b", "z"), ("c", "z")]

    def expand(frontier: Sequence[str], forward: bool) -> Iterable[Edge]:
        both = [*links, *((other, one) for one, other in links)]
        return [(one, other, True) for one, other in both[::order] if one in frontier]

    assert shortest_paths("a", "z", expand, max_length=4, limit=9).paths == (("a", "b", "z"), ("a", "c", "z"))
