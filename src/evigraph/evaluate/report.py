"""What an evaluation found: its cases, tables over them, and the JSONL they are kept in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from evigraph.evaluate.cases import AnswerCase, RankingCase, as_record
from evigraph.evaluate.datasets import ABSENT
from evigraph.evaluate.metrics import Estimate, bootstrap, paired_difference
from evigraph.files import write_records

ALL_TYPES = "all"

TABLE_METRICS = ("recall@2", "recall@5", "recall@10", "all-gold@5", "MRR", "nDCG@10")
"""Metrics of the printed table; the JSONL has all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Metrics of one mode over one question type."""

    mode: str
    type: str
    n: int
    metrics: Mapping[str, Estimate]
    median_ms: float
    failed: int
    degraded: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSummary:
    """Answers in total. A share over no cases is None."""

    mode: str
    absent: int
    abstained_when_absent: float | None
    answerable: int
    abstained_when_answerable: float | None
    cites_gold: float | None
    answer_recall: float | None
    longest_quote: int
    failed: int
    corpus_wide: int = 0
    gold_recall: float | None = None
    gold_precision: float | None = None
    groups: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalReport:
    """One run over one dataset. `run` says what the numbers depend on: corpus hash, embedder, budgets,
    version, date."""

    dataset: str
    corpus_documents: int
    run: Mapping[str, Any]
    rankings: tuple[RankingCase, ...]
    answers: tuple[AnswerCase, ...] = ()
    warnings: tuple[str, ...] = ()
    index: Mapping[str, Any] = field(default_factory=dict)

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.mode for case in self.rankings))

    def rows(self) -> tuple[Row, ...]:
        """Per mode, all questions first, then each type in order of name."""
        return tuple(row for mode in self.modes for row in self._rows(mode))

    def row(self, mode: str, kind: str = ALL_TYPES) -> Row:
        """The row of one mode and type. Raises KeyError when the report has none."""
        for found in self._rows(mode) if mode in self.modes else ():
            if found.type == kind:
                return found
        raise KeyError((mode, kind))

    def compare(self, mode: str, other: str, metric: str) -> Estimate:
        """`mode` minus `other` in `metric`, paired by question."""
        sides = [
            {case.question_id: case.metrics[metric] for case in self.rankings if case.mode == name}
            for name in (mode, other)
        ]
        shared = [question for question in sides[0] if question in sides[1]]
        return paired_difference([sides[0][q] for q in shared], [sides[1][q] for q in shared])

    def answer_summary(self) -> AnswerSummary | None:
        """None when nothing was asked."""
        if not self.answers:
            return None
        sound = [case for case in self.answers if not case.error]
        absent = [case for case in sound if case.cites_gold is None and case.type == ABSENT]
        answerable = [case for case in sound if case.cites_gold is not None]
        wide = [case for case in sound if case.gold_recall is not None]
        keys = sorted({key for case in wide for key in case.groups})
        return AnswerSummary(
            mode=self.answers[0].mode,
            absent=len(absent),
            abstained_when_absent=_share([case.abstained for case in absent]),
            answerable=len(answerable),
            abstained_when_answerable=_share([case.abstained for case in answerable]),
            cites_gold=_share([bool(case.cites_gold) for case in answerable]),
            answer_recall=_share([c.answer_recall for c in answerable if c.answer_recall is not None]),
            longest_quote=max((case.longest_quote for case in sound), default=0),
            failed=len(self.answers) - len(sound),
            corpus_wide=len(wide),
            gold_recall=_share([case.gold_recall for case in wide if case.gold_recall is not None]),
            gold_precision=_share([case.gold_precision for case in wide if case.gold_precision is not None]),
            groups={key: sum(case.groups.get(key, 0.0) for case in wide) / len(wide) for key in keys},
        )

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain values, for `--json`."""
        summary = self.answer_summary()
        return {
            "dataset": self.dataset,
            "corpus_documents": self.corpus_documents,
            "run": dict(self.run),
            "index": dict(self.index),
            "warnings": list(self.warnings),
            "rows": [dataclasses.asdict(row) for row in self.rows()],
            "answers": None if summary is None else dataclasses.asdict(summary),
        }

    def write_jsonl(self, path: str | Path) -> None:
        """Every case as one line that stands alone: the case, and the run it belongs to. `read_cases` reads it back.
        Raises `InvalidValue` where the file cannot be written."""
        whole = {"dataset": self.dataset, "corpus_documents": self.corpus_documents, **self.run}
        cases: list[RankingCase | AnswerCase] = [*self.rankings, *self.answers]
        write_records(path, ({**whole, **as_record(case)} for case in cases))

    def _rows(self, mode: str) -> Iterator[Row]:
        cases = [case for case in self.rankings if case.mode == mode]
        yield _row(mode, ALL_TYPES, cases)
        kinds = sorted({case.type for case in cases})
        if len(kinds) > 1:
            for kind in kinds:
                yield _row(mode, kind or "(none)", [case for case in cases if case.type == kind])


def _row(mode: str, kind: str, cases: Sequence[RankingCase]) -> Row:
    columns = {name: [case.metrics[name] for case in cases] for name in cases[0].metrics}
    return Row(
        mode=mode,
        type=kind,
        n=len(cases),
        metrics=bootstrap(columns),
        median_ms=1000 * median(case.seconds for case in cases),
        failed=sum(1 for case in cases if case.error),
        degraded=sum(1 for case in cases if case.degraded),
    )


def _share(values: Sequence[float | bool]) -> float | None:
    return sum(values) / len(values) if values else None


def format_report(report: EvalReport) -> str:
    """The report as text: percentages with their 95 % intervals, one line per mode and type."""
    lines = [
        f"{report.dataset}: {report.corpus_documents} documents, corpus {report.run['corpus_hash'][:12]}",
        ", ".join(f"{name} {value}" for name, value in report.run.items() if name != "corpus_hash"),
        *(f"warning: {warning}" for warning in report.warnings),
    ]
    if rows := report.rows():
        shown = [name for name in TABLE_METRICS if name in rows[0].metrics]
        table = [["mode", "type", "n", *shown, "median ms"]]
        for row in rows:
            cells = [_percent(row.metrics[name]) for name in shown]
            table.append([row.mode, row.type, str(row.n), *cells, f"{row.median_ms:.0f}"])
        lines += ["", *aligned(table), "", "mean % [95 % bootstrap interval]"]
        lines += [f"{row.mode}: {row.failed} of {row.n} retrievals failed" for row in rows if row.failed]
    if summary := report.answer_summary():
        lines += ["", *_answer_lines(summary)]
    return "\n".join(lines) + "\n"


def _answer_lines(summary: AnswerSummary) -> Iterator[str]:
    yield f"answers ({summary.mode})"
    facts: list[tuple[str, str]] = []
    if summary.absent:
        facts.append(("abstained on absent evidence", f"{_plain(summary.abstained_when_absent)} of {summary.absent}"))
    if summary.answerable:
        facts += [
            ("cites a gold document", f"{_plain(summary.cites_gold)} of {summary.answerable}"),
            ("abstained despite evidence", _plain(summary.abstained_when_answerable)),
            ("expected answer in the text", _plain(summary.answer_recall)),
            ("longest quote", f"{summary.longest_quote} characters"),
        ]
    if summary.corpus_wide:
        facts += [
            ("corpus-wide: gold cited", f"{_plain(summary.gold_recall)} of each of {summary.corpus_wide}"),
            ("corpus-wide: cited is gold", _plain(summary.gold_precision)),
            *((f"corpus-wide: {key} represented", _plain(share)) for key, share in summary.groups.items()),
        ]
    if summary.failed:
        facts.append(("failed", str(summary.failed)))
    for name, value in facts:
        yield f"  {name:<30}{value}"


def _plain(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """The table's lines in columns: the first two to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = [cell.ljust(w) if n < 2 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()
