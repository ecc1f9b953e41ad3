"""What all engines of one process on one embedded store have in common.

Each has clients of its own, but they write the same workspaces: generations stay in order, a prune waits for readers,
and a kept scope or row is kept, whoever asks.
"""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from evigraph.store.pins import Pins
from evigraph.store.rowcache import RowCache
from evigraph.store.state import WorkspaceState
from evigraph.store.visibility import Kept


@dataclass
class HeldSet:
    """A kept scope, and how many leases use it."""

    kept: Kept
    users: int = 0


class Memory(Protocol):
    """What keeps text that it was told, as answers, in this process."""

    def clear(self) -> None:
        """Forget all of it."""


@dataclass
class Shared:
    """One for each embedded store that this process has open; on a server, one for each engine."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    """Held while an engine migrates and tidies up, so that no other reads or writes meanwhile."""
    opened: bool = False
    """Whether that was done. Only who comes first may take what it finds for left behind."""
    writing: threading.RLock = field(default_factory=threading.RLock)
    generations: dict[str, int] = field(default_factory=dict)
    """The newest generation of each workspace, as far as it was read since the last write to it began. Changed under
    `writing` alone, and only for an embedded store, which no other process writes."""
    maintaining: threading.Lock = field(default_factory=threading.Lock)
    pins: Pins = field(default_factory=Pins)
    states: dict[tuple[str, int], WorkspaceState] = field(default_factory=dict)
    """What was read of workspaces at a generation."""
    cache: RowCache = field(default_factory=RowCache)
    memories: weakref.WeakSet[Memory] = field(default_factory=weakref.WeakSet)
    """Those of engines, whose prune is a prune for all."""
    remembering: threading.Lock = field(default_factory=threading.Lock)
    """Held while one of them is added, or while all forget."""
    keeping: threading.Lock = field(default_factory=threading.Lock)
    """Held while sets are made, handed out or dropped."""
    sets: dict[Hashable, HeldSet] = field(default_factory=dict)
    """The one used last comes last."""
    salt: str = field(default_factory=lambda: secrets.token_hex(8))
    """Part of the names of sets: one that is made again is called the same, and as none of an earlier process."""

    def remember(self, memory: Memory) -> None:
        """Have it cleared with the others, as long as somebody uses it."""
        with self.remembering:
            self.memories.add(memory)

    def forget(self) -> None:
        """Forget every row, answer and state that was kept."""
        self.cache.clear()
        self.states.clear()
        with self.remembering:
            for memory in self.memories:
                memory.clear()
