from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import InvalidValue
from evigraph.text.names import (
    capitalised_runs,
    entity_id,
    name_key,
    question_ngrams,
    split_entity_id,
    title_aliases,
)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("The Beatles", "beatles"),
        ("Beyoncé's", "beyonce"),
        ("O’Brien’s", "o brien"),
        ("AT&T", "at and t"),
        ("Škoda  Auto", "skoda auto"),
        ("Straße", "strasse"),
        ("J.R.R. Tolkien", "j r r tolkien"),
        ("foo_bar", "foo bar"),
        ("The", "the"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("東京タワー", "東京タワー"),
        ("がぎ", "がぎ"),
        ("한국어", "한국어"),
        ("Ёлка", "елка"),
        ("", ""),
        ("—?!", ""),
    ],
)
def test_name_key(name: str, key: str) -> None:
    assert name_key(name) == key


def test_voiced_kana_stay_distinct() -> None:
    assert name_key("かき") != name_key("がぎ")


@given(st.text(max_size=40))
def test_name_key_is_a_fixed_point_and_ignores_case_of_ascii(name: str) -> None:
    key = name_key(name)
    assert key == " ".join(key.split())
    assert "_" not in key
    if name.isascii():
        assert name_key(name.upper()) == key


def test_entity_id_round_trip_and_homographs() -> None:
    assert entity_id("mercury", "LOCATION") != entity_id("mercury", "PRODUCT")
    assert split_entity_id(entity_id("northwind traders", "ORGANIZATION")) == (
        "northwind traders",
        "ORGANIZATION",
    )
    assert split_entity_id("schema:part:x 200") == ("x 200", "SCHEMA:PART")


@pytest.mark.parametrize("text", ["", "northwind", ":key", "person:"])
def test_split_entity_id_refuses(text: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        split_entity_id(text)
    assert caught.value.hint


def test_title_aliases_follow_the_recipe() -> None:
    text = (
        "# Marilyn Monroe (actress)\n\n**Marilyn Jean Monroe** (born Norma Jeane Mortenson; June 1, 1926) was"
        ' an actress, nicknamed "The Blonde" and also known as Candle in the Wind.'
    )
    assert dict(title_aliases("Marilyn Monroe (actress)", text)) == {
        "Marilyn Monroe (actress)": 1.0,
        "Marilyn Monroe": 0.9,
        "Marilyn Jean Monroe": 0.8,
        "Norma Jeane Mortenson": 0.5,
        "Blonde": 0.5,
        "Candle in the Wind": 0.5,
    }


def test_title_aliases_comma_and_calendar() -> None:
    aliases = dict(title_aliases("Springfield, Illinois", "It is known as the City of Lights. Born May 5, 1900."))
    assert aliases == {"Springfield, Illinois": 1.0, "Springfield": 0.5, "City of Lights": 0.5}


def test_lead_name_must_share_a_word_with_the_title() -> None:
    assert title_aliases("Annual report", "Northwind Traders is a company.") == [("Annual report", 1.0)]
    assert title_aliases("", "") == []


def test_title_aliases_merge_equal_keys_heaviest_first() -> None:
    aliases = title_aliases("The Hobbit (novel)", "The Hobbit, or There and Back Again, is a novel.")
    assert aliases == [("The Hobbit (novel)", 1.0), ("The Hobbit", 0.9)]


def test_question_ngrams_spans_order_and_capitals() -> None:
    question = "Where was Paris's mayor born? NASA knows"
    ngrams = question_ngrams(question)
    assert [n.size for n in ngrams] == sorted((n.size for n in ngrams), reverse=True)
    assert all(question[n.start : n.end] == n.text and name_key(n.text) == n.key for n in ngrams)
    single = {n.text: n.capital for n in ngrams if n.size == 1}
    assert single == {
        "Where": False,
        "was": False,
        "Paris": True,
        "mayor": False,
        "born": False,
        "NASA": True,
        "knows": False,
    }


def test_question_ngrams_are_bounded() -> None:
    ngrams = question_ngrams("a " * 300, max_tokens=12)
    assert max(n.size for n in ngrams) == 12
    assert question_ngrams("?!") == []


@given(st.text(max_size=60))
def test_question_ngrams_take_any_text(question: str) -> None:
    for ngram in question_ngrams(question, max_tokens=4):
        assert question[ngram.start : ngram.end] == ngram.text
        assert ngram.key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Bureau of Works paid", ["bureau", "bureau of works", "works"]),
        ("He met J. R. Smith.", ["j r smith", "r smith", "smith"]),
        ("sold to Corrick & Vane", ["corrick", "corrick and vane", "vane"]),
        ("as The Ferry's Crew said", ["crew", "ferry", "ferry crew"]),
        ("left Tarn. Later", ["later", "tarn"]),
        ("Tarn\nLowani (Mbeya)", ["lowani", "mbeya", "tarn"]),
        ("on Monday (Ulm)", []),
        ("at the 1996 Summer Games", ["1996 summer", "1996 summer games", "games", "summer", "summer games"]),
        ("the Tirra 50, since 1996", ["tirra", "tirra 50"]),
        ("Sefu went to Mbeya", ["mbeya", "sefu"]),
        ("nothing here", []),
    ],
)
def test_capitalised_runs_are_what_may_be_names(text: str, expected: list[str]) -> None:
    """`Ulm` is too short to be told from an abbreviation."""
    assert [run for run in capitalised_runs(text) if not run.startswith(("he ", "as "))] == expected


def test_a_capitalised_run_is_keyed_as_the_name_is() -> None:
    for name in ("Corrick & Vane", "Hana Sefu's Office", "The Éclair Society", "J. R. Smith", "Port-Salut"):
        assert name_key(name) in capitalised_runs(f"it was {name} that did")


def test_capitalised_runs_are_bounded() -> None:
    runs = capitalised_runs(" ".join(f"Name{number}" for number in range(30)))
    assert max(len(run.split()) for run in runs) == 8
    assert len(runs) == 30 * 8 - sum(range(8))


@given(st.text(max_size=80))
def test_capitalised_runs_take_any_text(text: str) -> None:
    runs = capitalised_runs(text)
    assert runs == sorted(set(runs))
    assert all(run == name_key(run) for run in runs if not run.startswith(("a ", "an ", "the ")))
