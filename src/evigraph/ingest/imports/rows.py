"""Rows of JSON Lines and Parquet files, and the account of those that cannot be used."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evigraph.errors import CorruptDocument, FileTooLarge, MissingExtra, MissingFile, OutsideRoot
from evigraph.reports import ImportProblem, ProblemExample
from evigraph.text.names import name_key

MAX_LINE_BYTES = 16_000_000
MAX_NAME = 500
MAX_TYPE = 100
MAX_DESCRIPTION = 50_000
MAX_WEIGHT = 1_000_000.0
EXPANSION = 8
"""How many times the limit on files a Parquet file may hold encoded, the columns that are not read included, and how
many times it a batch may hold decoded. The rows read are held to the limit itself, like those of JSON Lines."""
BATCH_ROWS = 1_000
EXAMPLES = 100
"""Problems of one reason that a report lists; all are counted."""

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One record and where it stands; `number` counts lines (JSON Lines) or rows (Parquet) from 1."""

    file: str
    number: int
    values: Mapping[str, Any]


class RowError(Exception):
    """A record, or a part of it, that cannot be used."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(kw_only=True, slots=True)
class Problems:
    """What could not be imported as it was, by reason."""

    _counts: dict[str, int] = field(default_factory=dict)
    _examples: dict[str, list[ProblemExample]] = field(default_factory=dict)

    def add(self, row: Row, reason: str, detail: str) -> None:
        self.note(row.file, row.number, reason, detail)

    def note(self, file: str, number: int, reason: str, detail: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        shown = self._examples.setdefault(reason, [])
        if len(shown) < EXAMPLES:
            shown.append(ProblemExample(file=file, row=number, detail=_printable(detail)))

    def report(self) -> tuple[ImportProblem, ...]:
        """By reason, in alphabetical order."""
        return tuple(
            ImportProblem(reason=reason, count=self._counts[reason], examples=tuple(self._examples[reason]))
            for reason in sorted(self._counts)
        )


def _printable(detail: str) -> str:
    return _NOT_TEXT.sub("?", detail)[:300]


# ---------------------------------------------------------------- files


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """The files of one import. Nothing outside `root` is read, whatever links say."""

    root: Path
    files: tuple[Path, ...]
    max_file_bytes: int

    @classmethod
    def open(cls, path: Path, root: Path | None, max_file_bytes: int) -> Folder:
        """A folder with its files, or a single file. Raises `MissingFile` and `OutsideRoot`."""
        if not path.exists():
            raise MissingFile(f"{path}: there is no such file or folder", hint="check the path")
        bounds = (root if root is not None else path if path.is_dir() else path.parent).resolve()
        found = sorted(item for item in path.iterdir() if item.is_file()) if path.is_dir() else [path]
        folder = cls(root=bounds, files=tuple(found), max_file_bytes=max_file_bytes)
        folder.within(path)
        return folder

    def within(self, path: Path) -> Path:
        """The path, which must lie in the root."""
        if not path.resolve().is_relative_to(self.root):
            raise OutsideRoot(f"{path.name} lies outside {self.root}", hint="copy it there, or name another root")
        return path

    def named(self, *names: str) -> Path | None:
        """The first of these file names that there is."""
        by_name = {item.name: item for item in self.files}
        return next((by_name[name] for name in names if name in by_name), None)

    def beside(self, name: str) -> Path | None:
        """A file of the folder, also where the import names a single file in it."""
        folder = self.files[0].parent if self.files else self.root
        path = folder / name
        plain = name == Path(name).name and name not in ("", ".", "..") and not _NOT_TEXT.search(name)
        return path if plain and path.is_file() and path.resolve().is_relative_to(self.root) else None

    def checked(self, path: Path) -> Path:
        """The path, if it may be read. Raises `OutsideRoot` and `FileTooLarge`."""
        size = self.within(path).stat().st_size
        if size > self.max_file_bytes:
            raise FileTooLarge(
                f"{path.name}: {size:,} bytes, more than the limit of {self.max_file_bytes:,}",
                hint="split the file, or raise EVIGRAPH_MAX_FILE_BYTES",
            )
        return path

    def rows(self, path: Path, problems: Problems, *, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """The records of a file by its suffix; `columns` are all that is read of a Parquet file."""
        self.checked(path)
        return self._parquet(path, problems, columns) if path.suffix == ".parquet" else _json_lines(path, problems)

    def _parquet(self, path: Path, problems: Problems, columns: Sequence[str] | None) -> Iterator[Row]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise MissingExtra(
                f"{path.name}: reading Parquet needs pyarrow, which is not installed",
                hint="install evigraph[parquet], or convert the tables to JSON Lines",
            ) from error
        try:
            with parquet.ParquetFile(path) as file:
                names = file.schema_arrow.names
                known = names if columns is None else [name for name in columns if name in names]
                size = self._batch_size(path, file.metadata, known)
                number = held = 0
                for batch in file.iter_batches(batch_size=size, columns=known):
                    for values in _values_of(batch):
                        number += 1
                        if isinstance(values, RowError):
                            problems.note(path.name, number, values.reason, values.detail)
                            continue
                        held += _size(values)
                        if held > self.max_file_bytes:
                            raise self._too_large(path, 1)
                        yield Row(file=path.name, number=number, values=values)
        except (pyarrow.ArrowException, OSError, UnicodeError) as error:
            raise CorruptDocument(
                f"{path.name}: not a readable Parquet file ({str(error)[:200]})", hint="write it again"
            ) from error

    def _batch_size(self, path: Path, metadata: Any, columns: Sequence[str]) -> int:
        """Rows to decode at a time. A repeated value is encoded once, so that what a file says of its size bounds one
        value, not all. Raises `FileTooLarge`."""
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        if sum(group.total_byte_size for group in groups) > EXPANSION * self.max_file_bytes:
            raise self._too_large(path, EXPANSION)
        wanted = set(columns)
        largest, values = 1, 0
        for group in groups:
            chunks = [group.column(number) for number in range(group.num_columns)]
            read = [chunk for chunk in chunks if chunk.path_in_schema.split(".")[0] in wanted]
            largest = max(largest, sum(chunk.total_uncompressed_size for chunk in read))
            values += sum(chunk.num_values for chunk in read)
        if values > self.max_file_bytes:
            raise self._too_large(path, 1)
        return max(1, min(BATCH_ROWS, EXPANSION * self.max_file_bytes // largest))

    def _too_large(self, path: Path, times: int) -> FileTooLarge:
        more = f"{times} times the limit" if times > 1 else "the limit"
        return FileTooLarge(
            f"{path.name}: holds more than {more} of {self.max_file_bytes:,} bytes",
            hint="split the file, or raise EVIGRAPH_MAX_FILE_BYTES",
        )


def _values_of(batch: Any) -> Iterator[dict[str, Any] | RowError]:
    """The rows of a batch. Not every value that Parquet may hold is one that Python has: text that is not UTF-8, times
    of more than a day."""
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (ValueError, ArithmeticError, LookupError):
        for number in range(batch.num_rows):
            try:
                yield batch.slice(number, 1).to_pylist()[0]
            except (ValueError, ArithmeticError, LookupError) as error:
                yield RowError("bad_value", f"the row cannot be read: {type(error).__name__}: {str(error)[:150]}")
    else:
        yield from rows


def _size(value: object) -> int:
    """Characters and bytes of a value and all in it; whatever has none counts as one."""
    if isinstance(value, str | bytes):
        return max(1, len(value))
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list | tuple) else 1


def count_rows(folder: Folder, path: Path) -> int:
    """How many records a table holds that is not imported."""
    return sum(1 for _ in folder.rows(path, Problems(), columns=("id",)))


def _json_lines(path: Path, problems: Problems) -> Iterator[Row]:
    number = 0
    with path.open("rb") as file:
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                problems.note(path.name, number, "row_too_long", f"more than {MAX_LINE_BYTES:,} bytes")
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(MAX_LINE_BYTES)
                continue
            try:
                values = _decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
            except RowError as error:
                problems.note(path.name, number, error.reason, error.detail)
                continue
            if values is not None:
                yield Row(file=path.name, number=number, values=values)


def _decoded(raw: bytes) -> dict[str, Any] | None:
    """The object of a line; None for a blank one."""
    if not raw.strip():
        return None
    try:
        values = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise RowError("not_utf8", "the line is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise RowError("bad_json", f"{type(error).__name__}: {str(error)[:120]}") from None
    if not isinstance(values, dict):
        raise RowError("wrong_type", f"the line holds {type(values).__name__}, not an object")
    return values


# ---------------------------------------------------------------- fields


def text_of(values: Mapping[str, Any], name: str, *, limit: int = MAX_DESCRIPTION, default: str | None = None) -> str:
    """A field that must be text. Without `default` it must be there and not blank."""
    value = values.get(name)
    if value is None and default is not None:
        return default
    return checked_text(value, name, limit=limit, blank=default is not None)


def checked_text(value: object, name: str, *, limit: int = MAX_DESCRIPTION, blank: bool = False) -> str:
    if value is None:
        raise RowError("missing_field", f"{name} is missing")
    if not isinstance(value, str):
        raise RowError("wrong_type", f"{name} is {type(value).__name__}, not text")
    if len(value) > limit:
        raise RowError("too_long", f"{name} has {len(value):,} characters, more than {limit:,}")
    if _NOT_TEXT.search(value):
        raise RowError("not_text", f"{name} holds NUL or half a surrogate pair")
    if not blank and not value.strip():
        raise RowError("missing_field", f"{name} is blank")
    return value


def name_of(value: object, what: str) -> str:
    """A name on one line, with a letter or digit in it."""
    name = " ".join(checked_text(value, what, limit=MAX_NAME).split())
    if not name_key(name):
        raise RowError("no_name", f"{what} {name[:40]!r} holds no letter or digit")
    return name


def list_of(values: Mapping[str, Any], name: str) -> list[Any]:
    """A field that must be a list; none where it is missing or null."""
    value = values.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RowError("wrong_type", f"{name} is {type(value).__name__}, not a list")
    return value


def number_of(row: Row, name: str, default: float, problems: Problems, *, limit: float) -> float:
    """A field that must be a number from 0 to `limit`, a confidence or a weight. One beyond is reported, and is as if
    it were missing."""
    value = row.values.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RowError("wrong_type", f"{name} is no usable number: {str(value)[:40]!r}")
    if not 0 <= value <= limit:
        problems.add(row, "out_of_range", f"{name} {value:.3g} is not from 0 to {limit:,.0f}; taken as not given")
        return default
    return float(value)


def type_of(value: object) -> str:
    """An entity type in upper case, its white space as underscores; CONCEPT where there is none."""
    if value is None or value == "":
        return "CONCEPT"
    shown = "_".join(checked_text(value, "type", limit=MAX_TYPE, blank=True).replace(":", " ").upper().split())
    return shown or "CONCEPT"
