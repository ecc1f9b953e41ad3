"""`docs/cli.md` and `docs/http.md` say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "current", done.stdout + done.stderr
    assert done.returncode == 0


def test_the_pages_name_every_command_and_path() -> None:
    commands = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    paths = (ROOT / "docs/http.md").read_text(encoding="utf-8")
    assert "## `evigraph documents revisions`" in commands
    assert "- `--workspace WORKSPACE`" in commands
    assert "## `POST /api/v1/query`" in paths
    assert "unknown_mode" not in commands
