"""Combining rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RRF_K = 60
"""Reciprocal rank fusion constant (Cormack, Clarke and Büttcher, 2009)."""

Key = TypeVar("Key", bound=object)


def rrf(rankings: Iterable[tuple[float, Sequence[Key]]]) -> dict[Key, float]:
    """Weighted reciprocal rank fusion: sum of `weight / (60 + rank)`, ranks from 1. A weight of 0 adds nothing."""
    fused: dict[Key, float] = {}
    for weight, ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            if weight > 0:
                fused[key] = fused.get(key, 0.0) + weight / (RRF_K + rank)
    return fused


def round_robin(rankings: Sequence[Sequence[Key]]) -> list[Key]:
    """First of each, second of each, …, without repeats."""
    merged: dict[Key, None] = {}
    for position in range(max((len(ranking) for ranking in rankings), default=0)):
        for ranking in rankings:
            if position < len(ranking):
                merged.setdefault(ranking[position])
    return list(merged)


def z_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values less their mean, over their standard deviation; zeros where all are equal."""
    deviation = values.std() if values.size else 0.0
    if deviation < 1e-12:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / deviation)


def min_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values scaled to 0-1; ones where all are equal."""
    span = np.ptp(values) if values.size else 0.0
    if span < 1e-12:
        return np.ones_like(values)
    return np.asarray((values - values.min()) / span)


def best_first(scores: Mapping[Key, float]) -> list[Key]:
    """Keys by falling score, then by key."""
    return sorted(scores, key=lambda key: (-scores[key], key))  # type: ignore[operator,unused-ignore]
