"""The communities benchmark runs at a small size, in processes of its own: it opens a store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "communities.py"


@pytest.mark.verify
def test_it_finds_the_planted_topics_and_changes_nothing_twice(tmp_path: Path) -> None:
    sizes = ["--entities", "2000", "--assertions", "10000", "--documents", "100"]
    output = tmp_path / "figures.json"
    command = [sys.executable, str(SCRIPT), *sizes, "--data", str(tmp_path / "store"), "--output", str(output)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    figures = json.loads(output.read_text())
    assert printed.startswith("2000 entities, 10000 assertions, 10000 sentences")
    assert figures["steps"]["with_summary"] == figures["steps"]["communities"] == figures["whole"]["again_reused"]
    assert (figures["whole"]["published"], figures["whole"]["again_published"]) == (True, False)
    assert [level["level"] for level in figures["whole"]["levels"]] == list(range(len(figures["whole"]["levels"])))
    assert 8 <= figures["whole"]["levels"][0]["communities"] <= 14, "ten topics were planted"
