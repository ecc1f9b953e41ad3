"""Faults that were seen in other systems of this kind, so that they never become ours: a graph that depends on how many
calls brought its documents in or in which order, predicates that appear from the second insert on, edges that a
replacement doubles, repeated indexing that changes vectors, and text that outlives its deletion."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from killing import COMPARED, rows_of

from contract.physical import files_with, marker, places
from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.ingest.extractors import make_extractor
from evigraph.query.retrieve import RETRIEVERS
from evigraph.testing.models import HashEmbedder
from evigraph.types import Mode
from evigraph.wire import answer_to_wire
from small import PUMPS, OneStore, RuleExtractor, item

DOCUMENTS = [
    *PUMPS,
    item(
        "audit", "Hana Sefu audited the pumps at Tarn. Corrick Vane visited Lowani with Joseph Amarra.", title="Audit"
    ),
    item("wells", "Joseph Amarra repaired the wells of Lowani. Tolland funded Lowani.", title="Wells of Lowani"),
    item("rods", "Corrick Vane delivered four pumps to Tarn, and Hana Sefu tested the rods.", title="Rods"),
    item("plain", "There is a lake. It is deep and it is cold, and the ferry is old.", title="Lake"),
]
QUESTIONS = ("Who delivered pumps to Tarn?", "who repaired wells in lowani")
MODES = tuple(mode.value for mode in RETRIEVERS if mode not in (Mode.BYPASS, Mode.PLAN))

Calls = Sequence[Sequence[dict[str, Any]]]
CALLS: dict[str, Calls] = {
    "one call": [DOCUMENTS],
    "two calls": [DOCUMENTS[:4], DOCUMENTS[4:]],
    "four calls": [DOCUMENTS[first : first + 2] for first in range(0, 8, 2)],
    "one document a call": [[document] for document in DOCUMENTS],
    "backwards": [DOCUMENTS[::-1]],
    "backwards in four calls": [DOCUMENTS[first : first + 2][::-1] for first in (6, 4, 2, 0)],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("peers"))
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["rules", "spacy"])
def graphs(request: pytest.FixtureRequest, store: OneStore) -> dict[str, Evigraph]:
    """A workspace for each way to bring the documents in."""
    extractor = RuleExtractor() if request.param == "rules" else make_extractor(Settings())
    return {name: indexed(store.engine(extractor=extractor), calls) for name, calls in CALLS.items()}


def indexed(graph: Evigraph, calls: Calls) -> Evigraph:
    for documents in calls:
        assert graph.index(documents).count("added") == len(documents)
    return graph


def rows(graph: Evigraph) -> dict[str, list[str]]:
    """All rows of the workspace's tables, sorted; revisions, generations and moments left out."""
    return {
        table: sorted(row for _, row in graph.store.rows(rows_of(graph.store, table), {"workspace": graph.workspace}))
        for table in COMPARED
    }


def answers(graph: Evigraph) -> list[Any]:
    return [comparable(answer_to_wire(graph.ask(question, mode=mode))) for question in QUESTIONS for mode in MODES]


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: comparable(part)
            for key, part in value.items()
            if key not in ("generation", "revision", "cached") and not key.endswith("_ms")
        }
    return [comparable(part) for part in value] if isinstance(value, list) else value


def predicates(graph: Evigraph) -> list[tuple[str, int]]:
    sql = "SELECT predicate, count() FROM assertions WHERE workspace = {w:String} GROUP BY predicate ORDER BY predicate"
    return [(name, count) for name, count in graph.store.rows(sql, {"w": graph.workspace})]


@pytest.mark.parametrize("way", [name for name in CALLS if name != "one call"])
def test_the_graph_does_not_depend_on_calls_or_order(graphs: dict[str, Evigraph], way: str) -> None:
    once = rows(graphs["one call"])
    assert all(once[table] for table in ("passages", "passage_vectors", "terms", "mentions", "assertions"))
    other = rows(graphs[way])
    for table, expected in once.items():
        assert other[table] == expected, table
    assert predicates(graphs[way]) == predicates(graphs["one call"])


def test_the_answers_do_not_depend_on_calls_or_order(graphs: dict[str, Evigraph]) -> None:
    once = answers(graphs["one call"])
    assert any(answer["relationships"] for answer in once)
    for way in ("one document a call", "backwards in four calls"):
        assert answers(graphs[way]) == once, way


def test_repeated_indexing_changes_nothing(graphs: dict[str, Evigraph]) -> None:
    graph = graphs["four calls"]
    before = rows(graph), answers(graph), graph.documents()
    for calls in (CALLS["one call"], CALLS["backwards in four calls"]):
        for documents in calls:
            report = graph.index(documents)
            assert report.count("unchanged") == len(documents)
            assert report.generation == max(info.generation for info in before[2])
    assert (rows(graph), answers(graph), graph.documents()) == before
    assert all(len(graph.revisions(document["document_id"])) == 1 for document in DOCUMENTS)


def test_every_predicate_is_one_the_text_states(store: OneStore) -> None:
    """Documents come in one by one: none brings a predicate into what was there before."""
    graph = store.engine()
    seen: dict[str, list[str]] = {}
    for document in DOCUMENTS:
        graph.index(document)
        sql = """
            SELECT document_id, groupArray(predicate) FROM (
                SELECT document_id, predicate FROM assertions WHERE workspace = {w:String}
                ORDER BY document_id, assertion_id)
            GROUP BY document_id"""
        now = dict(graph.store.rows(sql, {"w": graph.workspace}))
        assert {name: now[name] for name in seen} == seen
        seen = now
    assert all(name == "CO_OCCURS" or name.endswith("ED") for name, _ in predicates(graph))


def test_a_replacement_leaves_no_edge_twice(store: OneStore) -> None:
    changed = {**DOCUMENTS[0], "text": f"{DOCUMENTS[0]['text']} Joseph Amarra praised Tarn."}
    fresh = indexed(store.engine(), [[changed, *DOCUMENTS[1:]]])
    graph = indexed(store.engine(), CALLS["two calls"])
    for text in ("Corrick Vane delivered pumps to Tarn.", changed["text"], "Nothing.", changed["text"]):
        assert graph.index({**changed, "text": text}).count("replaced") == 1
    assert answers(graph) == answers(fresh)
    for mode in MODES:
        shown = graph.retrieve(QUESTIONS[0], mode=mode, max_relationships=1000, max_context_tokens=20_000)
        ids = [claim.id for claim in shown.relationships]
        assert len(ids) == len(set(ids)), mode
    graph.prune()
    assert rows(graph) == rows(fresh)
    assert answers(graph) == answers(fresh)


def test_deleted_text_is_nowhere_after_a_prune(store: OneStore, tmp_path: Path) -> None:
    """Documents read from files, asked about in every mode, replaced and deleted: no copy is left, in memory or on
    disk."""
    replaced, deleted = marker(), marker()
    for name, word in (("a.md", replaced), ("b.md", deleted)):
        (tmp_path / name).write_text(f"---\nby: {word}\n---\n# {word} log\n\n{word} Vane delivered pumps to Tarn.\n")
    graph = store.engine()
    graph.index(tmp_path, root=tmp_path)
    for mode in MODES:
        for options in ({}, {"context_only": True}):
            shown = graph.ask(f"What did {replaced} Vane and {deleted} Vane deliver to Tarn?", mode=mode, **options)
            assert deleted in json.dumps(answer_to_wire(shown))
    (tmp_path / "a.md").write_text("Hana Sefu delivered pumps to Lowani.\n")
    (tmp_path / "b.md").unlink()
    assert graph.index(tmp_path, root=tmp_path, sync=True).count("deleted") == 1
    assert graph.prune().documents == 2
    for word in (replaced, deleted):
        assert places(graph.store, word) == []
        assert list(files_with(store.folder, word)) == []
        assert word not in repr(vars(graph._cache))
    assert graph.ask("Who delivered pumps to Lowani?").citations


def test_deleted_text_is_in_no_memory_of_the_process_after_a_prune(store: OneStore) -> None:
    """Two engines on one folder were asked about it, and one of them prunes: no object of the process holds the word,
    which the test itself keeps in two halves."""
    halves = ("Qz" + marker()[:6], "vor" + marker()[:6])
    graphs = [store.engine("forgotten", embedder=HashEmbedder(32)) for _ in range(2)]

    def used() -> int:
        name = "".join(halves)
        text = f"{name} Vane delivered pumps to Tarn."
        graphs[0].index([{"document_id": "a", "text": text}, {"document_id": "b", "text": "Hana Sefu came to Lowani."}])
        for graph in graphs:
            for mode in MODES:
                for options in ({}, {"context_only": True}):
                    graph.ask(f"What did {name} Vane deliver to Tarn?", mode=mode, **options)
        return len(holders(halves))

    assert used() > 0
    graphs[0].delete("a")
    graphs[0].prune()
    assert holders(halves) == []


def holders(halves: tuple[str, str]) -> list[str]:
    """Objects of the process that hold a text with both halves, one after the other."""
    gc.collect()
    return [
        f"{type(holder).__name__}: {type(held).__name__}"
        for holder in gc.get_objects()
        for held in gc.get_referents(holder)
        if isinstance(held, str | bytes) and _holds(held, halves)
    ]


def _holds(text: str | bytes, halves: tuple[str, str]) -> bool:
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    at = shown.casefold().find(halves[0].casefold())
    return at >= 0 and shown[at + len(halves[0]) :].casefold().startswith(halves[1].casefold())
