"""The named things of a question: what an anchor or an unknown name makes one thing of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.query.route.spread import everywhere
from evigraph.query.run import Anchor, Question, Run
from evigraph.text.analysis import ENGLISH_STOP_WORDS
from evigraph.text.names import CALENDAR_WORDS, name_key, question_ngrams, split_entity_id

UNKNOWN_WEIGHT = 0.6
"""What a capitalised name counts that nothing in scope carries: it restricts the question, if to nothing known."""
PLAIN_WEIGHT = 0.8
"""What several lower-case words count that are a name; their rarity as such is not known."""
LONGEST = 5
"""Words of a lower-case name."""
FEWEST_LETTERS = 2

_JOINED = re.compile(r"[\s.'’]*(?:s\b)?[\s.]*")
_WITHIN = re.compile(r"(?:['’]s)?(?: (?!and\b|or\b|with\b|from\b|to\b)\w+)? (?:at|in|on|of|near) (?:the )?")
"""What stands between a thing and the larger one that it is in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A named thing at `[start, end)` of the question. `weight` is its rarity, 0-1. `known`: the scope has the name;
    `everywhere`: has it all over, so that it restricts the question to no part of it."""

    text: str
    start: int
    end: int
    weight: float
    known: bool
    everywhere: bool = False


def things(run: Run) -> list[Thing]:
    """The named things of the run's question, from the left. Neighbours that nothing parts are one."""
    plain = [
        ngram
        for ngram in question_ngrams(run.asked.text, LONGEST)
        if " " in ngram.key and not {ngram.key.split()[0], ngram.key.split()[-1]} & ENGLISH_STOP_WORDS
    ]
    anchors = [anchor for anchor in run.asked.anchors if len(anchor.key) >= FEWEST_LETTERS]
    carriers = run.snapshot.entity_ids(sorted({*(ngram.key for ngram in plain), *(anchor.key for anchor in anchors)}))
    proper = {key for key, found in carriers.items() if any(split_entity_id(name)[1] != "CONCEPT" for name, _ in found)}
    found = _anchored(run, [anchor for anchor in anchors if anchor.key in proper or _has_capital(anchor)])
    found += [thing for thing in _unknown(run.asked) if not any(_overlap(thing, other) for other in found)]
    for ngram in plain:
        thing = Thing(text=ngram.text, start=ngram.start, end=ngram.end, weight=PLAIN_WEIGHT, known=True)
        if ngram.key in proper and not any(_overlap(thing, other) for other in found):
            found.append(thing)
    joined: list[Thing] = []
    for thing in sorted(found, key=lambda thing: (thing.start, thing.end)):
        if joined and _JOINED.fullmatch(run.asked.text, joined[-1].end, thing.start):
            joined[-1] = _union(run.asked.text, joined[-1], thing)
        else:
            joined.append(thing)
    return joined


def apart(text: str, named: Sequence[Thing]) -> list[Thing]:
    """The things that are not but a part of another, as the place is in "the well at Kessu": the first of each chain,
    and each name once."""
    found: dict[str, Thing] = {}
    before: Thing | None = None
    for thing in named:
        if before is None or not _WITHIN.fullmatch(text, before.end, thing.start):
            found.setdefault(name_key(thing.text), thing)
        before = thing
    return list(found.values())


def _has_capital(anchor: Anchor) -> bool:
    """Whether the anchor is written as a name. The capital that begins a question makes none of a common noun."""
    return any(letter.isupper() for letter in anchor.text[0 if anchor.start else 1 :])


def _anchored(run: Run, anchors: Sequence[Anchor]) -> list[Thing]:
    """A thing of all anchors at one place, as rare as the rarest."""
    spread = everywhere(run, sorted({anchor.key for anchor in anchors}))
    places: dict[tuple[int, int], list[Anchor]] = {}
    for anchor in anchors:
        places.setdefault((anchor.start, anchor.end), []).append(anchor)
    return [
        Thing(
            text=run.asked.text[start:end],
            start=start,
            end=end,
            weight=max(anchor.weight for anchor in among),
            known=True,
            everywhere=all(anchor.key in spread for anchor in among),
        )
        for (start, end), among in places.items()
    ]


def _unknown(asked: Question) -> list[Thing]:
    return [
        Thing(text=name, start=place.start(), end=place.end(), weight=UNKNOWN_WEIGHT, known=False)
        for name in dict.fromkeys(asked.unknown_names)
        if not is_calendar(name)
        for place in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", asked.text)
    ]


def is_calendar(name: str) -> bool:
    """Whether a capitalised name is but a month or a day."""
    return all(word in CALENDAR_WORDS for word in name_key(name).split())


def _overlap(one: Thing, other: Thing) -> bool:
    return one.start < other.end and other.start < one.end


def _union(text: str, one: Thing, other: Thing) -> Thing:
    end = max(one.end, other.end)
    return Thing(
        text=text[one.start : end],
        start=one.start,
        end=end,
        weight=max(one.weight, other.weight),
        known=one.known or other.known,
        everywhere=one.everywhere and other.everywhere,
    )
