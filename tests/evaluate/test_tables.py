from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from evigraph.errors import InvalidValue
from evigraph.evaluate.cases import RankingCase
from evigraph.evaluate.tables import joined, markdown, score_table, type_table

from .test_compare import case, report


def ranked(mode: str, *found: Sequence[str], k: int = 10) -> list[RankingCase]:
    return [case(f"q{n}", names, mode=mode, type="ab"[n % 2], k=k) for n, names in enumerate(found)]


def test_a_line_a_mode_with_its_gain_over_the_baseline() -> None:
    measured = joined([report(*ranked("own", ["g"], [])), report(*ranked("mix", ["x", "x2", "g"], ["g"]))])
    timed = [
        dataclasses.replace(one, seconds=0.02 if one.mode == "mix" else 0.004, gold=("g",)) for one in measured.rankings
    ]
    measured = dataclasses.replace(measured, rankings=tuple(timed))
    table = score_table(measured, baseline="own", gain="recall@5", names={"own": "Own"})
    assert table == [
        "|  | recall@2 | recall@5 | recall@10 | all-gold@5 | all-gold@8 | nDCG@10 | median ms | recall@5 beside Own |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Own | 50.0 | 50.0 | 50.0 | 50.0 | 50.0 | 50.0 | 4 | - |",
        "| mix | 50.0 | 100.0 | 100.0 | 100.0 | 100.0 | 75.0 | 20 | +50.0 [+0.0, +100.0] |",
    ]


def test_what_was_not_measured_is_no_number() -> None:
    """A list of eight has no recall@10, a system that was not run no time; without the baseline there is no gain."""
    measured = joined([report(*ranked("own", ["g"], [])), report(*ranked("theirs", ["g"], ["g"], k=8), k=8)])
    line = score_table(measured, baseline="own", gain="recall@5", untimed=["theirs"])[-1]
    assert line == "| theirs | 100.0 | 100.0 | - | 100.0 | 100.0 | - | - | +50.0 [+0.0, +100.0] |"
    assert score_table(measured, baseline="own", gain="nDCG@10", untimed=["theirs"])[-1].endswith("| - | - | - |")
    assert score_table(measured, baseline="none", gain="recall@5")[2].endswith("| 0 | - |")


def test_a_column_a_type() -> None:
    measured = joined([report(*ranked("own", ["g"], [], ["g"])), report(*ranked("mix", ["x"], ["g"], ["g"]))])
    assert type_table(measured, "recall@5", {"mix": "Mix"}) == [
        "| recall@5 | a (2) | b (1) |",
        "| --- | ---: | ---: |",
        "| own | 100.0 | 0.0 |",
        "| Mix | 50.0 | 100.0 |",
    ]
    assert type_table(report(*ranked("own", ["g"])), "recall@5") == []


def test_reports_of_different_corpora_are_not_joined() -> None:
    one = report(*ranked("own", ["g"]))
    with pytest.raises(InvalidValue, match="set over corpus cdcdcdcdcdcd does not belong to set over abababababab"):
        joined([one, report(*ranked("mix", ["g"]), corpus_hash="cd" * 32)])
    with pytest.raises(InvalidValue, match="other over"):
        joined([one, report(*ranked("mix", ["g"]), dataset="other")])
    with pytest.raises(InvalidValue, match="no report"):
        joined([])


def test_cells_cannot_break_the_table() -> None:
    assert list(markdown(["a", "b"], [["x|y", "1\n2"]]))[-1] == "| x\\|y | 1 2 |"
