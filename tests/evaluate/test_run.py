from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import InvalidValue, UnknownMode
from evigraph.evaluate import Dataset, evaluate, load_dataset, valid_modes
from evigraph.evaluate.datasets import sample
from evigraph.evaluate.explain import found_documents
from evigraph.evaluate.run import rerank_by_bm25
from evigraph.types import Evidence, Mode

from .fakes import WordEngine, chunk

CORPUS = [
    {"id": "ada", "title": "Ada", "text": "Ada wrote programs. Ada liked numbers"},
    {"id": "bo", "title": "Bo", "text": "Bo sang songs about programs"},
    {"id": "cy", "title": "Cy", "text": "Cy painted a blue house"},
]
QUESTIONS = [
    {"id": "q1", "question": "Who wrote programs?", "gold": ["ada"], "answer": "Ada", "type": "one"},
    {
        "id": "q2",
        "question": "Who sang and who painted?",
        "gold": ["bo", "cy"],
        "answer": "Bo",
        "type": "two",
    },
    {"id": "q3", "question": "Who flew?", "gold": [], "type": "absent"},
    {"id": "q4", "question": "What are the themes?", "gold": [], "type": "themes"},
    {"id": "q5", "question": "boom", "gold": ["ada"], "type": "two"},
]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return build(tmp_path, CORPUS, QUESTIONS)


def build(folder: Path, corpus: list[dict[str, Any]], questions: list[dict[str, Any]]) -> Dataset:
    for name, records in (("corpus", corpus), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return load_dataset(folder)


def test_every_mode_ranks_every_question_with_gold(dataset: Dataset) -> None:
    ticks: list[tuple[int, int]] = []
    report = evaluate(WordEngine(), dataset, modes=["dense", "mix"], on_progress=lambda *tick: ticks.append(tick))
    assert [(case.mode, case.question_id) for case in report.rankings] == [
        (mode, question) for mode in ("dense", "mix") for question in ("q1", "q2", "q5")
    ]
    assert report.rankings[0].ranked == ("ada", "bo")
    assert report.rankings[0].metrics["MRR"] == 1.0
    assert report.rankings[1].metrics["recall@2"] == 1.0
    assert ticks[-1] == (7, 7)
    assert report.index == {"documents": 3, "errors": 0, "seconds": 0.5}
    assert "1 questions have no gold and are not ranked" in report.warnings


def test_a_failing_question_is_recorded_and_scores_nothing(dataset: Dataset) -> None:
    report = evaluate(WordEngine(), dataset, modes=["mix"], answers="all")
    failed = report.rankings[2]
    assert failed.error == "invalid_query: the question explodes"
    assert set(failed.metrics.values()) == {0.0}
    assert report.row("mix").failed == 1
    summary = report.answer_summary()
    assert summary is not None
    assert summary.failed == 1


def test_other_errors_are_not_swallowed(dataset: Dataset) -> None:
    class Broken(WordEngine):
        def retrieve(self, question: str, **options: Any) -> Evidence:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluate(Broken(), dataset)


def test_absent_evidence_is_judged_by_abstention(dataset: Dataset) -> None:
    report = evaluate(WordEngine(), dataset, modes=["mix"])
    (asked,) = report.answers
    assert (asked.question_id, asked.abstained, asked.abstain_reason) == ("q3", True, "retrieve: no passage")
    summary = report.answer_summary()
    assert summary is not None
    assert (summary.absent, summary.abstained_when_absent, summary.answerable, summary.cites_gold) == (
        1,
        1.0,
        0,
        None,
    )
    assert evaluate(WordEngine(), dataset, modes=["mix"], answers="none").answer_summary() is None


def test_citation_accuracy_and_answers(dataset: Dataset) -> None:
    report = evaluate(WordEngine(), dataset, modes=["dense"], answers="all", limit=3)
    summary = report.answer_summary()
    assert summary is not None
    assert (summary.answerable, summary.cites_gold, summary.abstained_when_answerable) == (2, 1.0, 0.0)
    assert summary.answer_recall == 1.0
    assert summary.longest_quote == len("Bo sang songs about programs")
    assert [case.citations for case in report.answers] == [("ada",), ("bo",), ()]


def test_pseudo_modes_and_budgets_reach_the_engine(dataset: Dataset) -> None:
    engine = WordEngine()
    report = evaluate(
        engine, dataset, modes=["dense", "bm25", "hybrid-rrf", "local"], limit=1, options={"min_score": 0}
    )
    sent = [{name: value for name, value in call.items() if name != "question"} for call in engine.calls]
    common = {"max_chunks": 20, "max_context_tokens": 20_000, "min_score": 0}
    assert sent == [
        {**common, "mode": "naive"},
        {"max_chunks": 40, "max_context_tokens": 40_000, "min_score": 0, "mode": "keyword_lookup"},
        {**common, "mode": "naive", "hybrid": True},
        {**common, "mode": "local"},
    ]
    assert report.rankings[1].ranked == ()  # this engine has no lexical arm, and bm25 invents none
    assert report.rankings[1].options == sent[1]
    engine = WordEngine()
    evaluate(engine, dataset, modes=["bm25"], limit=1, k=150)
    assert (engine.calls[0]["max_chunks"], engine.calls[0]["max_context_tokens"]) == (200, 200_000)


def test_bm25_order() -> None:
    chunks = [chunk("a", bm25_rank=3), chunk("b"), chunk("d", bm25_rank=1), chunk("c", bm25_rank=1)]
    assert [c.document_id for c in rerank_by_bm25(chunks)] == ["c", "d", "a"]


def test_passages_of_one_document_share_a_place_and_k_cuts(tmp_path: Path) -> None:
    corpus = [{"id": f"d{n}", "title": "", "text": "word here. word there"} for n in range(4)]
    data = build(tmp_path, corpus, [{"id": "q", "question": "word", "gold": ["d1", "d3"]}])
    (case,) = evaluate(WordEngine(), data, modes=["naive"], k=2).rankings
    assert case.ranked == ("d0", "d1")
    assert case.metrics == {"recall@1": 0.0, "recall@2": 0.5, "MRR": 0.5}


def test_files_are_known_by_their_path(tmp_path: Path) -> None:
    for name, text in {"a.md": "Ada wrote", "x/a.md": "Bo sang", "b.md": ""}.items():
        (tmp_path / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "corpus" / name).write_text(text, encoding="utf-8")
    lines = [
        {"id": "q", "question": "Bo sang?", "gold": ["x/a.md"]},
        {"id": "r", "question": "Ada?", "gold": ["a.md"]},
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = evaluate(WordEngine(), load_dataset(tmp_path), answers="all")
    assert [case.ranked for case in report.rankings] == [("x/a.md",), ("a.md",)]
    assert [case.cites_gold for case in report.answers] == [True, True]
    assert any(warning.startswith("not indexed: ") and "b.md" in warning for warning in report.warnings)


def test_index_can_be_left_out(dataset: Dataset) -> None:
    report = evaluate(WordEngine(), dataset, modes=["mix"], index=False, limit=1)
    assert report.rankings[0].ranked == ()
    assert report.index == {}


def test_bad_requests(dataset: Dataset) -> None:
    with pytest.raises(UnknownMode, match="'bypass'") as caught:
        evaluate(WordEngine(), dataset, modes=["bypass"])
    assert "hybrid-rrf" in caught.value.hint
    with pytest.raises(UnknownMode):
        evaluate(WordEngine(), dataset, answer_mode="nope")
    for modes, k in (([], 10), (["mix", "mix"], 10), (["mix"], 0), (["mix"], 201)):
        with pytest.raises(InvalidValue):
            evaluate(WordEngine(), dataset, modes=modes, k=k)
    assert Mode.MIX.value in valid_modes()


def test_a_sample_is_measured_and_recorded(tmp_path: Path) -> None:
    corpus = [{"id": f"d{n}", "title": "", "text": f"word{n}"} for n in range(9)]
    questions = [{"id": f"q{n}", "question": f"word{n}", "gold": [f"d{n}"]} for n in range(9)]
    data = build(tmp_path, corpus, questions)
    report = evaluate(WordEngine(), data, sampled=4)
    assert [case.question_id for case in report.rankings] == [question.id for question in sample(data.questions, 4)]
    assert (report.run["sample"], "limit" in report.run) == (4, False)
    assert evaluate(WordEngine(), data, limit=3).run["limit"] == 3
    with pytest.raises(InvalidValue, match="limit and sample"):
        evaluate(WordEngine(), data, sampled=4, limit=3)
    with pytest.raises(InvalidValue, match="sample of 0"):
        evaluate(WordEngine(), data, sampled=0)


def test_a_case_says_how_each_document_was_found(dataset: Dataset) -> None:
    class Told(WordEngine):
        def retrieve(self, question: str, **options: Any) -> Evidence:
            found = super().retrieve(question, **options)
            best = dataclasses.replace(found.chunks[0], score=1 / 3, vector_rank=2, graph_rank=1, graph_score=-0.25)
            stats = {"gate": "graph", "anchors": ("Ada",), "total_ms": 3.5, "bridges": ["x" * 2_000], "sizes": {"n": 1}}
            return dataclasses.replace(found, chunks=(best, *found.chunks), stats=stats, retrieval="dense+graph")

    case = evaluate(Told(), dataset, modes=["mix"], limit=1).rankings[0]
    assert case.ranked == ("ada", "bo")
    assert [(found.document, found.rank) for found in case.found] == [("ada", 1), ("bo", 2)]
    first = case.found[0]
    assert (first.title, first.score, first.vector_rank, first.graph_rank) == ("ada", 0.333333, 2, 1)
    assert (first.graph_score, first.bm25_rank, first.bm25_score) == (-0.25, None, None)
    assert case.notes == {"gate": "graph", "anchors": ["Ada"], "sizes": {"n": 1}}  # no times, nothing too long to read
    assert case.retrieval == "dense+graph"


def test_gold_below_the_ranking_is_kept_with_its_place() -> None:
    chunks = [(name, chunk(name, at)) for at, name in enumerate(["a", "b", "a", "c", "d"])]
    assert [(f.document, f.rank) for f in found_documents(chunks, 2, {"d", "z"})] == [("a", 1), ("b", 2), ("d", 4)]
