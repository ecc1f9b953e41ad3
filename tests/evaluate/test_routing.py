"""Routing measured: matrix, cost, two classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, InvalidQuery, InvalidValue, MissingFile
from evigraph.evaluate import evaluate_routing, format_routing, load_routing
from evigraph.evaluate.routing import CLASSES, COSTS
from evigraph.routing import Route


class WordRouter:
    """Routes to the class that is the question's last word."""

    def route(self, question: str, **options: Any) -> Route:
        route: Any = question.rsplit(maxsplit=1)[-1]
        if route == "boom":
            raise InvalidQuery("the question explodes")
        return Route(route=route, mode="naive", margin=0.5, second="local", probabilities={route: 1.0}, signals=())


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    file = path / "set.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return file


def rows(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": str(n), "question": f"ask {said}", "route": label} for n, (label, said) in enumerate(pairs)]


def test_matrix_accuracy_and_cost(tmp_path: Path) -> None:
    file = write(tmp_path, rows(("lookup", "lookup"), ("global", "local"), ("local", "global"), ("linked", "local")))
    report = evaluate_routing(WordRouter(), load_routing(file), name="set")
    assert report.matrix()["global"] == {"lookup": 0, "local": 1, "linked": 0, "global": 0}
    assert report.two_class_matrix() == {"local": {"local": 2, "global": 1}, "global": {"local": 1, "global": 0}}
    estimates = report.estimates()
    assert estimates["accuracy"].mean == 0.25
    assert estimates["cost"].mean == (5 + 3 + 1) / 4
    assert (report.global_missed(), report.taken_for_global()) == (1.0, 1 / 3)
    assert "accuracy 25.0 %" in format_routing(report)


def test_a_set_of_two_classes(tmp_path: Path) -> None:
    file = write(tmp_path, rows(("local", "lookup"), ("local", "linked"), ("global", "global")))
    report = evaluate_routing(WordRouter(), load_routing(file))
    assert report.classes == ("local", "global")
    assert report.matrix() == {"local": {"local": 2, "global": 0}, "global": {"local": 0, "global": 1}}
    assert report.estimates()["accuracy"].mean == 1.0
    assert report.estimates()["cost"].mean == 0.0


def test_a_failed_question_is_wrong(tmp_path: Path) -> None:
    file = write(tmp_path, rows(("lookup", "lookup"), ("lookup", "boom"), ("linked", "linked")))
    report = evaluate_routing(WordRouter(), load_routing(file))
    assert report.estimates()["accuracy"].mean == 2 / 3
    assert report.cases[1].error
    assert "1 questions failed" in format_routing(report)


def test_missing_a_global_question_costs_most() -> None:
    missed = {COSTS["global", other] for other in CLASSES if other != "global"}
    assert min(missed) == max(COSTS.values())
    assert set(COSTS) == {(a, b) for a in CLASSES for b in CLASSES if a != b}


def test_every_line_of_the_jsonl_stands_alone(tmp_path: Path) -> None:
    report = evaluate_routing(WordRouter(), load_routing(write(tmp_path, rows(("local", "local")))), name="set")
    report.write_jsonl(tmp_path / "out.jsonl")
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["predicted"] == "local"
    assert json.loads(json.dumps(report.as_dict()))["questions"] == 1


def test_bad_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        load_routing(tmp_path / "none.jsonl")
    with pytest.raises(CorruptDocument):
        load_routing(write(tmp_path, [{"question": "x", "route": "sideways"}]))
    with pytest.raises(CorruptDocument):
        load_routing(write(tmp_path, [{"id": 1}]))
    with pytest.raises(InvalidValue):
        load_routing(write(tmp_path, [{"question": "x"}]))


def test_sets_that_are_no_json_lines_are_refused_by_file_and_line(tmp_path: Path) -> None:
    fine = json.dumps({"question": "x\u2028y", "route": "local"}, ensure_ascii=False).encode()
    file = tmp_path / "set.jsonl"
    for wrong in (b"\xff", b"[1]", b"{", b"[" * 100_000, b'{"question": "x", "route": "local", "id": []}'):
        file.write_bytes(fine + b"\n\n" + wrong)
        with pytest.raises(CorruptDocument, match=r"set.jsonl:3: ") as caught:
            load_routing(file)
        assert caught.value.hint
    file.write_bytes(b"\n" + fine)
    (question,) = load_routing(file)
    assert (question.id, question.text) == ("2", "x\u2028y")
