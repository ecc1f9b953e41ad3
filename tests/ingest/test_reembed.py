"""Switching a workspace to another embedding model, interrupted and not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.errors import EmbedderMismatch, ModelUnavailable, NotSupported
from evigraph.ingest import pipeline
from evigraph.ingest import reembed as module
from evigraph.reports import Progress
from small import PUMPS, CountingEmbedder, OneStore, item

QUESTIONS = ("Who delivered pumps to Tarn?", "What did Hana Sefu do?", "Which wells were repaired?")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("reembed"))
    yield opened
    opened.close()


def evidence_of(graph: Evigraph) -> list[Any]:
    return [
        (found.chunks, found.entities, found.relationships)
        for question in QUESTIONS
        for mode in ("naive", "local", "global", "mix")
        for found in [graph.retrieve(question, mode=mode)]
    ]


def switched(store: OneStore, graph: Evigraph, embedder: CountingEmbedder) -> Evigraph:
    """The same workspace with another embedder configured."""
    return store.engine(graph.workspace, embedder=embedder)


def test_reembedding_equals_indexing_with_the_other_model(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS)
    other = CountingEmbedder(32)
    again = switched(store, graph, other)
    again.reembed()
    fresh = store.engine(embedder=other)
    fresh.index(PUMPS)
    assert evidence_of(again) == evidence_of(fresh)
    assert again.index(PUMPS).count("unchanged") == len(PUMPS)


def test_the_old_model_answers_until_the_switch_and_as_of_before_it(store: OneStore) -> None:
    graph = store.engine()
    before = graph.index(PUMPS).generation
    expected = graph.retrieve(QUESTIONS[0])
    again = switched(store, graph, CountingEmbedder(32))
    during: list[Any] = []
    again.reembed(progress=lambda step: during.append(graph.retrieve(QUESTIONS[0])))
    assert during
    assert all((found.chunks, found.generation) == (expected.chunks, before) for found in during)
    with pytest.raises(EmbedderMismatch):
        graph.retrieve(QUESTIONS[0])
    assert graph.retrieve(QUESTIONS[0], as_of=before).chunks == expected.chunks


def test_an_interrupted_run_switches_nothing_and_resumes(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    graph = store.engine()
    before = graph.index(PUMPS).generation
    other = CountingEmbedder(32)
    other.fail_after, other.error = 5, ModelUnavailable("connection refused")
    again = switched(store, graph, other)
    with pytest.raises(ModelUnavailable):
        again.reembed()
    spent = other.embedded
    assert graph.retrieve(QUESTIONS[0]).generation == before
    failed = graph.jobs()[0]
    assert (failed.kind, failed.state) == ("reembed", "failed")
    assert failed.detail["vectors"] == spent
    other.fail_after = None
    again.reembed()
    done = graph.jobs()[0]
    assert (done.state, done.detail["vectors"]) == ("done", other.embedded - spent)
    fresh = store.engine(embedder=CountingEmbedder(32))
    fresh.index(PUMPS)
    assert evidence_of(again) == evidence_of(fresh)


def test_a_second_run_has_nothing_to_do(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS)
    other = CountingEmbedder(32)
    again = switched(store, graph, other)
    generation, spent = again.reembed(), other.embedded
    assert again.reembed() == generation
    assert other.embedded == spent


def test_documents_indexed_in_between_are_included(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    graph = store.engine()
    graph.index(PUMPS[:2])
    other = CountingEmbedder(32)
    other.fail_after = 1
    again = switched(store, graph, other)
    with pytest.raises(RuntimeError):
        again.reembed()
    other.fail_after = None
    graph.index(PUMPS[2:])
    again.reembed()
    found = {chunk.document_id for chunk in again.retrieve("pumps rods wells ferry", min_score=-1, mode="naive").chunks}
    assert found == {document["document_id"] for document in PUMPS}


def test_a_model_that_reads_less_is_refused(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("long", "word " * 200))
    short = CountingEmbedder(32, max_tokens=64)
    again = switched(store, graph, short)
    with pytest.raises(NotSupported) as caught:
        again.reembed()
    assert "64" in str(caught.value)
    assert caught.value.hint
    assert graph.jobs()[0].state == "failed"
    assert graph.retrieve("word").chunks


def test_a_document_of_several_windows_has_one_vector_of_each_entity(
    store: OneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "WINDOW", 1)
    text = "\n\n".join(f"# Part {n}\n\nHana Sefu visited Place{n}. {'word ' * 120}" for n in range(4))
    graph = store.engine()
    graph.index(item("long", text))
    other = CountingEmbedder(32)
    again = switched(store, graph, other)
    again.reembed()
    fresh = store.engine(embedder=other)
    fresh.index(item("long", text))
    for question in ("Hana Sefu visited Place0", "Hana Sefu visited Place3"):
        vector = other.embed([question])[0]
        nearest = []
        for engine in (again, fresh):
            with engine.store.snapshot(engine.workspace) as snapshot:
                nearest.append(snapshot.nearest_entities(vector, 10))
        assert nearest[0] == nearest[1]


def test_an_empty_workspace_is_switched(store: OneStore) -> None:
    graph = store.engine()
    graph.reembed()
    assert graph.index(PUMPS).ok


def test_progress_names_what_is_embedded(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS)
    steps: list[Progress] = []
    switched(store, graph, CountingEmbedder(32)).reembed(progress=steps.append)
    assert [step.source for step in steps] == ["passages", "facts"]
    assert steps[0].passages == 4
