"""Citation markers in a text: `[1]`, and what models make of it: `[1, 2]`, `[1-3]`, `[passage 1]`, `【1】`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evigraph.text.sentences import sentence_spans

MARKER = re.compile(r"\s*[\[【](?:(?:passages?|sentences?)\s*)?(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)[\]】]", re.IGNORECASE)
_MARKERS = re.compile(rf"(?:{MARKER.pattern})+", re.IGNORECASE)
_WIDEST_RANGE = 20


def marker_numbers(group: str) -> list[int]:
    """The numbers of one marker; a range stands for all between its ends."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", group):
        ends = [int(end) for end in re.split(r"[–-]", part)]
        spanned = len(ends) == 2 and 0 <= ends[1] - ends[0] <= _WIDEST_RANGE
        numbers += range(ends[0], ends[1] + 1) if spanned else ends
    return numbers


def cited_numbers(text: str) -> list[int]:
    """Every number that a text cites, each once, in order of appearance."""
    return list(dict.fromkeys(number for group in MARKER.findall(text) for number in marker_numbers(group)))


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """The text with other numbers in its markers; those that are not given are left out."""

    def marker(match: re.Match[str]) -> str:
        kept = [numbers[number] for number in marker_numbers(match.group(1)) if number in numbers]
        return " " + "".join(f"[{number}]" for number in kept) if kept else ""

    return MARKER.sub(marker, text)


def sentences_with_markers(text: str, language: str) -> list[str]:
    """Sentences of a text, each with the markers that stand after its full stop."""
    found: list[str] = []
    position = 0
    for start, end in sentence_spans(text, language):
        trailing = _MARKERS.match(text, max(end, position))
        until = trailing.end() if trailing else end
        if until > max(start, position):
            found.append(text[max(start, position) : until])
            position = until
    return found
