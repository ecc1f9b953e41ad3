"""Titles, dates and metadata: what a file says about itself, its sidecar, and the caller, as plain
strings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from evigraph.errors import EvigraphError, InvalidSidecar, OutsideRoot
from evigraph.ingest.discover import SIDECAR_SUFFIX, FoundFile
from evigraph.ingest.readers.base import has_word, json_problem

RESERVED = ("source", "document_id")
"""Every document has these as fields of its own; filters know them without metadata."""

MAX_SIDECAR_BYTES = 1_000_000

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """Title, date and other metadata from one origin."""

    title: str = ""
    date: date | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def over(self, other: Described) -> Described:
        """Both together; where both speak, this one counts."""
        return Described(
            title=self.title or other.title,
            date=self.date or other.date,
            values={**other.values, **self.values},
            warnings=other.warnings + self.warnings,
        )


def describe(raw: Mapping[str, object], where: str, error: type[EvigraphError], *, lenient: bool = False) -> Described:
    """Interpret raw metadata. Scalars become strings, dates ISO, lists of scalars are joined by commas,
    nulls left out.

    Raises `error` for nested values, values that are not text, and dates other than ISO 8601. `lenient`
    (for what web pages say about themselves) turns those into warnings. `source` and `document_id` are left
    out with a warning.
    """
    warnings, values, day = [], {}, None
    for key, value in raw.items():
        try:
            if key == "date":
                day = parse_date(value) if value not in (None, "") else None
            elif key in RESERVED:
                warnings.append(f"{where}: metadata key {key!r} is reserved and was left out")
            elif value is not None:
                values[text_of(key)] = text_of(_without_controls(value) if key == "title" else value)
        except ValueError as problem:
            if not lenient:
                hint = "give a date as YYYY-MM-DD" if key == "date" else "give text, a number, or a list of those"
                raise error(f"{where}: {key!r} {problem}", hint=hint) from problem
            warnings.append(f"{where}: {key!r} {problem}; left out")
    title = " ".join(values.pop("title", "").split())
    values = {key: value for key, value in values.items() if key}
    return Described(title=title if has_word(title) else "", date=day, values=values, warnings=tuple(warnings))


def _without_controls(value: object) -> object:
    return CONTROLS.sub(" ", value) if isinstance(value, str) else value


def parse_date(value: object) -> date:
    """A date from `YYYY-MM-DD`, `YYYY-MM`, `YYYY` (first day), a full ISO timestamp, or a date object."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    shown = str(value).strip()
    try:
        matched = _DATE.fullmatch(shown)
        if matched:
            return date(int(matched[1]), int(matched[2] or 1), int(matched[3] or 1))
        return datetime.fromisoformat(shown).date()
    except ValueError as error:
        raise ValueError(f"is no date (YYYY-MM-DD, YYYY-MM or YYYY): {shown[:40]!r}") from error


def text_of(value: object) -> str:
    """A metadata value as text; raises ValueError for what is not a scalar or a list of scalars."""
    if isinstance(value, list | tuple):
        if any(isinstance(part, list | tuple | Mapping) for part in value):
            raise ValueError("holds nested values")
        return ", ".join(text_of(part) for part in value if part is not None)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float):
        raise ValueError(f"holds {type(value).__name__}, not text")
    try:
        text = str(value)
    except ValueError as error:
        raise ValueError("holds a number with too many digits") from error
    if _NOT_TEXT.search(text):
        raise ValueError("holds characters that are no text")
    return text


def sidecar(found: FoundFile) -> Described:
    """What `NAME.EXT.meta.json`, else `NAME.meta.json`, beside the file says; nothing where neither exists.

    The file holds one JSON object: `title`, `date`, and any other keys, at the top or under `metadata`.
    """
    path = found.path
    for name in (path.name + SIDECAR_SUFFIX, path.stem + SIDECAR_SUFFIX):
        beside = path.with_name(name)
        if beside.is_file() and beside != path:
            if beside.is_symlink() and not beside.resolve().is_relative_to(found.root.resolve()):
                raise OutsideRoot(f"{name}: the sidecar lies outside {found.root}", hint="copy it beside the document")
            return _read_sidecar(beside)
    return Described()


def _read_sidecar(path: Path) -> Described:
    hint = 'it must hold one JSON object such as {"title": "…", "date": "2024-05-01", "author": "…"}'
    if path.stat().st_size > MAX_SIDECAR_BYTES:
        raise InvalidSidecar(f"{path.name}: larger than {MAX_SIDECAR_BYTES:,} bytes", hint=hint)
    try:
        loaded = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidSidecar(f"{path.name}: {json_problem(error)}", hint=hint) from error
    if not isinstance(loaded, dict) or not isinstance(loaded.get("metadata", {}), dict):
        raise InvalidSidecar(f"{path.name}: not a JSON object", hint=hint)
    nested = loaded.pop("metadata", {})
    return describe({**nested, **loaded}, path.name, InvalidSidecar)
