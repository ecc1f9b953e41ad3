"""What is no text: characters that no store, encoder or terminal takes."""

from __future__ import annotations

import re

_NOT_TEXT = re.compile("[\\x00-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\ud800-\udfff]")
"""NUL and the other control characters that are not blanks, and surrogates."""


def well_formed(text: str) -> tuple[str, int]:
    """`text` without NUL, control characters and lone surrogates, and how many of them were removed. Two surrogates
    that make a pair become the character that they stand for."""
    if _NOT_TEXT.search(text) is None:
        return text, 0
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _NOT_TEXT.subn("", paired)
