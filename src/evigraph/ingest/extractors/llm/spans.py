"""Where a passage says what a model claims it says. Blanks, case, quote marks, dashes and markup make no difference."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from evigraph.ingest.extractors.markup import as_prose

Span = tuple[int, int]

MENTIONS_PER_NAME = 50
QUOTE_WORDS = 2
QUOTE_CHARS = 12
"""A quote shorter than both is found anywhere and proves nothing."""

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": "",
        "\u200b": "",
        "\ufeff": "",
    }
)
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.+|…|\[\.\.\.\]|\[…\])\s*")
_QUOTE_EDGES = " \t\n\"'“”‘’«»…"


class PassageText:
    """The text of one passage, folded for search; spans are offsets into the text as it is."""

    def __init__(self, text: str) -> None:
        self.text = text
        folded: list[str] = []
        origins: list[int] = []
        prose = as_prose(text)
        for at, (letter, plain) in enumerate(zip(text, prose, strict=True)):
            if letter.isspace() or (plain == " " and _breaks(text, at)):
                if folded and folded[-1] != " ":
                    folded.append(" ")
                    origins.append(at)
                continue
            if plain == " ":
                continue  # markup inside a word or beside punctuation
            for part in _fold(letter):
                folded.append(part)
                origins.append(at)
        self._folded = "".join(folded)
        self._origins = origins

    def quote(self, quote: str) -> Span | None:
        """Where `quote` stands; its parts in order, where it leaves something out ("a … b")."""
        parts = [_flat(part) for part in _ELLIPSIS.split(quote.strip(_QUOTE_EDGES))]
        parts = [part for part in parts if part]
        words = sum(len(part.split()) for part in parts)
        if words < QUOTE_WORDS and sum(map(len, parts)) < QUOTE_CHARS:
            return None
        at, first = 0, -1
        for part in parts:
            found = self._folded.find(part, at)
            if found < 0:
                return None
            first = found if first < 0 else first
            at = found + len(part)
        return self._span(first, at)

    def names(self, name: str) -> list[Span]:
        """Where `name` stands as a word or words of its own, from the left, never inside another of them."""
        flat = _flat(name.strip(_QUOTE_EDGES))
        if not flat:
            return []
        spans: list[Span] = []
        at = self._folded.find(flat)
        while at >= 0 and len(spans) < MENTIONS_PER_NAME:
            end = at + len(flat)
            if self._whole(at, end):
                spans.append(self._span(at, end))
                at = self._folded.find(flat, end)
            else:
                at = self._folded.find(flat, at + 1)
        return spans

    def _whole(self, start: int, end: int) -> bool:
        text = self._folded
        opens = start == 0 or not (_joins(text[start]) and _joins(text[start - 1]))
        closes = end == len(text) or not (_joins(text[end - 1]) and _joins(text[end]))
        return opens and closes

    def _span(self, start: int, end: int) -> Span:
        return self._origins[start], self._origins[end - 1] + 1


def together(first: Sequence[Span], second: Sequence[Span], sentences: Sequence[Span]) -> Span | None:
    """The sentences around the nearest pair of spans, one of each list; None where a list is empty."""
    if not first or not second:
        return None
    pairs = ((min(a[0], b[0]), max(a[1], b[1])) for a in first for b in second)
    start, end = min(pairs, key=lambda pair: (pair[1] - pair[0], pair))
    opens = [sentence[0] for sentence in sentences if sentence[0] <= start < sentence[1]]
    closes = [sentence[1] for sentence in sentences if sentence[0] < end <= sentence[1]]
    return (opens[0] if opens else start), (closes[-1] if closes else end)


def _fold(letter: str) -> str:
    if letter.isascii():
        return letter.lower()
    return unicodedata.normalize("NFKC", letter.translate(_SAME)).casefold()


def _flat(text: str) -> str:
    prose = as_prose(text)
    kept = [
        letter
        for at, (letter, plain) in enumerate(zip(text, prose, strict=True))
        if plain != " " or letter.isspace() or _breaks(text, at)
    ]
    return " ".join("".join(_fold(letter) for letter in "".join(kept)).split())


def _breaks(text: str, at: int) -> bool:
    """Whether blanked markup at `at` keeps two words apart, as a table's or a link's does."""
    return text[at] == "|"


def _joins(letter: str) -> bool:
    # Scripts without spaces: any run of their characters may be a name.
    return letter.isalnum() and not "\u2e80" <= letter <= "\ud7ff" and not "\u0e00" <= letter <= "\u0eff"
