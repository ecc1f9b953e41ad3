"""What a world of the scope-leak test consists of: documents with a history, and questions at a scope and a moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evigraph.text.names import entity_id, name_key
from evigraph.types import Extraction, Mention, Passage
from small import RuleExtractor, type_of

PEOPLE = ("Hana Sefu", "Corrick Vane", "Joseph Amarra", "Marit Olsen", "Pieter Banda")
VARIANTS = ("Dr Hana Sefu", "Prof Hana Sefu", "Corick Vane", "Sefu Hana")
"""Other names that persons may have: with a title, misspelt, the other way round."""
PLACES = ("Tarn", "Lowani", "Ulwe")
VERBS = ("visited", "trained", "accused", "married", "hired")
TAILS = ("", " twice", " again", " at last", " by night")
THINGS = ("pumps", "wells", "rods", "maize")
DOCUMENTS = tuple(f"d{number}" for number in range(8))
FOLDERS = ("north", "south", "north/old")
DATES = (None, None, "2014-05-02", "2016-03-01", "2018-06-01")
REGIONS = ("east", "west")
FIRM = "firm"
"""In a passage with this word, a name of one word is that of an organisation: homographs of the places."""

NEVER = " never "
CALLED = " called "
UNSEEN = " unseen"
"""The last name before it is an end of an assertion, and no mention."""

BASE = "the base"
"""Stands for the id of a world's knowledge base in a filter."""

Document = dict[str, Any]
Published = tuple[int, int, Document | None]
"""Generation, revision, and the document as given; None for a deletion."""


class Homographs(RuleExtractor):
    """`RuleExtractor`, but `FIRM` decides whether one word names a place or an organisation, `NEVER` denies, a name
    before `UNSEEN` is not mentioned, and one behind `CALLED` is an alias of the name before."""

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        found = super().extract(passages, title=title, language=language)
        firms = {passage.index for passage in passages if FIRM in passage.text}

        unseen = {
            (passage.index, place + passage.start)
            for passage in passages
            for place in range(len(passage.text))
            if passage.text.startswith(UNSEEN, place)
        }

        def kind(name: str, passage_index: int) -> str:
            plain = kind_of(name)
            return "ORGANIZATION" if plain == "LOCATION" and passage_index in firms else plain

        mentions = [
            replace(one, type=(one_type := kind(one.name, one.passage_index)), entity_id=entity_id(one.key, one_type))
            for one in found.mentions
            if (one.passage_index, one.end) not in unseen
        ]
        assertions = [
            replace(
                one,
                predicate=f"NOT_{one.predicate}" if NEVER in one.description else one.predicate,
                subject_type=(subject := kind(one.subject_name, one.passage_index)),
                subject_id=entity_id(name_key(one.subject_name), subject),
                object_type=(other := kind(one.object_name, one.passage_index)),
                object_id=entity_id(name_key(one.object_name), other),
            )
            for one in found.assertions
        ]
        texts = {passage.index: (passage.start, passage.text) for passage in passages}
        return Extraction(mentions=tuple(_aliased(mentions, texts)), assertions=tuple(assertions))


def _aliased(mentions: Sequence[Mention], texts: Mapping[int, tuple[int, str]]) -> Iterator[Mention]:
    """The mentions in order, those behind `CALLED` as the entity of the one before."""
    before: Mention | None = None
    for one in mentions:
        start, text = texts[one.passage_index]
        if before and text[before.end - start : one.start - start] == CALLED:
            yield replace(one, entity_id=before.entity_id, type=before.type, role="alias")
        else:
            yield one
        before = one


def kind_of(name: str) -> str:
    """The type of a name, unless a firm bears it."""
    return "PERSON" if name in VARIANTS or name.startswith("Dr ") else type_of(name)


# --------------------------------------------------------------------------- what a world consists of


@dataclass(frozen=True, kw_only=True, slots=True)
class Merging:
    """A merge to record: the first entity is the canonical one."""

    entities: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmerging:
    """Takes back the merge recorded as number `number`, modulo how many there are."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Deletion:
    document_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """A domain schema that calls one predicate functional."""

    functional: str

    @property
    def fields(self) -> dict[str, Any]:
        return {"predicates": [{"name": self.functional, "functional": True}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruning:
    """The horizon of a prune that was cut short before it removed a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Building:
    """Builds communities, or renews their summaries where there are any; `by_model` has a chat model write these."""

    refresh: bool = False
    by_model: bool = False


Operation = tuple[Document, ...] | Deletion | Merging | Unmerging | Schema | Pruning | Building
"""A tuple of documents is one call of `index`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A moment in the history, as a share of it (None: now; `by_time`: named by its time), and a filter. `pinned`: the
    snapshot was opened before what was pruned later."""

    moment: float | None = None
    by_time: bool = False
    filters: Mapping[str, Any] = field(default_factory=dict)
    pinned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question with the options it is asked with, those of single modes apart. `named`: what the question says for
    which a model proposes the plan, if not the names that the plan starts from."""

    question: str
    options: Mapping[str, Any]
    seeds: tuple[str, ...]
    direction: str
    plan: Mapping[str, Any]
    named: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """`views` times `asked` are its cases. `resolve` says whether a scope may be resolved to a list beforehand, `trees`
    which documents get trees of summaries, `based` which are of a knowledge base: the one that filters call `BASE`."""

    history: tuple[Operation, ...]
    views: tuple[View, ...]
    asked: tuple[Asked, ...]
    resolve: bool = True
    trees: frozenset[str] = frozenset()
    based: frozenset[str] = frozenset()


def marker(number: int) -> str:
    """A name that one version of one document alone carries."""
    return f"Kest{number} Orlo{number}"
