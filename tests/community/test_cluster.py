"""Clustering: every entity has its place at every level, and the same graph always gives the same tree."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from evigraph.community.cluster import Tree, cluster, modularity
from evigraph.community.components import components

Link = tuple[int, int, int]


def planted(groups: int, size: int, seed: int = 0) -> tuple[list[str], list[Link]]:
    """Dense groups with a few links between them, and three entities linked to nothing."""
    rng = np.random.default_rng(seed)
    count = groups * size
    weights: dict[tuple[int, int], int] = {}
    for one, other in rng.integers(count, size=(count * 6, 2)).tolist():
        near = one // size * size + other % size
        for target, weight in ((near, 900), (other, 100)):
            if one != target:
                pair = min(one, target), max(one, target)
                weights[pair] = weights.get(pair, 0) + weight
    entities = sorted(f"person:p{number:05}" for number in range(count + 3))
    return entities, [(*pair, weight) for pair, weight in sorted(weights.items())]


def shape(tree: Tree) -> str:
    return repr((tree.paths.tolist(), tree.nodes))


@pytest.fixture(scope="module")
def made() -> tuple[Tree, list[Link]]:
    entities, links = planted(12, 80)
    return cluster(entities, links), links


def test_every_entity_has_a_community_at_every_level(made: tuple[Tree, list[Link]]) -> None:
    tree, _ = made
    assert tree.levels >= 2
    assert tree.paths.shape == (len(tree.entities), tree.levels)
    assert sorted(np.unique(tree.paths).tolist()) == [node.number for node in tree.nodes]
    for node in tree.nodes:
        for level in range(tree.levels):
            size = int((tree.paths[:, level] == node.number).sum())
            assert size == (node.size if node.level <= level <= node.last_level else 0)


def test_a_community_lies_within_its_parent(made: tuple[Tree, list[Link]]) -> None:
    tree, _ = made
    for node in tree.nodes:
        above = tree.paths[tree.paths[:, node.level] == node.number, node.level - 1] if node.level else []
        assert set(above) == (set() if node.parent is None else {node.parent})
        if node.parent is not None:
            parent = tree.nodes[node.parent]
            assert parent.last_level == node.level - 1
            assert parent.size > node.size, "a community that comes whole keeps its number"


def test_numbers_run_by_level_then_size_then_smallest_id(made: tuple[Tree, list[Link]]) -> None:
    tree, _ = made
    smallest = {node.number: int(np.flatnonzero(tree.paths[:, node.level] == node.number)[0]) for node in tree.nodes}
    order = [(node.level, -node.size, smallest[node.number]) for node in tree.nodes]
    assert order == sorted(order)


def test_what_is_linked_to_nothing_is_alone_on_every_level(made: tuple[Tree, list[Link]]) -> None:
    tree, _ = made
    for row in tree.paths[-3:]:
        (number,) = set(row.tolist())
        assert tree.nodes[number].size == 1
        assert (tree.nodes[number].level, tree.nodes[number].last_level) == (0, tree.levels - 1)


def test_planted_groups_are_found(made: tuple[Tree, list[Link]]) -> None:
    tree, links = made
    broadest = tree.paths[: 12 * 80, 0].reshape(12, 80)
    assert all(len(set(group.tolist())) == 1 for group in broadest)
    assert modularity(tree.paths[:, 0], links) > 0.7


@pytest.mark.parametrize("seed", range(4))
def test_no_community_that_can_be_cut_is_above_the_size(seed: int) -> None:
    entities, links = planted(4, 60, seed)
    tree = cluster(entities, links, max_size=30)
    finest = [node for node in tree.nodes if node.last_level == tree.levels - 1]
    assert max(node.size for node in finest) <= 60
    assert sum(node.size for node in finest) == len(entities)


def test_a_clique_above_the_size_stays_whole() -> None:
    links = [(one, other, 1_000) for one, other in combinations(range(80), 2)]
    tree = cluster([f"person:{number:02}" for number in range(80)], links, max_size=30)
    assert [node.size for node in tree.nodes] == [80]
    assert tree.levels == 1


def test_a_hub_with_what_hangs_on_it_alone_stays_whole() -> None:
    tree = cluster([f"person:{number:03}" for number in range(200)], [(0, other, 500) for other in range(1, 200)])
    assert [node.size for node in tree.nodes] == [200]


def test_nothing_and_no_links() -> None:
    assert cluster([], []).levels == 0
    assert cluster([], []).nodes == ()
    tree = cluster(["a:1", "a:2"], [])
    assert tree.paths.tolist() == [[0], [1]]


def test_separate_parts_never_share_a_community() -> None:
    entities, links = planted(3, 50)
    count = len(entities)
    both = [*entities, *(f"z{entity}" for entity in entities)]
    twice = [*links, *((one + count, other + count, weight) for one, other, weight in links)]
    tree = cluster(both, twice)
    assert not set(tree.paths[:count].ravel()) & set(tree.paths[count:].ravel())


def test_the_same_graph_gives_the_same_tree_in_any_process() -> None:
    entities, links = planted(5, 60)
    expected = shape(cluster(entities, links))
    assert shape(cluster(entities, links)) == expected
    script = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "from test_cluster import *\n"
        "sys.stdout.write(shape(cluster(*planted(5, 60))))"
    )
    for seed in ("0", "1", "2"):
        printed = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert printed == expected


def test_modularity_is_the_formula() -> None:
    entities, links = planted(2, 6)
    numbers = np.array([at % 3 for at in range(len(entities))])
    weight = np.zeros((len(entities), len(entities)))
    for one, other, value in links:
        weight[one, other] = weight[other, one] = value
    degree, total = weight.sum(axis=1), weight.sum()
    expected = sum(
        weight[one, other] - degree[one] * degree[other] / total
        for one in range(len(entities))
        for other in range(len(entities))
        if numbers[one] == numbers[other]
    )
    assert modularity(numbers, links) == pytest.approx(expected / total)


def test_modularity_of_one_community_is_nothing() -> None:
    _, links = planted(2, 6)
    assert modularity(np.zeros(15, dtype=np.int64), links) == pytest.approx(0.0)
    assert modularity(np.zeros(15, dtype=np.int64), []) == 0.0


def test_links_of_what_is_in_no_community_do_not_count() -> None:
    links = [(0, 1, 5), (1, 2, 7), (2, 3, 5)]
    assert modularity(np.array([0, 0, -1, -1]), links) == modularity(np.array([0, 0]), [(0, 1, 5)])


def test_components_are_the_connected_parts_by_size() -> None:
    tree = components(list("abcdefg"), [(0, 3, 1), (1, 2, 1), (2, 5, 1)])
    assert tree.paths[:, 0].tolist() == [1, 0, 0, 1, 2, 0, 3]
    assert [(node.number, node.size, node.level, node.parent) for node in tree.nodes] == [
        (0, 3, 0, None),
        (1, 2, 0, None),
        (2, 1, 0, None),
        (3, 1, 0, None),
    ]
    assert components([], []).levels == 0


def test_components_agree_with_a_search() -> None:
    entities, links = planted(6, 9, seed=3)
    links = links[::7]
    tree = components(entities, links)
    near: dict[int, set[int]] = {at: {at} for at in range(len(entities))}
    for _ in entities:
        for one, other, _ in links:
            near[one] = near[other] = near[one] | near[other]
    numbers = tree.paths[:, 0]
    for one, other in pairwise(range(len(entities))):
        assert (numbers[one] == numbers[other]) == bool(near[one] & near[other])
