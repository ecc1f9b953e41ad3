"""Plain JSON Lines: round trips of an export, and what people write by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph
from small import PUMPS, CountingEmbedder, OneStore, item


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("jsonl"))
    yield opened
    opened.close()


def saved(path: Path, engine: Evigraph, **filters: Any) -> Path:
    path.write_text("".join(engine.export(**filters)), encoding="utf-8")
    return path


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def records(engine: Evigraph, kind: str, **filters: Any) -> list[dict[str, Any]]:
    found = (json.loads(line) for line in engine.export(**filters) if line)
    return [row for row in found if row["kind"] == kind]


def shown(engine: Evigraph) -> list[str]:
    """The export without its header and revision numbers."""
    rows = [json.loads(line) for line in engine.export() if line][1:]
    return [json.dumps({key: value for key, value in row.items() if key != "revision"}) for row in rows]


def test_an_export_imported_into_an_empty_workspace_is_the_same_graph(store: OneStore, tmp_path: Path) -> None:
    first, second = store.engine(), store.engine()
    first.index(
        [*PUMPS, item("hostile", "Zoë <b>O'Neill</b> & “Ann” visited Émile.\r\nمرحبا 👋🏽 Bo\tVane called Ann.")]
    )
    report = second.import_graph(saved(tmp_path / "graph.jsonl", first))
    assert report.format == "jsonl"
    assert report.problems == ()
    assert shown(second) == shown(first)
    assert "".join(list(second.export("graphml"))[12:]) == "".join(list(first.export("graphml"))[12:])
    for document in first.documents():
        other = second.document(document.document_id)
        assert (other.title, other.source, other.date, other.metadata) == (
            document.title,
            document.source,
            document.date,
            document.metadata,
        )
        assert second.document_text(document.document_id) == first.document_text(document.document_id)
    for mode in ("mix", "local", "global", "keyword_lookup"):
        asked = [engine.retrieve("Who trained the mechanics in Tarn?", mode=mode) for engine in (first, second)]
        assert asked[0].chunks == asked[1].chunks
        assert asked[0].entities == asked[1].entities
        assert asked[0].relationships == asked[1].relationships


def test_merges_come_along_as_far_as_they_are_seen(store: OneStore, tmp_path: Path) -> None:
    first, second, third = store.engine(), store.engine(), store.engine()
    first.index(PUMPS)
    first.store.merge(
        first.workspace, ["location:tarn", "location:tolland", "location:lowani"], canonical="location:tarn"
    )
    report = second.import_graph(saved(tmp_path / "graph.jsonl", first))
    assert report.counts["merges"] == 1
    assert shown(second) == shown(first)
    entities = {row["id"]: row for row in records(second, "entity")}
    assert entities["location:tarn"]["members"] == ["location:lowani", "location:tarn", "location:tolland"]
    assert "location:tolland" not in entities
    again = second.import_graph(tmp_path / "graph.jsonl")
    assert again.counts["merges"] == 0
    third.import_graph(saved(tmp_path / "part.jsonl", first, document_filter={"document_ids": ["tarn"]}))
    (merged,) = [row["members"] for row in records(third, "entity") if "members" in row]
    assert merged == ["location:tarn", "location:tolland"]


def test_another_embedder_cuts_anew_and_keeps_every_assertion(store: OneStore, tmp_path: Path) -> None:
    first, second = store.engine(), store.engine(embedder=CountingEmbedder(max_tokens=20, name="short"))
    first.index(PUMPS)
    report = second.import_graph(saved(tmp_path / "graph.jsonl", first))
    assert report.counts["passages"] > len(records(first, "passage"))

    def claims(engine: Evigraph) -> list[tuple[Any, ...]]:
        return sorted(
            (a["subject_id"], a["predicate"], a["object_id"], a["start"], a["verified"])
            for a in records(engine, "assertion")
        )

    assert claims(second) == claims(first)
    text = {d.document_id: second.document_text(d.document_id) for d in second.documents()}
    spans = {f"{p['document_id']}#{p['index']}": (p["start"], p["end"]) for p in records(second, "passage")}
    for mention in records(second, "mention"):
        start, end = spans[mention["chunk_id"]]
        assert start <= mention["start"] <= mention["end"] <= end
        if mention["role"] == "text":
            document = mention["chunk_id"].rpartition("#")[0]
            assert text[document][mention["start"] : mention["end"]] == mention["name"]


def test_what_people_write_by_hand(store: OneStore, tmp_path: Path) -> None:
    path = lines(
        tmp_path / "hand.jsonl",
        {"kind": "document", "document_id": "d", "title": "Note", "date": "2020-05-01", "metadata": {"by": "me"}},
        {"kind": "passage", "document_id": "d", "text": "Ann Lee leads Northwind."},
        {"kind": "passage", "document_id": "d", "text": "Northwind lies in Oslo."},
        {"kind": "entity", "name": "Northwind", "type": "organization", "description": "A trading house."},
        {"kind": "mention", "chunk_id": "d#1", "name": "Oslo", "type": "location"},
        {
            "kind": "assertion",
            "chunk_id": "d#0",
            "subject_name": "Ann Lee",
            "subject_type": "person",
            "predicate": "LEADS",
            "object_name": "Northwind",
            "object_type": "organization",
        },
    )
    engine = store.engine()
    report = engine.import_graph(path)
    assert report.problems == ()
    assert engine.document_text("d") == "Ann Lee leads Northwind.\n\nNorthwind lies in Oslo."
    (made,) = records(engine, "assertion")
    assert (made["subject_id"], made["object_id"], made["verified"]) == (
        "person:ann lee",
        "organization:northwind",
        True,
    )
    assert made["description"] == "Ann Lee leads Northwind"
    assert {m["entity_id"] for m in records(engine, "mention")} == {
        "person:ann lee",
        "organization:northwind",
        "location:oslo",
    }
    said = {row["entity_id"]: row["text"] for row in records(engine, "description")}
    assert said["organization:northwind"] == "A trading house."
    assert engine.document("d").date is not None


GOOD = {"kind": "document", "document_id": "d", "text": "Ann Lee leads Northwind."}
CLAIM = {
    "kind": "assertion",
    "chunk_id": "d#0",
    "subject_name": "Ann Lee",
    "predicate": "LEADS",
    "object_name": "Northwind",
}


@pytest.mark.parametrize(
    ("row", "reason", "made"),
    [
        ({"kind": "node"}, "unknown_kind", 0),
        ({}, "unknown_kind", 0),
        ('{"kind": "assertion", "chunk_id": "d#0"', "bad_json", 0),
        ({**CLAIM, "chunk_id": "d"}, "wrong_type", 0),
        ({**CLAIM, "chunk_id": "d#7"}, "unknown_passage", 0),
        ({**CLAIM, "chunk_id": "e#0"}, "missing_field", 0),
        ({**CLAIM, "subject_name": ["Ann"]}, "wrong_type", 0),
        ({**CLAIM, "object_id": "northwind"}, "wrong_type", 0),
        ({**CLAIM, "predicate": ""}, "missing_field", 0),
        ({**CLAIM, "description": "x" * 50_001}, "too_long", 0),
        ({**CLAIM, "start": 5, "end": 500}, "span_outside_passage", 1),
        ({**CLAIM, "start": -5, "end": 5}, "wrong_type", 0),
        ({**CLAIM, "weight": True}, "wrong_type", 0),
        ({**CLAIM, "weight": -1e11}, "out_of_range", 1),
        ({**CLAIM, "weight": 1e7}, "out_of_range", 1),
        ({**CLAIM, "confidence": 7}, "out_of_range", 1),
        ({**GOOD, "text": "Again."}, "duplicate_id", 0),
        ({"kind": "passage", "document_id": "d", "start": 0, "end": 99}, "span_outside_text", 0),
        ({"kind": "passage", "document_id": "d", "start": 0, "end": 3, "text": "Bob"}, "span_not_the_text", 0),
        ({"kind": "passage", "document_id": "d", "start": 0, "end": 3, "sentences": [[1]]}, "wrong_type", 0),
        ({"kind": "document", "document_id": "f", "text": " "}, "missing_field", 0),
        ({"kind": "document", "document_id": "f\n", "text": "x"}, "not_text", 0),
        ({"kind": "text", "document_id": "g", "start": 5, "text": "x"}, "text_incomplete", 0),
        ({"kind": "entity", "name": "A", "members": ["person:a", "b"]}, "wrong_type", 0),
        ({"kind": "entity", "name": "A", "members": ["person:a", "person:FOO BAR"]}, "bad_id", 0),
        ({"kind": "description", "document_id": "d", "entity_id": "PERSON:ann lee", "text": "x"}, "bad_id", 0),
        ({"kind": "entity", "name": "A", "id": "person:a", "members": ["person:a", "person:b"]}, "merge_left_out", 0),
    ],
)
def test_a_bad_record_is_reported_and_the_rest_imported(
    store: OneStore, tmp_path: Path, row: Any, reason: str, made: int
) -> None:
    engine = store.engine()
    report = engine.import_graph(lines(tmp_path / "graph.jsonl", GOOD, row))
    assert {problem.reason: problem.count for problem in report.problems} == {reason: 1}
    assert len(records(engine, "assertion")) == made
    assert engine.document_text("d") == GOOD["text"]
    if made:
        assert records(engine, "assertion")[0]["verified"]


MENTION = {"kind": "mention", "chunk_id": "d#0", "name": "Ann Lee", "type": "PERSON"}


@pytest.mark.parametrize("header", [[], [{"kind": "graph", "format": "evigraph"}]], ids=["by hand", "exported"])
@pytest.mark.parametrize(
    "fields",
    [
        {"key": "   "},
        {"key": "ANN LEE"},
        {"entity_id": "PERSON:ann lee"},
        {"entity_id": "person:Ann Lee"},
        {"entity_id": "person:the ann lee"},
        {"entity_id": "person: ann lee"},
        {"entity_id": "person:ann lee", "key": "ann  lee"},
    ],
)
def test_an_id_that_is_not_normalised_makes_no_second_entity(
    store: OneStore, tmp_path: Path, header: list[Any], fields: dict[str, str]
) -> None:
    engine = store.engine()
    report = engine.import_graph(lines(tmp_path / "graph.jsonl", *header, GOOD, MENTION, {**MENTION, **fields}))
    assert len(report.problems) == 1
    (row,) = records(engine, "mention")
    assert (row["entity_id"], row["key"], row["type"]) == ("person:ann lee", "ann lee", "PERSON")


def test_numbers_of_mentions_stay_in_range(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    report = engine.import_graph(
        lines(tmp_path / "graph.jsonl", GOOD, {**MENTION, "confidence": 1e11, "weight": -3}, {**CLAIM, "confidence": 7})
    )
    assert report.count("out_of_range") == 3
    assert {(row["weight"], row["confidence"]) for row in records(engine, "mention")} == {(1.0, 1.0)}
    assert [round(row["confidence"], 3) for row in records(engine, "assertion")] == [0.9], "as where none is given"


def test_passages_that_hold_the_text_many_times_over_are_left_out(store: OneStore, tmp_path: Path) -> None:
    end = len(GOOD["text"])
    passages = [{"kind": "passage", "document_id": "d", "index": n, "start": 0, "end": end} for n in range(50)]
    engine = store.engine()
    report = engine.import_graph(lines(tmp_path / "graph.jsonl", GOOD, *passages, {**CLAIM, "chunk_id": "d#49"}, CLAIM))
    assert report.count("passages_overlap") == 46
    assert report.count("unknown_passage") == 1
    assert report.counts["passages"] == 4
    assert len(records(engine, "assertion")) == 1


def test_lines_that_are_no_text(store: OneStore, tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\xff\xfe\n\n" + rb'{"kind": "entity", "name": "\ud800"}' + b"\n")
    report = store.engine().import_graph(path)
    assert [(p.reason, p.examples[0].row) for p in report.problems] == [("not_text", 4), ("not_utf8", 2)]


def test_a_file_without_a_document_imports_nothing(store: OneStore, tmp_path: Path) -> None:
    report = store.engine().import_graph(lines(tmp_path / "graph.jsonl", {"kind": "graph"}, {"kind": "x"}))
    assert report.documents == ()
    assert report.count("unknown_kind") == 1


EXPORTED = {"kind": "graph", "format": "evigraph"}


@pytest.mark.parametrize("header", [EXPORTED, {"kind": "graph"}])
def test_ends_are_always_mentioned(store: OneStore, tmp_path: Path, header: dict[str, str]) -> None:
    engine, again = store.engine(), store.engine()
    report = engine.import_graph(lines(tmp_path / "graph.jsonl", header, GOOD, CLAIM))
    assert report.counts["ends_mentioned"] == 2
    assert {row["entity_id"] for row in records(engine, "mention")} == {"concept:ann lee", "concept:northwind"}
    assert {row["id"] for row in records(engine, "entity")} == {"concept:ann lee", "concept:northwind"}
    report = again.import_graph(saved(tmp_path / "again.jsonl", engine))
    assert "ends_mentioned" not in report.counts and shown(again) == shown(engine)


def test_an_id_that_says_something_else_is_reported_and_derived(store: OneStore, tmp_path: Path) -> None:
    rows = [
        {**CLAIM, "subject_id": "person:q42", "subject_type": "PERSON"},
        {"kind": "mention", "chunk_id": "d#0", "name": "Northwind", "key": "q7", "entity_id": "organization:northwind"},
    ]
    engine = store.engine()
    report = engine.import_graph(lines(tmp_path / "graph.jsonl", GOOD, *rows))
    assert report.count("id_disagrees") == 2
    assert {(m["entity_id"], m["key"], m["type"]) for m in records(engine, "mention")} == {
        ("person:ann lee", "ann lee", "PERSON"),
        ("organization:northwind", "northwind", "ORGANIZATION"),
        ("concept:northwind", "northwind", "CONCEPT"),
    }
    # In an export, what a passage calls an entity may be another form of its name.
    form = {**CLAIM, "subject_id": "location:norway", "subject_name": "Norwegian", "subject_type": "LOCATION"}
    wrong = {**CLAIM, "subject_id": "location:norway", "subject_name": "Ann Lee", "subject_type": "PERSON"}
    report = store.engine().import_graph(lines(tmp_path / "graph.jsonl", EXPORTED, GOOD, form))
    assert report.problems == ()
    report = store.engine().import_graph(lines(tmp_path / "graph.jsonl", EXPORTED, GOOD, wrong))
    assert report.count("id_disagrees") == 1


def test_a_filtered_export_is_that_of_a_workspace_with_the_part_alone(store: OneStore) -> None:
    whole, part = store.engine(), store.engine()
    whole.index(PUMPS)
    whole.index(item("memo", "Corrick Vane replaced the memo. Hana Sefu trained Joseph Amarra.", title="New memo"))
    whole.delete("ferry")
    part.index(PUMPS[:2])

    def lines_of(engine: Evigraph, format: str, **filters: Any) -> list[str]:
        return [
            line for line in engine.export(format, **filters) if '"graph"' not in line and "g_generation" not in line
        ]

    only = {"document_ids": ["tarn", "memo"]}
    for format in ("jsonl", "graphml"):
        assert lines_of(whole, format, as_of=len(PUMPS) + 1, document_filter=only) == lines_of(part, format)
    assert "ferry" not in "".join(whole.export())
    assert "accused" not in "".join(whole.export())
