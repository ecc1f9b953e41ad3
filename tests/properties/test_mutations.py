"""No predicate of the store can go without the scope-leak test noticing (`tools/mutate_visibility.py`)."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "mutate_visibility.py"
STORE = ROOT / "src" / "evigraph" / "store"
USES = (
    "revision_key IN {self.scope.revisions}",
    "revision IN {self.scope.revisions}",
    "support.1 IN {self.scope.revisions} AS visible",
)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutate_visibility", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_use_of_the_scope_has_a_mutation(tool: ModuleType) -> None:
    found = [one for one in tool.mutations(STORE) if one.text in USES]
    used = sum(path.read_text().count("{self.scope.revisions}") for path in STORE.glob("*.py"))
    assert len(found) == used


def test_every_condition_has_a_mutation(tool: ModuleType) -> None:
    found = {(one.file, one.line) for one in tool.mutations(STORE)}
    for path in STORE.glob("*.py"):
        if path.name == "migrations.py":
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if re.search(r"\bWHERE \S", line):
                assert (path.name, number) in found, f"{path.name}:{number} {line.strip()}"


def test_a_mutation_changes_one_place_and_leaves_python(tool: ModuleType) -> None:
    for one in tool.mutations(STORE):
        source = (STORE / one.file).read_text()
        mutated = one.applied(source)
        compile(mutated, one.file, "exec")
        assert len(source) - len(mutated) == len(one.text) - len(one.replacement)


def test_every_exception_is_still_needed(tool: ModuleType) -> None:
    found = tool.mutations(STORE)
    assert [one for one in tool.HARMLESS if not any(one.covers(mutation) for mutation in found)] == []


@pytest.mark.verify
def test_every_predicate_is_needed() -> None:
    done = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
