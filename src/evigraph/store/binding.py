"""Lists as bound parameters.

The driver writes a list out character by character, which for a thousand names takes longer than the statement itself.
What is made here is the same text, and travels as a parameter all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\'`\t\n"})


class Bound:
    """A list as the driver would write it. The driver binds what it does not know by its `str`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def bound(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with lists written out whose parts are texts, numbers, lists or tuples."""
    return {name: _list(value) if isinstance(value, list) else value for name, value in parameters.items()}


def _list(values: list[Any]) -> Any:
    try:
        return Bound(_written(values))
    except TypeError:  # of something else, which the driver knows how to write
        return values


def _written(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return f"'{value.translate(_ESCAPED)}'"
    if kind is int or kind is float:
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))})"
    raise TypeError(kind)
