"""Run the command in this process, on an engine with a quick embedder, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.cli import main
from evigraph.cli.local import LocalEngine
from evigraph.testing.models import HashEmbedder

TEXTS = {
    "2014/tarn.md": "# Tarn note\n\nCorrick and Vane delivered four pumps to Tarn. "
    "Hana Sefu trained the mechanics in Tarn.\n",
    "2017/memo.txt": "Joseph Amarra tested the rods. Corrick and Vane had sold them.\n",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Invoke = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two documents in `reports/`."""
    for name, text in TEXTS.items():
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class KeptOpen(LocalEngine):
    """Opening a store takes longer than most commands; the fixture closes it."""

    def close(self) -> None:
        pass


@pytest.fixture
def invoke(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Invoke]:
    """`invoke("ask", "...")` in this process, on a store that stays open between commands."""
    opened: dict[str | None, Evigraph] = {}

    def open_quickly(data: str | None, workspace: str) -> LocalEngine:
        if data not in opened:
            close()  # a process opens one embedded store at a time
            opened[data] = Evigraph(data, embedder=HashEmbedder())
        return KeptOpen(opened[data].in_workspace(workspace))

    def close() -> None:
        while opened:
            opened.popitem()[1].close()

    monkeypatch.setattr("evigraph.cli.open.open_engine", open_quickly)

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["evigraph", *arguments])
        monkeypatch.setattr(main, "prepare_streams", lambda: None)
        with pytest.raises(SystemExit) as ended:
            main.run()
        printed = capsys.readouterr()
        return Outcome(code=int(ended.value.code or 0), out=printed.out, err=printed.err)

    yield call
    close()


def start(*arguments: str, cwd: Path, **environment: str) -> Outcome:
    """The command as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "evigraph.cli", *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)
