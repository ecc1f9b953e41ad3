"""Checks of single values, shared by all that reads requests."""

from __future__ import annotations

from typing import Any

from evigraph.errors import InvalidQuery


def check_text(name: str, value: str) -> str:
    """Refuse NUL and lone surrogates, which no store or model can carry."""
    if "\x00" in value:
        raise InvalidQuery(f"{name} holds a NUL character", hint="remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidQuery(
            f"{name} holds a lone surrogate (half of a UTF-16 pair)", hint="send well-formed Unicode"
        ) from None
    return value


def shown(value: Any) -> str:
    """A value for an error message: short, and never unprintable."""
    try:
        return ascii(value)[:40]
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or lists within lists
        return type(value).__name__
