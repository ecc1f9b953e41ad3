"""Properties of the random walk with restart."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from evigraph.graph import walk as walking

SEED_SHARE = 0.4
walk = partial(walking.walk, damping=0.6, rounds=12, seed_share=SEED_SHARE)

WEIGHTS = st.sampled_from([0.0, 0.0, 0.0, 0.3, 1.0, 5.0])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    """A bipartite graph with restarts somewhere."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    incidence = np.array(draw(st.lists(st.lists(WEIGHTS, min_size=m, max_size=m), min_size=n, max_size=n)))
    prior = np.array(draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    seeds = np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 0.4, 1.0]), min_size=m, max_size=m)))
    gain = np.array(draw(st.lists(st.floats(0.2, 3), min_size=n, max_size=n)))
    if prior.sum() + seeds.sum() == 0:
        prior[0] = 1.0
    return incidence, prior, seeds, gain


@settings(deadline=None)
@given(graphs())
def test_mass_sums_to_one_and_is_never_negative(graph: tuple[Any, Any, Any, Any]) -> None:
    passages, entities = walk(*graph)
    assert passages.shape == (graph[0].shape[0],)
    assert entities.shape == (graph[0].shape[1],)
    assert passages.sum() + entities.sum() == pytest.approx(1.0)
    assert passages.min() >= 0
    assert entities.min() >= 0


@settings(deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(graph: tuple[Any, Any, Any, Any], rng: Any) -> None:
    incidence, prior, seeds, gain = graph
    rows, columns = list(range(len(prior))), list(range(len(seeds)))
    rng.shuffle(rows)
    rng.shuffle(columns)
    passages, entities = walk(incidence, prior, seeds, gain)
    moved_passages, moved_entities = walk(incidence[rows][:, columns], prior[rows], seeds[columns], gain[rows])
    np.testing.assert_allclose(moved_passages, passages[rows], atol=1e-12)
    np.testing.assert_allclose(moved_entities, entities[columns], atol=1e-12)


@settings(deadline=None)
@given(graphs())
def test_sparse_and_dense_matrices_and_scaled_priors_are_the_same(graph: tuple[Any, Any, Any, Any]) -> None:
    incidence, prior, seeds, gain = graph
    for one, other in zip(
        walk(incidence, prior, seeds, gain),
        walk(sparse.csr_matrix(incidence), 7 * prior, 3 * seeds, 2 * gain),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_without_edges_the_walk_stays_where_it_restarts() -> None:
    passages, entities = walk(np.zeros((2, 3)), np.array([1.0, 3.0]), np.array([0.0, 1.0, 1.0]), np.ones(2))
    np.testing.assert_allclose(passages, [(1 - SEED_SHARE) / 4, 3 * (1 - SEED_SHARE) / 4])
    np.testing.assert_allclose(entities, [0, SEED_SHARE / 2, SEED_SHARE / 2])


def test_all_the_restart_lies_where_there_is_any() -> None:
    passages, entities = walk(np.zeros((2, 1)), np.array([1.0, 1.0]), np.zeros(1), np.ones(2))
    np.testing.assert_allclose([*passages, *entities], [0.5, 0.5, 0])
    passages, entities = walk(np.zeros((2, 1)), np.zeros(2), np.ones(1), np.ones(2))
    np.testing.assert_allclose([*passages, *entities], [0, 0, 1])


def test_an_isolated_passage_gets_what_restarts_on_it_alone() -> None:
    incidence = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    passages, entities = walk(incidence, np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0]), np.ones(3))
    assert passages[2] == 0
    assert entities[1] == 0
    assert passages[1] > 0


def test_a_shared_name_carries_mass_and_gain_and_weight_steer_it() -> None:
    incidence = np.array([[1.0], [1.0], [1.0]])
    start = np.array([1.0, 0.0, 0.0])
    even, _ = walk(incidence, start, np.zeros(1), np.ones(3))
    assert even[1] == pytest.approx(even[2])
    favoured, _ = walk(incidence, start, np.zeros(1), np.array([1.0, 1.0, 2.0]))
    assert favoured[2] > favoured[1]
    about, _ = walk(np.array([[1.0], [1.0], [5.0]]), start, np.zeros(1), np.ones(3))
    assert about[2] > about[1]
