"""Small to big: windows, their spans, the budget, and what is visible of a document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.query.assemble import passage_budget
from evigraph.query.request import parse
from evigraph.types import Chunk, Evidence
from small import OneStore, item

FILLER = "The weather was calm that day and nobody complained about the heat or the dust on the roads. "
KEYS = [
    "zebra", "walrus", "badger", "heron", "otter", "falcon", "beetle", "cricket", "donkey", "ferret", "gopher",
]  # fmt: skip


def section(word: str) -> str:
    return f"# Part {word}\n\nThe {word} was counted at the river. {FILLER * 10}"


def text(words: list[str]) -> str:
    return "\n\n".join(map(section, words))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("windows"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graph(store: OneStore) -> Evigraph:
    engine = store.engine()
    engine.index([item("animals", text(KEYS), title="Animals"), item("other", section("quagga"), title="Other")])
    return engine


def ask(graph: Evigraph, word: str, **options: Any) -> Evidence:
    options = {"mode": "naive", "hybrid": False, "parent_context": True, "max_chunks": 1, "min_score": -1, **options}
    return graph.retrieve(f"Where was the {word} counted at the river?", **options)


def without(graph: Evigraph, word: str, **options: Any) -> Evidence:
    return ask(graph, word, parent_context=False, **options)


def parts(graph: Evigraph) -> dict[str, tuple[int, int]]:
    """Where each passage of the document stands."""
    wide = without(graph, "zebra", max_chunks=200, max_context_tokens=200_000)
    return {chunk.id: (chunk.start, chunk.end) for chunk in wide.chunks}


def spans_hold(graph: Evigraph, found: Evidence) -> None:
    for chunk in found.chunks:
        whole = graph.document_text(chunk.document_id)
        assert chunk.text == whole[chunk.start : chunk.end]
        assert all(chunk.start <= start < end <= chunk.end for start, end in (*chunk.matched, *chunk.sentences))
        assert list(chunk.sentences) == sorted(chunk.sentences)


def number(chunk: Chunk) -> int:
    return int(chunk.id.rpartition("#")[2])


def test_a_match_comes_with_its_neighbours(graph: Evigraph) -> None:
    (small,) = without(graph, "otter").chunks
    found = ask(graph, "otter")
    (big,) = found.chunks
    where = parts(graph)
    at = number(small)
    assert big.id == small.id
    assert big.matched == ((small.start, small.end),)
    assert (big.start, big.end) == (where[f"animals#{at - 1}"][0], where[f"animals#{at + 1}"][1])
    assert (big.vector_score, big.score) == (small.vector_score, small.score)
    assert found.retrieval == "parent_context"
    assert found.stats["parent_context"] == {
        "matched": 1,
        "merged": 0,
        "neighbours": 2,
        "neighbours_over_budget": 0,
    }
    assert found.degraded == ()
    spans_hold(graph, found)


def test_a_window_ends_with_its_document(graph: Evigraph) -> None:
    where = parts(graph)
    last = max(int(name.rpartition("#")[2]) for name in where if name.startswith("animals#"))
    everything = ask(graph, "zebra", max_chunks=200, max_context_tokens=200_000)
    assert {chunk.document_id for chunk in everything.chunks} == {"animals", "other"}
    first, end = where["animals#0"][0], where[f"animals#{last}"][1]
    assert all(first <= chunk.start < chunk.end <= end for chunk in everything.chunks if chunk.document_id == "animals")
    spans_hold(graph, everything)


def test_windows_that_share_a_passage_become_one(graph: Evigraph) -> None:
    small = without(graph, "otter", max_chunks=6, max_context_tokens=200_000).chunks
    found = ask(graph, "otter", max_chunks=6, max_context_tokens=200_000)
    spans_hold(graph, found)
    assert found.chunks[0].id == small[0].id
    matched = [span for chunk in found.chunks for span in chunk.matched]
    assert sorted(matched) == sorted((chunk.start, chunk.end) for chunk in small)
    assert found.stats["parent_context"]["merged"] == len(small) - len(found.chunks)
    animals = sorted((chunk.start, chunk.end) for chunk in found.chunks if chunk.document_id == "animals")
    assert all(one[1] <= other[0] for one, other in pairwise(animals))
    assert [chunk.score for chunk in found.chunks] == sorted((chunk.score for chunk in found.chunks), reverse=True)


@pytest.mark.parametrize("budget", [64, 200, 300, 400, 600, 900, 1_500, 4_000])
def test_windows_shrink_before_a_passage_is_dropped(graph: Evigraph, budget: int) -> None:
    options: dict[str, Any] = {"max_chunks": 3, "max_context_tokens": budget}
    small = without(graph, "otter", **options).chunks
    found = ask(graph, "otter", **options)
    spans_hold(graph, found)
    matched = {span for chunk in found.chunks for span in chunk.matched}
    assert {(chunk.start, chunk.end) for chunk in small} <= matched
    tokens = sum(chunk.token_count for chunk in found.chunks)
    request = parse({"query": "x", "max_context_tokens": budget})
    assert tokens <= max(passage_budget(request), sum(chunk.token_count for chunk in small))
    assert found.stats["context_tokens"] <= budget or len(found.chunks) == 1


def test_the_best_match_is_widened_first(graph: Evigraph) -> None:
    small = without(graph, "otter", max_chunks=2, max_context_tokens=200_000).chunks
    room = sum(chunk.token_count for chunk in small) + 220
    found = ask(graph, "otter", max_chunks=2, max_context_tokens=int(room / 0.8))
    assert found.chunks[0].id == small[0].id
    assert found.chunks[0].end - found.chunks[0].start > small[0].end - small[0].start
    assert found.stats["parent_context"]["neighbours_over_budget"] > 0


@pytest.mark.parametrize("mode", ["mix", "local", "global", "hybrid", "keyword_lookup", "entity_connections"])
def test_other_modes_widen_what_they_found(graph: Evigraph, mode: str) -> None:
    small = without(graph, "otter", mode=mode)
    found = ask(graph, "otter", mode=mode)
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in small.chunks]
    assert found.retrieval == f"{small.retrieval}+parent_context"
    assert (found.entities, found.relationships) == (small.entities, small.relationships)
    spans_hold(graph, found)


def test_it_comes_before_hybrid(graph: Evigraph) -> None:
    found = ask(graph, "otter", hybrid=True)
    assert found.retrieval == "parent_context"
    assert found.degraded == ("hybrid: parent_context was asked for as well and comes first; ignored",)
    assert all(chunk.bm25_rank is None for chunk in found.chunks)


def test_citations_point_into_the_window(graph: Evigraph) -> None:
    answer = graph.ask("Where was the otter counted at the river?", mode="mix", parent_context=True, max_chunks=2)
    assert answer.citations
    for citation in answer.citations:
        whole = graph.document_text(citation.document_id)
        assert citation.quote == whole[citation.start : citation.end]
        assert citation.chunk_id in {chunk.id for chunk in answer.evidence.chunks}


def test_neighbours_are_those_of_the_visible_revision(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("animals", text(["zebra", "walrus", "badger"])))
    before = max(info.generation for info in graph.documents())
    graph.index(item("animals", text(["heron", "walrus", "falcon"])))
    now = ask(graph, "walrus").chunks[0]
    assert "heron" in now.text and "falcon" in now.text and "zebra" not in now.text
    then = ask(graph, "walrus", as_of=before).chunks[0]
    assert "zebra" in then.text and "badger" in then.text and "heron" not in then.text
    graph.delete("animals")
    assert ask(graph, "walrus").chunks == ()
    assert ask(graph, "walrus").retrieval == "parent_context"


def test_summaries_of_a_tree_are_no_neighbours(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("animals", text(KEYS)), build_tree=True)
    found = ask(graph, "otter", max_chunks=200, max_context_tokens=200_000)
    assert all(chunk.level == 0 for chunk in found.chunks)
    spans_hold(graph, found)
    whole = graph.document_text("animals")
    assert max(chunk.end for chunk in found.chunks) <= len(whole)


def test_summaries_stay_as_they_are(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("animals", text(KEYS)), build_tree=True)
    options: dict[str, Any] = {
        "parent_context": False,
        "method": "raptor",
        "max_chunks": 50,
        "max_context_tokens": 50_000,
    }
    found = ask(graph, "otter", rerank=True, compress=True, **options)
    summaries = [chunk for chunk in found.chunks if chunk.level]
    assert summaries and all(not chunk.kept and chunk.rerank_score is not None for chunk in summaries)
    assert any(chunk.kept for chunk in found.chunks if not chunk.level)


def test_pages_are_those_of_the_place_cited() -> None:
    chunk = Chunk(
        id="a#1", document_id="a", revision=1, source="", title="", text="", start=0, end=30, page=2,
        pages=((0, 1), (10, 2), (20, 3)),
    )  # fmt: skip
    assert [chunk.page_at(at) for at in (0, 9, 10, 25)] == [1, 1, 2, 3]
    assert (
        Chunk(id="a#1", document_id="a", revision=1, source="", title="", text="", start=0, end=30, page=2).page_at(5)
        == 2
    )
