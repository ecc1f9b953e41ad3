"""Rows that were read before, kept in memory.

Two kinds of fact never change: what a revision of a document holds, and what follows from the rows of one scope at one
generation. Both may be answered from here; which rows a scope sees is still decided by the store.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

DEFAULT_BYTES = 256_000_000
LEAST_BYTES = 16_000_000
"""What one query may need; with less, reading ahead would be for nothing."""
ENTRY_BYTES = 150
"""What the places of an entry in two tables take, about."""
KIND_BYTES = 350
"""What a kind takes beside its name: a place, and a table of its own."""


class RowCache:
    """At most `capacity` bytes of facts, those used last; with 0 nothing is kept. Thread safe.

    A fact has a `kind`, which names all that it depends on beside its key. What is looked up moves to the young half;
    once that is full it becomes the old half, and what was left there since the last time is forgotten. So nothing has
    to be put in order at a look-up.
    """

    def __init__(self, capacity: int = DEFAULT_BYTES) -> None:
        self.capacity = capacity
        self._guard = threading.Lock()
        self._young: dict[Hashable, dict[Hashable, tuple[Any, int]]] = {}
        self._old: dict[Hashable, dict[Hashable, tuple[Any, int]]] = {}
        self._young_bytes = 0
        self._old_bytes = 0

    @property
    def bytes(self) -> int:
        """About what the facts take; one that is in both halves counts twice."""
        return self._young_bytes + self._old_bytes

    def found(self, kind: Hashable, keys: Iterable[K]) -> dict[K, Any]:
        """Those of the facts that are kept, in the order of their keys."""
        with self._guard:
            young, old = self._young.get(kind, {}), self._old.get(kind, {})
            found: dict[K, Any] = {}
            for key in keys:
                entry = young.get(key)
                if entry is None:
                    entry = old.get(key)
                    if entry is None:
                        continue
                    self._enter(kind, key, entry)
                    young, old = self._young.get(kind, {}), self._old.get(kind, {})
                found[key] = entry[0]
            return found

    def keep(self, kind: Hashable, facts: Mapping[K, V]) -> None:
        """Keep facts, which nobody may change from now on."""
        weighed = [(key, (fact, ENTRY_BYTES + size_of(key) + size_of(fact))) for key, fact in facts.items()]
        with self._guard:
            for key, entry in weighed:
                self._enter(kind, key, entry)

    def resize(self, capacity: int) -> None:
        """Take other room from now on; what is kept is forgotten where it is less."""
        if capacity < self.capacity:
            self.clear()
        self.capacity = capacity

    def clear(self) -> None:
        """Forget everything, as when rows were removed."""
        with self._guard:
            self._young, self._old = {}, {}
            self._young_bytes = self._old_bytes = 0

    def _enter(self, kind: Hashable, key: Hashable, entry: tuple[Any, int]) -> None:
        if 2 * entry[1] > self.capacity:
            return
        if 2 * (self._young_bytes + entry[1]) > self.capacity:
            self._old, self._old_bytes = self._young, self._young_bytes
            self._young, self._young_bytes = {}, 0
        facts = self._young.get(kind)
        if facts is None:
            facts = self._young[kind] = {}
            self._young_bytes += KIND_BYTES + size_of(kind)
        facts[key] = entry
        self._young_bytes += entry[1]


def size_of(fact: Any) -> int:
    """Bytes that a fact takes, about."""
    if isinstance(fact, str):
        return sys.getsizeof(fact)
    if isinstance(fact, tuple | list | frozenset):
        return 56 + sum(8 + size_of(item) for item in fact)
    if isinstance(fact, np.ndarray):
        return 112 + fact.nbytes
    fields = getattr(fact, "__slots__", None)
    if fields:
        return 48 + sum(8 + size_of(getattr(fact, field)) for field in fields)
    return 32
