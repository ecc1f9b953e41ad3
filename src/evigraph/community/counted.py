"""What can be counted of communities in a scope: assertions among members, documents that make them, degrees."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from evigraph.community.cluster import Tree
from evigraph.store.clustering import Claims
from evigraph.store.communities import TreeNode

Ints = NDArray[np.int64]


class Counted:
    """Counts over the assertions of a scope. `tree` must number the same entities."""

    def __init__(self, claims: Claims, tree: Tree) -> None:
        assert len(claims.entities) == len(tree.entities)
        self._claims = claims
        self._tree = tree
        self._document = np.unique(claims.document, return_inverse=True)[1].reshape(-1).astype(np.int64)
        self._level = cache(self._count)

    def relationships(self, node: TreeNode) -> int:
        """Assertions between members."""
        return int(self._level(node.level)[0][node.number])

    def documents(self, node: TreeNode) -> int:
        """Documents that make one of them."""
        return int(self._level(node.level)[1][node.number])

    def best(self, node: TreeNode, limit: int) -> tuple[str, ...]:
        """Ids of the best connected members: weight of their assertions with other members, then id."""
        members = np.flatnonzero(self._tree.paths[:, node.level] == node.number)
        degree = self._level(node.level)[2][members]
        first = members[np.argsort(-degree, kind="stable")[:limit]]
        return tuple(self._tree.entities[at] for at in first)

    def _count(self, level: int) -> tuple[Ints, Ints, Ints]:
        """Assertions and documents by community number, and the degree of each entity in its community."""
        numbers, claims = self._tree.paths[:, level], self._claims
        one, other = numbers[claims.subject].astype(np.int64), numbers[claims.object].astype(np.int64)
        inside = (one == other) & (one >= 0)
        most = int(numbers.max(initial=-1)) + 1
        made = np.bincount(one[inside], minlength=most)
        count = int(self._document.max(initial=-1)) + 1
        pairs = np.unique(one[inside] * count + self._document[inside]) // max(count, 1)
        degree = np.zeros(len(numbers), dtype=np.int64)
        linking = inside & (claims.subject != claims.object)
        np.add.at(degree, claims.subject[linking], claims.weight[linking])
        np.add.at(degree, claims.object[linking], claims.weight[linking])
        return made, np.bincount(pairs, minlength=most), degree
