"""The documentation is true: its code runs, its commands and paths exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_library_example_prints_a_cited_answer(tmp_path: Path) -> None:
    (code,) = blocks(README, "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "managed by Daudi Renko" in done.stdout
    assert "['memo'] ()" in done.stdout, "the filtered evidence holds the eastern memo alone"


def test_every_command_of_the_readme_exists() -> None:
    reference = (ROOT / "docs" / "cli.md").read_text()
    used = set(re.findall(r"^evigraph ([a-z]+)", "\n".join(blocks(README, "sh")), re.MULTILINE))
    assert {"index", "ask", "serve", "eval"} <= used
    for command in sorted(used):
        assert f"evigraph {command}" in reference


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+\.py|[\w/]+/)`", ARCHITECTURE))))
def test_every_path_of_the_architecture_page_exists(path: str) -> None:
    assert (ROOT / "src" / "evigraph" / path).exists() or (ROOT / path).exists()
