"""Option values: `key=value` pairs and moments."""

from __future__ import annotations

from collections.abc import Sequence

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


def generation_or_time(as_of: str) -> int | str:
    """Digits are a generation; anything else must be a time, which the query API checks."""
    return int(as_of) if as_of.isascii() and as_of.isdigit() and len(as_of) < 20 else as_of
