"""Text in portions: each fits, together they are all of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evigraph.text.portions import portions
from evigraph.text.sentences import sentence_spans

TEXT = "The pump broke in May. Nobody came. A mechanic from Tarn repaired it in June, with a new rubber seal."


def few_words(most: int) -> Callable[[str], bool]:
    return lambda text: len(text.split()) <= most


@pytest.mark.parametrize("most", [1, 2, 5, 8, 12, 100])
def test_each_portion_fits_and_none_of_the_text_is_lost(most: int) -> None:
    found = portions(TEXT, sentence_spans(TEXT, "en"), few_words(most))
    assert all(len(piece.split()) <= most for piece in found)
    assert " ".join(" ".join(found).split()) == TEXT


def test_as_many_sentences_as_fit_share_a_portion() -> None:
    found = portions(TEXT, sentence_spans(TEXT, "en"), few_words(14))
    assert [piece.strip() for piece in found] == [
        "The pump broke in May. Nobody came.",
        "A mechanic from Tarn repaired it in June, with a new rubber seal.",
    ]


def test_what_cannot_be_divided_further_ends_it() -> None:
    assert portions("ab", [(0, 2)], lambda text: False) == ["a", "b"]
    assert portions("", [], lambda text: True) == []
    assert "".join(portions("x" * 50, [], lambda text: len(text) <= 7)) == "x" * 50
