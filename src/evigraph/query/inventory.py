"""What steps hand to each other, and the check that nobody changes it without a stage that accounts for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Goods = Mapping[str, tuple[Any, ...]]
"""What is at hand, by kind: passages, chunks, entities, relationships."""


class Inventory:
    """What was last known to be at hand. `look` says what is there now; without it nothing is watched."""

    def __init__(self, look: Callable[[], Goods] = dict) -> None:
        self._look = look
        self.known: Goods = look()

    def changes(self) -> list[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
        """`(kind, before, now)` of what changed since it was last known; from here on it is known as it is."""
        before, self.known = self.known, self._look()
        # Items that stayed are the same objects, which makes comparing them cheap.
        return [(kind, before[kind], items) for kind, items in self.known.items() if items != before[kind]]


def unaccounted(where: str, kind: str, before: int, now: int) -> str:
    """The sentence for a change that nothing accounts for."""
    if now == before:
        return f"{where}: the {kind} at hand were changed, and no stage accounts for it"
    if now < before:
        return f"{where}: {before} {kind} were at hand and {now} are left; no stage says what became of {before - now}"
    return f"{where}: {before} {kind} were at hand and {now} are now; no stage says where {now - before} are from"
