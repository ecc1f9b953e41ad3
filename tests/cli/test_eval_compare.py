"""`eval --compare`: two result files instead of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Invoke

RUN = {
    "dataset": "set",
    "corpus_hash": "ab" * 32,
    "embedder": "m",
    "k": 10,
    "case": "ranking",
    "type": "",
    "options": {},
}


def write(path: Path, mode: str, ranked: dict[str, list[str]], **run: str) -> None:
    """A file of questions whose gold is `g`."""
    lines = [
        {
            **RUN,
            "mode": mode,
            "question_id": name,
            "question": f"{name}?",
            "gold": ["g"],
            "ranked": found,
            "metrics": {"recall@5": float("g" in found[:5]), "recall@2": float("g" in found[:2])},
            "seconds": 0.1,
            **run,
        }
        for name, found in ranked.items()
    ]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def files(folder: Path) -> Path:
    write(folder / "a.jsonl", "mix", {"q1": [], "q2": ["x", "y", "g"]})
    write(folder / "b.jsonl", "mix", {"q1": ["g"], "q2": ["g"]})
    return folder


def test_two_files_are_compared_without_a_folder(files: Path, invoke: Invoke) -> None:
    done = invoke("eval", "--compare", "a.jsonl", "b.jsonl")
    assert done.code == 0, done.err
    assert "recall@5: 1 won by B" in done.out
    assert "in: B found g at 1; A: not found" in done.out
    by_two = invoke("eval", "--compare", "a.jsonl", "b.jsonl", "--metric", "recall@2", "--json")
    assert by_two.code == 0
    assert [won["question_id"] for won in by_two.json["won"]] == ["q1", "q2"]
    assert by_two.json["a"]["name"] == "a.jsonl"
    assert by_two.json["rows"][0]["gain"]["mean"] == 0.5


def test_modes_of_the_sides(files: Path, invoke: Invoke) -> None:
    write(files / "b.jsonl", "dense", {"q1": [], "q2": []})
    several = invoke("eval", "--compare", "a.jsonl", "b.jsonl")
    assert several.code == 1
    assert "b.jsonl holds several modes: mix, dense" in several.err
    both = invoke("eval", "--compare", "b.jsonl", "b.jsonl", "--mode", "dense", "--mode", "mix", "--json")
    assert (both.json["a"]["mode"], both.json["b"]["mode"], len(both.json["won"])) == ("dense", "mix", 2)


def test_other_data_is_refused(files: Path, invoke: Invoke) -> None:
    write(files / "c.jsonl", "mix", {"q1": []}, corpus_hash="cd" * 32)
    done = invoke("eval", "--compare", "a.jsonl", "c.jsonl", "--json")
    assert done.code == 1
    assert done.json["error"]["code"] == "invalid_value"
    assert "abababababab in A, cdcdcdcdcdcd in B" in done.json["error"]["message"]
    assert invoke("eval", "--compare", "a.jsonl", "nowhere.jsonl", "--json").json["error"]["code"] == "missing_file"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a FOLDER to measure, or --compare"),
        (("reports", "--compare", "a.jsonl", "b.jsonl"), "and not both"),
        (("--compare", "a.jsonl", "b.jsonl", "--limit", "3", "--set", "rerank=true"), "no use for --limit, --set"),
        (("reports", "--metric", "recall@5"), "--metric is for --compare"),
        (("reports", "--limit", "3", "--sample", "3"), "--limit and --sample"),
        (("--compare", "a.jsonl"), "2 arguments"),
    ],
)
def test_usage(files: Path, invoke: Invoke, arguments: tuple[str, ...], said: str) -> None:
    done = invoke("eval", *arguments)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())
