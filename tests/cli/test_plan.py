"""`evigraph plan` and `evigraph schema`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evigraph.cli.commands.ask import ABSTAINED

from .conftest import Invoke

PLAN = {
    "steps": [
        {"id": "who", "op": "match", "entity": "Hana Sefu"},
        {"id": "what", "op": "hop", "source": "who", "predicates": ["TRAIN"]},
    ]
}


@pytest.fixture
def plan(folder: Path, invoke: Invoke) -> Path:
    """A plan in a file, and an indexed store."""
    assert invoke("index", "reports").code == 0
    path = folder / "plan.json"
    path.write_text(json.dumps(PLAN))
    return path


def changed(path: Path, **fields: Any) -> None:
    steps = [PLAN["steps"][0], {**PLAN["steps"][1], **fields}]
    path.write_text(json.dumps({"steps": steps}))


def test_a_plan_from_a_file(invoke: Invoke, plan: Path) -> None:
    done = invoke("plan", str(plan), "--explain")
    assert done.code == 0, done.err
    assert "mechanics" in done.out and "[1]" in done.out
    header = next(line for line in done.out.splitlines() if line.lstrip().startswith("step"))
    assert header.split() == ["step", "op", "in", "out", "rows", "truncated", "ms"]
    row = next(line for line in done.out.splitlines() if line.lstrip().startswith("what"))
    assert row.split()[:6] == ["what", "hop", "1", "1", "1", "no"]


def test_a_plan_as_json_and_from_standard_input(invoke: Invoke, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(plan.read_text()))
    done = invoke("plan", "-", "--json")
    assert done.code == 0
    assert [step["id"] for step in done.json["plan"]["steps"]] == ["who", "what"]


def test_it_abstains_with_alternatives(invoke: Invoke, plan: Path) -> None:
    changed(plan, predicates=["TRAINS"])
    done = invoke("plan", str(plan))
    assert done.code == ABSTAINED
    assert "No answer: plan: step what: unknown predicate 'TRAINS'" in done.out
    assert "valid instead: TRAIN" in done.out


def test_filters_hold(invoke: Invoke, plan: Path) -> None:
    assert invoke("plan", str(plan), "--pattern", "2014/*").code == 0
    assert invoke("plan", str(plan), "--pattern", "2017/*").code == ABSTAINED


def test_faults_are_errors_with_a_remedy(invoke: Invoke, plan: Path) -> None:
    changed(plan, source="nobody")
    wrong = invoke("plan", str(plan), "--json")
    assert wrong.code == 1 and wrong.json["error"]["code"] == "invalid_plan"
    plan.write_text("{")
    assert "is not valid JSON" in invoke("plan", str(plan)).err
    plan.write_text("[]")
    assert "holds no JSON object" in invoke("plan", str(plan)).err
    assert invoke("plan", "absent.json").code == 1
    assert invoke("plan").code == 2
    assert invoke("plan", str(plan), "--question", "Who?").code == 2
    unasked = invoke("plan", "--question", "Who trained the mechanics?")
    assert unasked.code == 1 and "EVIGRAPH_CHAT_URL" in unasked.err


def test_the_schema_is_shown_set_and_removed(invoke: Invoke, plan: Path) -> None:
    shown = invoke("schema")
    assert "inferred from the visible assertions" in shown.out and "TRAIN" in shown.out
    given = plan.with_name("schema.json")
    given.write_text(json.dumps({"predicates": [{"name": "train", "synonyms": ["teach"]}]}))
    assert "schema set; generation" in invoke("schema", "set", str(given)).out
    assert invoke("schema", "show", "--json").json["predicates"][0]["synonyms"] == ["TEACH"]
    assert "as given" in invoke("schema").out
    changed(plan, predicates=["teach"])
    assert invoke("plan", str(plan)).code == 0
    assert "schema removed" in invoke("schema", "remove").out
    assert invoke("schema", "--json").json["inferred"]
    given.write_text('{"predicates": [{"name": "p", "domain": ["NO_SUCH"]}]}')
    assert invoke("schema", "set", str(given), "--json").json["error"]["code"] == "invalid_schema"
