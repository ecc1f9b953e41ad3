"""Spellings by which a name may be typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.text.forms import Form, fits, name_forms, same_spelling, same_words, typed_forms
from evigraph.text.names import name_key


def forms(name: str, type: str) -> dict[str, str]:
    return {form.text: form.kind for form in name_forms(name_key(name), type, name)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("International Business Machines", {"ibm": "acronym"}),
        ("Federal Bureau of Investigation", {"fbi": "acronym", "fboi": "acronym"}),
        ("United Nations", {"un": "acronym"}),
        ("Group of 7", {"g7": "acronym", "go7": "acronym"}),
        ("Acme Ltd.", {"acme": "suffix", "al": "acronym"}),
        ("Northwind Trading Co. Ltd", {"northwind trading": "suffix", "nt": "acronym", "ntcl": "acronym"}),
        ("I.B.M.", {"ibm": "acronym"}),
        ("Acme", {}),
    ],
)
def test_forms_of_an_organization(name: str, expected: dict[str, str]) -> None:
    assert forms(name, "ORGANIZATION") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("John Smith", {"j smith": "initials", "smith": "surname"}),
        ("Dr. Joseph Amarra", {"joseph amarra": "title", "j amarra": "initials", "amarra": "surname"}),
        ("Mrs Tull", {"tull": "title"}),
        ("Vice President Ada Obi", {"ada obi": "title", "a obi": "initials", "obi": "surname"}),
        ("Sir", {}),
        ("J. Smith", {"smith": "surname"}),
        (
            "Mary Ann Evans",
            {
                "mary evans": "shortened",
                "m evans": "initials",
                "m a evans": "initials",
                "mary a evans": "initials",
                "ma evans": "initials",
                "evans": "surname",
            },
        ),
    ],
)
def test_forms_of_a_person(name: str, expected: dict[str, str]) -> None:
    assert forms(name, "PERSON") == expected


def test_a_surname_may_have_particles() -> None:
    found = forms("Ludwig van Beethoven", "PERSON")
    assert (found["beethoven"], found["van beethoven"], found["ludwig beethoven"]) == (
        "surname", "surname", "shortened"
    )  # fmt: skip
    assert found["l beethoven"] == "initials"
    assert "martin king" in forms("Martin Luther King Jr.", "PERSON")


def test_forms_fit_the_type() -> None:
    assert "ha" not in forms("Hana Abel", "PERSON")
    assert "machines" not in forms("International Business Machines", "ORGANIZATION")
    assert forms("natural language processing", "CONCEPT") == {"nlp": "acronym"}
    assert forms("poor rods", "CONCEPT") == {}, "a noun phrase of two words has no acronym"
    assert fits("initials", "PERSON")
    assert not fits("acronym", "PERSON")
    assert not fits("surname", "LOCATION")


def test_a_name_typed_in_full_leads_to_the_shorter_one() -> None:
    typed = {form.text: form.kind for form in typed_forms("international business machines")}
    assert typed["ibm"] == "acronym"
    assert Form("john smith", "title") in typed_forms("dr john smith")
    assert Form("acme", "suffix") in typed_forms("acme ltd")
    assert Form("j smith", "initials") in typed_forms("john smith")
    assert "smith" not in {form.text for form in typed_forms("john smith")}


@pytest.mark.parametrize("key", ["", "word", " ".join(["word"] * 11), "日本語", "a b", "1 2 3"])
def test_any_key_has_forms_or_none(key: str) -> None:
    for type in ("PERSON", "ORGANIZATION", "X"):
        assert key not in {form.text for form in name_forms(key, type, key)}


@given(words=st.lists(st.text("abjr1 é", min_size=1, max_size=8), max_size=12), type=st.sampled_from(["PERSON", "X"]))
def test_forms_are_sorted_distinct_and_not_the_name(words: list[str], type: str) -> None:
    key = name_key(" ".join(words))
    found = [form.text for form in name_forms(key, type, key)]
    assert found == sorted(set(found))
    assert key not in found
    assert "" not in found
    assert all(form == form.strip() for form in found)


@pytest.mark.parametrize(
    ("one", "other"),
    [("corrick vane", "corick vane"), ("joseph amarra", "joseph amrara"), ("andersen", "anderson")],
)
def test_a_misspelling_may_be_the_name(one: str, other: str) -> None:
    assert same_spelling(one, other) == same_spelling(other, one) > 0.8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("john smith", "joan smith"),  # in a short word one letter makes another name
        ("well 12", "well 13"),
        ("sector 11111", "sector 11112"),
        ("world war xviii", "world war xviiii"),
        ("north korea", "south korea"),
        ("austria", "australia"),
        ("smith", "smith smith"),
        ("", ""),
    ],
)
def test_guards_keep_names_apart(one: str, other: str) -> None:
    assert same_spelling(one, other) == same_spelling(other, one) == 0.0


def test_the_same_words_in_another_order() -> None:
    assert same_words("ministry of health", "health ministry")
    assert same_words("committee of lowani", "lowani comittee")
    assert not same_words("north korea", "south korea")
    assert not same_words("acme", "acme records")
    assert not same_words("of the", "of")
    assert same_words("well 12", "12 well")
    assert not same_words("well 12", "well 13")
