"""Option values: `key=value` pairs, with values as text or as JSON, and moments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer


def key_values(pairs: Sequence[str] | None) -> dict[str, str]:
    """`["region=north", …]` as a dictionary. Usage error where a pair has no `=`, no key, or repeats one."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise typer.BadParameter(f"{pair!r} is not key=value")
        if key.strip() in found:
            raise typer.BadParameter(f"{key.strip()!r} is given twice")
        found[key.strip()] = value
    return found


def json_values(pairs: Sequence[str] | None) -> dict[str, Any]:
    """`["rerank=true", "max_chunks=5", "fusion=rrf"]` as a dictionary: a value that is JSON is read as such, any other
    is text. Usage error as for `key_values`."""
    return {name: _json_or_text(value) for name, value in key_values(pairs).items()}


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def generation_or_time(as_of: str) -> int | str:
    """Digits are a generation; anything else must be a time, which the query API checks."""
    return int(as_of) if as_of.isascii() and as_of.isdigit() and len(as_of) < 20 else as_of
