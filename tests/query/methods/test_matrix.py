"""Every combination of mode, method and enhancer runs, or is refused or ignored with the reason that the docs give."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from scripted import ALL, PLAN, QUESTION, Asked, Scenario

from evigraph import Evigraph
from evigraph.errors import InvalidCombination
from evigraph.types import Method, Mode
from evigraph.wire import answer_to_wire
from small import OneStore

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "tools" / "methods_reference.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("methods_reference", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    store = OneStore(tmp_path_factory.mktemp("matrix"))
    yield Asked(store).view(Scenario(name="matrix", options={}, chat=True))
    store.close()


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("method", list(Method))
def test_a_combination_does_what_the_docs_say(tool: ModuleType, view: Evigraph, mode: Mode, method: Method) -> None:
    for enhancer in (None, *tool.ENHANCERS):
        options = {"mode": mode.value, "method": method.value, **({} if enhancer is None else {enhancer: True})}
        if mode is Mode.PLAN:
            options["plan"] = PLAN
        question = ALL if mode is Mode.THEMATIC_OVERVIEW else QUESTION
        said: str = tool.outcome(mode, method, enhancer)
        if said.startswith("refused: "):
            with pytest.raises(InvalidCombination, match="makes no sense under mode"):
                view.ask(question, **options)
            continue
        answer = view.ask(question, **options)
        wire = answer_to_wire(answer)
        assert wire["answer"] or wire["abstained"], options
        assert (wire["mode"] == mode.value) or mode is Mode.AUTO
        if mode is Mode.AUTO:
            continue
        if said.startswith("ignored: "):
            assert said.removeprefix("ignored: ") in answer.degraded, options
        else:
            assert not any("ignored" in sentence for sentence in answer.degraded), (options, answer.degraded)
            assert wire["method"] == method.value or method is Method.AUTO, options


def test_the_table_is_in_the_docs(tool: ModuleType) -> None:
    page = (ROOT / "docs" / "methods.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len([line for line in rows if line.count("|") == 8]) == len(Mode) * len(Method)
    for mode in Mode:
        for method in Method:
            assert any(
                line.startswith(f"| `{mode}` | `{method}` | {tool.outcome(mode, method, None)} |") for line in rows
            )
