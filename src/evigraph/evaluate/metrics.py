"""Ranking metrics over document ids, and bootstrap confidence intervals.

`ranked` is a list of distinct ids, best first; `gains` maps each relevant id to its relevance (> 0; 1 where
the set has no grades). Every metric lies in [0, 1] and needs at least one relevant id.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RECALL_CUTS = (1, 2, 5, 10)
ALL_GOLD_CUTS = (5, 8, 10)

BOOTSTRAP_SAMPLES = 2_000
BOOTSTRAP_SEED = 20_260_101


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean over `n` cases with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int


def distinct(ids: Iterable[str]) -> tuple[str, ...]:
    """The ids in order, each at its first place: several passages of a document count once."""
    return tuple(dict.fromkeys(ids))


def recall_at(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Share of the relevant ids among the first `k` (Manning, Raghavan and Schütze 2008, chapter 8)."""
    return sum(1 for item in ranked[:k] if item in gains) / len(gains)


def all_gold_at(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """1 when every relevant id is among the first `k`, else 0: what a multi-hop answer needs. 0 by
    necessity when there are more than `k` relevant ids."""
    return float(recall_at(ranked, gains, k) == 1.0)


def reciprocal_rank(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """1 / rank of the first relevant id within `k`, else 0; its mean is MRR (Voorhees 1999, TREC-8 question
    answering)."""
    return next((1.0 / rank for rank, item in enumerate(ranked[:k], 1) if item in gains), 0.0)


def ndcg_at(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Discounted cumulative gain over that of the best order (Järvelin and Kekäläinen 2002), with linear
    gains and the discount `1 / log2(rank + 1)`, as trec_eval computes it."""
    best = sorted(gains.values(), reverse=True)[:k]
    return _dcg([gains.get(item, 0.0) for item in ranked[:k]]) / _dcg(best)


def _dcg(gains: Iterable[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def score(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> dict[str, float]:
    """Every metric whose cut is at most `k`, the depth that was retrieved; MRR over that depth."""
    scores = {f"recall@{cut}": recall_at(ranked, gains, cut) for cut in RECALL_CUTS if cut <= k}
    scores |= {f"all-gold@{cut}": all_gold_at(ranked, gains, cut) for cut in ALL_GOLD_CUTS if cut <= k}
    scores["MRR"] = reciprocal_rank(ranked, gains, k)
    if k >= 10:
        scores["nDCG@10"] = ndcg_at(ranked, gains, 10)
    return scores


def bootstrap(
    columns: Mapping[str, Sequence[float]],
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> dict[str, Estimate]:
    """Mean of each column with the 95 % percentile interval of its bootstrap distribution (Efron 1979).

    Columns are metrics of the same cases in the same order, and are resampled together. The seed is fixed:
    the same cases give the same interval. Raises ValueError without cases or when the lengths differ.
    """
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"columns of equal length and at least one case are needed, not {sorted(lengths)}")
    data = np.array(list(columns.values()), dtype=np.float64)
    n = data.shape[1]
    generator = np.random.default_rng(seed)
    # One resample at a time: memory stays that of the cases, whatever their number.
    means = np.stack([data[:, generator.integers(0, n, n)].mean(axis=1) for _ in range(samples)])
    lows, highs = np.quantile(means, (0.025, 0.975), axis=0)
    return {
        name: Estimate(mean=float(data[at].mean()), low=float(lows[at]), high=float(highs[at]), n=n)
        for at, name in enumerate(columns)
    }


def paired_difference(left: Sequence[float], right: Sequence[float]) -> Estimate:
    """Mean of `left - right` over the same cases in the same order, resampled in pairs: an interval that
    excludes 0 tells the two systems apart. Raises ValueError when the lengths differ."""
    differences = [a - b for a, b in zip(left, right, strict=True)]
    return bootstrap({"difference": differences})["difference"]


def normalise_answer(text: str) -> str:
    """Lower case without punctuation, articles and extra space (SQuAD's evaluation, Rajpurkar et al.
    2016)."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def answer_recall(text: str, expected: Sequence[str]) -> float:
    """Share of the expected strings that occur in `text`, both normalised, at word boundaries."""
    words = f" {normalise_answer(text)} "
    return sum(1 for answer in expected if f" {normalise_answer(answer)} " in words) / len(expected)
