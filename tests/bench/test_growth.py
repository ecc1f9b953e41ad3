"""The bench of growth, on a workspace that grows by a few copies."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from evigraph import Evigraph
from evigraph.testing.models import HashEmbedder
from small import PUMPS, RuleExtractor

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "growth.py"
QUESTIONS = [
    {"id": "a", "question": "Who accused Corrick Vane?", "gold": ["memo"]},
    {"id": "b", "question": "Who trained mechanics in Tarn?", "gold": ["tarn"]},
]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("growth", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_added_has_nothing_to_do_with_the_questions(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "BEST", 1)  # there are few others
    corpus = [{"id": one["document_id"], "title": one["title"], "text": one["text"]} for one in PUMPS]
    for name, records in (("corpus", corpus), ("questions", QUESTIONS)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    held = len(PUMPS)
    graph = Evigraph(tmp_path / "store", embedder=HashEmbedder(384), extractor=RuleExtractor())
    lines = bench.run(tmp_path, "", [held, 2 * held, 3 * held], 2, "mix", graph=graph)
    assert [line["passages"] for line in lines] == [held, 2 * held, 3 * held]
    assert [line["same_as_first"] for line in lines] == [2, 2, 2]
    assert all(line["statements"] > 5 and line["rows_read_p50"] > 0 and line["p50_ms"] > 0 for line in lines)
    with Evigraph(tmp_path / "store", embedder=HashEmbedder(384), extractor=RuleExtractor()) as again:
        assert len(again.documents()) == 3 * held
        with again.store.snapshot("default") as snapshot:
            before, copied = snapshot.names(["corrick vane"]), snapshot.names(["corrick vane~2"])
        assert before["corrick vane"].passages == copied["corrick vane~2"].passages > 0
