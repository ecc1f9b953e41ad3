from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.evaluate import metrics

RANKED = ("d3", "a", "d1", "b", "d2", "c")
GAINS = {"d1": 1.0, "d2": 1.0, "d9": 1.0}


def test_recall_by_hand() -> None:
    found = [metrics.recall_at(RANKED, GAINS, k) for k in (1, 2, 3, 5, 10)]
    assert found == [0.0, 0.0, 1 / 3, 2 / 3, 2 / 3]


def test_all_gold_by_hand() -> None:
    assert [metrics.all_gold_at(RANKED, {"d3": 1.0, "d2": 1.0}, k) for k in (1, 4, 5, 10)] == [
        0.0,
        0.0,
        1.0,
        1.0,
    ]
    assert metrics.all_gold_at(RANKED, GAINS, 10) == 0.0


def test_reciprocal_rank_by_hand() -> None:
    assert metrics.reciprocal_rank(RANKED, GAINS, 10) == 1 / 3
    assert metrics.reciprocal_rank(RANKED, GAINS, 2) == 0.0
    assert metrics.reciprocal_rank(RANKED, {"d3": 1.0}, 10) == 1.0


def test_ndcg_by_hand() -> None:
    gained = 1 / math.log2(4) + 1 / math.log2(6)  # ranks 3 and 5
    best = 1 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg_at(RANKED, GAINS, 10) == pytest.approx(gained / best)
    assert metrics.ndcg_at(RANKED, GAINS, 10) == pytest.approx(0.4161, abs=1e-4)
    assert metrics.ndcg_at(("d1", "d2"), {"d1": 1.0, "d2": 1.0}, 10) == 1.0


def test_ndcg_uses_grades_linearly() -> None:
    # the grade-1 document before the grade-3 one: (1 + 3 / log2 3) / (3 + 1 / log2 3)
    assert metrics.ndcg_at(("low", "high"), {"high": 3.0, "low": 1.0}, 10) == pytest.approx(0.7967, abs=1e-4)


def test_ndcg_of_more_gold_than_places_can_be_1() -> None:
    gains = {f"d{n}": 1.0 for n in range(20)}
    assert metrics.ndcg_at(tuple(gains)[:10], gains, 10) == pytest.approx(1.0)


def test_passages_of_one_document_count_once() -> None:
    assert metrics.distinct(["b", "a", "b", "c", "a"]) == ("b", "a", "c")


def test_only_metrics_within_the_depth_are_reported() -> None:
    assert set(metrics.score(RANKED, GAINS, 5)) == {"recall@1", "recall@2", "recall@5", "all-gold@5", "MRR"}
    assert {"recall@10", "all-gold@10", "nDCG@10"} <= set(metrics.score(RANKED, GAINS, 10))


@given(
    ranked=st.lists(st.integers(0, 30).map(str), unique=True, max_size=12),
    gold=st.sets(st.integers(0, 30).map(str), min_size=1, max_size=6),
)
def test_metrics_stay_in_range_and_agree(ranked: list[str], gold: set[str]) -> None:
    gains = dict.fromkeys(sorted(gold), 1.0)
    scores = metrics.score(ranked, gains, 10)
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in scores.values())
    assert scores["recall@1"] <= scores["recall@2"] <= scores["recall@5"] <= scores["recall@10"]
    assert (scores["all-gold@10"] == 1.0) == (gold <= set(ranked[:10]))
    assert (scores["MRR"] > 0) == (scores["nDCG@10"] > 0) == (scores["recall@10"] > 0)
    perfect = metrics.score(tuple(gains), gains, 10)
    assert perfect["nDCG@10"] == perfect["MRR"] == perfect["recall@10"] == 1.0


def test_the_bootstrap_is_reproducible_and_of_the_right_width() -> None:
    values = [0.0] * 50 + [1.0] * 50
    first = metrics.bootstrap({"m": values})["m"]
    assert first == metrics.bootstrap({"m": values, "other": values})["m"]
    # the normal approximation gives 0.5 ± 1.96 · 0.5 / √100
    assert (first.mean, first.n) == (0.5, 100)
    assert first.low == pytest.approx(0.402, abs=0.015)
    assert first.high == pytest.approx(0.598, abs=0.015)


def test_equal_values_have_no_width() -> None:
    assert metrics.bootstrap({"m": [0.25] * 7})["m"] == metrics.Estimate(mean=0.25, low=0.25, high=0.25, n=7)


@pytest.mark.parametrize("columns", [{}, {"m": []}, {"m": [1.0], "n": [1.0, 2.0]}])
def test_the_bootstrap_refuses_what_it_cannot_average(columns: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one case"):
        metrics.bootstrap(columns)


def test_a_paired_difference_sees_a_small_steady_gain() -> None:
    base = [n / 100 for n in range(100)]
    gain = metrics.paired_difference([value + 0.01 for value in base], base)
    assert gain.low > 0
    assert gain.mean == pytest.approx(0.01)
    with pytest.raises(ValueError, match="zip"):
        metrics.paired_difference([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("text", "expected", "share"),
    [
        ("It was G. Stanley Hall, in 1892. [1]", ["g stanley hall"], 1.0),
        ("The Lothian line", ["Lot"], 0.0),
        ("Anna and Bo", ["Anna", "Bo", "Cy", "Di"], 0.5),
        ("An Apple", ["the apple"], 1.0),
        ("", ["x"], 0.0),
    ],
)
def test_answer_recall(text: str, expected: list[str], share: float) -> None:
    assert metrics.answer_recall(text, expected) == share
