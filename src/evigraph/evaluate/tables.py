"""Reports as Markdown tables: one line a mode, beside a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from evigraph.errors import InvalidValue
from evigraph.evaluate.cases import RankingCase
from evigraph.evaluate.metrics import Estimate
from evigraph.evaluate.report import EvalReport

SCORE_METRICS = ("recall@2", "recall@5", "recall@10", "all-gold@5", "all-gold@8", "nDCG@10")
"""Columns of a table of scores."""

NOTHING = "-"


def joined(reports: Sequence[EvalReport]) -> EvalReport:
    """The cases of several reports over one corpus as one report, with the run of the first. Raises `InvalidValue`
    where they are of different datasets or corpora, or there is none."""
    if not reports:
        raise InvalidValue("there is no report", hint="measure first")
    first = reports[0]
    for other in reports[1:]:
        if (other.dataset, other.run["corpus_hash"]) != (first.dataset, first.run["corpus_hash"]):
            raise InvalidValue(
                f"{other.dataset} over corpus {other.run['corpus_hash'][:12]} does not belong to {first.dataset} over"
                f" {first.run['corpus_hash'][:12]}",
                hint="measure both over one corpus",
            )
    return replace(first, rankings=tuple(case for report in reports for case in report.rankings), answers=())


def score_table(
    report: EvalReport, *, baseline: str, gain: str, names: Mapping[str, str] | None = None, untimed: Sequence[str] = ()
) -> list[str]:
    """Means in percent of each mode over all questions, its median time, and what it gains in metric `gain` over mode
    `baseline`, in points with the paired interval. `names` are shown for modes; `untimed` ones were not timed here."""
    shown = names or {}
    header = ["", *SCORE_METRICS, "median ms", f"{gain} beside {shown.get(baseline, baseline)}"]
    lines = []
    for mode in report.modes:
        cases = [case for case in report.rankings if case.mode == mode]
        time = NOTHING if mode in untimed else f"{1000 * median(case.seconds for case in cases):.0f}"
        means = [_mean(cases, metric) for metric in SCORE_METRICS]
        lines.append([shown.get(mode, mode), *means, time, _gain(report, mode, baseline, gain)])
    return list(markdown(header, lines))


def type_table(report: EvalReport, metric: str, names: Mapping[str, str] | None = None) -> list[str]:
    """Means in percent of one metric, a line a mode and a column a type of question, with how many there are. No line
    where all questions are of one type."""
    types = {case.question_id: case.type for case in report.rankings}
    counts = Counter(types.values())
    if len(counts) < 2:
        return []
    lines = [
        [
            (names or {}).get(mode, mode),
            *(
                _mean([c for c in report.rankings if (c.mode, c.type) == (mode, kind)], metric)
                for kind in sorted(counts)
            ),
        ]
        for mode in report.modes
    ]
    return list(markdown([metric, *(f"{kind or '(none)'} ({counts[kind]})" for kind in sorted(counts))], lines))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table: the first column to the left, the others to the right."""
    yield _line(header)
    yield _line(["---", *["---:"] * (len(header) - 1)])
    for row in rows:
        yield _line(row)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _mean(cases: Sequence[RankingCase], metric: str) -> str:
    if not cases or any(metric not in case.metrics for case in cases):
        return NOTHING
    return f"{100 * sum(case.metrics[metric] for case in cases) / len(cases):.1f}"


def _gain(report: EvalReport, mode: str, baseline: str, metric: str) -> str:
    """Where both were measured by it."""
    measured = {case.mode for case in report.rankings if metric in case.metrics}
    return (
        points(report.compare(mode, baseline, metric)) if mode != baseline and {mode, baseline} <= measured else NOTHING
    )


def points(difference: Estimate) -> str:
    """A difference of shares in points, with its interval."""
    return f"{100 * difference.mean:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
