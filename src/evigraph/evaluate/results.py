"""Reads result files: what `EvalReport.write_jsonl` wrote, one case a line, each with the run it belongs to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile
from evigraph.evaluate.cases import AnswerCase, FoundDocument, RankingCase
from evigraph.evaluate.report import EvalReport
from evigraph.files import byte_lines

RUN_FIELDS = ("corpus_hash", "embedder", "k", "limit", "sample", "evigraph", "code", "indexed_by", "cores", "date")
"""What is read as the run. All lines of a file agree in it, except for the date: files may be joined."""

Case = TypeVar("Case", RankingCase, AnswerCase, FoundDocument)
Reader = Callable[[Any], Any]


class _Unfit(Exception):
    """A value is not what belongs there; the text says what does."""


def read_cases(path: str | Path) -> EvalReport:
    """The report whose cases are in the file. Of the report, warnings and what `index` counted are not in it.

    Fields that are not known are left out, and newer ones that are missing have their defaults. Raises `MissingFile`
    and `ReadError`; `CorruptDocument` with file and line where a line is no case; `InvalidValue` where the file holds
    nothing, cases of different runs, or one case twice.
    """
    file = Path(path)
    head: dict[str, Any] | None = None
    rankings: list[RankingCase] = []
    answers: list[AnswerCase] = []
    seen: set[tuple[str, str, str]] = set()
    for where, record in _records(file):
        case = _case(record, where)
        _same_run(head, read := _head(record, where), where)
        head = head or read
        key = (record["case"], case.mode, case.question_id)
        if key in seen:
            raise InvalidValue(f"{where}: {case.mode} has question {case.question_id!r} twice", hint="one file per run")
        seen.add(key)
        if isinstance(case, RankingCase):
            rankings.append(case)
        else:
            answers.append(case)
    if head is None:
        raise InvalidValue(f"{file.name} holds no case", hint="write one with `evigraph eval FOLDER --output FILE`")
    return EvalReport(rankings=tuple(rankings), answers=tuple(answers), **head)


def _records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not file.is_file():
        raise MissingFile(f"{file} is no file", hint="give a file that `evigraph eval --output` wrote")
    for where, line in byte_lines(file):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorruptDocument(f"{where}: not JSON ({error})", hint=_HINT) from error
        if not isinstance(record, dict):
            raise CorruptDocument(f"{where}: not a JSON object", hint=_HINT)
        yield where, record


_HINT = "give a file that `evigraph eval --output` wrote"


def _head(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What all lines of a file share: the arguments of its report beside the cases."""
    run = {name: record[name] for name in RUN_FIELDS if name in record}
    return {
        "dataset": _field(record, "dataset", _text, where),
        "corpus_documents": _field({"corpus_documents": 0, **record}, "corpus_documents", _count, where),
        "run": {**run, "corpus_hash": _field(record, "corpus_hash", _text, where)},
    }


def _same_run(first: Mapping[str, Any] | None, other: Mapping[str, Any], where: str) -> None:
    if first is None:
        return
    before = {"dataset": first["dataset"], **first["run"]}
    here = {"dataset": other["dataset"], **other["run"]}
    for name in ("dataset", *RUN_FIELDS):
        if name != "date" and before.get(name) != here.get(name):
            raise InvalidValue(
                f"{where}: {name} is {here.get(name)!r}, on the lines before it was {before.get(name)!r}",
                hint="keep the cases of one run in a file",
            )


def _case(record: Mapping[str, Any], where: str) -> RankingCase | AnswerCase:
    kind = record.get("case")
    if kind == "ranking":
        return _read(RankingCase, record, where)
    if kind == "answer":
        return _read(AnswerCase, record, where)
    raise CorruptDocument(f"{where}: neither a ranking nor an answer", hint=_HINT)


def _read(kind: type[Case], record: Mapping[str, Any], where: str) -> Case:
    """An object of the kind, each field checked by its declared type."""
    values = {one.name: _field(record, one.name, READERS[str(one.type)], where) for one in _given(kind, record, where)}
    return kind(**values)


def _given(kind: type[Case], record: Mapping[str, Any], where: str) -> Iterator[Field[Any]]:
    """Fields that the record has. Raises `CorruptDocument` where it lacks one that has no default."""
    for one in fields(kind):
        if one.name in record:
            yield one
        elif one.default is MISSING and one.default_factory is MISSING:
            raise CorruptDocument(f"{where}: field {one.name!r} is missing", hint=_HINT)


def _field(record: Mapping[str, Any], name: str, reader: Reader, where: str) -> Any:
    try:
        return reader(record.get(name))
    except _Unfit as problem:
        raise CorruptDocument(f"{where}: field {name!r} is not {problem}", hint=_HINT) from None


# --------------------------------------------------------------------------- values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unfit("a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Unfit("true or false")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Unfit("a count")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _Unfit("a number")
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Unfit("a list of texts")
    return tuple(value)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Unfit("an object")
    return value


def _numbers(value: Any) -> dict[str, float]:
    try:
        return {name: _number(number) for name, number in _mapping(value).items()}
    except _Unfit:
        raise _Unfit("an object of numbers") from None


def _found(value: Any) -> tuple[FoundDocument, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _Unfit("a list of objects")
    try:
        return tuple(_read(FoundDocument, item, "document") for item in value)
    except CorruptDocument as problem:
        raise _Unfit(f"a list of found documents ({problem})") from None


def _or_none(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


READERS: Mapping[str, Reader] = {
    "str": _text,
    "bool": _flag,
    "int": _count,
    "float": _number,
    "bool | None": _or_none(_flag),
    "int | None": _or_none(_count),
    "float | None": _or_none(_number),
    "tuple[str, ...]": _texts,
    "tuple[FoundDocument, ...]": _found,
    "Mapping[str, float]": _numbers,
    "Mapping[str, Any]": _mapping,
}
"""By declared type of a field, how its value is read and checked."""
