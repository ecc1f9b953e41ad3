"""Citation markers as models write them."""

from __future__ import annotations

import pytest

from evigraph.text.markers import cited_numbers, renumbered


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Pumps came [1].", [1]),
        ("Pumps came [2][1] and went [2].", [2, 1]),
        ("Pumps came [1, 3; 2].", [1, 3, 2]),
        ("Pumps came [1-3].", [1, 2, 3]),
        ("Pumps came [3-1] or [1-900].", [3, 1, 900]),
        ("Pumps came [passage 4] and [Sentences 5, 6].", [4, 5, 6]),
        ("Pumps came【7】.", [7]),
        ("Pumps came [a] (1) [1a].", []),
    ],
)
def test_numbers_of_markers(text: str, numbers: list[int]) -> None:
    assert cited_numbers(text) == numbers


def test_other_numbers_and_none() -> None:
    assert renumbered("One [2]. Two [9][3]. Three [9].", {2: 1, 3: 5}) == "One [1]. Two [5]. Three."
