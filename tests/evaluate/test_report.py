from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from evigraph.evaluate.cases import AnswerCase, RankingCase
from evigraph.evaluate.metrics import score
from evigraph.evaluate.report import EvalReport, format_report

RUN = {
    "corpus_hash": "ab" * 32,
    "embedder": "minilm",
    "k": 10,
    "evigraph": "0.1.0",
    "date": "2026-01-01T00:00:00+00:00",
}


def ranking(mode: str, number: int, kind: str, ranked: tuple[str, ...], **fields: str) -> RankingCase:
    return RankingCase(
        mode=mode,
        question_id=f"q{number}",
        question="Où ?",
        type=kind,
        gold=("g",),
        ranked=ranked,
        metrics=score(ranked, {"g": 1.0}, 10),
        seconds=number / 1000,
        options={"max_chunks": 20},
        **fields,
    )


def answer(number: int, kind: str, *, abstained: bool, cites_gold: bool | None, quote: int = 0) -> AnswerCase:
    return AnswerCase(
        mode="mix",
        question_id=f"q{number}",
        question="?",
        type=kind,
        abstained=abstained,
        abstain_reason="",
        text="",
        citations=(),
        longest_quote=quote,
        cites_gold=cites_gold,
        answer_recall=None,
        seconds=0.0,
        options={},
    )


@pytest.fixture
def report() -> EvalReport:
    cases = [ranking("mix", n, "2hop" if n % 2 else "3hop", ("g",) if n < 6 else ("x", "g")) for n in range(10)]
    cases += [ranking("dense", n, "2hop" if n % 2 else "3hop", ("x", "g")) for n in range(10)]
    answers = (
        answer(1, "absent", abstained=True, cites_gold=None),
        answer(2, "absent", abstained=False, cites_gold=None, quote=12),
        answer(3, "2hop", abstained=False, cites_gold=True, quote=80),
        answer(4, "themes", abstained=False, cites_gold=None, quote=9),
    )
    return EvalReport(
        dataset="set",
        corpus_documents=3,
        run=RUN,
        rankings=tuple(cases),
        answers=answers,
        warnings=("mind the gap",),
    )


def test_rows_per_mode_and_type(report: EvalReport) -> None:
    assert [(row.mode, row.type, row.n) for row in report.rows()] == [
        ("mix", "all", 10),
        ("mix", "2hop", 5),
        ("mix", "3hop", 5),
        ("dense", "all", 10),
        ("dense", "2hop", 5),
        ("dense", "3hop", 5),
    ]
    row = report.row("mix")
    assert row.metrics["recall@1"].mean == 0.6
    assert row.metrics["MRR"].mean == pytest.approx(0.8)
    assert row.metrics["recall@1"].low < 0.6 < row.metrics["recall@1"].high
    assert row.median_ms == pytest.approx(4.5)
    with pytest.raises(KeyError):
        report.row("local")


def test_compare_pairs_by_question(report: EvalReport) -> None:
    gain = report.compare("mix", "dense", "MRR")
    assert gain.mean == pytest.approx(0.3)
    assert (gain.n, gain.low > 0) == (10, True)


def test_answers_count_absent_and_answerable_apart(report: EvalReport) -> None:
    summary = report.answer_summary()
    assert summary is not None
    assert (summary.absent, summary.abstained_when_absent) == (2, 0.5)
    assert (summary.answerable, summary.cites_gold, summary.abstained_when_answerable) == (1, 1.0, 0.0)
    assert (summary.answer_recall, summary.longest_quote) == (None, 80)


def test_text(report: EvalReport) -> None:
    text = format_report(report)
    assert text.startswith("set: 3 documents, corpus abababababab\n")
    assert "warning: mind the gap" in text
    assert "embedder minilm" in text
    header = next(line for line in text.splitlines() if line.startswith("mode"))
    assert header.split()[:4] == ["mode", "type", "n", "recall@2"]
    assert "abstained on absent evidence  50.0 % of 2" in text
    assert "expected answer in the text   -" in text


def test_a_report_without_cases_or_answers() -> None:
    empty = EvalReport(dataset="set", corpus_documents=0, run=RUN, rankings=())
    assert (empty.rows(), empty.answer_summary(), empty.modes) == ((), None, ())
    assert "mode" not in format_report(empty)


def test_failures_are_shown(report: EvalReport) -> None:
    failed = dataclasses.replace(report, rankings=(ranking("mix", 1, "", (), error="boom"),), answers=())
    assert "mix: 1 of 1 retrievals failed" in format_report(failed)
    assert [row.type for row in failed.rows()] == ["all"]


def test_every_line_of_the_jsonl_stands_alone(report: EvalReport, tmp_path: Path) -> None:
    report.write_jsonl(tmp_path / "cases.jsonl")
    lines = (tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["case"] for record in records] == ["ranking"] * 20 + ["answer"] * 4
    for record in records:
        assert {**record, **RUN} == record
        assert record["dataset"] == "set"
    assert records[0]["ranked"] == ["g"]
    assert records[0]["options"] == {"max_chunks": 20}
    assert records[0]["question"] == "Où ?"


def test_plain_values_for_programs(report: EvalReport) -> None:
    values = json.loads(json.dumps(report.as_dict()))
    assert values["rows"][0]["metrics"]["recall@1"]["mean"] == 0.6
    assert values["answers"]["absent"] == 2
    assert values["run"] == RUN
