"""`raptor`: the collapsed tree, what answers from it cite, and that nothing else ever sees a summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.query.answer.answer import answer
from evigraph.query.answer.leaves import LEAVES, cite_leaves, numbers_below
from evigraph.query.assemble import assemble, fit_budget
from evigraph.query.request import parse
from evigraph.query.retrieve import raptor
from evigraph.query.run import Run
from evigraph.query.understand import understand
from evigraph.testing.models import ScriptedChat
from evigraph.types import Chunk, Mode
from evigraph.wire import answer_to_wire
from small import OneStore, item
from summary_trees import report, summaries

QUESTION = "Which hand pumps did Corrick Vane deliver to Tarn?"
DOCUMENTS = [
    item("long", report(40), title="Field report", source="north/long.md", date="2014-05-02", metadata={"region": "n"}),
    item("other", report(15), title="Second report", source="south/other.md", metadata={"region": "s"}),
    item("short", "Corrick Vane delivered nine hand pumps to Tarn.", title="Note", source="note.md"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("raptor"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graph(store: OneStore) -> Evigraph:
    engine = store.engine("trees")
    engine.index(DOCUMENTS, build_tree=True)
    return engine


@pytest.fixture(scope="module")
def plain(store: OneStore) -> Evigraph:
    """The same documents without trees."""
    engine = store.engine("plain")
    engine.index(DOCUMENTS)
    return engine


def asked(graph: Evigraph, question: str = QUESTION, *, answered: bool = True, **options: Any) -> Run:
    """A run of the steps of `raptor`, and of what answers it."""
    request = parse({"query": question, "mode": "naive", **options}, max_query_chars=8_000)
    with graph.queries.open(request) as run:
        understand(run)
        run.retrieved = raptor.retrieve(run)
        assemble(run)
        fit_budget(run)
        cite_leaves(run)
        if answered:
            answer(run)
        return run


def text_of(graph: Evigraph, chunk: Chunk) -> str:
    return graph.document_text(chunk.document_id)


def test_summaries_are_ranked_among_passages_by_cosine(graph: Evigraph) -> None:
    run = asked(graph, max_chunks=60, max_context_tokens=30_000)
    assert run.retrieved.retrieval == "raptor" and not run.ledger.degraded
    assert {chunk.level for chunk in run.chunks} > {0, 1}
    scores = [chunk.vector_score for chunk in run.chunks]
    assert scores == sorted(scores, reverse=True) and [chunk.vector_rank for chunk in run.chunks][:3] == [1, 2, 3]
    with graph.store.snapshot(graph.workspace) as snapshot:
        vectors = snapshot.passage_vectors([key for key, _ in run.retrieved.passages])
    for key, signals in run.retrieved.passages:
        assert signals.score == pytest.approx(float(vectors[key] @ run.asked.vector), abs=1e-5)


def test_a_summary_names_the_leaves_it_rests_on_and_has_no_span(graph: Evigraph) -> None:
    run = asked(graph, max_chunks=60, max_context_tokens=30_000)
    found = [chunk for chunk in run.chunks if chunk.level]
    stored = {f"{name}#{row['passage_index']}": row for name in ("long", "other") for row in summaries(graph, name)}
    assert found and "short" not in {chunk.document_id for chunk in found}
    for chunk in found:
        assert chunk.text == stored[chunk.id]["text"] and (chunk.start, chunk.end) == (0, 0)
        assert chunk.supports == tuple(f"{chunk.document_id}#{index}" for index in stored[chunk.id]["supports"])


def test_answers_cite_leaves_and_quote_them_word_for_word(graph: Evigraph) -> None:
    run = asked(graph)
    assert any(chunk.level for chunk in run.chunks)
    assert run.abstain_reason is None and run.text and run.citations
    for citation in run.citations:
        assert graph.document_text(citation.document_id)[citation.start : citation.end] == citation.quote != ""
    assert {citation.chunk_id for citation in run.citations} <= {chunk.id for chunk in run.citable}
    assert not any(chunk.level for chunk in run.citable)


def test_numbers_go_to_passages_once_and_each_summary_has_its_best_leaves_among_them(graph: Evigraph) -> None:
    run = asked(graph, max_chunks=30, max_context_tokens=20_000, answered=False)
    ids = [chunk.id for chunk in run.citable]
    assert len(ids) == len(set(ids))
    own = [chunk.id for chunk in run.chunks if not chunk.level]
    assert set(own) <= set(ids)
    assert len(ids) <= len(own) + LEAVES * sum(bool(chunk.level) for chunk in run.chunks)
    with graph.store.snapshot(graph.workspace) as snapshot:
        hits = snapshot.nearest_passages(run.asked.vector, 1_000)
        order = list(snapshot.chunk_ids([hit.key for hit in hits]).values())
    for chunk in (chunk for chunk in run.chunks if chunk.level):
        best = sorted(chunk.supports, key=order.index)[:LEAVES]
        assert set(best) <= set(ids)
        assert {ids[number - 1] for number in numbers_below(chunk, run.citable)} == set(ids) & set(chunk.supports)
    cited = {chunk.id: chunk for chunk in run.citable}
    assert all(text_of(graph, chunk)[chunk.start : chunk.end] == chunk.text for chunk in cited.values())


def test_the_context_marks_summaries_and_the_model_may_cite_passages_only(store: OneStore, graph: Evigraph) -> None:
    chat = ScriptedChat(["Corrick Vane delivered hand pumps to Tarn [1]. It was so [99]."])
    run = asked(store.engine("trees", chat=chat))
    shown = chat.calls[0][-1].content
    assert shown.count('<passage summary="yes"') == sum(bool(chunk.level) for chunk in run.chunks) > 0
    assert shown.count("<passage n=") == len(run.citable)
    for chunk in (chunk for chunk in run.chunks if chunk.level):
        numbers = "".join(f"[{number}]" for number in numbers_below(chunk, run.citable))
        assert f"Summary of passages, {numbers} among them. Cite the passages, never the summary." in shown
    assert [citation.chunk_id for citation in run.citations] == [run.citable[0].id]
    assert run.removed_citations == [99]


@pytest.mark.parametrize("budget", [1, 60, 300, 700, 1_500, 4_000])
def test_summaries_and_their_leaves_fit_the_budget_together(graph: Evigraph, budget: int) -> None:
    run = asked(graph, max_context_tokens=max(budget, 100), answered=False)
    used = sum(c.token_count for c in run.chunks if c.level) + sum(c.token_count for c in run.citable)
    assert run.chunks and run.citable
    assert used == run.ledger.counts["context_tokens"]
    assert used <= run.request.max_context_tokens or len(run.chunks) == len(run.citable) == 1
    assert all(numbers_below(chunk, run.citable) for chunk in run.chunks if chunk.level)
    assert run.ledger.counts["chunks"] == len(run.chunks)


def test_without_a_tree_in_scope_it_is_dense_and_says_so(graph: Evigraph, plain: Evigraph) -> None:
    for engine, options in ((plain, {}), (graph, {"metadata_filter": {"document_id": "short"}})):
        run = asked(engine, **options)
        standard = engine.retrieve(QUESTION, mode="naive", **options)
        assert run.retrieved.retrieval == "dense"
        assert [chunk.id for chunk in run.chunks] == [chunk.id for chunk in standard.chunks]
        assert [said for said in run.ledger.degraded if said.startswith("raptor: no document in scope has a")]
        assert run.numbered is None


def test_filters_and_as_of_hold_for_summaries(store: OneStore) -> None:
    graph = store.engine("past")
    graph.index(DOCUMENTS[:1], build_tree=True)
    before = graph.store.generation(graph.workspace)
    graph.index(DOCUMENTS[1:], build_tree=True)
    wide = {"max_chunks": 100, "max_context_tokens": 100_000}
    for options, expected in (
        ({"metadata_filter": {"region": "s"}}, {"other"}),
        ({"document_filter": {"pattern": "north/*"}}, {"long"}),
        ({"document_filter": {"date_from": "2014-01-01"}}, {"long"}),
        ({"as_of": before}, {"long"}),
    ):
        run = asked(graph, **wide, **options, answered=False)
        assert {chunk.document_id for chunk in (*run.chunks, *run.citable)} == expected
        assert any(chunk.level for chunk in run.chunks)
    graph.delete("long")
    run = asked(graph, **wide, answered=False)
    assert {chunk.document_id for chunk in run.chunks} == {"other", "short"}
    assert {chunk.document_id for chunk in asked(graph, as_of=before, answered=False).chunks} == {"long"}


MODES = [mode.value for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)]


def without_times(wire: dict[str, Any]) -> dict[str, Any]:
    """A response without what tells time, place or how often something was written."""
    stats = {key: value for key, value in wire["stats"].items() if not key.endswith("_ms")}
    return {**{key: value for key, value in wire.items() if key not in ("ledger", "generation")}, "stats": stats}


@pytest.mark.parametrize("mode", MODES)
def test_no_other_mode_sees_a_summary(graph: Evigraph, plain: Evigraph, mode: str) -> None:
    options: dict[str, Any] = {"seeds": ["Tarn"]} if mode == "traverse" else {}
    with_trees = answer_to_wire(graph.ask(QUESTION, mode=mode, **options))
    without = answer_to_wire(plain.ask(QUESTION, mode=mode, **options))
    assert without_times(with_trees) == without_times(without)


def test_the_engine_answers_by_it(graph: Evigraph) -> None:
    wire = answer_to_wire(graph.ask(QUESTION, mode="naive", method="raptor"))
    assert (wire["method"], wire["method_details"]["retrieval"], wire["degraded"]) == ("raptor", "raptor", False)
    shown = [chunk for chunk in wire["chunks"] if chunk["level"]]
    assert shown and all(chunk["start"] is None and chunk["supports"] for chunk in shown)
    assert not {chunk["id"] for chunk in shown} & {citation["chunk_id"] for citation in wire["citations"]}
    assert {c["document_id"] for c in wire["citations"]} <= {source["document_id"] for source in wire["sources"]}
    named = {name for source in wire["sources"] for name in source["chunks"]}
    assert not {chunk["id"] for chunk in shown} & named


def test_the_same_question_gets_the_same_answer(graph: Evigraph) -> None:
    one, other = (asked(graph) for _ in range(2))
    assert (one.chunks, one.numbered, one.text, one.citations, one.context) == (
        other.chunks, other.numbered, other.text, other.citations, other.context,
    )  # fmt: skip
