"""The traversal benchmark runs at a small size, in a process of its own: it opens a store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "traversal.py"


@pytest.mark.verify
def test_it_builds_a_skewed_graph_and_stays_within_the_limits(tmp_path: Path) -> None:
    sizes = ["--assertions", "4000", "--documents", "40", "--seeds", "4", "--recursive-seeds", "1"]
    output = tmp_path / "figures.json"
    command = [sys.executable, str(SCRIPT), *sizes, "--data", str(tmp_path / "store"), "--output", str(output)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    figures = json.loads(output.read_text())
    assert printed.startswith("4000 assertions in 40 documents")
    assert figures["largest_degrees"][0] > 150
    assert [hop["stage"] for hop in figures["hops"]] == ["hop 1", "hop 2", "hop 3", "fetch"]
    assert all(hop["entities"] <= figures["limit"] for hop in figures["hops"])
    assert all(0 < hop["rows_read"] <= hop["max_rows_read"] <= 2 * 4000 for hop in figures["hops"])
    assert figures["recursive_cte"]["paths"] == [figures["limit"]]
