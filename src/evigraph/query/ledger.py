"""What happened to one question, stage by stage. `degraded` and `stats` of a response are read from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True, slots=True)
class StageRecord:
    """One stage: items that went in and came out, why some did not, and how long it took."""

    name: str
    items_in: int | None = None
    items_out: int | None = None
    reasons: list[str] = field(default_factory=list)
    ms: float = 0.0


class Ledger:
    """Collects records of stages, counts before and after each cut, and every deviation from what was asked."""

    def __init__(self) -> None:
        self.stages: list[StageRecord] = []
        self.degraded: list[str] = []
        self.counts: dict[str, Any] = {}
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[StageRecord]:
        record = StageRecord(name=name)
        self.stages.append(record)
        started = time.perf_counter()
        try:
            yield record
        finally:
            record.ms = (time.perf_counter() - started) * 1000

    def degrade(self, sentence: str) -> None:
        """Report a deviation from what was asked, once."""
        if sentence not in self.degraded:
            self.degraded.append(sentence)

    def count(self, name: str, value: Any) -> None:
        self.counts[name] = value

    def stats(self) -> dict[str, Any]:
        """Counts, then `<stage>_ms` of each stage and `total_ms`."""
        timings: dict[str, float] = {}
        for record in self.stages:
            timings[f"{record.name}_ms"] = round(timings.get(f"{record.name}_ms", 0.0) + record.ms, 3)
        total = round((time.perf_counter() - self._started) * 1000, 3)
        return {**self.counts, **timings, "total_ms": total}
