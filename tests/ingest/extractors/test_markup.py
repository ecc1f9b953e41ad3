from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.ingest.extractors.demonyms import DEMONYMS
from evigraph.ingest.extractors.markup import as_prose, block_starts


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("# Head", "  Head"),
        ("- item", "  item"),
        ("**bold** _it_ `code`", "  bold    it   code "),
        ("snake_case stays", "snake_case stays"),
        ("| a | b |", "; a ; b ;"),
        ("|---|:-:|", "         "),
        ("[text](http://x) end", " text            end"),
        (r"5 \* 3", "5    3"),
        ("12. twelve", "    twelve"),
        ("a <!-- b --> c", "a            c"),
    ],
)
def test_markup_becomes_blanks(text: str, prose: str) -> None:
    assert as_prose(text) == prose


@given(st.text(alphabet="ab #*_|`[]()\\!<->\n.1", max_size=80))
def test_length_and_letters_are_kept(text: str) -> None:
    prose = as_prose(text)
    assert len(prose) == len(text)
    assert all(new in (old, " ", ";") for old, new in zip(text, prose, strict=True))


def test_blocks_begin_at_headings_items_rows_and_paragraphs() -> None:
    text = "# Head\nbody\n\npara\n- item\n| row |"
    assert block_starts(text) == {
        0,
        text.index("body"),
        text.index("para"),
        text.index("- item"),
        text.index("| row"),
    }


def test_demonyms_table() -> None:
    assert DEMONYMS["south korean"] == "South Korea"
    assert DEMONYMS["french"] == "France"
    assert DEMONYMS["bosnian"] == "Bosnia and Herzegovina"
    assert len(DEMONYMS) >= 180
    assert all(name == name.lower() and ";" not in country for name, country in DEMONYMS.items())
