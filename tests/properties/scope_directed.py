"""Worlds of the scope-leak test made by hand: what random ones would rarely hit."""

from __future__ import annotations

from typing import Any

from scope_world import (
    BASE,
    Asked,
    Building,
    Deletion,
    Document,
    Merging,
    Operation,
    Pruning,
    Schema,
    Unmerging,
    View,
    World,
)

from small import item

HANA, CORRICK, DOCTOR = "person:hana sefu", "person:corrick vane", "person:dr hana sefu"


def _document(document_id: str, text: str, *, title: str = "", **told: Any) -> Document:
    """A document; `folder`, `date` and metadata are told."""
    folder, day = told.pop("folder", "north"), told.pop("date", None)
    dated = {} if day is None else {"date": day}
    return item(document_id, text, title=title, source=f"{folder}/{document_id}.md", metadata=told, **dated)


def _plan(start: str, way: str, *more: dict[str, Any], **match: Any) -> dict[str, Any]:
    hop = {"id": "b", "op": "hop", "source": "a", "predicates": [way], "direction": "both"}
    return {"steps": [{"id": "a", "op": "match", "entity": start, **match}, hop, *more]}


def _asked(question: str, seeds: tuple[str, str, str], plan: dict[str, Any], **told: Any) -> Asked:
    named, direction = told.pop("named", ()), told.pop("direction", "both")
    options = {"min_score": -1.0, "max_chunks": 10, "max_entities": 40, "graph_depth": 2, "per_node_limit": 20}
    return Asked(
        question=question, options={**options, **told}, seeds=seeds, direction=direction, plan=plan, named=named
    )


def _only(*document_ids: str) -> dict[str, Any]:
    return {"document_filter": {"document_ids": list(document_ids)}}


_REVISED = (
    "Hana Sefu visited Tarn by night. Corrick Vane trained Joseph Amarra. Hana Sefu visited Lowani unseen by night.",
    "Hana Sefu visited Tarn with word5. Marit Olsen trained Joseph Amarra. Joseph Amarra hired Kest5 Orlo5 unseen.",
)
"""The first claim has the same place in both, and so the same id."""

LIVES = World(
    history=(
        (
            _document("d0", _REVISED[0], kind="memo", date="2014-05-02"),
            _document(
                "d1",
                "Hana Sefu never visited Tarn. HANA SEFU hired Marit Olsen. Dr Hana Sefu hired Marit Olsen.",
                folder="south",
                kind="",
                date="2016-03-01",
            ),
            _document(
                "d2",
                "Hana Sefu visited Ulwe. Corrick Vane trained Corick Vane. Hana Sefu and Pieter Banda like wells.",
                folder="north/old",
            ),
            _document(
                "d3",
                "HANA SEFU called Ferry Queen by day. HANA SEFU and Corick Vane like rods."
                " HANA SEFU married Kest3 Orlo3. The firm Tarn hired Corrick Vane."
                " HANA SEFU accused Ulwe unseen by day. HANA SEFU trained Lowani."
                " Corick Vane hired Lowani. HANA SEFU visited Lowani.",
                title="Report title3",
                folder="south",
                kind="visit",
                date="2018-06-01",
            ),
        ),
        Merging(entities=("person:kest3 orlo3", HANA, DOCTOR)),
        Merging(entities=(CORRICK, "person:corick vane")),
        Schema(functional="VISITED"),
        (_document("d0", _REVISED[1], kind="memo", date="2014-05-02"),),
        Deletion(document_id="d3"),
    ),
    views=(
        View(),
        View(moment=0.7),
        View(moment=0.7, filters=_only("d0", "d1", "d2")),
        View(filters={"metadata_filter": {"kind": ""}}),
        View(moment=0.8, by_time=True, filters={"metadata_filter": {"document_id": "d1"}}),
        View(filters={"metadata_filter": {"source": "d2.md"}}),
        View(moment=0.4, filters={"document_filter": {"pattern": "north/*"}}),
        View(moment=0.6, filters={"document_filter": {"date_from": "2016-03-01"}}),
        View(filters={"document_filter": {"date_to": "2014-05-02"}}),
    ),
    asked=(
        _asked(
            "What did Hana Sefu do in Tarn?",
            ("Hana Sefu", "location:lowani", "Joseph Amarra"),
            _plan("Hana Sefu", "VISITED", type="PERSON"),
            named=("Ferry Queen",),
        ),
        _asked(
            "Where was Corrick Vane trained?",
            ("Corrick Vane", "location:tarn", "Hana Sefu"),
            _plan("Corrick Vane", "TRAINED"),
            predicates=["VISITED"],
        ),
    ),
)
"""One claim in two revisions, one that is denied; a name that only a deleted document gave; a canonical entity that the
scope does not see; ends of assertions that no passage mentions; every kind of filter."""

_AGAIN = "Corick Vane trained Corrick Vane. The firm Tarn hired Joseph Amarra."
"""What is indexed twice, the second time without a change."""

LOOPS = World(
    history=(
        (
            _document(
                "d0",
                "Corrick Vane trained Corick Vane. Hana Sefu visited Tarn. Corrick Vane visited Ulwe. Lowani is deep.",
            ),
            _document("d8", "Marit Olsen waits at Ulwe."),
            _document("d9", "Pieter Banda waits at Ulwe."),
            _document("d1", _AGAIN),
        ),
        Merging(entities=(CORRICK, "person:corick vane")),
        Merging(entities=("location:lowani", "location:tarn")),
        Deletion(document_id="d8"),
        Deletion(document_id="d9"),
        (_document("d1", _AGAIN),),
    ),
    views=(View(), View(filters=_only("d0"))),
    asked=(
        _asked(
            "Who trained Corrick Vane?",
            ("Corrick Vane", "location:lowani", "Hana Sefu"),
            _plan("Corrick Vane", "TRAINED"),
            named=("Hana Sefu",),
            per_node_limit=1,
        ),
        _asked("Where is Lowani?", ("location:lowani", "Tarn", "Hana Sefu"), _plan("location:lowani", "VISITED")),
    ),
    resolve=False,
)
"""Assertions between entities that count as one, and a name that is also another's."""

ALIASES = World(
    history=(
        (
            _document(
                "d0",
                "Hana Sefu accused Tarn. Sefu Hana married Marit Olsen. Prof Hana Sefu hired Marit Olsen."
                " Vane is deep. Corrick Vane waits.",
            ),
            _document(
                "d2",
                "Hana Sefu and Corrick Vane like pumps. Corick Vane and Sefu Hana like wells."
                " Dr Hana Sefu and Marit Olsen like maize.",
            ),
            _document("d3", "Hana Sefu and Sefu Hana like rods. Corick Vane trained Corrick Vane. Kest3 Orlo3 waits."),
            _document("d4", "Dr Corrick Vane and Dr Hana Sefu like rods. Hana Sefu waits."),
        ),
        Merging(entities=(HANA, DOCTOR)),
    ),
    views=(
        View(filters=_only("d2")),
        View(moment=0.7, filters=_only("d2")),
        View(filters=_only("d2", "d3")),
        View(filters=_only("d0")),
        View(moment=0.7, filters=_only("d4")),
    ),
    asked=(
        _asked(
            "Who accused Sefu?",
            ("Sefu Hana", "location:tarn", "Corrick Vane"),
            _plan(HANA, "CO_OCCURS"),
        ),
    ),
)
"""Names that may be one: with a title, misspelt, the other way round. What is hidden describes them, relates them, or
makes a short form ambiguous, or is the name that a form stands for."""

RIVALS = World(
    history=(
        (
            _document(
                "d0",
                "Corrick Vane visited Tarn. Corrick Vane never visited Tarn. Hana Sefu visited Ulwe."
                " Hana Sefu never visited Ulwe.",
            ),
            _document("d1", "Corrick Vane trained Hana Sefu.", folder="south"),
            _document(
                "d2",
                "Corrick Vane accused Marit Olsen. Corrick Vane accused Pieter Banda. Corrick Vane hired Joseph Amarra."
                " Hana Sefu trained Marit Olsen. Hana Sefu married Marit Olsen.",
            ),
            _document(
                "d3",
                "Corrick Vane hired Joseph Amarra. Hana Sefu trained Pieter Banda. Hana Sefu married Pieter Banda.",
            ),
        ),
        Schema(functional="VISITED"),
    ),
    views=(View(filters=_only("d0")), View(moment=0.8, filters=_only("d2", "d3")), View(filters=_only("d2", "d3"))),
    asked=(_asked("Who trained Hana Sefu?", ("Hana Sefu", "location:ulwe", "Corrick Vane"), _plan(HANA, "TRAINED")),),
)
"""Claims against each other, and others that only look so: under a cap each may crowd out the next."""

_PRUNED: tuple[Operation, ...] = (
    (
        _document("d0", "Hana Sefu visited Tarn. Hana Sefu hired Kest0 Orlo0."),
        _document("d1", "Hana Sefu visited Lowani. Hana Sefu trained Kest1 Orlo1."),
    ),
    (_document("d0", "Hana Sefu visited Tarn. Hana Sefu hired Kest2 Orlo2."),),
    Schema(functional="VISITED"),
    Merging(entities=(HANA, "location:tarn")),
    Pruning(),
    (_document("d1", "Hana Sefu visited Ulwe. Hana Sefu trained Kest3 Orlo3."),),
    Unmerging(number=0),
    Deletion(document_id="d0"),
    Pruning(),
)
PRUNED = World(
    history=_PRUNED[:-1],
    views=(View(), View(moment=0.75, by_time=True), View(filters=_only("d1"))),
    asked=(
        _asked(
            "Who visited Tarn?",
            ("Hana Sefu", "location:tarn", "Kest2 Orlo2"),
            _plan("Hana Sefu", "VISITED"),
            predicates=["VISITED"],
        ),
    ),
    resolve=False,
)
"""A prune that got no further than its horizon: what it is to remove shows in no history."""

PINNED = World(
    history=_PRUNED, views=(View(moment=0.85, by_time=True, pinned=True),), asked=PRUNED.asked, resolve=False
)
"""A query that runs beside a later prune sees what it saw when it began."""

_BUILT: tuple[Operation, ...] = (
    (
        _document("d0", "Hana Sefu visited Tarn. Hana Sefu trained Kest0 Orlo0. Hana Sefu and Marit Olsen like pumps."),
        _document("d1", "Corrick Vane visited Ulwe. Corrick Vane hired Joseph Amarra.", folder="south", region="east"),
        _document("d2", "Corrick Vane trained Hana Sefu. Kest2 Orlo2 visited Lowani.", region="east"),
        _document("d3", "Pieter Banda married Marit Olsen. Pieter Banda accused Kest3 Orlo3.", folder="south"),
        _document("d6", "Kest6 Orlo6 counted every well by hand.", region="west"),
        _document("d7", "Kest6 Orlo6 waited by the river that year.", region="east"),
    ),
    Merging(entities=(CORRICK, "person:corick vane")),
    Building(),
    Deletion(document_id="d3"),
    (_document("d0", "Hana Sefu visited Lowani. Hana Sefu trained Kest4 Orlo4.", region="west"),),
    Building(refresh=True),
    Unmerging(number=0),
    Building(by_model=True),
    (_document("d2", "Corrick Vane trained Marit Olsen. Kest5 Orlo5 waits.", region="west"),),
)
BUILT = World(
    history=_BUILT,
    views=(
        View(moment=0.2),
        View(moment=0.6),
        View(moment=0.6, filters={"metadata_filter": {"region": "east"}}),
        View(moment=0.73),
        View(moment=0.8),
        View(moment=0.8, filters=_only("d0", "d2")),
        View(moment=0.8, filters=_only("d0", "d7")),
        View(moment=0.93),
        View(),
        View(filters=_only("d0", "d1")),
    ),
    asked=(
        _asked(
            "What recurs across all of the reports?",
            ("Hana Sefu", "location:tarn", "Corrick Vane"),
            _plan("Hana Sefu", "VISITED"),
        ),
        _asked(
            "Which places did people visit most overall?",
            ("Corrick Vane", "location:ulwe", "Hana Sefu"),
            _plan("Corrick Vane", "TRAINED"),
        ),
    ),
)
"""Communities before they are built, fresh, stale, renewed, and written by a model that repeats what it is shown; one
of them an entity that nothing is said of, in a passage that is visible and in one that is not."""


def _long(first: str, last: str) -> str:
    told = (
        f"{first} visited the first well of the year and wrote of it to the others by night.",
        "The pumps of that place were old and the rods were worn, and nobody had maize to spare.",
        f"{last} trained the men of the second well for a whole season, with rods and with patience.",
        "Wells of this kind need a pump that lasts, and rods that do not rust in the rain at all.",
        f"{first} and {last} like the wells of the plain best of all that they have seen so far.",
        "In the end the maize was sold for less than the rods had cost, which was told for years.",
    )
    return "\n\n".join(told)


TREES = World(
    history=(
        (
            _document("d0", _long("Hana Sefu", "Kest0 Orlo0")),
            _document("d1", _long("Corrick Vane", "Kest1 Orlo1"), folder="south"),
            _document("d2", "Hana Sefu visited Tarn."),
        ),
        (_document("d0", _long("Hana Sefu", "Kest3 Orlo3")),),
        Deletion(document_id="d1"),
    ),
    views=(
        View(),
        View(moment=0.6),
        View(moment=0.6, filters=_only("d0")),
        View(moment=0.6, filters=_only("d2")),
        View(filters=_only("d2")),
    ),
    asked=(
        _asked(
            "What did Hana Sefu say of wells and rods?",
            ("Hana Sefu", "location:tarn", "Corrick Vane"),
            _plan("Hana Sefu", "VISITED"),
        ),
    ),
    trees=frozenset({"d0", "d1"}),
)
"""Documents with trees of summaries beside one without: in force, replaced, deleted."""

BASES = World(
    history=(
        (
            _document("d0", "Hana Sefu visited Tarn. Hana Sefu hired Kest0 Orlo0.", based="yes"),
            _document("d1", "Hana Sefu visited Lowani. Corrick Vane trained Kest1 Orlo1."),
            _document("d2", "Corrick Vane visited Ulwe. Hana Sefu trained Corrick Vane.", folder="south", based="yes"),
        ),
        (_document("d0", "Hana Sefu visited Tarn. Hana Sefu hired Kest2 Orlo2.", based="yes"),),
        Deletion(document_id="d2"),
    ),
    views=(
        View(filters={"document_filter": {"knowledge_bases": [BASE]}}),
        View(moment=0.6, filters={"document_filter": {"knowledge_bases": [BASE]}}),
        View(moment=0.6, filters={"document_filter": {"knowledge_bases": [BASE], "pattern": "south/*"}}),
    ),
    asked=(_asked("Who visited Tarn?", ("Hana Sefu", "location:tarn", "Corrick Vane"), _plan("Hana Sefu", "VISITED")),),
    based=frozenset({"d0", "d2"}),
)
"""Documents of a knowledge base beside one of none."""

DIRECTED = {
    "lives": LIVES,
    "loops": LOOPS,
    "aliases": ALIASES,
    "rivals": RIVALS,
    "pruned": PRUNED,
    "pinned": PINNED,
    "built": BUILT,
    "trees": TREES,
    "bases": BASES,
}
