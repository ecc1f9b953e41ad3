"""Does a text hold what a sentence says?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.text.analysis import analyse
from evigraph.text.names import name_key

SUPPORTED_OVERLAP = 0.5
"""Share of a sentence's content words beyond which its cited passages must hold them: an invented subject with one verb
of theirs is half."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")


def unsupported_reason(sentence: str, passages: Sequence[str], languages: Sequence[str]) -> str | None:
    """Why the passages do not support the sentence, or None.

    A number or a name (a capitalised word, but for the first) that none of them holds, or no more than half of the
    content words. Words are compared as the lexical index analyses them.
    """
    joined = "\n".join(passages)
    numbers = {number.replace(",", "") for number in _NUMBER.findall(joined)}
    for number in _NUMBER.findall(sentence):
        if number.replace(",", "") not in numbers:
            return f"the number {number} is in no cited passage"
    words = set(name_key(joined).split())
    for name in _names(sentence):
        if not set(name_key(name).split()) <= words:
            return f"the name {name} is in no cited passage"
    terms = _terms(sentence, languages)
    held = _terms(joined, languages)
    overlap = len(terms & held) / len(terms) if terms else 1.0
    if overlap <= SUPPORTED_OVERLAP:
        return f"only {overlap:.0%} of its content words are in the cited passages"
    return None


def _names(sentence: str) -> list[str]:
    """Capitalised words, but for the first, whose capital may only begin the sentence."""
    return [word for word in _WORD.findall(sentence)[1:] if word[0].isupper() and len(word) > 1]


def _terms(text: str, languages: Sequence[str]) -> set[str]:
    return {term for language in languages or ("en",) for term in analyse(text, language)}
