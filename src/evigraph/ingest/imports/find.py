"""Where a name stands in a text, by the same rules that make names comparable."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.text.names import WORD, strip_accents

_POSSESSIVE = re.compile(r"(?<=\w)(['’ʼ＇])s\b", re.IGNORECASE)
_TOKEN = re.compile(rf"{WORD.pattern}|[&＆]")

Span = tuple[int, int]


class NameFinder:
    """Finds names as runs of words in numbered texts, each of which is read once."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[list[str], list[Span], dict[str, list[int]]]] = {}
        self._found: dict[tuple[int, str], Sequence[Span]] = {}

    def find(self, number: int, text: str, key: str, *, offset: int = 0) -> Sequence[Span]:
        """Spans of every occurrence of the normalised name in text `number`, in order; `offset` is where it begins."""
        known = self._found.get((number, key))
        if known is None:
            known = self._found[number, key] = self._search(number, text, offset, key.split())
        return known

    def _search(self, number: int, text: str, offset: int, wanted: list[str]) -> Sequence[Span]:
        if number not in self._read:
            self._read[number] = _read(text, offset)
        words, spans, at = self._read[number]
        size = len(wanted)
        if not size:
            return ()
        return [
            (spans[first][0], spans[first + size - 1][1])
            for first in at.get(wanted[0], ())
            if words[first : first + size] == wanted
        ]


def _read(text: str, offset: int) -> tuple[list[str], list[Span], dict[str, list[int]]]:
    """The words of a text as `name_key` writes them, their spans, and the positions of each."""
    skipped = {match.start() + 1 for match in _POSSESSIVE.finditer(text)}
    words: list[str] = []
    spans: list[Span] = []
    at: dict[str, list[int]] = {}
    for match in _TOKEN.finditer(text):
        if match.start() in skipped:
            continue
        word = "and" if match.group() in "&＆" else strip_accents(match.group()).casefold()
        at.setdefault(word, []).append(len(words))
        words.append(word)
        spans.append((offset + match.start(), offset + match.end()))
    return words, spans, at
