"""The one JSON shape of answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from community_fakes import COVERAGE, ROUTE
from community_fakes import PUMPS as COMMUNITY
from evigraph import Evigraph
from evigraph.server.answers import QueryAnswer
from evigraph.testing.models import ScriptedChat
from evigraph.types import Chunk, DocumentFilter, Mode
from evigraph.wire import answer_to_wire, plain
from small import PUMPS, CountingEmbedder, RuleExtractor

QUESTION = "Who delivered four pumps to Tarn?"

TOP = {
    "answer", "context", "prompt", "abstained", "abstain_reason", "mode", "method", "requested", "route", "citations",
    "sources", "chunks", "entities", "relationships", "evidence", "communities", "degraded", "method_details", "stats",
    "generation", "paths", "plan", "coverage", "ledger",
}  # fmt: skip
CITATION = {"n", "chunk_id", "document_id", "revision", "source", "title", "start", "end", "quote", "page", "web"}
CHUNK = {
    "id", "text", "document_id", "revision", "source", "title", "context", "page", "start", "end", "vectorScore",
    "vectorRank", "bm25Score", "bm25Rank", "graphScore", "graphRank", "fusedScore", "rerankScore", "score", "level",
    "supports", "matched", "kept", "web",
}  # fmt: skip
ENTITY = {"id", "name", "type", "description", "degree", "score", "sourceChunks"}
RELATIONSHIP = {
    "id", "source", "target", "type", "description", "weight", "sourceName", "sourceType", "targetName", "targetType",
    "chunk_id", "document_id", "revision", "start", "end", "confidence", "extractor", "verified",
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    folder: Path = tmp_path_factory.mktemp("wire")
    with Evigraph(folder / "store", embedder=CountingEmbedder(), extractor=RuleExtractor()) as engine:
        engine.index(PUMPS)
        yield engine


def wired(graph: Evigraph, **options: Any) -> dict[str, Any]:
    """As a reader of strict JSON gets it."""
    sent = json.dumps(answer_to_wire(graph.ask(QUESTION, **options)), allow_nan=False)
    read: dict[str, Any] = json.loads(sent)
    return read


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)])
def test_the_shape_is_the_same_in_every_mode(graph: Evigraph, mode: Mode) -> None:
    found = wired(graph, mode=mode)
    assert set(found) == TOP
    assert found["mode"] == (found["route"]["mode"] if mode is Mode.AUTO else mode)
    assert found["requested"] == {"mode": mode, "method": "standard"}
    for name, fields in (("citations", CITATION), ("chunks", CHUNK)):
        assert found[name]
        assert all(set(entry) == fields for entry in found[name])
    assert all(set(entry) == ENTITY for entry in found["entities"])
    assert all(set(entry) == RELATIONSHIP for entry in found["relationships"])
    assert (found["mode"] == "naive") == (not found["entities"])
    assert found["generation"] == 5
    # Of four documents, on which nothing was built, an overview is thin.
    assert found["degraded"] is bool(found["method_details"]["degraded"]) is (mode is Mode.THEMATIC_OVERVIEW)
    QueryAnswer.model_validate_json(json.dumps(found), strict=True)


def test_a_signal_that_did_not_rank_is_null(graph: Evigraph) -> None:
    chunk = wired(graph, mode="naive")["chunks"][0]
    assert (chunk["vectorRank"], chunk["bm25Score"], chunk["bm25Rank"], chunk["rerankScore"]) == (1, None, None, None)


def test_an_abstention_has_no_answer_and_a_reason(graph: Evigraph) -> None:
    found = wired(graph, metadata_filter={"region": "nowhere"})
    assert set(found) == TOP
    assert (found["answer"], found["abstained"], found["citations"], found["sources"]) == (None, True, [], [])
    assert found["abstain_reason"].startswith("scope")
    assert found["method_details"]["metadata_filter"] == {"region": "nowhere"}


def test_sources_are_documents_by_their_best_passage(graph: Evigraph) -> None:
    found = wired(graph)
    order = list(dict.fromkeys(chunk["document_id"] for chunk in found["chunks"]))
    assert [source["document_id"] for source in found["sources"]] == order
    assert found["sources"][0]["chunks"] == ["tarn#0"]
    assert wired(graph, include_sources=False)["sources"] == []


def test_filters_and_deviations_are_echoed(graph: Evigraph) -> None:
    found = wired(graph, hybrid=True, document_filter={"document_ids": ["tarn"], "date_from": "2014-01-01"})
    assert found["degraded"] is True
    assert len(found["method_details"]["degraded"]) == 1
    assert found["method_details"]["document_filter"] == {
        "document_ids": ["tarn"],
        "pattern": None,
        "date_from": "2014-01-01",
        "date_to": None,
        "knowledge_bases": None,
    }
    assert found["method_details"]["answered_by"] == "extractive"


def test_enhanced_passages_say_what_was_matched_and_kept(graph: Evigraph) -> None:
    found = wired(graph, rerank=True, parent_context=True, compress=True)
    assert found["degraded"] is False
    assert found["method_details"]["retrieval"].endswith("+parent_context")
    for chunk in found["chunks"]:
        assert chunk["rerankScore"] is not None
        assert all(chunk["start"] <= start < end <= chunk["end"] for start, end in chunk["matched"] + chunk["kept"])
    assert any(chunk["kept"] for chunk in found["chunks"])
    assert all(chunk["matched"] for chunk in found["chunks"])
    assert {"rerank", "parent_context", "compress"} <= found["stats"].keys()


def test_what_was_checked_is_told(graph: Evigraph) -> None:
    model = Evigraph(
        graph.data,
        embedder=graph.embedder,
        extractor=graph.extractor,
        chat=ScriptedChat(["Zorba [7]. It was Corrick Vane [1]."]),
    )
    with model:
        details = wired(model)["method_details"]
    assert details["removed_citations"] == [7]
    assert len(details["unsupported"]) == 1
    assert details["answered_by"] == "model"


def test_context_and_prompt_where_asked(graph: Evigraph) -> None:
    context = wired(graph, context_only=True)
    assert (context["answer"], context["prompt"]) == (None, None)
    assert "<passage" in context["context"]
    prompt = wired(graph, prompt_only=True)
    assert (prompt["answer"], prompt["context"]) == (None, None)
    assert QUESTION in prompt["prompt"]
    assert wired(graph)["context"] is None


def test_plain_values() -> None:
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    given = {
        1: (date(2026, 1, 31), moment),
        "filter": DocumentFilter(document_ids=("a",)),
        "mode": Mode.MIX,
        "none": None,
    }
    assert json.loads(json.dumps(plain(given))) == {
        "1": ["2026-01-31", "2026-01-31T12:00:00+00:00"],
        "filter": {
            "document_ids": ["a"],
            "pattern": None,
            "date_from": None,
            "date_to": None,
            "knowledge_bases": None,
        },
        "mode": "mix",
        "none": None,
    }


def test_a_summary_has_no_span_and_the_sources_of_what_it_quotes(graph: Evigraph) -> None:
    answer = graph.ask(QUESTION, mode="naive")
    summary = Chunk(
        id="c0", document_id="", revision=0, source="", title="Pumps", text="Pumps.", start=0, end=0, level=1,
        supports=("tarn#0",),
    )  # fmt: skip
    evidence = replace(answer.evidence, chunks=(summary,), communities=(COMMUNITY,), coverage=COVERAGE, route=ROUTE)
    found = answer_to_wire(replace(answer, evidence=evidence))
    assert (found["chunks"][0]["start"], found["chunks"][0]["supports"]) == (None, ["tarn#0"])
    assert [(source["document_id"], source["chunks"]) for source in found["sources"]] == [("tarn", ["tarn#0"])]
    assert found["communities"][0]["quotes"][0]["text"] == COMMUNITY.quotes[0].text
    assert found["coverage"]["assertion_share"] == 0.5
    assert found["route"]["second"] == "local"
    QueryAnswer.model_validate(json.loads(json.dumps(found)))
