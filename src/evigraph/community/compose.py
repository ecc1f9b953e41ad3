"""Summaries of communities that are split further: made of the sentences of their parts, by the same greedy rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evigraph.community.cluster import Tree
from evigraph.community.summarise import PARAMETERS, Material, Pairs, Parameters, choose, degrees, unique_pairs


def children(tree: Tree) -> dict[int, tuple[int, ...]]:
    """The parts of each community that is split, by number."""
    parts: dict[int, list[int]] = {}
    for node in tree.nodes:
        if node.parent is not None:
            parts.setdefault(node.parent, []).append(node.number)
    return {number: tuple(sorted(found)) for number, found in sorted(parts.items())}


def compose(
    tree: Tree, leaves: Mapping[int, tuple[int, ...]], found: Material, parameters: Parameters = PARAMETERS
) -> dict[int, tuple[int, ...]]:
    """Sentences of every community, best first: those of `leaves`, and of all above them, from below upwards."""
    chosen = dict(leaves)
    parts = children(tree)
    for level in reversed(range(tree.levels - 1)):
        numbers = tree.paths[:, level]
        degree = degrees(numbers, found)
        for node in tree.nodes:
            if node.last_level == level and node.number in parts:
                below = sorted({sentence for part in parts[node.number] for sentence in chosen[part]})
                pairs = _spoken(below, numbers == node.number, found)
                chosen[node.number] = choose(pairs, degree, found, parameters)
    return chosen


def _spoken(sentences: Sequence[int], member: NDArray[np.bool_], found: Material) -> Pairs:
    """Which members of one community the sentences of its parts speak of."""
    spans = [np.arange(found.first[at], found.first[at + 1]) for at in sentences]
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
    ends = np.concatenate([found.subject[rows], found.object[rows]])
    rows = np.tile(rows, 2)[member[ends]]
    return unique_pairs(np.zeros_like(rows), found.sentence[rows], ends[member[ends]], found.weight[rows])
