"""The same documents and questions give the same bytes, whatever the hash seed and the number of threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evigraph.types import Mode

SCRIPT = Path(__file__).with_name("answers_as_json.py")


def outputs(folder: Path, seed: int, threads: int, files: tuple[str, ...]) -> bytes:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder / f"store-{seed}"), str(threads), *files],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        check=True,
    ).stdout


def check(folder: Path, files: tuple[str, ...], seeds: tuple[int, ...]) -> None:
    first, *others = [outputs(folder, seed, 1 + seed % 2, files) for seed in seeds]
    assert len(first.splitlines()) == 3 * 2 * (len(Mode) - 1), "three questions, with and without context_only"
    answers = [json.loads(line) for line in first.splitlines()]
    assert sum(1 for answer in answers if answer["citations"]) >= 6
    assert all(answer["chunks"] for answer in answers)
    assert all(other == first for other in others)


def test_two_processes_give_the_same_bytes(tmp_path: Path) -> None:
    names = ("east-drilling-completion.md", "eastern-borehole-log-2014.csv", "southern-annual-review-2014.pdf")
    check(tmp_path, tuple(f"2014/{name}" for name in names), (0, 4242))


@pytest.mark.verify
def test_three_processes_give_the_same_bytes_for_the_whole_sample(tmp_path: Path) -> None:
    check(tmp_path, (), (0, 1, 4242))
