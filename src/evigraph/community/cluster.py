"""Hierarchical clustering of entities: Leiden (Traag, Waltman and van Eck, 2019), cut again where a cluster is large,
as graph summaries use it (Edge et al., 2024).

The result is a function of the entities and links alone: edges go in sorted and the seed is fixed, so that runs agree
to the last number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evigraph.store.communities import TreeNode

Numbers = NDArray[np.int32]
Links = Sequence[tuple[int, int, int]] | NDArray[np.int64]
"""Undirected, as `(i, j, weight)` with `i < j`, sorted; both ends are indices into the entities."""

SEED = 20_241
RESOLUTION = 1.0
ITERATIONS = 3
RANDOMNESS = 0.001
MAX_SIZE = 30
"""A cluster above this is cut again, as long as that raises its modularity. What cannot be cut so (a clique, or a hub
with entities that hang on it alone) stays whole, whatever its size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """Communities of `entities` (sorted ids). `paths[i, level]` is the number of the community of entity `i`; `nodes`
    are by number. No entities, no levels."""

    entities: tuple[str, ...]
    paths: Numbers
    nodes: tuple[TreeNode, ...]

    @property
    def levels(self) -> int:
        return int(self.paths.shape[1])


def cluster(entities: Sequence[str], links: Links, *, seed: int = SEED, max_size: int = MAX_SIZE) -> Tree:
    """Every entity has a community at every level; one linked to nothing is a community of its own.

    Level 0 is the broadest. A community that is not cut further is carried down. Numbers run level by level, within
    one by falling size, then by smallest entity id.
    """
    labels = _leiden(len(entities), as_array(links), seed, max_size)
    numbered: list[Numbers] = []
    nodes: list[TreeNode] = []
    for found in labels:
        above = numbered[-1] if numbered else np.zeros(len(entities), dtype=np.int32)
        numbers = _numbered(len(numbered), above, found, nodes)
        if not numbered or not np.array_equal(numbers, above):
            numbered.append(numbers)
    paths = np.stack(numbered, axis=1) if numbered else np.zeros((0, 0), dtype=np.int32)
    return Tree(entities=tuple(entities), paths=paths, nodes=_with_last_levels(nodes, paths))


def as_array(links: Links) -> NDArray[np.int64]:
    """Links as an `(n, 3)` array."""
    return np.asarray(links, dtype=np.int64).reshape(-1, 3)


def _leiden(count: int, links: NDArray[np.int64], seed: int, max_size: int) -> list[NDArray[np.int64]]:
    """A label for each entity, level by level; equal labels mean one cluster."""
    if not count:
        return []
    # Labels of what is linked to nothing lie above any that the library gives.
    base = np.arange(count, dtype=np.int64) + (1 << 32)
    if not len(links):
        return [base]
    from graspologic_native import hierarchical_leiden

    names = [str(entity) for entity in range(count)]
    edges = [(names[one], names[other], float(weight)) for one, other, weight in links.tolist()]
    rows = hierarchical_leiden(
        edges,
        resolution=RESOLUTION,
        randomness=RANDOMNESS,
        iterations=ITERATIONS,
        use_modularity=True,
        max_cluster_size=max_size,
        seed=seed,
    )
    found = np.array([(row.level, int(row.node), row.cluster) for row in rows], dtype=np.int64)
    levels = []
    for level in range(int(found[:, 0].max()) + 1):
        at = found[found[:, 0] == level]
        base = base.copy()
        base[at[:, 1]] = at[:, 2]
        levels.append(base)
    return levels


def _numbered(level: int, above: Numbers, labels: NDArray[np.int64], nodes: list[TreeNode]) -> Numbers:
    """Community numbers at one level; new ones are added to `nodes`. A cluster that comes whole keeps its number."""
    within = (above.astype(np.int64) << 34) + labels
    _, first, group, sizes = np.unique(within, return_index=True, return_inverse=True, return_counts=True)
    parents = above[first]
    whole = np.zeros(len(first), dtype=bool) if not level else np.bincount(parents)[parents] == 1
    fresh = np.flatnonzero(~whole)
    fresh = fresh[np.lexsort((first[fresh], -sizes[fresh]))]  # the first index is the smallest entity id
    numbers = parents.astype(np.int32)
    numbers[fresh] = np.arange(len(nodes), len(nodes) + len(fresh), dtype=np.int32)
    nodes.extend(
        TreeNode(
            number=int(numbers[at]),
            level=level,
            last_level=level,
            parent=int(parents[at]) if level else None,
            size=int(sizes[at]),
        )
        for at in fresh
    )
    result: Numbers = numbers[group.reshape(-1)]
    return result


def _with_last_levels(nodes: Sequence[TreeNode], paths: Numbers) -> tuple[TreeNode, ...]:
    """The nodes with the last level on which each appears."""
    last = np.zeros(len(nodes), dtype=np.int64)
    for level in range(paths.shape[1]):
        last[paths[:, level]] = level
    return tuple(
        TreeNode(
            number=node.number,
            level=node.level,
            last_level=int(last[node.number]),
            parent=node.parent,
            size=node.size,
        )
        for node in nodes
    )


def modularity(numbers: NDArray[np.integer[Any]], links: Links) -> float:
    """Weighted modularity of one level (Newman, 2006): the share of link weight inside communities, less what chance
    would put there with the same weighted degrees. 0 without links; at most 1. `numbers` is by entity; links of one in
    no community (-1) do not count."""
    edges = as_array(links)
    edges = edges[(numbers[edges[:, 0]] >= 0) & (numbers[edges[:, 1]] >= 0)]
    total = int(edges[:, 2].sum())
    if not total:
        return 0.0
    one, other, weight = numbers[edges[:, 0]], numbers[edges[:, 1]], edges[:, 2]
    count = int(numbers.max()) + 1
    inside = int(weight[one == other].sum())
    degrees = np.zeros(count, dtype=np.int64)
    np.add.at(degrees, one, weight)
    np.add.at(degrees, other, weight)
    expected = float(np.square(degrees / (2 * total)).sum())
    return inside / total - expected
