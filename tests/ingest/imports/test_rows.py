"""Parquet files are read within bounds, and values that cannot be read are reported by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from evigraph.errors import FileTooLarge
from evigraph.ingest.imports.rows import Folder, Problems, Row, RowError, number_of

LIMIT = 100_000


def folder_of(tmp_path: Path, columns: dict[str, Any]) -> Folder:
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet", compression="zstd")
    return Folder.open(tmp_path, None, LIMIT)


def read(folder: Folder, problems: Problems | None = None, *, columns: Sequence[str] | None = None) -> list[Row]:
    return list(folder.rows(folder.files[0], problems or Problems(), columns=columns))


@pytest.mark.parametrize(
    "values",
    [
        pyarrow.array(["Ann met Bo. " * 50] * 1_000),
        pyarrow.array(["Ann met Bo. " * 50] * 1_000).dictionary_encode(),
        pyarrow.array([b"Ann met Bo. " * 50] * 1_000),
        pyarrow.array([["Ann met Bo. " * 10] * 5] * 1_000),
        pyarrow.array([{"a": "Ann met Bo. " * 50}] * 1_000),
    ],
    ids=["text", "dictionary", "bytes", "list", "object"],
)
def test_what_unfolds_beyond_the_limit_is_refused_while_it_is_read(tmp_path: Path, values: Any) -> None:
    folder = folder_of(tmp_path, {"id": list(range(1_000)), "text": values})
    assert folder.files[0].stat().st_size < LIMIT / 10
    taken = []
    with pytest.raises(FileTooLarge, match="the limit of 100,000 bytes") as raised:
        for row in folder.rows(folder.files[0], Problems()):
            taken.append(row)
    assert 100 < len(taken) < 200
    assert "EVIGRAPH_MAX_FILE_BYTES" in raised.value.hint
    assert len(read(folder, columns=("id",))) == 1_000, "what is not read does not count"


def test_lists_of_nothing_are_refused_before_they_are_made(tmp_path: Path) -> None:
    with pytest.raises(FileTooLarge):
        read(folder_of(tmp_path, {"ids": pyarrow.array([[None] * (LIMIT + 1)], type=pyarrow.list_(pyarrow.int8()))}))


def test_large_values_are_decoded_a_few_at_a_time(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"text": ["x" * (LIMIT // 2)] * 1_000})
    metadata = parquet.read_metadata(folder.files[0])
    assert folder._batch_size(folder.files[0], metadata, ("text",)) < 20
    with pytest.raises(FileTooLarge):
        read(folder)


def not_utf8() -> Any:
    """Three texts, of which the second is not UTF-8."""
    offsets = b"".join(at.to_bytes(4, "little") for at in (0, 2, 5, 7))
    return pyarrow.Array.from_buffers(
        pyarrow.string(), 3, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"ab\xff\xfeacd")]
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (not_utf8(), "UnicodeDecodeError"),
        (pyarrow.array([1, 2**62, 3], pyarrow.time64("us")), "OverflowError|ValueError"),
        (pyarrow.array([1, 2**62, 3], pyarrow.timestamp("us")), "OverflowError|ValueError"),
    ],
    ids=["text", "time", "timestamp"],
)
def test_a_value_that_cannot_be_read_costs_its_row(tmp_path: Path, values: Any, said: str) -> None:
    problems = Problems()
    rows = read(folder_of(tmp_path, {"id": ["a", "b", "c"], "value": values}), problems)
    assert [(row.number, row.values["id"]) for row in rows] == [(1, "a"), (3, "c")]
    (problem,) = problems.report()
    assert (problem.reason, problem.count, problem.examples[0].row) == ("bad_value", 1, 2)
    assert any(name in problem.examples[0].detail for name in said.split("|"))


@pytest.mark.parametrize(("given", "made"), [(None, 0.5), (0, 0.0), (1, 1.0), (7, 0.5), (-1e11, 0.5), (1.01, 0.5)])
def test_a_number_out_of_range_is_as_if_not_given(given: Any, made: float) -> None:
    problems = Problems()
    row = Row(file="f", number=3, values={"confidence": given})
    assert number_of(row, "confidence", 0.5, problems, limit=1.0) == made
    expected = [] if given in (None, 0, 1) else [("out_of_range", 3)]
    assert [(problem.reason, problem.examples[0].row) for problem in problems.report()] == expected


@pytest.mark.parametrize("given", [float("nan"), float("inf"), True, "1", [1]])
def test_what_is_no_number_is_not_taken(given: Any) -> None:
    with pytest.raises(RowError):
        number_of(Row(file="f", number=1, values={"weight": given}), "weight", 1.0, Problems(), limit=1.0)
