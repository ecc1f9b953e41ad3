"""Which nodes of one level are summarised together: bisecting k-means on the unit sphere (Steinbach, Karypis and Kumar,
2000), with bounds on the size of a cluster and nothing left to chance.

The clusters are hard and of bounded size, where RAPTOR fits Gaussian mixtures to reduced vectors: a summary then never
reads more than a model or an embedder takes, every node is read once, and equal vectors always give equal trees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_CHILDREN = 8
"""Eight passages of 256 tokens are as much as one call to a small chat model should read."""
FEWEST_CHILDREN = 2
LEAST_SHARE = 4
"""Each part of a cut takes at least a quarter, so that outliers are not split off one by one."""
ROUNDS = 10
DIGITS = 6
"""Cosines are compared so far: the last bits of a sum hang on the machine."""

Vectors = NDArray[np.float32]


def clusters(vectors: Vectors) -> list[tuple[int, ...]]:
    """Rows by cluster. Rows rise within a cluster and clusters by their first row; each has 2 to 8 rows, and every row
    is in one. `vectors` are unit vectors, `(nodes, dimension)`, in document order. Fewer than two rows give none."""
    if len(vectors) < FEWEST_CHILDREN:
        return []
    found: list[tuple[int, ...]] = []
    waiting: list[NDArray[np.int64]] = [np.arange(len(vectors))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= MOST_CHILDREN:
            found.append(tuple(rows.tolist()))
            continue
        first = _first_half(vectors[rows])
        waiting += [rows[first], rows[~first]]
    return sorted(found)


def _first_half(vectors: Vectors) -> NDArray[np.bool_]:
    """Which rows go to the part that the first row of a cut begins. The two seeds are the row farthest from the middle
    and the one farthest from that; ties go to the earlier row."""
    middle = centroid(vectors)
    one = int(np.argmin(_cosines(vectors, middle)))
    other = int(np.argmin(_cosines(vectors, vectors[one])))
    centres: tuple[Vectors, Vectors] = vectors[one], vectors[other]
    least = max(FEWEST_CHILDREN, len(vectors) // LEAST_SHARE)
    taken = np.zeros(len(vectors), dtype=bool)
    for _ in range(ROUNDS):
        before = taken
        taken = _assigned(_cosines(vectors, centres[0]) - _cosines(vectors, centres[1]), least)
        if (taken == before).all():
            break
        centres = centroid(vectors[taken]), centroid(vectors[~taken])
    return taken


def _assigned(leaning: NDArray[np.float64], least: int) -> NDArray[np.bool_]:
    """Rows that lean to the first centre; where one part would get fewer than `least`, those that lean most to it."""
    count = int((leaning > 0).sum())
    count = min(max(count, least), len(leaning) - least)
    taken = np.zeros(len(leaning), dtype=bool)
    taken[np.argsort(-leaning, kind="stable")[:count]] = True
    return taken


def _cosines(vectors: Vectors, other: Vectors) -> NDArray[np.float64]:
    cosines: NDArray[np.float64] = np.asarray(vectors @ other, dtype=np.float64)
    return cosines.round(DIGITS)


def centroid(vectors: Vectors | Sequence[Vectors]) -> Vectors:
    """The unit vector of the mean; the first row, where the mean is nothing."""
    mean = np.mean(np.asarray(vectors, dtype=np.float64), axis=0)
    norm = float(np.linalg.norm(mean))
    unit: Vectors = (mean / norm if norm > 1e-9 else np.asarray(vectors[0])).astype(np.float32)
    return unit
