"""Names known from elsewhere in the document, found again where the tagger missed them; and countries by
demonym."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from evigraph.ingest.extractors.demonyms import DEMONYMS
from evigraph.ingest.extractors.entities import MAX_NAME_TOKENS
from evigraph.text.names import CALENDAR_WORDS, WORD, name_key

_MIN_CHARACTERS = 4
_TOKEN = re.compile(rf"{WORD.pattern}|&")


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A word of a text with its key; `&` counts as the word "and", a possessive 's as none."""

    start: int
    end: int
    key: str
    capital: bool


def tokens(text: str) -> list[Token]:
    words = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        surface = match.group()
        if surface in ("s", "S") and start > 1 and text[start - 1] in "'’":
            continue
        key = "and" if surface == "&" else surface.lower() if surface.isascii() else name_key(surface)
        words.append(Token(start=start, end=end, key=key, capital=surface[:1].isupper()))
    return words


class Gazetteer:
    """Finds known names in a text: up to eight words, over three characters, first and last word capitalised,
    and not the name of a month or day. Names inside longer names are found too."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._sizes: dict[str, set[int]] = {}
        self._keys = frozenset(key for key in keys if self._usable(key))
        for key in self._keys:
            words = key.split()
            self._sizes.setdefault(words[0], set()).add(len(words))

    @staticmethod
    def _usable(key: str) -> bool:
        long_enough = len(key) >= _MIN_CHARACTERS and len(key.split()) <= MAX_NAME_TOKENS
        return long_enough and key not in CALENDAR_WORDS

    def find(self, words: list[Token], text: str) -> list[tuple[int, int, str]]:
        """`(start, end, key)` of every known name in `text` (whose `tokens` are `words`), by start, longer
        first."""
        found = []
        for at, first in enumerate(words):
            sizes = self._sizes.get(first.key) if first.capital else None
            if not sizes:
                continue
            for size in sorted(sizes, reverse=True):
                run = words[at : at + size]
                if len(run) < size or not run[-1].capital:
                    continue
                key = " ".join(word.key for word in run)
                if key in self._keys and "\n\n" not in text[first.start : run[-1].end]:
                    found.append((first.start, run[-1].end, key))
        return found


def demonym_mentions(words: list[Token]) -> list[tuple[int, int, str]]:
    """`(start, end, country)` of the capitalised demonyms among `words`: "French", "South Koreans"."""
    found = []
    at = 0
    while at < len(words):
        if not words[at].capital:
            at += 1
            continue
        for size in (2, 1):
            run = words[at : at + size]
            country = _country(run) if len(run) == size else ""
            if country:
                found.append((run[0].start, run[-1].end, country))
                at += size - 1
                break
        at += 1
    return found


def _country(run: list[Token]) -> str:
    if not all(word.capital for word in run):
        return ""
    key = " ".join(word.key for word in run)
    return DEMONYMS.get(key) or DEMONYMS.get(key.removesuffix("s"), "")
