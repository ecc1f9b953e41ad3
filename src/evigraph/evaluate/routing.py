"""How well questions are routed: each labelled question is classified, none is answered.

Labels are the four classes, or only `local` and `global` (then what is not global counts as local).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, get_args

from evigraph.errors import CorruptDocument, EvigraphError, InvalidValue, MissingFile
from evigraph.evaluate.datasets import Question, json_lines, scalar
from evigraph.evaluate.metrics import Estimate, bootstrap
from evigraph.files import write_records
from evigraph.routing import Route, RouteClass

CLASSES: tuple[str, ...] = get_args(RouteClass)
TWO = ("local", "global")

COSTS: Mapping[tuple[str, str], float] = {
    **{(wanted, chosen): 1.0 for wanted in CLASSES for chosen in CLASSES if wanted != chosen},
    **{("global", chosen): 5.0 for chosen in CLASSES if chosen != "global"},
    **{(wanted, "global"): 3.0 for wanted in CLASSES if wanted != "global"},
}
"""What taking a question of the first class for one of the second costs. A global question answered locally costs most:
the answer is fluent, cited, and speaks for a part of the corpus as if for all. A local one answered globally is dear
and vague, which the reader sees. Among the other classes, a neighbour's mode mostly finds the evidence too."""


class Router(Protocol):
    """What is measured; `evigraph.Evigraph` is one."""

    def route(self, question: str, **options: Any) -> Route: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutingCase:
    """One question as labelled and as routed. One that failed has `error` and no `predicted`."""

    question_id: str
    question: str
    wanted: str
    predicted: str
    margin: float = 0.0
    second: str = ""
    decided_by: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutingReport:
    """Cases and what they amount to. A failed case is wrong, at the highest cost."""

    name: str
    cases: tuple[RoutingCase, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of the labels: four, or two where no label is of another."""
        return TWO if {case.wanted for case in self.cases} <= set(TWO) else CLASSES

    def predicted(self, case: RoutingCase) -> str:
        """The predicted class in terms of `classes`."""
        return case.predicted if len(self.classes) > 2 or not case.predicted else as_two(case.predicted)

    def matrix(self) -> dict[str, dict[str, int]]:
        """Questions by labelled class, then by predicted class."""
        return self._matrix(self.classes, [(case.wanted, self.predicted(case)) for case in self.cases])

    def two_class_matrix(self) -> dict[str, dict[str, int]]:
        """The same with every class but `global` as `local`."""
        pairs = [(as_two(c.wanted), as_two(c.predicted) if c.predicted else "") for c in self.cases]
        return self._matrix(TWO, pairs)

    def estimates(self) -> dict[str, Estimate]:
        """`accuracy` and mean `cost`, with 95 % bootstrap intervals."""
        pairs = [(case.wanted, self.predicted(case)) for case in self.cases]
        most = max(COSTS.values())
        costs = [0.0 if a == b else COSTS.get((a, b), most) for a, b in pairs]
        return bootstrap({"accuracy": [float(a == b) for a, b in pairs], "cost": costs})

    def global_missed(self) -> float | None:
        """Share of global questions taken for another class."""
        return _share([case.predicted != "global" for case in self.cases if case.wanted == "global"])

    def taken_for_global(self) -> float | None:
        """Share of the other questions taken for global."""
        return _share([case.predicted == "global" for case in self.cases if case.wanted != "global"])

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, cases included."""
        return {
            "name": self.name,
            "questions": len(self.cases),
            "classes": list(self.classes),
            "matrix": self.matrix(),
            "two_class_matrix": self.two_class_matrix(),
            "estimates": {name: dataclasses.asdict(found) for name, found in self.estimates().items()},
            "global_missed": self.global_missed(),
            "taken_for_global": self.taken_for_global(),
            "costs": [[wanted, chosen, cost] for (wanted, chosen), cost in sorted(COSTS.items())],
            "cases": [dataclasses.asdict(case) for case in self.cases],
        }

    def write_jsonl(self, path: str | Path) -> None:
        """Every case as one line. Raises `InvalidValue` where the file cannot be written."""
        whole = {"case": "routing", "dataset": self.name}
        write_records(path, ({**whole, **dataclasses.asdict(case)} for case in self.cases))

    @staticmethod
    def _matrix(classes: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
        return {a: {b: sum(1 for pair in pairs if pair == (a, b)) for b in classes} for a in classes}


def as_two(route: str) -> str:
    """A class as `local` or `global`."""
    return "global" if route == "global" else "local"


def load_routing(path: str | Path) -> tuple[Question, ...]:
    """Reads a routing set, JSON Lines of `{id?, question, route}`. Records without `route` are left out. Raises
    `MissingFile`, `ReadError`, `CorruptDocument`, and `InvalidValue` where no record has a route."""
    file = Path(path)
    if not file.is_file():
        raise MissingFile(f"{file} is no file", hint="give JSON Lines of {id, question, route}")
    questions = (_question(record, where) for where, record in json_lines(file))
    found = [question for question in questions if question is not None]
    if not found:
        raise InvalidValue(f"{file.name} holds no labelled question", hint="give each a `route`")
    return tuple(found)


def _question(record: Mapping[str, Any], where: str) -> Question | None:
    if not isinstance(record.get("question"), str):
        raise CorruptDocument(f"{where}: no question", hint="write {id, question, route}")
    route = record.get("route")
    if route is None:
        return None
    if route not in CLASSES:
        raise CorruptDocument(f"{where}: unknown route {str(route)[:40]!r}", hint=f"valid: {', '.join(CLASSES)}")
    name = scalar(record, "id", where) or where.rpartition(":")[2]
    return Question(id=name, text=record["question"], gold={}, route=route)


def evaluate_routing(router: Router, questions: Sequence[Question], *, name: str = "") -> RoutingReport:
    """Classifies every question that has a `route`. Raises `InvalidValue` where none has."""
    cases = tuple(_case(router, question) for question in questions if question.route)
    if not cases:
        raise InvalidValue("no question has a route", hint=f"label them: {', '.join(CLASSES)}")
    return RoutingReport(name=name, cases=cases)


def _case(router: Router, question: Question) -> RoutingCase:
    try:
        found = router.route(question.text)
    except EvigraphError as problem:
        error = f"{problem.code}: {problem}"
        return RoutingCase(
            question_id=question.id, question=question.text, wanted=question.route, predicted="", error=error
        )
    return RoutingCase(
        question_id=question.id,
        question=question.text,
        wanted=question.route,
        predicted=found.route,
        margin=found.margin,
        second=found.second,
        decided_by=found.decided_by,
    )


def format_routing(report: RoutingReport) -> str:
    """The report as text."""
    estimates = report.estimates()
    accuracy, cost = estimates["accuracy"], estimates["cost"]
    interval = f"[{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"
    lines = [
        f"routing {report.name}: {len(report.cases)} questions",
        f"accuracy {100 * accuracy.mean:.1f} % {interval}",
        f"cost per question {cost.mean:.3f} [{cost.low:.3f}, {cost.high:.3f}] (global missed costs 5)",
        f"global taken for another class {_percent(report.global_missed())}, others taken for global "
        f"{_percent(report.taken_for_global())}",
        "",
        *_table(report.matrix()),
    ]
    if len(report.classes) > 2:
        lines += ["", *_table(report.two_class_matrix())]
    failed = [case for case in report.cases if case.error]
    lines += [f"{len(failed)} questions failed, first: {failed[0].error}"] if failed else []
    return "\n".join(lines) + "\n"


def _table(matrix: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield f"{'label':<10}" + "".join(f"{name:>9}" for name in matrix)
    for label, row in matrix.items():
        yield f"{label:<10}" + "".join(f"{count:>9}" for count in row.values())


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
