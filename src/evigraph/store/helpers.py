"""Threads that read while the asker does something else."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

MOST = 4


class Helpers:
    """As many threads as there are processors, at most `MOST`. Thread safe.

    Work for which none is free is done by who asked for it, when the result is wanted: with many queries at once the
    processors are busy anyway, and nobody waits for another's work.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = min(MOST, os.cpu_count() or 1) if threads is None else threads
        self._pool = ThreadPoolExecutor(max(1, self.threads), thread_name_prefix="evigraph-helper")
        self._free = threading.Semaphore(self.threads)

    @contextlib.contextmanager
    def beside(self, work: Callable[[], T]) -> Iterator[Callable[[], T]]:
        """Begin the work and go on; what this hands out returns its result, or raises what the work raised: ask for
        it, lest an error goes by unseen. Leaves when the work has ended."""
        if not self._free.acquire(blocking=False):
            yield functools.cache(work)
            return
        try:
            begun = self._pool.submit(work)
        except RuntimeError:  # the engine was closed meanwhile, which the work will find out
            self._free.release()
            yield functools.cache(work)
            return
        begun.add_done_callback(lambda _: self._free.release())
        try:
            yield begun.result
        finally:
            wait([begun])

    def close(self) -> None:
        self._pool.shutdown()
