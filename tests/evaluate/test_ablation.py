"""The tool that measures what each step of `mix` is worth, on a tiny set."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from evigraph import Evigraph
from evigraph.query.parameters import MIX, Parameters, altered
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
    spec = importlib.util.spec_from_file_location("ablation", TOOLS / "ablation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("scoreboard", None)


def test_numbers_are_altered_for_the_while() -> None:
    before = asdict(MIX)
    with pytest.raises(KeyError), altered(bridges=0, damping=0.1):
        assert (MIX.bridges, MIX.damping, MIX.gain) == (0, 0.1, before["gain"])
        raise KeyError
    assert asdict(MIX) == before == asdict(Parameters())
    with pytest.raises(AttributeError), altered(no_such_number=1):
        pass


def test_each_step_is_measured_beside_the_whole(tool: ModuleType, tmp_path: Path) -> None:
    corpus = [{"id": one["document_id"], "title": one["title"], "text": one["text"]} for one in PUMPS]
    (tmp_path / "tiny").mkdir()
    for name, records in (("corpus", corpus), ("questions", QUESTIONS)):
        (tmp_path / "tiny" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    asked: list[tuple[int, float]] = []

    class Watched(Evigraph):
        def retrieve(self, question: str, **options: object) -> object:  # type: ignore[override]
            asked.append((MIX.bridges, MIX.alias_weight))
            return super().retrieve(question, **options)

    def opened(path: Path) -> Evigraph:
        return Watched(path, embedder=HashEmbedder(), extractor=RuleExtractor())

    out = tmp_path / "page.md"
    one = tool.DevSet(key="tiny", folder="tiny", about="")
    arguments = [str(tmp_path), "--only", "tiny", "--stores", str(tmp_path / "stores")]
    assert tool.main(arguments, sets=(one,), opener=opened, out=out) == 0
    page = out.read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert [row[0].removeprefix("| ") for row in rows] == list(tool.WITHOUT)
    assert rows[0][1] == "100.0 [100.0, 100.0]"
    assert rows[0][2].strip(" |") == ""
    assert all("[" in row[2] for row in rows[1:])
    assert len(asked) == len(QUESTIONS) * len(tool.WITHOUT)
    assert {pair for pair in asked if pair != (MIX.bridges, MIX.alias_weight)} == {
        (0, MIX.alias_weight),
        (MIX.bridges, 1.0),
    }
    assert "corpus `" in page
    assert "`python tools/ablation.py --only tiny`" in page
