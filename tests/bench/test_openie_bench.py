"""The comparison of imported triples with the engine's own graph, on a few documents."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from evigraph import Evigraph
from evigraph.testing.models import HashEmbedder
from small import PUMPS, RuleExtractor

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "openie.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openie_bench", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_graphs_are_measured_on_the_same_questions(bench: ModuleType, tmp_path: Path) -> None:
    corpus = [{"id": one["document_id"], "title": one["title"], "text": one["text"]} for one in PUMPS]
    questions = [{"id": "a", "question": "Who accused Corrick Vane?", "gold": ["memo"]}]
    triples = [
        {"id": one["id"], "entities": [], "triples": [["Corrick Vane", "is in", "a text"], ["two", "only"]]}
        for one in corpus
    ]
    for name, records in (("corpus", corpus), ("questions", questions), ("openie_some-model", triples)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with Evigraph(tmp_path / "store", embedder=HashEmbedder(384), extractor=RuleExtractor()) as graph:
        found = bench.compare(graph, tmp_path, "mix")
        kept = {name: len(graph.in_workspace(name).documents()) for name in ("extracted", "imported")}
    assert kept == {"extracted": len(corpus), "imported": len(corpus)}
    assert found["questions"] == 1
    assert found["rows"]["triples"] == 2 * len(corpus)
    assert sum(found["problems"].values()) == len(corpus)
    for metric, difference in found["difference"].items():
        assert difference[0] == pytest.approx(found["imported"][metric][0] - found["extracted"][metric][0])
