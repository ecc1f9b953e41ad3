"""Combining rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.query.fusion import best_first, min_max, round_robin, rrf, z_scores

RANKINGS = st.lists(st.lists(st.integers(0, 9), unique=True, max_size=8), max_size=4)
VALUES = st.lists(st.floats(-1e3, 1e3), max_size=8)


def test_rrf_by_hand() -> None:
    fused = rrf([(0.7, ["a", "b"]), (0.3, ["b", "c"])])
    assert fused == {
        "a": pytest.approx(0.7 / 61),
        "b": pytest.approx(0.7 / 62 + 0.3 / 61),
        "c": pytest.approx(0.3 / 62),
    }


def test_a_weight_of_zero_adds_nothing() -> None:
    assert rrf([(0.0, ["a"]), (1.0, ["b"])]) == {"b": pytest.approx(1 / 61)}
    assert rrf([]) == {}


@settings(deadline=None)
@given(RANKINGS)
def test_rrf_of_equal_weights_ignores_the_order_of_rankings(rankings: list[list[int]]) -> None:
    one = rrf([(1.0, ranking) for ranking in rankings])
    other = rrf([(1.0, ranking) for ranking in reversed(rankings)])
    assert one.keys() == other.keys() == {key for ranking in rankings for key in ranking}
    assert all(one[key] == pytest.approx(other[key]) for key in one)


def test_round_robin_by_hand() -> None:
    assert round_robin([["a", "b", "c"], ["b", "d"], [], ["e"]]) == ["a", "b", "e", "d", "c"]
    assert round_robin([]) == []


@settings(deadline=None)
@given(RANKINGS)
def test_round_robin_has_everything_once_and_nothing_late(rankings: list[list[int]]) -> None:
    merged = round_robin(rankings)
    assert sorted(merged) == sorted({key for ranking in rankings for key in ranking})
    for ranking in rankings:
        for position, key in enumerate(ranking):
            assert merged.index(key) < (position + 1) * len(rankings)


@settings(deadline=None)
@given(VALUES)
def test_z_scores_have_mean_zero_and_deviation_one(values: list[float]) -> None:
    scores = z_scores(np.array(values, dtype=np.float64))
    assert scores.shape == (len(values),)
    if len(values):
        assert scores.mean() == pytest.approx(0, abs=1e-6)
        assert scores.std() == pytest.approx(0, abs=1e-6) or scores.std() == pytest.approx(1)


@settings(deadline=None)
@given(VALUES)
def test_min_max_lies_between_zero_and_one_and_keeps_the_order(values: list[float]) -> None:
    scaled = min_max(np.array(values, dtype=np.float64))
    assert all(0 <= value <= 1 for value in scaled)
    pairs = sorted(zip(values, scaled.tolist(), strict=True))
    assert [score for _, score in pairs] == sorted(score for _, score in pairs)


def test_equal_values_neither_divide_by_zero_nor_rank() -> None:
    np.testing.assert_array_equal(z_scores(np.array([2.0, 2.0])), [0, 0])
    np.testing.assert_array_equal(min_max(np.array([2.0, 2.0])), [1, 1])
    np.testing.assert_array_equal(z_scores(np.array([])), [])
    np.testing.assert_array_equal(min_max(np.array([])), [])


def test_best_first_breaks_ties_by_key() -> None:
    assert best_first({"b": 1.0, "a": 1.0, "c": 2.0}) == ["c", "a", "b"]
