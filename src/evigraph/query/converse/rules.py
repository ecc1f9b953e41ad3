"""A follow-up made to stand alone without a model: names for pronouns, and the last question for what is left out.

A pronoun or a phrase such as "that company" takes what the last question was about as such ("Who is Hana Sefu?"), else
the nearest name of a fitting type: in the last turn first, there what its question asked for, then what it named, then
what else its answer named. One that something in its own question may stand for is left alone. What has no verb of its
own ("And in Tarn?") takes over the last question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from evigraph.query.converse.history import Named, Past
from evigraph.query.converse.patterns import (
    ASKED,
    BARE,
    BOUNDARY,
    EXHAUSTIVE,
    EXPLETIVE,
    FRAGMENT,
    FRAGMENT_WORDS,
    HEAD,
    LINK,
    MORE,
    NOUN_PHRASE,
    OTHER,
    PREPOSITION,
    REFERENCES,
    TIME,
    TOPIC,
    UNKNOWN,
    WITH_PREPOSITION,
    Reference,
    Tier,
)
from evigraph.text.analysis import ENGLISH_STOP_WORDS
from evigraph.text.names import name_key
from evigraph.types import ENTITY_TYPES

_BEFORE = re.compile(rf"\b{PREPOSITION}\s+$", re.IGNORECASE)


class Earlier(Protocol):
    """Earlier turns, newest first."""

    def __iter__(self) -> Iterator[Past]: ...

    @property
    def last(self) -> Past: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewrite:
    """A question that stands alone. `rests_on` are the revisions that what was put in is known from; `unresolved` the
    words that nothing earlier says the meaning of."""

    text: str
    rests_on: tuple[int, ...] = ()
    unresolved: tuple[str, ...] = ()


def rewrite(question: str, named: Sequence[Named], earlier: Earlier) -> Rewrite:
    """The question with what it takes from earlier turns; as it is where it stands alone. `named` are its own names."""
    text = " ".join(question.split())
    whole = _whole(text, earlier.last)
    if whole is not None:
        return whole
    resolved, put_in = _with_names(text, named, earlier)
    fragment = _completed(resolved.text, [*named, *put_in], earlier.last)
    if fragment is None:
        # As it was typed, blanks and all, where nothing was put in.
        return resolved if put_in else Rewrite(text=question, unresolved=resolved.unresolved)
    return Rewrite(
        text=fragment.text, rests_on=_united(resolved.rests_on, fragment.rests_on), unresolved=resolved.unresolved
    )


# --------------------------------------------------------------------- pronouns and the like


def _with_names(text: str, named: Sequence[Named], earlier: Earlier) -> tuple[Rewrite, list[Named]]:
    parts: list[str] = []
    put_in: list[Named] = []
    unresolved: list[str] = []
    position = 0
    own = {name.key for name in named}
    for start, end, reference in _references(text):
        if _inside(text, start, reference, named):
            continue
        found = _antecedent(reference, own, earlier)
        if found is None:
            unresolved.append(text[start:end])
            continue
        parts += [text[position:start], _put(found, reference, text[:start])]
        put_in.append(found)
        position = end
    rests_on = _united(*(name.rests_on for name in put_in))
    made = "".join([*parts, text[position:]])
    return Rewrite(text=made, rests_on=rests_on, unresolved=tuple(dict.fromkeys(unresolved))), put_in


def _references(text: str) -> list[tuple[int, int, Reference]]:
    """References from the left, none within another."""
    blank = [match.span() for match in EXPLETIVE.finditer(text)]
    found: list[tuple[int, int, Reference]] = []
    for reference in REFERENCES:
        for match in reference.pattern.finditer(text):
            taken = [*blank, *((start, end) for start, end, _ in found)]
            if not any(match.start() < end and start < match.end() for start, end in taken):
                found.append((*match.span(), reference))
    return sorted(found, key=lambda item: item[0])


def _inside(text: str, start: int, reference: Reference, named: Sequence[Named]) -> bool:
    """Whether it may stand for something that the question itself has named before it."""
    before = text[:start]
    fitting = [name for name in named if name.end <= start and _fits(name, reference.tiers[0])]
    # An object is not what its clause has named before ("Did Tolland pay them?"); an owner, a place or a time may be.
    if any(reference.form != "name" or BOUNDARY.search(text, name.end, start) for name in fitting):
        return True
    if not reference.pronoun or reference.form in ("place", "time"):
        return False
    # Nor is it a noun of its clause ("what did the team say about him").
    bound = reference.form == "possessive" or LINK.search(before[-40:]) is not None
    return bound and NOUN_PHRASE.search(before) is not None


def _antecedent(reference: Reference, own: Iterable[str], earlier: Earlier) -> Named | None:
    taken = set(own)
    topic = _topic(earlier.last)
    # "It" may be anything that was spoken of; "that company" says what.
    fitting = reference.tiers if reference.pronoun else reference.tiers[:1]
    if topic is not None and topic.key not in taken and any(_fits(topic, tier) for tier in fitting):
        return topic
    for tier in reference.tiers:
        for past in earlier:
            for name in _by_focus(past, reference.tiers[0]):
                if name.key not in taken and _fits(name, tier):
                    return name
    return None


def _topic(past: Past) -> Named | None:
    """The name that a question is about as such ("Who is Hana Sefu?", "Tell me about the depot")."""
    opening = TOPIC.match(past.question)
    if opening is None:
        return None
    about = next((name for name in past.named if name.start <= opening.end() < name.end), None)
    owned = about is not None and past.question[about.end :].startswith(("'", "’"))
    return None if owned else about


def _by_focus(past: Past, tier: Tier) -> Iterator[Named]:
    """Names of a turn, those first that are most likely spoken of next."""
    said = {name.key for name in past.named}
    asked = {kind for pattern, kinds in ASKED if pattern.search(past.question) for kind in kinds}
    # "Where is the mill?" is followed by "there" for the place, and by "it" for the mill.
    asked -= {kind for kind in ("LOCATION", TIME) if tier != {kind}}
    new = [name for name in past.answered if name.key not in said]
    yield from (name for name in new if name.type in asked)
    yield from past.named
    yield from new


def _fits(name: Named, tier: Tier) -> bool:
    common = name.type in ENTITY_TYPES or name.type in (TIME, UNKNOWN)
    return name.type in tier if common else OTHER in tier


def _put(name: Named, reference: Reference, before: str) -> str:
    if reference.form == "possessive":
        return f"{name.text}'" if name.text.endswith("s") else f"{name.text}'s"
    if reference.form in ("place", "time") and not _BEFORE.search(before):
        return f"in {name.text}"
    return name.text


# --------------------------------------------------------------------- what is left out


def _whole(text: str, last: Past) -> Rewrite | None:
    """A question word alone, or an ask for more: the last question, asked in another way."""
    if MORE.match(text):
        return Rewrite(text=last.question, rests_on=last.rests_on)
    bare = BARE.match(text)
    if bare is None:
        return None
    word = bare.group("word")
    word = word[0].upper() + word[1:]
    head = HEAD.match(last.question)
    if head is not None and (head.group("verb") or EXHAUSTIVE.search(word)):
        return Rewrite(text=f"{word}{head.group('rest').rstrip()}", rests_on=last.rests_on)
    return Rewrite(text=f"{word}? {last.question}", rests_on=last.rests_on)


def _completed(text: str, named: Sequence[Named], last: Past) -> Rewrite | None:
    """A fragment with the rest of the last question around it; None where the text is none."""
    match = FRAGMENT.match(text)
    if match is None or len(match.group("rest").split()) > FRAGMENT_WORDS:
        return None
    rest = match.group("rest")
    governed = WITH_PREPOSITION.match(rest)
    told = governed.group("object") if governed else rest
    names = [name for name in named if name.text.casefold() in told.casefold()]
    led = match.group("about") or match.group("lead")
    alone = [name for name in names if name.text.casefold() == told.casefold()]
    if not led and not alone:
        return None
    if not names:
        return Rewrite(text=f"{last.question.rstrip()} {text}", rests_on=last.rests_on)
    preposition = governed.group("preposition").lower() if governed else None
    name = max(names, key=lambda name: len(name.text))
    made = _exchanged(last, name, preposition, told if told.casefold() == name.text.casefold() else name.text)
    said = {*name_key(last.question).split(), *name.key.split(), *ENGLISH_STOP_WORDS}
    if not set(name_key(told).split()) <= said:
        made = f"{made} {text}"  # it asks for more than another name
    return Rewrite(text=made, rests_on=last.rests_on)


def _exchanged(last: Past, name: Named, preposition: str | None, told: str) -> str:
    """The last question with `told`, the name as typed, in place of the name of its type; added where there is
    none."""
    old = _counterpart(last, name)
    if old is not None:
        before, after = last.question[: old.start], last.question[old.end :]
        if preposition is not None and (governing := _BEFORE.search(before)):
            before = f"{before[: governing.start()]}{preposition} "
        return f"{before}{told}{after}"
    if preposition is None:
        preposition = "in" if name.type in ("LOCATION", TIME) else "regarding"
    ending = re.search(r"\s*[?.!]*\s*$", last.question)
    stem = last.question[: ending.start()] if ending else last.question
    return f"{stem} {preposition} {told}?"


def _counterpart(last: Past, name: Named) -> Named | None:
    """The name of the last question that the new one is asked instead of."""
    if any(old.key == name.key for old in last.named):
        return next(old for old in last.named if old.key == name.key)
    same = [old for old in last.named if old.type == name.type]
    if same:
        return same[-1]
    others = [old for old in last.named if old.type != TIME]
    if len(others) != 1 or name.type == TIME:
        return None
    # Types are guesses: where one name was asked about and another is named now, that takes its place. A place and
    # what is none are told apart too well for that.
    kinds = {others[0].type, name.type}
    return others[0] if UNKNOWN in kinds or "LOCATION" not in kinds else None


def _united(*several: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({key for keys in several for key in keys}))
