"""Properties of personalised PageRank on small graphs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.graph.rank import personalised_pagerank

NODES = "abcdefg"
LINKS = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from([0.0, 0.3, 1.0])), max_size=15
)
SEEDS = st.dictionaries(st.sampled_from(NODES), st.sampled_from([0.2, 1.0]), min_size=1, max_size=3)


@settings(deadline=None)
@given(LINKS, SEEDS)
def test_mass_sums_to_one_and_seeds_hold_some(links: list[tuple[str, str, float]], seeds: dict[str, float]) -> None:
    ranks = personalised_pagerank(links, seeds)
    assert sum(ranks.nodes.values()) == pytest.approx(1.0)
    assert min(ranks.nodes.values()) >= 0
    assert all(ranks.nodes[seed] > 0 for seed in seeds)
    assert len(ranks.links) == len(links)
    assert all((share > 0) <= (weight > 0) for share, (_, _, weight) in zip(ranks.links, links, strict=True))


@settings(deadline=None)
@given(LINKS, SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_links_and_the_scale_of_seeds_do_not_matter(
    links: list[tuple[str, str, float]], seeds: dict[str, float], rng: random.Random
) -> None:
    ranks = personalised_pagerank(links, seeds)
    order = list(range(len(links)))
    rng.shuffle(order)
    moved = personalised_pagerank([links[n] for n in order], {name: 3 * weight for name, weight in seeds.items()})
    assert moved.nodes == pytest.approx(ranks.nodes, abs=1e-9)
    assert list(moved.links) == pytest.approx([ranks.links[n] for n in order], abs=1e-9)


def test_without_links_the_mass_stays_on_the_seeds() -> None:
    ranks = personalised_pagerank([], {"a": 1.0, "b": 3.0})
    assert ranks.nodes == {"a": 0.25, "b": 0.75}


def test_without_seeds_nothing_is_ranked() -> None:
    ranks = personalised_pagerank([("a", "b", 1.0)], {})
    assert ranks.nodes == {"a": 0.0, "b": 0.0}
    assert ranks.links == (0.0,)


def test_nearer_nodes_and_those_with_more_ways_hold_more() -> None:
    links = [("a", "b", 1.0), ("b", "c", 1.0), ("a", "d", 1.0), ("a", "e", 1.0), ("d", "e", 1.0)]
    nodes = personalised_pagerank(links, {"a": 1.0}).nodes
    assert nodes["a"] > nodes["d"] == nodes["e"] > nodes["c"]
    assert nodes["b"] > nodes["c"]


def test_a_hub_shares_what_passes_through_it() -> None:
    """A link out of a hub carries less than one of an entity with few."""
    links = [("a", "hub", 1.0), ("a", "b", 1.0), ("b", "c", 1.0)]
    links += [("hub", f"x{n}", 1.0) for n in range(50)]
    ranks = personalised_pagerank(links, {"a": 1.0})
    assert ranks.links[2] > 5 * ranks.links[3]


def test_a_component_without_a_seed_gets_nothing() -> None:
    ranks = personalised_pagerank([("a", "b", 1.0), ("x", "y", 1.0)], {"a": 1.0})
    assert ranks.nodes["x"] == ranks.nodes["y"] == ranks.links[1] == 0.0
