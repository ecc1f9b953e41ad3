"""The base of all reads of one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evigraph.store.visibility import Scope

Rows = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]

BY_KEY = "(revision_key, passage_index) IN {keys:Array(Tuple(UInt128, UInt32))}"
"""Condition of statements that fetch given passages."""


class Reading:
    """Runs statements with the scope's parameters bound. `model` names the embedding model whose vectors are in force
    ("" before any)."""

    def __init__(self, rows: Rows, scope: Scope, *, model: str) -> None:
        self._run = rows
        self.scope = scope
        self.model = model

    @property
    def generation(self) -> int:
        return self.scope.generation

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._run(sql, {**self.scope.parameters, **parameters})
