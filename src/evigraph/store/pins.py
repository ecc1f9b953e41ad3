"""Generations that running queries of this process read, so that `prune` can wait for them."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from evigraph.errors import ConflictError

PIN_SECONDS = 120
"""How long a prune waits for running queries."""


class Pins:
    """Counts the readers of each workspace's generations. Thread safe."""

    def __init__(self) -> None:
        self._readers: Counter[tuple[str, int]] = Counter()
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, workspace: str, resolve: Callable[[], int]) -> Iterator[int]:
        """Pin the generation that `resolve` names. It is resolved under the lock, so that no prune comes between."""
        with self._changed:
            generation = resolve()
            self._readers[workspace, generation] += 1
        try:
            yield generation
        finally:
            with self._changed:
                self._readers[workspace, generation] -= 1
                if not self._readers[workspace, generation]:
                    del self._readers[workspace, generation]
                self._changed.notify_all()

    def wait(self, workspace: str, before: int) -> None:
        """Block until nobody reads a generation older than `before`. Raises `ConflictError` after `PIN_SECONDS`: an
        export that nobody reads on would be waited for without end."""
        with self._changed:
            ended = self._changed.wait_for(
                lambda: not any(name == workspace and generation < before for name, generation in self._readers),
                timeout=PIN_SECONDS,
            )
        if not ended:
            raise ConflictError(
                f"a query or export has read an earlier state of workspace {workspace!r} for {PIN_SECONDS} s",
                hint="let it end, or break it off, and prune again; nothing was removed",
            )
