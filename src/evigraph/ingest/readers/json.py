"""JSON and JSON Lines: one document a record, or the whole file where it is no list of records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evigraph.errors import CorruptDocument, ReadError
from evigraph.ingest.readers.base import (
    Extracted,
    RecordError,
    check_text,
    empty,
    first_heading,
    in_memory,
    json_problem,
    lines,
    sha256_of_file,
)
from evigraph.ingest.readers.encoding import decode, probe, stream

TEXT_FIELDS = ("text", "content", "body")
ID_FIELDS = ("document_id", "id", "_id")


def read_jsonl(path: Path) -> Iterator[Extracted | RecordError]:
    """One record a line, read as a stream; a malformed line is a `RecordError` and the others go on.
    Records are numbered by their line, blank lines included."""
    found = probe(path)
    if found.blank:
        raise empty(path.name)
    for number, line in enumerate(lines(stream(path, found)), start=1):
        if line.strip():
            yield _record(line, number, path)


def read_json(path: Path) -> Iterator[Extracted | RecordError]:
    """A list of objects gives one document each; anything else is one document, shown indented."""
    text = decode(path.read_bytes(), path.name)
    if not text.strip():
        raise empty(path.name)
    value = _parse(text, path.name)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for number, item in enumerate(value, start=1):
            yield _of_object(item, number, path)
        return
    shown = value if isinstance(value, str) else f"```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```\n"
    yield Extracted(
        segments=in_memory(check_text(shown, path.name)),
        digest=sha256_of_file(path),
        media_type="application/json",
    )


def _parse(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = CorruptDocument(f"{name}: {json_problem(error)}", hint="correct it, or quote long numbers as text")
        raise problem from error


def _record(line: str, number: int, path: Path) -> Extracted | RecordError:
    name = f"{path.name} line {number}"
    try:
        value = _parse(line, name)
    except ReadError as error:
        return RecordError(record=number, error=error)
    if not isinstance(value, dict):
        problem = CorruptDocument(f"{name}: not a JSON object", hint="each line must be an object with a `text` field")
        return RecordError(record=number, error=problem)
    return _of_object(value, number, path)


def _of_object(value: dict[str, Any], number: int, path: Path) -> Extracted | RecordError:
    name = f"{path.name} record {number}"
    used = {"title", "source", "date", "metadata"}
    text_field = next((key for key in TEXT_FIELDS if isinstance(value.get(key), str)), "")
    id_field = next((key for key in ID_FIELDS if isinstance(value.get(key), str | int)), "")
    used |= {text_field, id_field}
    try:
        text = check_text(value[text_field] if text_field else _as_list(value, id_field), name)
        declared, warnings = _declared(value, used, name, keep_rest=bool(text_field))
    except ReadError as error:
        return RecordError(record=number, error=error)
    title = value.get("title")
    source = value.get("source")
    return Extracted(
        segments=in_memory(text),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        media_type="application/json",
        title=title if isinstance(title, str) else "",
        heading=first_heading(text),
        declared=declared,
        record=number,
        record_id=str(value[id_field]) if id_field else "",
        source=source if isinstance(source, str) else "",
        warnings=warnings,
    )


def _declared(
    value: dict[str, Any], used: set[str], name: str, *, keep_rest: bool
) -> tuple[dict[str, object], tuple[str, ...]]:
    """The record's metadata: its `metadata` object, its date, and the other fields that hold a single
    value."""
    declared: dict[str, object] = {}
    nested: list[str] = []
    for key, item in value.items():
        if key in used or not keep_rest:
            continue
        if isinstance(item, dict) or (isinstance(item, list) and any(isinstance(part, dict | list) for part in item)):
            nested.append(key)
        else:
            declared[key] = item
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise CorruptDocument(f"{name}: `metadata` is not an object", hint="give an object of single values")
    declared.update(metadata or {})
    if value.get("date") is not None:
        declared["date"] = value["date"]
    problem = f"{name}: nested fields left out of the metadata: {', '.join(nested)}"
    warnings = (problem,) if nested else ()
    return declared, warnings


def _as_list(value: dict[str, Any], id_field: str) -> str:
    """A record without a text field as a Markdown list, one `key: value` a line."""
    shown = []
    for key, item in value.items():
        if key in (id_field, "metadata") or item is None:
            continue
        plain = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        shown.append(f"- {key}: {' '.join(plain.split())}")
    return "\n".join(shown)
