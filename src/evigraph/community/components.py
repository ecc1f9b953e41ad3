"""What stands in for a tree that nobody has built: the connected parts of a scope, on one level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evigraph.community.cluster import Links, Tree, as_array
from evigraph.store.communities import TreeNode


def components(entities: Sequence[str], links: Links) -> Tree:
    """A tree of one level, whose communities are the connected parts; numbered by falling size, then by smallest
    entity id."""
    if not entities:
        return Tree(entities=(), paths=np.zeros((0, 0), dtype=np.int32), nodes=())
    labels = np.asarray(_smallest(len(entities), as_array(links)[:, :2].tolist()), dtype=np.int64)
    first, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    nodes = tuple(
        TreeNode(number=number, level=0, last_level=0, parent=None, size=int(sizes[at]))
        for number, at in enumerate(order)
    )
    return Tree(entities=tuple(entities), paths=place[group.reshape(-1)][:, None], nodes=nodes)


def _smallest(count: int, pairs: Sequence[Sequence[int]]) -> list[int]:
    """For each entity the smallest one that it is connected with (union-find: Galler and Fisher, 1964)."""
    parent = list(range(count))

    def root(entity: int) -> int:
        while parent[entity] != entity:
            parent[entity] = parent[parent[entity]]
            entity = parent[entity]
        return entity

    for one, other in pairs:
        first, second = root(one), root(other)
        if first != second:
            parent[max(first, second)] = min(first, second)
    return [root(entity) for entity in range(count)]
