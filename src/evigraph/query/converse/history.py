"""What earlier turns spoke of, newest first, read as far back as it is needed."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evigraph.once import once
from evigraph.query.converse.patterns import TIME, TIMES, UNKNOWN
from evigraph.query.ledger import Ledger
from evigraph.query.run import Run
from evigraph.query.understand import find_anchors
from evigraph.store.conversations import StoredTurn
from evigraph.text.instructions import gives_orders
from evigraph.text.names import name_key, split_entity_id

NAME_CHARS = 100
"""Longer names are sentences, and are carried over into no question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A name in a text, at `[start, end)`. `rests_on` are the revisions it is known from; none where it was typed."""

    text: str
    key: str
    type: str
    start: int
    end: int
    rests_on: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Past:
    """A turn as a follow-up may read it: the question that it stands for, the names in it, and those in the answer.
    `rests_on` are the revisions that the question was made from."""

    question: str
    rests_on: tuple[int, ...]
    named: tuple[Named, ...]
    answered: tuple[Named, ...]


class History:
    """The window of earlier turns, newest first. Each is looked up when it is first read."""

    def __init__(self, run: Run, turns: Sequence[StoredTurn]) -> None:
        self._run = run
        self._turns = list(reversed(turns))
        self._read: dict[int, Past] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[Past]:
        return (self.past(place) for place in range(len(self._turns)))

    def past(self, place: int) -> Past:
        """The turn before the last `place` ones."""
        if place not in self._read:
            self._read[place] = self._past(self._turns[place])
        return self._read[place]

    @once
    def last(self) -> Past:
        return self.past(0)

    def _past(self, turn: StoredTurn) -> Past:
        question = turn.question if turn.standalone is None else turn.standalone
        rests_on = () if turn.standalone is None else turn.standalone_rests_on
        named = tuple(named_in(self._run, question, rests_on))
        return Past(question=question, rests_on=rests_on, named=named, answered=tuple(self._answered(turn)))

    def _answered(self, turn: StoredTurn) -> Iterator[Named]:
        """Names in the answer that the scope still knows, in the order of the answer."""
        text = turn.answer or ""
        known = self._run.snapshot.entity_ids([name_key(name) for name, _ in turn.names])
        for name, kind in turn.names:
            at = text.casefold().find(name.casefold())
            # Put into a question, a name is no longer fenced: one that gives orders to a model is none.
            if name_key(name) in known and len(name) <= NAME_CHARS and not gives_orders(name):
                yield _named(name, kind, max(at, 0), turn.answer_rests_on)
        for found in TIMES.finditer(text):
            yield _named(found.group(), TIME, found.start(), turn.answer_rests_on)


def named_in(run: Run, text: str, rests_on: tuple[int, ...] = ()) -> list[Named]:
    """Names and times in a question: those that the scope knows with their types, others without."""
    looking = copy.copy(run)
    looking.ledger = Ledger()  # what is found here is not what the question itself names
    anchors, unknown = find_anchors(looking, text) if run.counts.passages else ((), ())
    ids = run.snapshot.entity_ids(sorted({anchor.key for anchor in anchors}))
    found: dict[tuple[int, int], Named] = {}
    for anchor in anchors:
        types = [split_entity_id(entity_id)[1] for entity_id, _ in ids.get(anchor.key, [])]
        place = anchor.start, anchor.end
        found.setdefault(place, _named(anchor.text, types[0] if types else UNKNOWN, anchor.start, rests_on))
    for match in TIMES.finditer(text):
        found.setdefault(match.span(), _named(match.group(), TIME, match.start(), rests_on))
    for name in unknown:
        at = text.find(name)
        if not any(start < at + len(name) and at < end for start, end in found):
            found[at, at + len(name)] = _named(name, UNKNOWN, at, rests_on)
    return [found[place] for place in sorted(found)]


def _named(text: str, kind: str, start: int, rests_on: tuple[int, ...]) -> Named:
    return Named(text=text, key=name_key(text), type=kind, start=start, end=start + len(text), rests_on=rests_on)
