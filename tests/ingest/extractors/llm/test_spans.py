"""Quotes and names found in a passage as it is written."""

from __future__ import annotations

import pytest

from evigraph.ingest.extractors.llm.spans import PassageText, together

TEXT = (
    "The **Northwind Traders**, of [Tolland](http://t.example), said:\n  “We’ve   sold 40 pumps — all\nof them.”"
    " Straße 5. 東京都は大きい。"
)


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        ("Northwind Traders, of Tolland", "Northwind Traders**, of [Tolland"),
        ("we've sold 40 PUMPS - all of them", "We’ve   sold 40 pumps — all\nof them"),
        ('"We\'ve sold 40 pumps … of them."', "We’ve   sold 40 pumps — all\nof them."),
        ("STRASSE 5", "Straße 5"),
        ("東京都は大きい", "東京都は大きい"),
    ],
)
def test_a_quote_is_found_whatever_its_spacing_case_and_marks(quote: str, said: str) -> None:
    span = PassageText(TEXT).quote(quote)
    if said == "東京都は大きい":
        assert span is None  # one short word: it would prove nothing
    else:
        assert span is not None
        assert TEXT[slice(*span)] == said


@pytest.mark.parametrize(
    "quote", ["", "…", "pumps", "a", "We sold 40 pumps", "of them. sold 40", "them … sold 40 pumps"]
)
def test_what_is_not_said_or_says_nothing_is_not_found(quote: str) -> None:
    assert PassageText(TEXT).quote(quote) is None


def test_names_are_found_as_whole_words_only() -> None:
    text = "Ann met Anna. ANN left; Ann-Marie stayed with “Ann”. 東京都"
    found = PassageText(text).names("Ann")
    assert [text[slice(*span)] for span in found] == ["Ann", "ANN", "Ann", "Ann"]
    assert [text[slice(*span)] for span in PassageText(text).names("東京")] == ["東京"]
    assert PassageText(text).names("!") == []
    assert len(PassageText("A " * 500).names("a")) == 50


def test_letters_that_fold_to_several_keep_their_offsets() -> None:
    text = "İstanbul, ﬁne: ŉ Große Straße"
    assert [text[slice(*span)] for span in PassageText(text).names("grosse strasse")] == ["Große Straße"]


def test_the_sentences_around_the_nearest_pair() -> None:
    sentences = [(0, 10), (11, 20), (21, 30)]
    assert together([(1, 3)], [(5, 7), (22, 25)], sentences) == (0, 10)
    assert together([(12, 14)], [(22, 25)], sentences) == (11, 30)
    assert together([], [(1, 2)], sentences) is None
    assert together([(1, 2)], [(4, 5)], []) == (1, 5)
