"""Random worlds for the scope-leak test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from scope_world import (
    DATES,
    DOCUMENTS,
    FIRM,
    FOLDERS,
    NEVER,
    PEOPLE,
    PLACES,
    REGIONS,
    TAILS,
    THINGS,
    UNSEEN,
    VARIANTS,
    VERBS,
    Asked,
    Building,
    Deletion,
    Document,
    Merging,
    Operation,
    Schema,
    Unmerging,
    View,
    World,
    kind_of,
    marker,
)

from evigraph.text.names import entity_id, name_key
from small import item

_person, _place, _verb, _thing, _tail = (st.sampled_from(words) for words in (PEOPLE, PLACES, VERBS, THINGS, TAILS))


@st.composite
def _sentences(draw: st.DrawFn) -> str:
    person, place, verb, thing = draw(_person), draw(_place), draw(_verb), draw(_thing)
    form = draw(st.integers(0, 9))
    return (
        f"{person} {verb} {draw(_person)} in {place}{draw(_tail)}.",
        f"{person} {verb} {place} with {thing}{draw(_tail)}.",
        f"{person} and {draw(_person)} like {thing}.",
        f"The {FIRM} {place} {verb} {person} for {thing}.",
        f"Everybody at the {place.lower()} loves {thing}, and the {place.lower()} is deep.",
        f"{place} {verb} {draw(_place)}{draw(_tail)}.",
        f"Nobody sells {thing} by the {place.lower()}.",
        f"{person}{NEVER}{verb} {place}.",
        f"{draw(st.sampled_from(VARIANTS))} {verb} {draw(_person)}{draw(_tail)}.",
        f"{person} {verb} {place}{UNSEEN} by night.",
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
        metadata["kind"] = draw(st.sampled_from(("memo", "visit", "")))
    fields = {"source": f"{draw(st.sampled_from(FOLDERS))}/{document_id}.md", "metadata": metadata}
    day = draw(st.sampled_from(DATES))
    if day is not None:
        fields["date"] = day
    return item(document_id, draw(_texts(number)), title=title, **fields)


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Operation, ...]:
    """All documents come first, in one or two calls; then they are changed, deleted, restored, merged, unmerged, and
    communities built of them."""
    number = 0
    held: dict[str, Document] = {}
    lost: dict[str, Document] = {}
    for document_id in DOCUMENTS[: draw(st.integers(3, len(DOCUMENTS)))]:
        held[document_id] = draw(_documents(document_id, number))
        number += 1
    cut = draw(st.integers(1, len(held)))
    first = list(held.values())
    operations: list[Operation] = [batch for batch in (tuple(first[:cut]), tuple(first[cut:])) if batch]
    if draw(st.booleans()):
        operations.append(Building())
    merges = 0
    for step in draw(st.lists(st.sampled_from("rrrrffddbmmmusccc"), min_size=2, max_size=8)):
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
        elif step == "c":
            operations.append(Building(refresh=draw(st.booleans()), by_model=draw(st.integers(0, 3)) == 0))
    return tuple(operations)


def _groups(versions: int) -> st.SearchStrategy[tuple[str, ...]]:
    """Entities to merge. Those of a single document are often the canonical ones: the scope may not see them."""
    shared = [entity_id(name_key(name), kind_of(name)) for name in (*PEOPLE, *PLACES, *VARIANTS)]
    firms = [entity_id(name_key(name), "ORGANIZATION") for name in PLACES]
    own = [entity_id(name_key(marker(number)), kind_of(marker(number))) for number in range(versions)]
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
    *("", "meta", "ids", "glob until", "since", "", "meta", "ids glob", "until", "meta ids", "", "glob", "ids since"),
    *("meta", "empty"),
)
"""What filters are made of. A world takes as many as it has views, from some place on: all kinds come equally often."""


@st.composite
def _filters(draw: st.DrawFn, parts: str) -> dict[str, Any]:
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
def _views(draw: st.DrawFn, parts: str) -> View:
    return View(moment=draw(st.sampled_from(_MOMENTS)), by_time=draw(st.booleans()), filters=draw(_filters(parts)))


Said = Sequence[tuple[str, str]]
"""Persons with the verbs that stand behind them in a text."""


def _said(history: Sequence[Operation]) -> Said:
    """What the documents say, so that plans and paths ask for what some scope may show."""
    texts = " ".join(document["text"] for batch in history if isinstance(batch, tuple) for document in batch)
    found = [pair for pair in re.findall(r"(\w+ \w+) (\w+ed)\b", texts) if pair[0] in PEOPLE]
    return found or [(PEOPLE[0], VERBS[0])]


@st.composite
def _plans(draw: st.DrawFn, said: Said) -> dict[str, Any]:
    (person, verb), (second_person, _) = draw(st.sampled_from(said)), draw(st.sampled_from(said))
    ways = draw(st.sampled_from(([verb], [verb], [verb, "CO_OCCURS"], ["CO_OCCURS"])))
    direction = draw(st.sampled_from(("both", "both", "out", "in")))
    start = {"id": "a", "op": "match", "entity": person}
    if draw(st.booleans()):
        start["type"] = "PERSON"
    hop = {"id": "b", "op": "hop", "source": "a", "predicates": ways, "direction": direction}
    second = {"id": "c", "op": "match", "entity": second_person}
    far = {"id": "d", "op": "hop", "source": "c", "predicates": ways, "direction": "both"}
    narrowed = {"id": "e", "op": "filter", "source": "b", "predicates": ways, "direction": "both", "to": "c"}
    more = draw(
        st.sampled_from(
            (
                [],
                [],
                [{"id": "e", "op": "count", "source": "b", "by": "a"}],
                [{"id": "e", "op": "filter", "source": "b", "type": "PERSON"}],
                [second, narrowed],
                [second, far, {"id": "e", "op": "intersect", "sources": ["b", "d"]}],
            )
        )
    )
    return {"steps": [start, hop, *more]}


@st.composite
def _asked(draw: st.DrawFn, said: Said) -> Asked:
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
                {"predicates": [draw(st.sampled_from(said))[1].upper(), "CO_OCCURS"]},
                {"predicates": [draw(st.sampled_from(said))[1].upper()]},
                {"hybrid": True, "vector_weight": 0.5},
                {"mix_weights": {"local": 1.0, "global": 0.7, "naive": 0.2}, "context_only": True},
            )
        )
    )
    kind = draw(st.sampled_from(("LOCATION", "LOCATION", "ORGANIZATION")))
    spoken = st.sampled_from([person for person, _ in said])
    seeds = (draw(spoken), entity_id(name_key(place), kind), draw(spoken | _person))
    return Asked(
        question=question,
        options=options,
        seeds=seeds,
        direction=draw(st.sampled_from(("both", "both", "out", "in"))),
        plan=draw(_plans(said)),
    )


@st.composite
def worlds(draw: st.DrawFn, views: int = 5, asked: int = 2) -> World:
    history = draw(_histories())
    said = _said(history)
    first = draw(st.integers(0, len(_PARTS) - 1))
    parts = [_PARTS[(first + place) % len(_PARTS)] for place in range(views)]
    return World(
        history=history,
        views=tuple(draw(_views(part)) for part in parts),
        asked=tuple(draw(st.lists(_asked(said), min_size=asked, max_size=asked))),
        resolve=draw(st.booleans()),
    )
