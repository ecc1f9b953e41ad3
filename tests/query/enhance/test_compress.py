"""Contextual compression: which sentences are kept, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.testing.models import ScriptedChat
from evigraph.text.excerpt import GAP, kept_text
from evigraph.types import Chunk, Evidence
from small import OneStore, item

QUESTION = "Who repaired the pump at Tarn?"
REPORT = (
    "The year began with storms over the lake. Hana Sefu repaired the pump at Tarn. "
    "Barley prices fell in the markets. The ferry ran twice a week. Joseph Amarra paid for the pump at Tarn."
)
TABLE = """# Stock

The stock was counted in May by the clerk of the store.

| Place | Pump | Owner |
| --- | --- | --- |
| Lowani | Afridev | Tolland |
| Tarn | Nira | Hana Sefu |
| Dembure | Mono | Joseph Amarra |
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("compress"))
    opened.engine("reports").index(
        [
            item("report", REPORT, title="Report"),
            item("table", TABLE, title="Stock"),
            item("ferry", "The ferry Halima crosses the lake twice a week. The waves are high in the spring."),
        ]
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graph(store: OneStore) -> Evigraph:
    return store.engine("reports")


def cut(graph: Evigraph, question: str = QUESTION, **options: Any) -> dict[str, Chunk]:
    found = graph.retrieve(question, **{"mode": "naive", "min_score": -1, "compress": True, **options})
    return {chunk.document_id: chunk for chunk in found.chunks}


def kept(chunk: Chunk) -> list[str]:
    return [chunk.text[start - chunk.start : end - chunk.start] for start, end in chunk.kept]


def test_sentences_of_the_question_are_kept_in_order(graph: Evigraph) -> None:
    chunk = cut(graph)["report"]
    assert kept(chunk) == ["Hana Sefu repaired the pump at Tarn.", "Joseph Amarra paid for the pump at Tarn."]
    assert kept_text(chunk) == f"{kept(chunk)[0]} {GAP} {kept(chunk)[1]}"


def test_the_evidence_keeps_its_span(graph: Evigraph) -> None:
    for chunk in cut(graph).values():
        assert chunk.text == graph.document_text(chunk.document_id)[chunk.start : chunk.end]
        assert set(chunk.kept) <= set(chunk.sentences)


def test_the_best_sentence_of_each_passage_is_kept(graph: Evigraph) -> None:
    chunk = cut(graph)["ferry"]
    assert len(chunk.kept) == 1


def test_a_row_brings_its_header(graph: Evigraph) -> None:
    chunk = cut(graph, "Is it the Nira of Hana Sefu?")["table"]
    assert kept(chunk)[0] == "| Place | Pump | Owner |"
    assert "| Tarn | Nira | Hana Sefu |" in kept(chunk)
    assert "| Dembure | Mono | Joseph Amarra |" not in kept(chunk)
    assert "# Stock" not in kept(chunk)


def test_tokens_are_counted_before_and_after(graph: Evigraph) -> None:
    def stats(**options: Any) -> Evidence:
        return graph.retrieve(QUESTION, mode="naive", min_score=-1, **options)

    plain, found = stats(), stats(compress=True)
    counted = found.stats["compress"]
    assert counted["tokens_before"] == sum(chunk.token_count for chunk in plain.chunks)
    assert counted["tokens_after"] == sum(chunk.token_count for chunk in found.chunks) < counted["tokens_before"]
    assert counted["sentences_after"] < counted["sentences_before"]
    assert found.stats["context_tokens"] < plain.stats["context_tokens"]
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in plain.chunks]
    assert found.degraded == plain.degraded


def test_a_passage_that_is_all_to_the_point_is_left_whole(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("one", "Hana Sefu repaired the pump at Tarn."))
    chunk = cut(graph)["one"]
    assert chunk.kept == ()
    assert kept_text(chunk) == chunk.text


def test_more_passages_fit_the_budget(store: OneStore) -> None:
    graph = store.engine()
    filler = "Barley prices fell in the markets of the far south again. " * 8
    graph.index([item(f"r{n}", f"Hana Sefu repaired pump {n} at Tarn. {filler}") for n in range(6)])
    options: dict[str, Any] = {"mode": "naive", "max_context_tokens": 200, "min_score": -1}
    whole = graph.retrieve(QUESTION, **options)
    small = graph.retrieve(QUESTION, compress=True, **options)
    assert len(small.chunks) == 6 > len(whole.chunks)


def test_answers_without_a_model_quote_what_was_kept(graph: Evigraph) -> None:
    answer = graph.ask(QUESTION, compress=True, mode="mix")
    spans = {chunk.id: chunk.kept or chunk.sentences for chunk in answer.evidence.chunks}
    assert answer.citations
    for citation in answer.citations:
        assert any(start <= citation.start and citation.end <= end for start, end in spans[citation.chunk_id])
        assert citation.quote == graph.document_text(citation.document_id)[citation.start : citation.end]


def test_a_model_sees_what_was_kept_and_is_not_asked_for_it(store: OneStore) -> None:
    chat = ScriptedChat(["Hana Sefu repaired the pump at Tarn [1]."])
    answer = store.engine("reports", chat=chat).ask(QUESTION, compress=True, mode="naive", min_score=-1)
    assert len(chat.calls) == 1
    seen = chat.calls[0][-1].content
    assert "Hana Sefu repaired the pump at Tarn." in seen
    assert "Barley prices" not in seen and "storms" not in seen
    (citation,) = answer.citations
    assert citation.quote == "Hana Sefu repaired the pump at Tarn."


def test_it_repeats_itself(graph: Evigraph) -> None:
    assert cut(graph) == cut(graph)


def test_windows_are_cut_after_they_are_made(store: OneStore) -> None:
    graph = store.engine()
    filler = "Barley prices fell in the markets of the far south again. " * 30
    graph.index(item("long", f"{filler}\n\nHana Sefu repaired the pump at Tarn.\n\n{filler}Nobody repaired it since."))
    found = graph.retrieve(QUESTION, mode="naive", min_score=-1, max_chunks=1, parent_context=True, compress=True)
    (chunk,) = found.chunks
    assert "Hana Sefu repaired the pump at Tarn." in kept(chunk)
    assert not any("Barley" in sentence for sentence in kept(chunk))


def test_modes_without_passages_say_so(graph: Evigraph) -> None:
    found = graph.retrieve("What recurs across all reports?", mode="thematic_overview", compress=True)
    assert "compress: mode `thematic_overview` answers from summaries of communities" in " ".join(found.degraded)
