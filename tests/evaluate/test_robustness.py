"""The tool that measures what worse corpora and questions cost, on a tiny set."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.testing.models import HashEmbedder
from small import PUMPS, RuleExtractor

TOOLS = Path(__file__).resolve().parents[2] / "tools"
QUESTIONS = [
    {"id": "a", "question": "Who accused Corrick Vane?", "gold": ["memo"]},
    {"id": "b", "question": "Who trained mechanics in Tarn?", "gold": ["tarn"]},
]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location("robustness", TOOLS / "robustness.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["robustness"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("robustness", None)
    sys.modules.pop("scoreboard", None)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who accused Corrick Vane?", "Who accused Corirck Vane?"),
        ("Is Lilu a demon?", "Is Lilu a demon?"),
        ("who knows?", "who knows?"),
    ],
)
def test_a_typo_swaps_two_letters_of_a_name(tool: ModuleType, question: str, expected: str) -> None:
    assert tool.misspelt(question) == expected


def test_every_variant_is_measured_beside_the_plain_run(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "LONG", 2)
    monkeypatch.setattr(tool, "ADDED", 3)
    monkeypatch.setattr(tool, "OTHERS", ("other",))
    corpus = [{"id": one["document_id"], "title": one["title"], "text": one["text"]} for one in PUMPS]
    other = [{"id": str(at), "title": f"Note {at}", "text": f"Nothing of {at} here."} for at in range(5)]
    for name, records in (("tiny", corpus), ("other", other)):
        (tmp_path / name).mkdir()
        for file, lines in (("corpus", records), ("questions", QUESTIONS)):
            (tmp_path / name / f"{file}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    held: dict[str, int] = {}
    asked: list[str] = []

    class Watched(Evigraph):
        def retrieve(self, question: str, **options: Any) -> Any:
            held[Path(str(self.data)).name] = len(self.documents())
            asked.append(question)
            return super().retrieve(question, **options)

    def opened(path: Path) -> Evigraph:
        return Watched(path, embedder=HashEmbedder(), extractor=RuleExtractor())

    one = tool.DevSet(key="tiny", folder="tiny", about="")
    monkeypatch.setattr(tool, "SETS", (one,))
    stores = tmp_path / "stores"
    assert tool.main([str(tmp_path), "--only", "tiny", "--stores", str(stores)], sets=(one,), opener=opened) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["variant"] for row in rows] == ["plain", *(variant.name for variant in tool.VARIANTS)]
    assert rows[0]["loss"] == [0, 0, 0]
    assert all(row["questions"] == 2 for row in rows)
    assert {row["variant"]: row["recall@5"] for row in rows}["long-files"] == 1.0, "each passage is its own document's"
    assert held == {
        "tiny": len(PUMPS),
        "tiny-untitled": len(PUMPS),
        "tiny-long-files": 2,
        "tiny-among-others": len(PUMPS) + 3,
    }
    assert "who accused corrick vane?" in asked
    assert "Who accused Corirck Vane?" in asked
