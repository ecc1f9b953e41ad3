"""Personalised PageRank on a bounded subgraph of entities.

PageRank (Page, Brin, Motwani and Winograd, 1999) with restarts on given nodes only. That use for retrieval, from the
entities of a question and with half of the mass starting over at each step, is HippoRAG's (Gutiérrez et al., 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DAMPING = 0.5
TOLERANCE = 1e-12
ROUNDS = 100
"""More than half-mass restarts ever need: what is left to move halves each time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranks:
    """Mass of each node, together 1, and the traffic of each link: the mass a step of the walk carries over it, both
    ways. Rounded, so that the order does not hang on the last bits, which differ between processors."""

    nodes: Mapping[str, float]
    links: tuple[float, ...]


def personalised_pagerank(
    links: Sequence[tuple[str, str, float]], seeds: Mapping[str, float], *, damping: float = DAMPING
) -> Ranks:
    """Rank a graph of links `(node, node, weight)`, walked both ways, by nearness to the seeds (node → weight).

    Weights are not negative; several links between two nodes add up. Nodes are those of links and seeds. Without any
    seed of weight above 0 there is nowhere to start, and all is 0.
    """
    names = sorted({*seeds, *(end for one, other, _ in links for end in (one, other))})
    at = {name: position for position, name in enumerate(names)}
    restart = np.array([max(0.0, seeds.get(name, 0.0)) for name in names])
    if not restart.sum():
        return Ranks(nodes=dict.fromkeys(names, 0.0), links=(0.0,) * len(links))
    ones = np.array([at[one] for one, _, _ in links], dtype=np.int64)
    others = np.array([at[other] for _, other, _ in links], dtype=np.int64)
    weights = np.array([weight for _, _, weight in links], dtype=np.float64)
    leaving = np.bincount(ones, weights, len(names)) + np.bincount(others, weights, len(names))
    share = np.divide(1.0, leaving, out=np.zeros(len(names)), where=leaving > 0)
    adjacency = sparse.csr_matrix(
        (np.concatenate([weights, weights]), (np.concatenate([others, ones]), np.concatenate([ones, others]))),
        shape=(len(names), len(names)),
    )
    mass = _stationary(adjacency @ sparse.diags(share), restart / restart.sum(), damping)
    step = mass * share
    traffic = weights * (step[ones] + step[others])
    return Ranks(
        nodes={name: round(float(value), 12) for name, value in zip(names, mass, strict=True)},
        links=tuple(round(float(value), 12) for value in traffic),
    )


def _stationary(transition: sparse.spmatrix, restart: Floats, damping: float) -> Floats:
    """Fixed point of the walk by power iteration; `transition` (n, n) moves mass from columns to rows."""
    mass = restart
    for _ in range(ROUNDS):
        moved = damping * (transition @ mass)
        # What neither damping nor a dead end passed on starts over.
        following = moved + (1.0 - moved.sum()) * restart
        if np.abs(following - mass).sum() < TOLERANCE:
            return np.asarray(following)
        mass = following
    return mass
