from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.text.wellformed import well_formed


@pytest.mark.parametrize(
    ("text", "kept", "removed"),
    [
        ("plain\ttext\r\n\x0b\x0c\x85 é😀\ufffd", "plain\ttext\r\n\x0b\x0c\x85 é😀\ufffd", 0),
        ("\0a\x07\x1b[31mb\x7f\x9b", "a[31mb", 5),
        ("\ud800a\udfff", "a", 2),
        ("\ud83d\ude00", "😀", 0),
        ("\ude00\ud83d", "", 2),
        ("", "", 0),
    ],
)
def test_what_is_no_text_is_removed(text: str, kept: str, removed: int) -> None:
    assert well_formed(text) == (kept, removed)


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_what_is_kept_can_be_encoded_and_stays(text: str) -> None:
    kept, _ = well_formed(text)
    kept.encode()
    assert "\0" not in kept and well_formed(kept) == (kept, 0)
