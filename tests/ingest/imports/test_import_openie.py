"""OpenIE triples beside a corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph, errors
from small import OneStore

CORPUS = [
    {"id": "p1", "title": "Tarn", "text": "Corrick Vane delivered pumps to Tarn. The lake is deep."},
    {"id": "p2", "title": "Lowani", "text": "# Lowani\n\nThe son of Hana Sefu is Joseph Amarra.\n"},
]
OPENIE = [
    {
        "id": "p1",
        "entities": ["Corrick Vane", "pumps", 7, "+"],
        "triples": [
            ["Corrick Vane", "delivered pumps to", "Tarn"],
            ["Corrick Vane", "delivered"],
            ["Corrick Vane", "left", "Tarn", "early"],
            ["Corrick Vane", None, "Tarn"],
            "Corrick Vane left",
            ["Corrick Vane", "is", "corrick vane"],
            ["Corrick Vane", "is from", "Atlantis"],
        ],
    },
    {"id": "p9", "entities": [], "triples": []},
]
GOLD = [{"article": "Lowani", "subject": "Hana Sefu", "relation": "son", "object": "Joseph Amarra"}]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("openie"))
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in (("corpus", CORPUS), ("openie_some-model", OPENIE), ("gold_triples", GOLD)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def assertions(engine: Evigraph) -> list[dict[str, Any]]:
    return [row for line in engine.export() if line and (row := json.loads(line))["kind"] == "assertion"]


def test_triples_become_assertions_of_their_passage(store: OneStore, folder: Path) -> None:
    engine = store.engine()
    report = engine.import_graph(folder)
    assert report.format == "openie"
    made = {(a["subject_id"], a["predicate"], a["object_id"]): a for a in assertions(engine)}
    assert made.keys() == {
        ("concept:corrick vane", "DELIVERED_PUMPS_TO", "concept:tarn"),
        ("concept:corrick vane", "IS_FROM", "concept:atlantis"),
        ("concept:hana sefu", "SON", "concept:joseph amarra"),
    }
    delivered = made["concept:corrick vane", "DELIVERED_PUMPS_TO", "concept:tarn"]
    assert (delivered["chunk_id"], delivered["extractor"], delivered["verified"]) == (
        "p1#0",
        "import:openie_some-model",
        True,
    )
    assert delivered["description"] == "Corrick Vane delivered pumps to Tarn"
    assert CORPUS[0]["text"][delivered["start"] : delivered["end"]] == "Corrick Vane delivered pumps to Tarn."
    assert not made["concept:corrick vane", "IS_FROM", "concept:atlantis"]["verified"]
    assert made["concept:hana sefu", "SON", "concept:joseph amarra"]["extractor"] == "import:gold_triples"


def test_what_is_malformed_is_counted(store: OneStore, folder: Path) -> None:
    report = store.engine().import_graph(folder)
    assert {problem.reason: problem.count for problem in report.problems} == {
        "malformed_triple": 3,
        "missing_field": 1,
        "no_name": 1,
        "self_relation": 1,
        "unknown_passage": 1,
        "wrong_type": 1,
    }
    assert report.rows["triples"] == 8


def test_one_file_is_imported_alone(store: OneStore, folder: Path) -> None:
    engine = store.engine()
    engine.import_graph(folder / "gold_triples.jsonl", metadata={"by": "hand"})
    assert [a["extractor"] for a in assertions(engine)] == ["import:gold_triples"]
    assert {d.document_id: d.metadata for d in engine.documents()} == {"p1": {"by": "hand"}, "p2": {"by": "hand"}}


def test_a_filter_holds_for_imported_documents(store: OneStore, folder: Path) -> None:
    engine = store.engine()
    engine.import_graph(folder)
    shown = "".join(engine.export(document_filter={"document_ids": ["p2"]}))
    assert "Joseph Amarra" in shown
    assert "Corrick" not in shown


def test_without_a_corpus_nothing_is_found(store: OneStore, folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(errors.UnknownGraphFormat):
        store.engine().import_graph(folder)
    with pytest.raises(errors.UnknownGraphFormat):
        store.engine().import_graph(folder, format="openie")
    with pytest.raises(errors.InvalidValue):
        store.engine().import_graph(folder, format="rdf")


def test_links_out_of_the_folder_are_not_followed(store: OneStore, folder: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.jsonl"
    outside.write_text(json.dumps({"id": "s", "title": "Secret", "text": "A secret."}) + "\n")
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.jsonl").symlink_to(outside)
    with pytest.raises(errors.OutsideRoot):
        store.engine().import_graph(folder)
    (folder / "openie.jsonl").symlink_to(outside)
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.jsonl").write_text(json.dumps(CORPUS[0]) + "\n")
    with pytest.raises(errors.OutsideRoot):
        store.engine().import_graph(folder)
    with pytest.raises(errors.OutsideRoot):
        store.engine().import_graph(folder, root=folder / "nowhere")
    with pytest.raises(errors.MissingFile):
        store.engine().import_graph(folder / "nothing")


def test_files_over_the_limit_are_refused(store: OneStore, folder: Path) -> None:
    from evigraph.config import Settings

    engine = store.engine(settings=Settings(data=str(store.folder), max_file_bytes=100))
    with pytest.raises(errors.FileTooLarge) as raised:
        engine.import_graph(folder)
    assert "EVIGRAPH_MAX_FILE_BYTES" in raised.value.hint


@pytest.mark.shared
@pytest.mark.verify
def test_the_triples_of_a_model(store: OneStore, shared_data: Path) -> None:
    report = store.engine().import_graph(shared_data / "musique_train100")
    assert report.count("malformed_triple") == 185
    assert report.rows["triples"] == 17_419
    assert len(report.documents) == 1_890


@pytest.mark.shared
@pytest.mark.verify
def test_gold_triples_are_all_found_in_their_articles(store: OneStore, shared_data: Path) -> None:
    report = store.engine().import_graph(shared_data / "phantomwiki_easy")
    assert report.counts["assertions"] == report.counts["assertions_verified"] == 4_084
    assert report.problems == ()


def test_two_extractions_of_one_corpus_share_no_id(store: OneStore, tmp_path: Path) -> None:
    triple = ["Corrick Vane", "delivered pumps to", "Tarn"]
    named = {"openie_a": [triple], "openie_b": [triple, ["Tarn", "received pumps of", "Corrick Vane"]]}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(CORPUS[0]) + "\n", encoding="utf-8")
    for name, triples in named.items():
        row = {"id": "p1", "entities": [], "triples": triples}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    engine = store.engine()
    report = engine.import_graph(tmp_path)
    made = assertions(engine)
    assert len({row["id"] for row in made}) == len(made) == 2
    assert {row["predicate"]: row["extractor"] for row in made} == {
        "DELIVERED_PUMPS_TO": "import:openie_a",
        "RECEIVED_PUMPS_OF": "import:openie_b",
    }
    assert report.counts["assertions_repeated"] == 1
    assert report.counts["assertions"] == 2


def test_the_extractor_adds_what_the_triples_lack(store: OneStore, folder: Path) -> None:
    plain, both = store.engine(), store.engine()
    plain.import_graph(folder)
    report = both.import_graph(folder, extract=True)
    counts = report.counts
    assert counts["assertions_given"] == 3 and counts["assertions_extracted"] > 0
    assert (
        counts["assertions"]
        == counts["assertions_given"] + counts["assertions_extracted"] - counts["assertions_repeated"]
    )
    made = {(row["subject_id"], row["predicate"], row["object_id"]): row["extractor"] for row in assertions(both)}
    # A name that the triples give without a type is the entity that the extractor finds under it.
    assert made["person:corrick vane", "DELIVERED_PUMPS_TO", "location:tarn"] == "import:openie_some-model"
    assert made["person:corrick vane", "DELIVERED", "location:tarn"] == "rules"
    assert both.import_graph(folder, extract=True).documents[0].status == "unchanged"
    assert plain.import_graph(folder, extract=True).documents[0].status == "replaced"
    assert assertions(plain) == assertions(both)


def test_equal_claims_of_triples_and_extractor_are_one(store: OneStore, tmp_path: Path) -> None:
    row = {"id": "p1", "entities": [], "triples": [["Corrick Vane", "delivered", "Tarn"]]}
    for name, rows in (("corpus", CORPUS[:1]), ("openie", [row])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    engine = store.engine()
    report = engine.import_graph(tmp_path, extract=True)
    same = [r for r in assertions(engine) if r["predicate"] == "DELIVERED"]
    assert [r["extractor"] for r in same] == ["import:openie"]
    assert report.counts["assertions_repeated"] == 1


def test_a_title_names_its_passage_whatever_was_extracted(store: OneStore, tmp_path: Path) -> None:
    """No triple names the ferry; `mix` knows all the same that a passage is about it."""
    corpus = [
        {"id": "p1", "title": "Halima (ferry)", "text": "It crossed the lake to Tarn. The lake is deep."},
        {"id": "p2", "title": "", "text": "Hana Sefu came to Tarn by boat."},
    ]
    triples = [{"id": "p2", "entities": [], "triples": [["Hana Sefu", "came to", "Tarn"]]}]
    for name, rows in (("corpus", corpus), ("openie_some-model", triples)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    engine = store.engine()
    assert not engine.import_graph(tmp_path).problems
    found = engine.retrieve("What did the Halima cross?", mode="mix")
    assert (found.stats["anchors"], found.stats["gate"]) == (["the Halima"], "graph")
    assert found.chunks[0].document_id == "p1"
