"""Compares two evaluations question by question: which were won and lost, and which arm found what.

The two sides are A and B everywhere; every difference is B minus A.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evigraph.errors import InvalidValue
from evigraph.evaluate.cases import FoundDocument, RankingCase
from evigraph.evaluate.metrics import Estimate, paired_difference
from evigraph.evaluate.report import ALL_TYPES, EvalReport

DEFAULT_METRIC = "recall@5"

ARMS: Mapping[str, str] = {"graph": "graph_rank", "dense": "vector_rank", "bm25": "bm25_rank"}
"""Arms of retrieval, and the field of a found document that holds their rank."""

_SAME = 1e-9
"""Metrics no further apart are the same: sums of fractions differ in their last bits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One of the two: a file, the mode in it, its run, and how many of the shared questions failed or degraded."""

    name: str
    mode: str
    run: Mapping[str, Any]
    failed: int
    degraded: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Something that is another on the two sides; None where a side has none."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One metric over the shared questions of one type: both means, `gain` (B minus A, paired), and on how many
    questions B is better (`won`), worse (`lost`) or the same (`tied`)."""

    metric: str
    type: str
    n: int
    a: float
    b: float
    gain: Estimate
    won: int
    lost: int
    tied: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldChange:
    """A gold document whose place is another. It came `in` to the metric's cut or fell `out` of it, or else moved `up`
    or `down`. None: not found. `by` are the arms that rank it best on the side that has it higher."""

    document: str
    title: str
    change: Literal["in", "out", "up", "down"]
    a: FoundDocument | None
    b: FoundDocument | None
    by: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionChange:
    """A question won or lost: the metric on both sides, what became of its gold, and what else differs: notes of the
    ledger, degradations, errors."""

    question_id: str
    question: str
    type: str
    a: float
    b: float
    gold: tuple[GoldChange, ...]
    notes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """`rows` hold every metric that both sides have, over all questions and by type. `won` and `lost` are judged by
    `metric`, the largest difference first. `differing` are the fields of the runs that differ. `only_a` and `only_b`
    are questions that one side lacks; they are left out."""

    dataset: str
    corpus_hash: str
    metric: str
    questions: int
    a: Side
    b: Side
    differing: tuple[Change, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    rows: tuple[Difference, ...]
    won: tuple[QuestionChange, ...]
    lost: tuple[QuestionChange, ...]


Pair = tuple[RankingCase, RankingCase]


def compare(
    a: EvalReport,
    b: EvalReport,
    *,
    metric: str = DEFAULT_METRIC,
    modes: Sequence[str] = (),
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """B beside A. `modes` names the mode of both sides, or A's and then B's; it may be left out where a side has one.

    Raises `InvalidValue`, naming the difference, where the two are not of one dataset, corpus or set of questions, or
    where a mode is open or unknown, or the metric is on one side only.
    """
    _same_data(a, b)
    chosen = _modes((a, b), modes, names)
    cases_a, cases_b = _cases(a, chosen[0]), _cases(b, chosen[1])
    shared = [question for question in cases_a if question in cases_b]
    if not shared:
        raise InvalidValue("the two have no question in common", hint="compare runs over the same questions")
    pairs = [(cases_a[question], cases_b[question]) for question in shared]
    for pair in pairs:
        _same_question(*pair)
    metrics = _metrics(pairs, a.run.get("k") == b.run.get("k"))
    if metric not in metrics:
        raise InvalidValue(f"there is no metric {metric!r} on both sides", hint=f"choose from {', '.join(metrics)}")
    changed = _changes(pairs, metric)
    return Comparison(
        dataset=a.dataset,
        corpus_hash=a.run["corpus_hash"],
        metric=metric,
        questions=len(pairs),
        a=_side(names[0], a, [pair[0] for pair in pairs]),
        b=_side(names[1], b, [pair[1] for pair in pairs]),
        differing=tuple(_differing(a, b, pairs)),
        only_a=tuple(question for question in cases_a if question not in cases_b),
        only_b=tuple(question for question in cases_b if question not in cases_a),
        rows=tuple(_rows(pairs, metrics)),
        won=tuple(change for change in changed if change.b > change.a),
        lost=tuple(change for change in changed if change.b < change.a),
    )


# --------------------------------------------------------------------------- what can be compared


def _same_data(a: EvalReport, b: EvalReport) -> None:
    hint = "compare two evaluations of one folder"
    if a.dataset != b.dataset:
        raise InvalidValue(f"A is of dataset {a.dataset!r}, B of {b.dataset!r}", hint=hint)
    hashes = a.run["corpus_hash"], b.run["corpus_hash"]
    if hashes[0] != hashes[1]:
        raise InvalidValue(
            f"the corpus of {a.dataset} is another: {hashes[0][:12]} in A, {hashes[1][:12]} in B",
            hint="evaluate both over the same corpus",
        )


def _same_question(a: RankingCase, b: RankingCase) -> None:
    for what, one, other in (
        ("text", a.question, b.question),
        ("type", a.type, b.type),
        ("gold", sorted(a.gold), sorted(b.gold)),
    ):
        if one != other:
            raise InvalidValue(
                f"question {a.question_id!r} has another {what}: {_short(one)} in A, {_short(other)} in B",
                hint="evaluate both with the same questions",
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _modes(reports: tuple[EvalReport, EvalReport], modes: Sequence[str], names: Sequence[str]) -> tuple[str, str]:
    if len(modes) > 2:
        raise InvalidValue(f"{len(modes)} modes are given", hint="name one for both sides, or A's and then B's")
    wanted = (modes[0], modes[-1]) if modes else (None, None)
    found = [_mode(*entry) for entry in zip(reports, wanted, names, strict=True)]
    return found[0], found[1]


def _mode(report: EvalReport, wanted: str | None, name: str) -> str:
    there = ", ".join(report.modes)
    if not there:
        raise InvalidValue(f"{name} holds no ranking", hint="compare files that hold rankings")
    if wanted is None:
        if len(report.modes) > 1:
            raise InvalidValue(f"{name} holds several modes: {there}", hint="name one for each side with --mode")
        return report.modes[0]
    if wanted not in report.modes:
        raise InvalidValue(f"{name} holds no mode {wanted!r}", hint=f"it holds {there}")
    return wanted


def _cases(report: EvalReport, mode: str) -> dict[str, RankingCase]:
    return {case.question_id: case for case in report.rankings if case.mode == mode}


def _metrics(pairs: Iterable[Pair], same_depth: bool) -> list[str]:
    """Metrics that every case has. MRR is one of the depth ranked, so it needs the same on both sides."""
    cases = [case for pair in pairs for case in pair]
    everywhere = [name for name in cases[0].metrics if all(name in case.metrics for case in cases)]
    return [name for name in everywhere if name != "MRR" or same_depth]


# --------------------------------------------------------------------------- means


def _side(name: str, report: EvalReport, cases: Sequence[RankingCase]) -> Side:
    return Side(
        name=name,
        mode=cases[0].mode,
        run=dict(report.run),
        failed=sum(1 for case in cases if case.error),
        degraded=sum(1 for case in cases if case.degraded),
    )


def _rows(pairs: Sequence[Pair], metrics: Sequence[str]) -> Iterator[Difference]:
    kinds = sorted({case.type for case, _ in pairs})
    for metric in metrics:
        yield _difference(metric, ALL_TYPES, pairs)
        if len(kinds) > 1:
            for kind in kinds:
                yield _difference(metric, kind or "(none)", [pair for pair in pairs if pair[0].type == kind])


def _difference(metric: str, kind: str, pairs: Sequence[Pair]) -> Difference:
    before = [a.metrics[metric] for a, _ in pairs]
    after = [b.metrics[metric] for _, b in pairs]
    won = sum(1 for one, other in zip(before, after, strict=True) if other > one + _SAME)
    lost = sum(1 for one, other in zip(before, after, strict=True) if other < one - _SAME)
    return Difference(
        metric=metric,
        type=kind,
        n=len(pairs),
        a=sum(before) / len(pairs),
        b=sum(after) / len(pairs),
        gain=paired_difference(after, before),
        won=won,
        lost=lost,
        tied=len(pairs) - won - lost,
    )


# --------------------------------------------------------------------------- questions


def _changes(pairs: Sequence[Pair], metric: str) -> list[QuestionChange]:
    """Questions that are not tied, the largest difference first."""
    cut = _cut(metric)
    found = [
        QuestionChange(
            question_id=a.question_id,
            question=a.question,
            type=a.type,
            a=a.metrics[metric],
            b=b.metrics[metric],
            gold=tuple(_gold_changes(a, b, cut)),
            notes=tuple(_noted(a, b)),
        )
        for a, b in pairs
        if abs(a.metrics[metric] - b.metrics[metric]) > _SAME
    ]
    return sorted(found, key=lambda change: (-round(abs(change.b - change.a), 9), change.question_id))


def _cut(metric: str) -> int | None:
    """Ranks that count for a metric: `5` of `recall@5`; None: all that were ranked."""
    match = re.search(r"@(\d+)$", metric)
    return int(match.group(1)) if match else None


def _gold_changes(a: RankingCase, b: RankingCase, cut: int | None) -> Iterator[GoldChange]:
    places = _places(a), _places(b)
    limits = cut or len(a.ranked), cut or len(b.ranked)
    for document in sorted(a.gold):
        before, after = places[0].get(document), places[1].get(document)
        ranks = [float("inf") if place is None else place.rank for place in (before, after)]
        if ranks[0] == ranks[1]:
            continue
        inside = ranks[0] <= limits[0], ranks[1] <= limits[1]
        better = after if ranks[1] < ranks[0] else before
        assert better is not None
        yield GoldChange(
            document=document,
            title=better.title,
            change=_direction(inside, risen=ranks[1] < ranks[0]),
            a=before,
            b=after,
            by=best_arms(better),
        )


def _direction(inside: tuple[bool, bool], *, risen: bool) -> Literal["in", "out", "up", "down"]:
    if inside == (False, True):
        return "in"
    if inside == (True, False):
        return "out"
    return "up" if risen else "down"


def _places(case: RankingCase) -> dict[str, FoundDocument]:
    """Documents found, by id. A file that does not say how each was found still says where."""
    bare = {name: FoundDocument(document=name, rank=rank) for rank, name in enumerate(case.ranked, 1)}
    return {**bare, **{place.document: place for place in case.found}}


def best_arms(place: FoundDocument) -> tuple[str, ...]:
    """The arm that ranks a document's passage best, or several that rank it alike; none where no arm did."""
    ranks = {arm: rank for arm, field in ARMS.items() if (rank := getattr(place, field)) is not None}
    return tuple(arm for arm, rank in ranks.items() if rank == min(ranks.values()))


def _noted(a: RankingCase, b: RankingCase) -> Iterator[Change]:
    sides = [
        {"retrieval": case.retrieval, "error": case.error, "degraded": list(case.degraded), **case.notes}
        for case in (a, b)
    ]
    yield from _different(*sides)


def _differing(a: EvalReport, b: EvalReport, pairs: Sequence[Pair]) -> Iterator[Change]:
    """Fields of the runs, and options of the first shared question, that differ. The corpus is the same."""
    yield from _different(a.run, b.run)
    yield from _different(*(case.options for case in pairs[0]))


def _different(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted({*a, *b}):
        if a.get(name) != b.get(name):
            yield Change(name=name, a=a.get(name), b=b.get(name))
