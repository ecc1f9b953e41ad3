"""The table of answered and abstained, on a few documents."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from evigraph import Evigraph
from evigraph.testing.models import HashEmbedder
from small import RuleExtractor

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "abstention.py"
PERSONS = [
    {"id": "Allen Hord", "title": "Allen Hord", "text": "The daughter of Allen Hord is Latrina Ponder."},
    {"id": "Lola Poole", "title": "Lola Poole", "text": "The hobby of Lola Poole is powerlifting."},
]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("abstention_bench", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_question_whose_evidence_is_out_of_sight_is_not_answered(bench: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "phantomwiki_easy"
    folder.mkdir()
    asked = [{"question": "Who is the daughter of Allen Hord?", "prolog": ['daughter("Allen Hord", Y)']}]
    for name, records in (("corpus", PERSONS), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with Evigraph(tmp_path / "store", embedder=HashEmbedder(384), extractor=RuleExtractor()) as graph:
        measured = list(bench.of_persons(graph, tmp_path))
    assert [(kind.present, kind.abstained) for kind in measured] == [(True, [False]), (False, [True])]
    table = bench.table(measured)
    assert [line.split()[0] for line in table.splitlines() if not line.startswith(" ")] == ["evidence", "evidence"]
    assert "100.0 %" in table
