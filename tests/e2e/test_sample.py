"""The real models on a year of the shipped sample, and on a few passages of a labelled corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evigraph import Evigraph
from evigraph.sample import corpus_path
from evigraph.types import CO_OCCURS, Mode


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    folder: Path = tmp_path_factory.mktemp("sample")
    with Evigraph(folder / "store") as graph:
        report = graph.index(corpus_path() / "2014", root=corpus_path())
        assert report.errors == ()
        assert report.count("added") == 7
        yield graph


@pytest.mark.parametrize(
    ("question", "source", "answer"),
    [
        (
            "Of the 42 boreholes drilled from Dembure in 2014, how many gave enough water to be equipped?",
            "2014/east-drilling-completion.md",
            "38",
        ),
        (
            "What is the serial number of the pump on borehole KS-02?",
            "2014/eastern-borehole-log-2014.csv",
            "T50-1187",
        ),
        ("What did the grain store at Rusk Bend cost to build?", "2014/southern-annual-review-2014.pdf", "3.4 million"),
        (
            "Which invoice covers the Coastal Reader 1 copies sent to Quill Sands in October 2014?",
            "2014/coast-textbook-deliveries-2014.csv",
            "BL-2208",
        ),
    ],
)
def test_labelled_questions_are_answered_from_their_document(
    year: Evigraph, question: str, source: str, answer: str
) -> None:
    found = year.ask(question)
    assert not found.abstained
    assert found.evidence.chunks[0].source == source
    assert answer in (found.text or "")
    assert any(answer in citation.quote and citation.source == source for citation in found.citations)


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)])
def test_spans_hold_in_every_mode(year: Evigraph, mode: str) -> None:
    texts = {info.document_id: year.document_text(info.document_id) for info in year.documents()}
    answer = year.ask("Who supplied the pumps for the boreholes drilled from Dembure?", mode=mode)
    assert answer.evidence.chunks
    for chunk in answer.evidence.chunks:
        if chunk.level:
            assert mode == Mode.THEMATIC_OVERVIEW and chunk.supports
            continue
        assert texts[chunk.document_id][chunk.start : chunk.end] == chunk.text
        assert chunk.token_count <= year.embedder.max_tokens
    for citation in answer.citations:
        assert texts[citation.document_id][citation.start : citation.end] == citation.quote
    for claim in answer.evidence.relationships:
        assert 0 <= claim.start < claim.end <= len(texts[claim.document_id])


def test_a_pdf_is_cited_by_page(year: Evigraph) -> None:
    source = {"source": "southern-annual-review-2014.pdf"}
    found = year.ask("What did the grain store at Rusk Bend cost to build?", metadata_filter=source)
    assert {citation.page for citation in found.citations} <= {1, 2, 3}


def test_the_graph_states_more_than_neighbourhood(year: Evigraph) -> None:
    found = year.retrieve("Who trained teachers at Tolmane?", mode="local")
    stated = [claim for claim in found.relationships if claim.type != CO_OCCURS]
    assert stated
    assert {entity.type for entity in found.entities} & {"PERSON", "LOCATION", "ORGANIZATION"}


def test_what_is_not_in_the_reports_is_not_answered(year: Evigraph) -> None:
    found = year.ask("Which quarterback won the Super Bowl in 1987?")
    assert found.abstained
    assert found.abstain_reason


def test_unchanged_files_cost_nothing(year: Evigraph) -> None:
    again = year.index(corpus_path() / "2014", root=corpus_path(), sync=True)
    assert again.count("unchanged") == len(again.documents) == 7


@pytest.mark.shared
def test_gold_passages_of_a_labelled_corpus_are_found(shared_data: Path, year: Evigraph) -> None:
    folder = shared_data / "musique_train100"
    with (folder / "corpus.jsonl").open() as lines:
        passages = [json.loads(line) for _, line in zip(range(60), lines, strict=False)]
    held = {passage["id"] for passage in passages}
    with (folder / "questions.jsonl").open() as lines:
        questions = [json.loads(line) for line in lines]
    whole = [question for question in questions if set(question["gold"]) <= held]
    graph = year.in_workspace("musique")
    report = graph.index(
        {"document_id": passage["id"], "title": passage["title"], "text": passage["text"]} for passage in passages
    )
    assert report.count("added") == 60
    assert whole
    found = [
        {chunk.document_id for chunk in graph.retrieve(question["question"], max_chunks=5).chunks} for question in whole
    ]
    recall = sum(len(set(q["gold"]) & hits) / len(q["gold"]) for q, hits in zip(whole, found, strict=True)) / len(whole)
    assert recall >= 0.6
