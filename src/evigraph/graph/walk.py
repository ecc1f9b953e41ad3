"""Random walk with restart on a bipartite passage-entity graph.

A personalised PageRank in the manner of HippoRAG (Gutiérrez et al., 2024), but between passages and the names they
mention: a passage is reached through what it shares with a passage or name that the question points at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]


def walk(
    incidence: Any,
    passage_prior: Floats,
    seeds: Floats,
    gain: Floats,
    *,
    damping: float,
    rounds: int,
    seed_share: float,
) -> tuple[Floats, Floats]:
    """Mass of passages (n,) and entities (m,) after so many rounds; together 1.

    `incidence` is a sparse (n, m) matrix of mention weights; `passage_prior` (n,) and `seeds` (m,) say where the walk
    restarts (either may be all zeros), with `seed_share` of the restart mass on entities; `gain` (n,) favours passages
    when an entity passes its mass on. In each round the share `damping` of all mass moves on.
    """
    matrix = sparse.csr_matrix(incidence, dtype=np.float64)
    to_entities = _row_normalised(matrix)
    to_passages = _row_normalised(matrix.multiply(gain[:, None]).T.tocsr())
    restart_passages, restart_entities = _restart(passage_prior, seeds, seed_share)
    passages, entities = restart_passages.copy(), restart_entities.copy()
    for _ in range(rounds):
        moved_passages = damping * (to_passages.T @ entities)
        moved_entities = damping * (to_entities.T @ passages)
        # What neither damping nor a dead end passed on starts over.
        left = 1.0 - moved_passages.sum() - moved_entities.sum()
        passages = moved_passages + left * restart_passages
        entities = moved_entities + left * restart_entities
    return passages, entities


def _restart(passage_prior: Floats, seeds: Floats, seed_share: float) -> tuple[Floats, Floats]:
    on_passages, on_seeds = passage_prior.sum() > 0, seeds.sum() > 0
    share = seed_share if on_passages and on_seeds else float(on_seeds)
    passages = passage_prior / passage_prior.sum() * (1 - share) if on_passages else np.zeros_like(passage_prior)
    entities = seeds / seeds.sum() * share if on_seeds else np.zeros_like(seeds)
    return passages, entities


def _row_normalised(matrix: Any) -> Any:
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sparse.diags(scale) @ matrix
