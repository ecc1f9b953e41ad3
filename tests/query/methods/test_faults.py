"""Whatever goes wrong in whatever stage, the response says so or the request fails with a typed error."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from scripted import PAGE, SCENARIOS, Asked, Scenario

import evigraph.query
from evigraph.errors import EvigraphError
from evigraph.query.ledger import Boundary
from evigraph.query.pipeline import STEPS
from evigraph.reports import StageReport
from evigraph.testing.faults import (
    FAULTS,
    Fault,
    FaultyBoundary,
    FaultyChat,
    FaultyEmbedder,
    FaultyWebSearch,
    Statements,
    with_boundary,
    with_store_fault,
)
from evigraph.testing.models import ScriptedWebSearch
from evigraph.types import Answer
from evigraph.wire import answer_to_wire
from small import OneStore

SOURCES = Path(evigraph.query.__file__).parent
SPEAKS_FOR = {
    "condense": ("conversation",),
    "grade": ("corrective",),
    "judge": ("route",),
    "map_by_model": ("map",),
    "reduce": ("generation", "overview"),
    "rewrite": ("generation", "self_rag"),
    "web_passages": ("web_search",),
}
"""Stages in whose name another speaks, where it deals with what they left."""
WITHOUT_STAGES = {
    "require_model": "it refuses what needs a model, and changes nothing",
    "settle": "it says that nothing came of the answer, and changes nothing at hand",
    "fall_back": "it repeats other steps, with their stages",
    "fall_back_from_answer": "it repeats other steps, with their stages",
}
"""Steps that hand on what they were given, and why they need not account for it."""
ON_CHUNKS = ("leave_out_irrelevant", "rerank", "keep_best", "parent_context", "compress", "budget", "cite_leaves")
"""Stages that take all chunks at hand, and hand on what is left of them."""
STATEMENTS_OF = (
    *("naive", "local", "plan", "raptor", "bypass", "naive, rerank", "naive, parent_context", "corrective, one good"),
    *("conversation", "corrective with the web"),
)
"""Scenarios of which each statement fails in the ordinary tests; between them every kind of step reads the store."""


def stages_in_code() -> set[str]:
    """Names of all stages, read off the calls of `Ledger.stage`; what is put in by a name that varies is a star."""
    found = set()
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text())
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stage":
                found.add(_name(node.args[0], constants))
    return found


def _name(node: ast.expr, constants: dict[str, object]) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
    return str(node.value if isinstance(node, ast.Constant) else constants[ast.unparse(node)])


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    store = OneStore(tmp_path_factory.mktemp("faults"))
    yield Asked(store)
    store.close()


@pytest.fixture(scope="module")
def healthy(asked: Asked) -> dict[str, Answer]:
    return {scenario.name: asked.answer(scenario) for scenario in SCENARIOS}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_healthy_run_is_not_degraded(asked: Asked, scenario: Scenario) -> None:
    answer = asked.answer(scenario)
    assert answer.degraded == ()
    assert not answer_to_wire(answer)["degraded"]
    assert answer.method.value == scenario.options.get("method", "standard") or scenario.options["method"] == "auto"


def test_the_scenarios_reach_every_stage(healthy: dict[str, Answer]) -> None:
    reached = {stage.name for answer in healthy.values() for stage in answer.ledger}
    missing = {name for name in stages_in_code() if not any(fnmatchcase(one, name) for one in reached)}
    assert missing == set()


def test_every_step_has_stages_or_a_reason(healthy: dict[str, Answer]) -> None:
    with_stages = {stage.step for answer in healthy.values() for stage in answer.ledger}
    assert {step.__name__ for step in STEPS} - with_stages == set(WITHOUT_STAGES)
    assert with_stages <= {step.__name__ for step in STEPS}


def unbalanced(ledger: Sequence[StageReport]) -> list[str]:
    """Stages that do not take up what the one before handed on, or do not say what became of it, and are silent."""
    found, at_hand = [], None
    for stage in ledger:
        if stage.name in ON_CHUNKS and at_hand is not None and stage.items_in != at_hand and not stage.degraded:
            found.append(f"{stage.name}: {at_hand} were at hand, {stage.items_in} went in")
        lost, out = sum(stage.lost.values()), stage.items_out
        if stage.items_in is not None and out is None and stage.failed is None:
            found.append(f"{stage.name}: nothing says that it failed")
        if stage.items_in is not None and out is not None and stage.items_in > out + lost and not stage.degraded:
            found.append(f"{stage.name}: in {stage.items_in}, out {out}, lost {stage.lost}")
        if stage.name in (*ON_CHUNKS, "assemble", "web_passages") and stage.failed is None:
            at_hand = out
        elif stage.name == "query":
            at_hand = None
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_what_a_stage_takes_is_what_the_one_before_handed_on(healthy: dict[str, Answer], scenario: Scenario) -> None:
    assert unbalanced(healthy[scenario.name].ledger) == []


def test_every_stage_hands_its_result_on(healthy: dict[str, Answer]) -> None:
    for name, answer in healthy.items():
        silent = [stage.name for stage in answer.ledger if stage.items_out is None and stage.name != "query"]
        assert silent == [], name


def cases() -> Iterator[tuple[str, Fault]]:
    for stage in sorted(stages_in_code()):
        for fault in FAULTS:
            yield stage, fault


@pytest.mark.parametrize(("stage", "fault"), [*cases()])
def test_a_fault_of_a_stage_is_told(asked: Asked, healthy: dict[str, Answer], stage: str, fault: Fault) -> None:
    """In every scenario that reaches the stage."""
    told = 0
    for scenario in SCENARIOS:
        if any(fnmatchcase(one.name, stage) for one in healthy[scenario.name].ledger):
            told += _told(asked, scenario, stage, fault)
    assert told or fault == "over_long", "the fault had no effect anywhere"


def _told(asked: Asked, scenario: Scenario, stage: str, fault: Fault) -> int:
    """How often the fault had an effect, once it was seen that the response tells of it."""
    view = asked.view(scenario)
    options = asked.options(scenario, view)
    boundary = FaultyBoundary(stage, fault)
    try:
        answer = with_boundary(view, boundary).ask(scenario.question, **options)
    except EvigraphError:
        return 1
    if boundary.changed:
        wire = answer_to_wire(answer)
        names = (stage.rstrip(".*"), *SPEAKS_FOR.get(stage, ()))
        assert wire["degraded"], f"{scenario.name}: {fault} of {stage} is not told"
        said = wire["method_details"]["degraded"]
        assert any(name in sentence for name in names for sentence in said), f"{scenario.name}: {said}"
        assert wire["answer"] or wire["abstained"], f"{scenario.name}: neither an answer nor an abstention"
        assert unbalanced(answer.ledger) == [], f"{scenario.name}: {fault} of {stage}"
    return boundary.changed


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.chat], ids=lambda scenario: scenario.name)
def test_a_fault_of_the_chat_model_is_told(asked: Asked, scenario: Scenario, fault: Fault) -> None:
    view = asked.view(scenario)
    options = asked.options(scenario, view)
    chat = view.chat
    assert chat is not None
    broken = asked._store.engine("asked", settings=view.settings, chat=FaultyChat(chat, fault))
    try:
        answer = broken.ask(scenario.question, **options)
    except EvigraphError:
        return
    assert answer.degraded, "nothing is told"
    assert answer.text or answer.abstained


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.web], ids=lambda scenario: scenario.name)
def test_a_fault_of_the_web_search_is_told(asked: Asked, scenario: Scenario, fault: Fault) -> None:
    view = asked.view(scenario)
    faulty = FaultyWebSearch(ScriptedWebSearch([PAGE]), fault)
    broken = asked._store.engine("asked", settings=view.settings, chat=view.chat, web_search=faulty)
    answer = broken.ask(scenario.question, **scenario.options)
    assert [sentence for sentence in answer.degraded if sentence.startswith("web_search: ")]
    assert answer.text or answer.abstained


def by_statement() -> Iterator[Any]:
    """Scenarios; those that are not representative, or long, are left to the long checks."""
    for scenario in SCENARIOS:
        marks = [] if scenario.name in STATEMENTS_OF else [pytest.mark.verify]
        yield pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.parametrize("scenario", [*by_statement()])
def test_a_fault_of_a_statement_is_told(asked: Asked, scenario: Scenario) -> None:
    """Each statement of a healthy run fails in turn: every other one breaks, the rest time out."""
    whole = Statements()
    assert _answered(asked, scenario, whole).degraded == ()
    assert whole.seen >= 3
    for number in range(whole.seen):
        statements = Statements("times_out" if number % 2 else "raises", failing=number)
        try:
            answer = _answered(asked, scenario, statements)
        except EvigraphError as error:
            assert error.hint or error.code == "stage_failed", f"statement {number}: {error!r}"
            continue
        assert statements.failed, f"the healthy run has a statement {number}, this one has not"
        assert answer.degraded, f"statement {number} failed, and nothing is told"
        assert unbalanced(answer.ledger) == []


def _answered(asked: Asked, scenario: Scenario, statements: Statements) -> Answer:
    view = asked.view(scenario)
    options = asked.options(scenario, view)
    return with_store_fault(view, statements).ask(scenario.question, **options)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("mode", ["naive", "mix", "global"])
def test_a_fault_of_the_embedder_is_told(asked: Asked, mode: str, after: int, fault: Fault) -> None:
    embedder = FaultyEmbedder(asked.graph.embedder, fault, after=after)
    broken = asked._store.engine("asked", embedder=embedder)
    healthy = asked.graph.ask("Why do the pumps of Tarn stand idle?", mode=mode)
    try:
        answer = broken.ask("Why do the pumps of Tarn stand idle?", mode=mode)
    except EvigraphError:
        return
    assert answer.degraded or answer.text == healthy.text, "another answer, and nothing is told"


def test_a_boundary_that_does_nothing_changes_nothing(asked: Asked) -> None:
    plain = asked.graph.ask("Why do the pumps of Tarn stand idle?")
    assert with_boundary(asked.graph, Boundary()).ask("Why do the pumps of Tarn stand idle?").text == plain.text
