"""GraphRAG output folders: what becomes of each table, and of what is wrong with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph, errors
from evigraph.types import Passage
from small import OneStore

MET = "Ada Lovelace met Charles Babbage in London. They spoke of the Analytical Engine."
WROTE = "Later Charles Babbage wrote to Ada Lovelace's mother."
UNITS = (f"{MET}\n\n{WROTE}", f"{WROTE} The letter is lost.", "Mary Somerville taught mathematics in London.")
"""Of which the second repeats the end of the first."""
TEXT = f"{MET}\n\n{WROTE} The letter is lost.\n\n{UNITS[2]}"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("graphrag"))
    yield opened
    opened.close()


def units() -> list[dict[str, Any]]:
    prepended = "title: letters.txt.\n"
    return [
        {"id": f"u{number}", "text": (prepended if number == 1 else "") + text, "document_id": "d1"}
        for number, text in enumerate(UNITS, start=1)
    ]


def tables() -> dict[str, list[Any]]:
    return {
        "documents": [{"id": "d1", "title": "letters.txt", "text_unit_ids": ["u1", "u2", "u3"], "text": TEXT}],
        "text_units": units(),
        "entities": [
            {
                "title": "ADA LOVELACE",
                "type": "person",
                "description": "A mathematician of great foresight.",
                "text_unit_ids": ["u1", "u2"],
            },
            {"title": "CHARLES BABBAGE", "type": "person", "description": "An inventor.", "text_unit_ids": ["u1"]},
            {"title": "LONDON", "type": "geo", "description": "", "text_unit_ids": ["u1", "u3"]},
        ],
        "relationships": [
            {
                "source": "ADA LOVELACE",
                "target": "CHARLES BABBAGE",
                "description": "They worked together.",
                "weight": 9.0,
                "text_unit_ids": ["u1", "u2", "u3"],
            },
            {
                "source": "MARY SOMERVILLE",
                "target": "LONDON",
                "description": "She lived there.",
                "weight": 1.0,
                "text_unit_ids": ["u3"],
            },
            {
                "source": "LORD BYRON",
                "target": "ADA LOVELACE",
                "description": "Her father.",
                "weight": 1.0,
                "text_unit_ids": ["u1"],
            },
        ],
        "communities": [{"id": "c1"}, {"id": "c2"}],
    }


def written(folder: Path, given: dict[str, list[Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in given.items():
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def assertions(engine: Evigraph) -> list[dict[str, Any]]:
    return [row for line in engine.export() if line and (row := json.loads(line))["kind"] == "assertion"]


def records(engine: Evigraph, kind: str) -> list[dict[str, Any]]:
    return [row for line in engine.export() if line and (row := json.loads(line))["kind"] == kind]


def test_each_unit_a_relationship_names_makes_an_assertion(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", tables()))
    assert report.format == "graphrag"
    assert report.rows == {"communities": 2, "documents": 1, "entities": 3, "relationships": 3, "text_units": 3}
    assert report.not_imported.keys() == {"communities"}
    assert report.counts["units_as_passages"] == 3
    together = [a for a in assertions(engine) if a["description"] == "They worked together."]
    assert [(a["weight"], a["predicate"], a["extractor"]) for a in together] == [
        (3.0, "RELATED_TO", "import:graphrag")
    ] * 3
    assert sorted((a["chunk_id"][-1], a["verified"], round(a["confidence"], 2)) for a in together) == [
        ("0", True, 0.9),
        ("1", True, 0.9),
        ("2", False, 0.5),
    ]
    assert together[0]["subject_name"] == "Ada Lovelace"
    assert together[0]["subject_id"] == "person:ada lovelace"


def test_units_are_passages_at_their_place_in_the_text(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    engine.import_graph(written(tmp_path / "graph", tables()))
    document = engine.documents()[0]
    assert (document.source, document.title) == ("letters.txt", "letters.txt")
    assert engine.document_text(document.document_id) == TEXT
    with engine.store.snapshot(engine.workspace) as snapshot:
        passages = [item for item in snapshot.export_documents() if isinstance(item, Passage)]
    assert [p.text for p in passages] == list(UNITS)
    assert all(p.text == TEXT[p.start : p.end] for p in passages)


def test_ends_that_are_no_entity_are_reported_one_by_one(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", tables()))
    assert {p.reason: (p.count, p.examples[0].row) for p in report.problems} == {
        "missing_end_imported": (1, 2),
        "missing_end_left_out": (1, 3),
    }
    made = {a["subject_id"] for a in assertions(engine)}
    assert "concept:mary somerville" in made
    assert "LORD BYRON" not in "".join(engine.export())


def test_descriptions_are_searched(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    engine.import_graph(written(tmp_path / "graph", tables()))
    said = {row["entity_id"]: row["text"] for row in records(engine, "description")}
    assert said["person:ada lovelace"] == "A mathematician of great foresight."
    with engine.store.snapshot(engine.workspace) as snapshot:
        vector = engine.embedder.embed(["mathematician of great foresight"])[0]
        assert snapshot.nearest_entities(vector, 1)[0][0] == "person:ada lovelace"


def test_what_sums_up_several_documents_is_not_kept(store: OneStore, tmp_path: Path) -> None:
    given = tables()
    given["documents"] = [
        {"id": "d1", "title": "a.txt", "text_unit_ids": ["u1", "u2"]},
        {"id": "d2", "title": "b.txt", "text_unit_ids": ["u3"]},
    ]
    given["text_units"][2]["document_id"] = "d2"
    given["entities"][2]["description"] = "A city that two letters speak of."
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", given))
    assert report.count("description_over_documents") == 2
    shown = "".join(engine.export())
    assert "two letters" not in shown
    assert "worked together" not in shown
    assert len(engine.documents()) == 2


def test_units_that_stand_nowhere_in_the_text_become_sections(store: OneStore, tmp_path: Path) -> None:
    given = tables()
    given["documents"][0]["text"] = "Another text altogether."
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", given))
    assert report.count("text_not_aligned") == 1
    text = engine.document_text(engine.documents()[0].document_id)
    assert text == "\n\n".join(UNITS)


def test_a_file_of_the_documents_name_is_its_text(store: OneStore, tmp_path: Path) -> None:
    given = tables()
    del given["documents"][0]["text"]
    folder = written(tmp_path / "graph", given)
    (folder / "letters.txt").write_text(TEXT, encoding="utf-8")
    engine = store.engine()
    assert engine.import_graph(folder).counts["documents_aligned"] == 1
    assert engine.document_text(engine.documents()[0].document_id) == TEXT


def test_long_units_are_cut_and_claims_go_to_the_passage_that_holds_them(store: OneStore, tmp_path: Path) -> None:
    filler = " ".join(f"Sentence number {number} says nothing at all." for number in range(120))
    text = f"{filler}\n\nAda Lovelace met Charles Babbage.\n\n{filler}"
    given = tables()
    given["documents"] = [{"id": "d1", "title": "long.txt", "text": text, "text_unit_ids": ["u1"]}]
    given["text_units"] = [{"id": "u1", "text": text, "document_id": "d1"}]
    given["relationships"] = given["relationships"][:1]
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", given))
    assert report.counts["units_chunked"] == 1
    (made,) = assertions(engine)
    assert made["verified"]
    assert text[made["start"] : made["end"]] == "Ada Lovelace met Charles Babbage."
    assert report.count("unknown_text_unit") >= 2


def test_the_same_again_is_no_work_and_a_change_is_a_revision(store: OneStore, tmp_path: Path) -> None:
    engine = store.engine()
    folder = written(tmp_path / "graph", tables())
    engine.import_graph(folder)
    before = engine.embedder.embedded  # type: ignore[attr-defined]
    again = engine.import_graph(folder)
    assert [d.status for d in again.documents] == ["unchanged"]
    assert engine.embedder.embedded == before  # type: ignore[attr-defined]
    changed = tables()
    changed["relationships"][0]["description"] = "They wrote letters."
    report = engine.import_graph(written(folder, changed))
    assert [(d.status, d.revision) for d in report.documents] == [("replaced", 2)]
    shown = "".join(engine.export())
    assert "They wrote letters." in shown
    assert "worked together" not in shown
    engine.delete(engine.documents()[0].document_id)
    assert assertions(engine) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{not json", "bad_json"),
        ("[1, 2]", "wrong_type"),
        ("[" * 100_000, "bad_json"),
        ({"source": "ADA LOVELACE", "text_unit_ids": ["u1"]}, "missing_field"),
        ({"source": "ADA LOVELACE", "target": 7, "text_unit_ids": ["u1"]}, "wrong_type"),
        ({"source": "ADA LOVELACE", "target": "A\0B", "text_unit_ids": ["u1"]}, "not_text"),
        ({"source": "ADA LOVELACE", "target": "x" * 501, "text_unit_ids": ["u1"]}, "too_long"),
        ({"source": "ADA LOVELACE", "target": "***", "text_unit_ids": ["u1"]}, "no_name"),
        ({"source": "ADA LOVELACE", "target": "LONDON", "text_unit_ids": "u1"}, "wrong_type"),
        ({"source": "ADA LOVELACE", "target": "LONDON", "text_unit_ids": []}, "relationship_without_text_unit"),
        ({"source": "ADA LOVELACE", "target": "LONDON", "text_unit_ids": ["no"]}, "unknown_text_unit"),
        ({"source": "ADA LOVELACE", "target": "LONDON", "weight": "x", "text_unit_ids": ["u1"]}, "wrong_type"),
        ({"source": "LONDON", "target": "the London", "text_unit_ids": ["u1"]}, "self_relation"),
    ],
)
def test_malformed_rows_are_reported_with_their_line(store: OneStore, tmp_path: Path, row: Any, reason: str) -> None:
    given = tables()
    given["relationships"] = [given["relationships"][0], row]
    engine = store.engine()
    report = engine.import_graph(written(tmp_path / "graph", given))
    assert report.count(reason) == 1
    found = next(problem for problem in report.problems if problem.reason == reason)
    assert (found.examples[0].file, found.examples[0].row) == ("relationships.jsonl", 2)
    assert len(assertions(engine)) == 3


def test_parquet_says_the_same_as_json_lines(store: OneStore, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    folder = tmp_path / "parquet"
    folder.mkdir()
    for name, rows in tables().items():
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / f"{name}.parquet")
    ours, theirs = store.engine(), store.engine()
    report = ours.import_graph(folder)
    assert report.problems
    theirs.import_graph(written(tmp_path / "graph", tables()))
    assert [a | {"chunk_id": ""} for a in assertions(ours)] != []
    assert sorted(a["description"] for a in assertions(ours)) == sorted(a["description"] for a in assertions(theirs))


def test_without_pyarrow_the_extra_is_named(store: OneStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text_units.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.MissingExtra) as raised:
        store.engine().import_graph(tmp_path)
    assert "evigraph[parquet]" in raised.value.hint


def test_a_broken_parquet_file_is_a_corrupt_document(store: OneStore, tmp_path: Path) -> None:
    (tmp_path / "text_units.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(errors.CorruptDocument):
        store.engine().import_graph(tmp_path)


@pytest.mark.shared
def test_the_novella(store: OneStore, shared_data: Path) -> None:
    engine = store.engine()
    report = engine.import_graph(shared_data / "christmas_carol_graphrag")
    assert report.rows["text_units"] == 42
    assert report.rows["relationships"] == 978
    assert report.count("missing_end_imported") + report.count("missing_end_left_out") == 84
    assert report.not_imported.keys() == {"communities", "community_reports", "covariates"}
    document = engine.documents()[0]
    text = engine.document_text(document.document_id)
    assert text == (shared_data / "christmas_carol_graphrag/a-christmas-carol.txt").read_text("utf-8").lstrip("\ufeff")
    with engine.store.snapshot(engine.workspace) as snapshot:
        for item in snapshot.export_documents():
            if isinstance(item, Passage):
                assert item.text == text[item.start : item.end]
