from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.text.analysis import MAX_TERM, analyse, analyser_name


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("The running costs of the harbours", "en", ["run", "cost", "harbour"]),
        ("SKU-8847", "en", ["sku-8847", "sku", "8847"]),
        ("$1,234,567", "en", ["1234567", "1", "234", "567"]),
        ("Python 3.11", "en", ["python", "3.11", "3", "11"]),
        ("foo_bar", "en", ["foo_bar", "foo", "bar"]),
        ("state-of-the-art", "en", ["state", "art"]),
        ("The company's don't", "en", ["compani"]),
        ("Die Häuser", "de", ["die", "haus"]),
        ("хорошие книги", "ru", ["хорош", "книг"]),
        ("東京タワー", "ja", ["東京", "京タ", "タワ", "ワー"]),
        ("木", "zh", ["木"]),
        ("한국어", "ko", ["한국", "국어"]),
        ("iPhone用", "ja", ["iphone", "用"]),
        ("ＡＢＣ", "en", ["abc"]),
        ("", "en", []),
        ("words in klingon", "xx", ["words", "in", "klingon"]),
    ],
)
def test_terms(text: str, language: str, terms: list[str]) -> None:
    assert analyse(text, language) == terms


def test_accents_do_not_hide_a_word() -> None:
    assert analyse("café", "en") == analyse("cafe", "en")
    assert analyse("Beyoncé", "fr") == analyse("beyonce", "fr")


def test_bigrams_whatever_the_detected_language() -> None:
    assert analyse("東京", "en") == analyse("東京", "ja")


def test_encoded_data_is_cut() -> None:
    (term,) = analyse("a" * 100_000, "en")
    assert len(term) == MAX_TERM


def test_analyser_name_tells_analysers_apart() -> None:
    names = {analyser_name(language) for language in ("en", "de", "ja")}
    assert len(names) == 3
    assert analyser_name("zh") == analyser_name("ja")


def test_threads_get_the_same_terms() -> None:
    texts = [f"harbour masters {i} counted running ships{i}" for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: analyse(text, "en"), texts)) == [analyse(text, "en") for text in texts]


@given(st.text(max_size=80), st.sampled_from(["en", "de", "zh", "xx"]))
def test_any_text_gives_clean_terms(text: str, language: str) -> None:
    terms = analyse(text, language)
    assert all(term and not any(character.isspace() for character in term) for term in terms)
    assert terms == analyse(text, language)
