"""What is kept of a chat model's summary: sentences that the sentences they cite do hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evigraph.community.prompt import NOTHING
from evigraph.text.markers import MARKER, cited_numbers
from evigraph.text.sentences import sentence_spans
from evigraph.text.support import unsupported_reason

_WORD = re.compile(r"\w")
_MARKERS = re.compile(rf"(?:{MARKER.pattern})+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """The text that is kept ("" for none), how many sentences were not, and how many unknown numbers were removed.
    `declined` tells that the model found nothing to summarise."""

    text: str
    unsupported: int
    removed: int
    declined: bool = False


def checked(reply: str, known: int, text_of: Callable[[int], str], languages: Sequence[str]) -> Checked:
    """Check a summary that may cite the numbers 1 to `known`; `text_of` gives what such a number stands for."""
    kept: list[str] = []
    unsupported = removed = 0
    if reply.strip().strip(".").upper() == NOTHING:
        return Checked(text="", unsupported=0, removed=0, declined=True)
    for raw in _sentences(reply, languages):
        claim = " ".join(MARKER.sub("", raw).split())
        if not _WORD.search(claim):
            continue
        cited = cited_numbers(raw)
        numbers = [number for number in cited if 1 <= number <= known]
        removed += len(cited) - len(numbers)
        if not numbers or unsupported_reason(claim, [text_of(number) for number in numbers], languages):
            unsupported += 1
        else:
            kept.append(f"{claim} {''.join(f'[{number}]' for number in numbers)}")
    return Checked(text=" ".join(kept), unsupported=unsupported, removed=removed)


def _sentences(text: str, languages: Sequence[str]) -> list[str]:
    """Sentences, each with the markers that stand after its full stop."""
    found: list[str] = []
    position = 0
    for start, end in sentence_spans(text, (*languages, "en")[0]):
        trailing = _MARKERS.match(text, max(end, position))
        until = trailing.end() if trailing else end
        if until > max(start, position):
            found.append(text[max(start, position) : until])
            position = until
    return found
