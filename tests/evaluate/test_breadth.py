"""Corpus-wide answers: how much of the gold and of the groups they draw on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evigraph.communities import Coverage, GroupCoverage
from evigraph.evaluate import Dataset, Question, evaluate, format_report
from evigraph.types import Answer

from .fakes import WordEngine


class WideEngine(WordEngine):
    """States a coverage with every answer."""

    def ask(self, question: str, **options: Any) -> Answer:
        answer = super().ask(question, **options)
        regions = GroupCoverage(represented=("north",), missing=("east", "south", "west"))
        coverage = Coverage(documents=1, documents_in_scope=2, groups={"region": regions})
        return replace(answer, evidence=replace(answer.evidence, coverage=coverage))


def dataset(*kinds: str) -> Dataset:
    return Dataset(
        name="wide",
        layout="evigraph",
        items=[
            {"document_id": "a", "title": "a", "text": "pumps break often"},
            {"document_id": "b", "title": "b", "text": "wells dry"},
        ],
        questions=tuple(Question(id=kind, text="pumps break", gold={"a": 1.0, "b": 1.0}, type=kind) for kind in kinds),
        corpus_ids=frozenset({"a", "b"}),
        corpus_hash="0" * 64,
    )


def test_gold_and_groups_of_corpus_wide_answers() -> None:
    report = evaluate(WideEngine(), dataset("corpus_wide", "lookup"), answers="all")
    wide, other = report.answers
    assert (wide.gold_recall, wide.gold_precision, wide.groups) == (0.5, 1.0, {"region": 0.25})
    assert (other.gold_recall, other.gold_precision, other.groups) == (None, None, {})
    summary = report.answer_summary()
    assert summary is not None
    assert (summary.corpus_wide, summary.gold_recall, summary.groups) == (1, 0.5, {"region": 0.25})
    assert "corpus-wide: region represented" in format_report(report)


def test_without_corpus_wide_questions_nothing_is_said_of_them() -> None:
    report = evaluate(WideEngine(), dataset("lookup"), answers="all")
    assert "corpus-wide" not in format_report(report)
