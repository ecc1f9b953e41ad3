"""Random worlds for the scope-leak test: documents with a history, merges, and questions at a scope and a moment.

What a scope shows is worked out here from the documents as they were given, without the store's own idea of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from hypothesis import strategies as st

from evigraph.text.names import entity_id, name_key
from evigraph.types import Extraction, Passage
from small import RuleExtractor, item, type_of

PEOPLE = ("Hana Sefu", "Corrick Vane", "Joseph Amarra", "Marit Olsen", "Pieter Banda")
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

Document = dict[str, Any]
Published = tuple[int, int, Document | None]
"""Generation, revision, and the document as given; None for a deletion."""


class Homographs(RuleExtractor):
    """`RuleExtractor`, but `FIRM` decides whether one word names a place or an organisation, and `NEVER` denies."""

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        found = super().extract(passages, title=title, language=language)
        firms = {passage.index for passage in passages if FIRM in passage.text}

        def kind(name: str, passage_index: int) -> str:
            plain = type_of(name)
            return "ORGANIZATION" if plain == "LOCATION" and passage_index in firms else plain

        mentions = [
            replace(one, type=(one_type := kind(one.name, one.passage_index)), entity_id=entity_id(one.key, one_type))
            for one in found.mentions
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
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))


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


Operation = tuple[Document, ...] | Deletion | Merging | Unmerging | Schema
"""A tuple of documents is one call of `index`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A moment in the history, as a share of it (None: now; `by_time`: named by its time), and a filter."""

    moment: float | None
    by_time: bool
    filters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question with the options it is asked with, those of single modes apart."""

    question: str
    options: Mapping[str, Any]
    seeds: tuple[str, ...]
    direction: str
    plan: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """`views` times `asked` are its cases. `resolve` says whether a scope may be resolved to a list beforehand."""

    history: tuple[Operation, ...]
    views: tuple[View, ...]
    asked: tuple[Asked, ...]
    resolve: bool


def marker(number: int) -> str:
    """A name that one version of one document alone carries."""
    return f"Kest{number} Orlo{number}"


# --------------------------------------------------------------------------- strategies

_person, _place, _verb, _thing, _tail = (st.sampled_from(words) for words in (PEOPLE, PLACES, VERBS, THINGS, TAILS))


@st.composite
def _sentences(draw: st.DrawFn) -> str:
    person, place, verb, thing = draw(_person), draw(_place), draw(_verb), draw(_thing)
    form = draw(st.integers(0, 7))
    return (
        f"{person} {verb} {draw(_person)} in {place}{draw(_tail)}.",
        f"{person} {verb} {place} with {thing}{draw(_tail)}.",
        f"{person} and {draw(_person)} like {thing}.",
        f"The {FIRM} {place} {verb} {person} for {thing}.",
        f"Everybody at the {place.lower()} loves {thing}, and the {place.lower()} is deep.",
        f"{place} {verb} {draw(_place)}{draw(_tail)}.",
        f"Nobody sells {thing} by the {place.lower()}.",
        f"{person}{NEVER}{verb} {place}.",
    )[form]


@st.composite
def _texts(draw: st.DrawFn, number: int) -> str:
    """One to seven sentences, among them one with the marker."""
    sentences = draw(st.lists(_sentences(), min_size=0, max_size=6))
    own = f"{draw(_person | _place)} {draw(_verb)} {marker(number)} beside word{number}{draw(_tail)}."
    sentences.insert(draw(st.integers(0, len(sentences))), own)
    breaks = draw(st.lists(st.sampled_from((" ", " ", "\n\n")), min_size=len(sentences), max_size=len(sentences)))
    return "".join(f"{sentence}{gap}" for sentence, gap in zip(sentences, breaks, strict=True)).strip()


@st.composite
def _documents(draw: st.DrawFn, document_id: str, number: int) -> Document:
    title = draw(st.sampled_from(("", f"Report title{number}", marker(number))) | _person | _place)
    metadata = {"region": draw(st.sampled_from(REGIONS))}
    if draw(st.booleans()):
        metadata["kind"] = draw(st.sampled_from(("memo", "visit")))
    fields = {"source": f"{draw(st.sampled_from(FOLDERS))}/{document_id}.md", "metadata": metadata}
    day = draw(st.sampled_from(DATES))
    if day is not None:
        fields["date"] = day
    return item(document_id, draw(_texts(number)), title=title, **fields)


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Operation, ...]:
    """All documents come first, in one or two calls; then they are changed, deleted, restored, merged, unmerged."""
    number = 0
    held: dict[str, Document] = {}
    lost: dict[str, Document] = {}
    for document_id in DOCUMENTS[: draw(st.integers(3, len(DOCUMENTS)))]:
        held[document_id] = draw(_documents(document_id, number))
        number += 1
    cut = draw(st.integers(1, len(held)))
    first = list(held.values())
    operations: list[Operation] = [batch for batch in (tuple(first[:cut]), tuple(first[cut:])) if batch]
    merges = 0
    for step in draw(st.lists(st.sampled_from("rrrrffddbmmmus"), min_size=2, max_size=8)):
        some = draw(st.sampled_from(sorted(held))) if held else None
        if step in "rf" and some:
            new = draw(_documents(some, number))
            number += 1
            # `f` keeps the text and changes what filters look at.
            held[some] = new if step == "r" else {**new, "text": held[some]["text"], "title": held[some]["title"]}
            operations.append((held[some],))
        elif step == "d" and some and len(held) > 1:
            lost[some] = held.pop(some)
            operations.append(Deletion(document_id=some))
        elif step == "b" and lost:
            back = draw(st.sampled_from(sorted(lost)))
            held[back] = lost.pop(back)
            operations.append((held[back],))
        elif step == "m":
            operations.append(Merging(entities=draw(_groups(number))))
            merges += 1
        elif step == "u" and merges:
            operations.append(Unmerging(number=draw(st.integers(0, merges - 1))))
        elif step == "s":
            operations.append(Schema(functional=draw(_verb).upper()))
    return tuple(operations)


def _groups(versions: int) -> st.SearchStrategy[tuple[str, ...]]:
    """Entities to merge. Those of a single document are often the canonical ones: the scope may not see them."""
    shared = [entity_id(name_key(name), type_of(name)) for name in (*PEOPLE, *PLACES)]
    firms = [entity_id(name_key(name), "ORGANIZATION") for name in PLACES]
    own = [entity_id(name_key(marker(number)), type_of(marker(number))) for number in range(versions)]
    chosen = st.sampled_from(shared) | st.sampled_from(firms) | st.sampled_from(own)
    return st.lists(chosen, min_size=2, max_size=3, unique=True).map(tuple)


_DAYS = st.sampled_from([day for day in DATES if day])
_PATTERNS = ("north/*", "*/d[0-4].md", "s?uth/*", "north/old/*", "*d[!1-3].md")
_REGION = st.builds(lambda region: {"region": region}, st.sampled_from(REGIONS))
_METADATA = (
    _REGION,
    _REGION,
    _REGION,
    _REGION,
    st.sampled_from(({"kind": "memo"}, {"kind": "visit"}, {"kind": ""}, {"kind": "visit", "region": "east"})),
    st.builds(lambda name: {"source": f"{name}.md"}, st.sampled_from(DOCUMENTS)),
    st.builds(lambda folder, name: {"source": f"{folder}/{name}.md"}, st.sampled_from(FOLDERS), st.just("d1")),
    st.builds(lambda name: {"document_id": name}, st.sampled_from(DOCUMENTS)),
)


_PARTS = (
    *("ids", "ids glob", "ids since", "glob", "glob until", "since", "until", "meta", "meta", "meta", "meta ids"),
    *("", "", "empty"),
)
"""What a filter is made of."""


@st.composite
def _filters(draw: st.DrawFn) -> dict[str, Any]:
    parts = draw(st.sampled_from(_PARTS))
    if parts == "empty":
        return {"document_filter": {"document_ids": []}}
    allowed: dict[str, Any] = {}
    if "ids" in parts:
        allowed["document_ids"] = draw(st.lists(st.sampled_from(DOCUMENTS), min_size=3, max_size=6, unique=True))
    if "glob" in parts:
        allowed["pattern"] = draw(st.sampled_from(_PATTERNS))
    if "since" in parts:
        allowed["date_from"] = draw(_DAYS)
    if "until" in parts:
        allowed["date_to"] = draw(_DAYS)
    filters: dict[str, Any] = {"document_filter": allowed} if allowed else {}
    if "meta" in parts:
        filters["metadata_filter"] = draw(st.one_of(*_METADATA))
    return filters


_MOMENTS = (None, None, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@st.composite
def _views(draw: st.DrawFn) -> View:
    return View(moment=draw(st.sampled_from(_MOMENTS)), by_time=draw(st.booleans()), filters=draw(_filters()))


@st.composite
def _plans(draw: st.DrawFn) -> dict[str, Any]:
    start = {"id": "a", "op": "match", "entity": draw(_person)}
    ways = draw(st.sampled_from((["CO_OCCURS"], ["CO_OCCURS", VERBS[0]], [draw(_verb)])))
    direction = draw(st.sampled_from(("both", "both", "out", "in")))
    hop = {"id": "b", "op": "hop", "source": "a", "predicates": ways, "direction": direction}
    second = {"id": "c", "op": "match", "entity": draw(_person)}
    far = {"id": "d", "op": "hop", "source": "c", "predicates": ways, "direction": "both"}
    more = draw(
        st.sampled_from(
            (
                [],
                [{"id": "e", "op": "count", "source": "b", "by": "a"}],
                [{"id": "e", "op": "filter", "source": "b", "type": "PERSON"}],
                [
                    second,
                    {"id": "e", "op": "filter", "source": "b", "predicates": ways, "direction": "both", "to": "c"},
                ],
                [second, far, {"id": "e", "op": "intersect", "sources": ["b", "d"]}],
            )
        )
    )
    return {"steps": [start, hop, *more]}


@st.composite
def _asked(draw: st.DrawFn) -> Asked:
    person, other, place, thing = draw(_person), draw(_person), draw(_place), draw(_thing)
    own = marker(draw(st.integers(0, 9)))
    question = draw(
        st.sampled_from(
            (
                f"Who visited {place}?",
                f"What did {person} do with {thing} in {place}?",
                f"where is {place.lower()}",
                f"who met {person.lower()} near the {place.lower()}",
                f"Where did {own} meet {other}?",
                f"What did Absent Stranger sell to {person}?",
                f"Which {thing} are in use?",
            )
        )
    )
    options: dict[str, Any] = {
        "min_score": draw(st.sampled_from((0.1, 0.1, -1.0, 0.97))),
        "max_chunks": draw(st.sampled_from((2, 10))),
        "max_entities": draw(st.sampled_from((3, 40))),
        "graph_depth": draw(st.sampled_from((1, 2, 3))),
        "per_node_limit": draw(st.sampled_from((2, 20))),
    }
    options |= draw(
        st.sampled_from(
            (
                {},
                {},
                {"predicates": [draw(_verb).upper(), "CO_OCCURS"]},
                {"hybrid": True, "vector_weight": 0.5},
                {"mix_weights": {"local": 1.0, "global": 0.7, "naive": 0.2}, "context_only": True},
            )
        )
    )
    kind = draw(st.sampled_from(("LOCATION", "LOCATION", "ORGANIZATION")))
    seeds = (draw(_person), entity_id(name_key(place), kind), draw(_person))
    return Asked(
        question=question,
        options=options,
        seeds=seeds,
        direction=draw(st.sampled_from(("both", "both", "out", "in"))),
        plan=draw(_plans()),
    )


@st.composite
def worlds(draw: st.DrawFn, views: int = 5, asked: int = 2) -> World:
    return World(
        history=draw(_histories()),
        views=tuple(draw(st.lists(_views(), min_size=views, max_size=views))),
        asked=tuple(draw(st.lists(_asked(), min_size=asked, max_size=asked))),
        resolve=draw(st.booleans()),
    )


# --------------------------------------------------------------------------- what a scope must show


def matches(document: Document, filters: Mapping[str, Any]) -> bool:
    """Whether a document passes a filter, by the words of the API's description."""
    allowed = filters.get("document_filter", {})
    ids, pattern = allowed.get("document_ids"), allowed.get("pattern")
    if (ids is not None or pattern is not None) and not (
        (ids is not None and document["document_id"] in ids)
        or (pattern is not None and fnmatchcase(document["source"], pattern))
    ):
        return False
    return _in_time(document.get("date"), allowed) and all(
        _has(document, key, value) for key, value in filters.get("metadata_filter", {}).items()
    )


def _in_time(day: str | None, allowed: Mapping[str, Any]) -> bool:
    if day is None:
        return "date_from" not in allowed and "date_to" not in allowed
    low, high = allowed.get("date_from", day), allowed.get("date_to", day)
    return date.fromisoformat(low) <= date.fromisoformat(day) <= date.fromisoformat(high)


def _has(document: Document, key: str, value: str) -> bool:
    if key == "source":
        return value in (document["source"], document["source"].rpartition("/")[2])
    held = document if key == "document_id" else document["metadata"]
    return key in held and held[key] == value


def undated(documents: Iterable[Document], filters: Mapping[str, Any]) -> int:
    """How many documents a date bound leaves out because they have none."""
    allowed = {k: v for k, v in filters.get("document_filter", {}).items() if k not in ("date_from", "date_to")}
    without = {**filters, "document_filter": allowed}
    return sum(1 for document in documents if "date" not in document and matches(document, without))


def joined(merges: Sequence[tuple[str, ...]], mentioned: set[str]) -> list[tuple[str, ...]]:
    """Merges as a workspace would record them that knows only the entities `mentioned`: one for each group that is left
    of two or more, the canonical entity first. The latest merge of a group names it."""
    groups: list[tuple[set[str], str]] = []
    for merge in merges:
        together, apart = set(merge), []
        for group in groups:
            if group[0] & together:
                together |= group[0]
            else:
                apart.append(group)
        groups = [*apart, (together, merge[0])]
    restricted = []
    for members, canonical in groups:
        left = sorted(members & mentioned)
        if len(left) > 1:
            first = canonical if canonical in left else left[0]
            restricted.append((first, *(one for one in left if one != first)))
    return sorted(restricted)


_WORD = re.compile(r"\w+")
_OWN = re.compile(r"(?:kest|orlo|word|title|d)\d+$")
_NAMED = {word for name in (*PEOPLE, *PLACES) for word in _WORD.findall(name.casefold())}


def telling_words(text: str) -> set[str]:
    """Words by which a document or a name gives itself away."""
    return {word for word in _WORD.findall(text.casefold()) if word in _NAMED or _OWN.match(word)}
