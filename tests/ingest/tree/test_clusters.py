"""Clusters of bounded size, the same in every run."""

from __future__ import annotations

import numpy as np
import pytest

from evigraph.ingest.tree.cluster import FEWEST_CHILDREN, MOST_CHILDREN, centroid, clusters


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def scattered(count: int, *, dimension: int = 16, seed: int = 1) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


@pytest.mark.parametrize("count", [2, 3, 8, 9, 10, 17, 64, 100, 333])
def test_every_row_is_in_one_cluster_of_bounded_size(count: int) -> None:
    found = clusters(scattered(count))
    assert sorted(row for rows in found for row in rows) == list(range(count))
    assert all(FEWEST_CHILDREN <= len(rows) <= MOST_CHILDREN for rows in found)
    assert all(list(rows) == sorted(rows) for rows in found) and found == sorted(found)
    assert len(found) <= count // 2


@pytest.mark.parametrize("count", [0, 1])
def test_what_cannot_be_clustered_gives_none(count: int) -> None:
    assert clusters(scattered(count) if count else np.zeros((0, 16), dtype=np.float32)) == []


def test_near_rows_come_together_wherever_they_stand() -> None:
    topics = scattered(4, seed=3)
    rows = unit(np.vstack([topics[n % 4] + 0.02 * scattered(1, seed=n)[0] for n in range(24)]))
    found = clusters(rows)
    assert all(len({row % 4 for row in group}) == 1 for group in found)


def test_equal_rows_are_told_apart_by_their_place() -> None:
    same = np.tile(scattered(1), (21, 1))
    found = clusters(same)
    assert [row for rows in found for row in rows] == list(range(21))
    assert clusters(same) == found


def test_the_same_rows_give_the_same_clusters() -> None:
    rows = scattered(200)
    assert clusters(rows) == clusters(rows.copy())


def test_opposite_rows_have_a_centre() -> None:
    assert centroid(np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)).tolist() == [1.0, 0.0]
