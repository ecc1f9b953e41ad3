"""What happened to one question, stage by stage. `degraded`, `stats` and the ledger of a response are read from it.

It is kept like double-entry books. A stage that is given items says what became of each: handed on, or lost for a
reason; one that hands on nothing says why. What nobody accounts for is a deviation, and is reported as one. Values pass
from a stage to the next through `Stage.hand_on` alone, where they are counted and checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evigraph.errors import EvigraphError, StageFailed
from evigraph.models.ports import ChatReply
from evigraph.reports import StageReport

T = TypeVar("T")

LONGEST_REPLY = 100_000
"""Characters of a chat model's reply, beyond which it is none."""


class Boundary:
    """What a stage passes on entering, and its result on leaving. Tests put faults here (`evigraph.testing.faults`)."""

    def enter(self, stage: str) -> None:
        """May raise, as the stage might."""

    def leave(self, stage: str, value: T) -> T:
        """What the next stage gets."""
        return value


@dataclass(kw_only=True, slots=True)
class Stage:
    """One stage under way. `given` items went in, where these are what comes out or is lost."""

    name: str
    given: int | None = None
    handed_on: int | None = None
    lost: dict[str, int] = field(default_factory=dict)
    ms: float = 0.0
    calls: int = 0
    failed_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degraded: list[str] = field(default_factory=list)
    boundary: Boundary = field(default_factory=Boundary)
    empty_because: str = ""

    def lose(self, number: int, reason: str) -> None:
        """Account for items that are not handed on."""
        if number > 0:
            self.lost[reason] = self.lost.get(reason, 0) + number

    def hand_on(
        self,
        value: T,
        *,
        because: str = "",
        kind: type | None = None,
        most: int | None = None,
        count: Callable[[T], int] | None = None,
        check: Callable[[T], str | None] | None = None,
    ) -> T:
        """The value for the next stage. `because` says why it is empty, if it is.

        What is handed on is of `kind` (its items are, where it is a list, a tuple or a dict), passes `check` (which
        says what is wrong, or None) and holds no more than `most` items (characters, of a text). Raises `StageFailed`
        where it is not.
        """
        counted, shape = count or _items, type(value)
        if not counted(value):
            self.empty_because = because
        value = self.boundary.leave(self.name, value)
        problem = _kind_problem(value, shape, kind) or (check(value) if check is not None else None)
        if problem is None and most is not None and (size := _size(value)) > most:
            problem = f"it handed on {size:,} items where at most {most:,} can be"
        if problem is not None:
            raise StageFailed(self.name, problem)
        self.handed_on = counted(value)
        self._balance()
        return value

    def _balance(self) -> None:
        out, lost = self.handed_on or 0, sum(self.lost.values())
        if self.given is not None and self.given > out + lost:
            self.degraded.append(
                f"{self.name}: {self.given} items went in and {out} came out; nothing says what became of"
                f" {self.given - out - lost}"
            )
        elif not out and self.given is None and not self.empty_because and not lost:
            self.degraded.append(f"{self.name}: nothing came out, and nothing says why")

    def report(self) -> StageReport:
        return StageReport(
            name=self.name,
            items_in=self.given,
            items_out=self.handed_on,
            lost=dict(self.lost),
            empty_because=self.empty_because or None,
            took_ms=round(self.ms, 3),
            llm_calls=self.calls,
            failed_calls=self.failed_calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            degraded=tuple(self.degraded),
        )


class Ledger:
    """Collects stages, counts before and after each cut, and every deviation from what was asked."""

    def __init__(self, boundary: Boundary | None = None) -> None:
        self.stages: list[Stage] = []
        self.counts: dict[str, Any] = {}
        self._boundary = boundary or Boundary()
        self._whole = Stage(name="query")
        self._open: list[Stage] = []
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str, *, given: int | None = None) -> Iterator[Stage]:
        """A stage of this name. What goes wrong in it that is no `EvigraphError` becomes a `StageFailed`."""
        stage = Stage(name=name, given=given, boundary=self._boundary)
        self.stages.append(stage)
        self._open.append(stage)
        started = time.perf_counter()
        try:
            self._boundary.enter(name)
            yield stage
        except EvigraphError:
            raise
        except TimeoutError as error:
            raise StageFailed(name, "it took too long") from error
        except Exception as error:
            raise StageFailed(name, f"{type(error).__name__} in it") from error
        finally:
            stage.ms = (time.perf_counter() - started) * 1000
            self._open.pop()

    @property
    def degraded(self) -> list[str]:
        """Every deviation, once, in the order of the stages; those of no stage last."""
        said = [sentence for stage in (*self.stages, self._whole) for sentence in stage.degraded]
        return list(dict.fromkeys(said))

    def degrade(self, sentence: str) -> None:
        """Report a deviation from what was asked; it belongs to the stage under way."""
        self._current.degraded.append(sentence)

    def account(self, reply: ChatReply | None) -> None:
        """Count a call to a chat model, a failed one if it brought no reply, for the stage under way."""
        stage = self._current
        stage.calls += 1
        if reply is None:
            stage.failed_calls += 1
        else:
            stage.prompt_tokens += reply.prompt_tokens or 0
            stage.completion_tokens += reply.completion_tokens or 0

    def count(self, name: str, value: Any) -> None:
        self.counts[name] = value

    def report(self) -> tuple[StageReport, ...]:
        """The stages in the order in which they began."""
        whole = (self._whole,) if self._whole.degraded or self._whole.calls else ()
        return tuple(stage.report() for stage in (*self.stages, *whole))

    def stats(self) -> dict[str, Any]:
        """Counts, then `<stage>_ms` of each stage and `total_ms`."""
        timings: dict[str, float] = {}
        for stage in self.stages:
            timings[f"{stage.name}_ms"] = round(timings.get(f"{stage.name}_ms", 0.0) + stage.ms, 3)
        total = round((time.perf_counter() - self._started) * 1000, 3)
        return {**self.counts, **timings, "total_ms": total}

    @property
    def _current(self) -> Stage:
        return self._open[-1] if self._open else self._whole


def repeated(what: str, keys: Iterable[Hashable]) -> str | None:
    """What is wrong where one of some things is there twice, as a `check` says it."""
    listed = list(keys)
    return None if len(set(listed)) == len(listed) else f"it handed on a {what} more than once"


def wordless(text: str) -> str | None:
    """What is wrong with a text that holds neither a letter nor a digit, as a `check` says it; an empty one is none."""
    return "it handed on what is no text" if text.strip() and not any(map(str.isalnum, text)) else None


def _items(value: Any) -> int:
    """How many items a value is: none, those of a collection, one of anything else; a text is one."""
    if value is None:
        return 0
    if isinstance(value, str):
        return int(bool(value.strip()))
    return len(value) if isinstance(value, Sized) else 1


def _size(value: Any) -> int:
    return len(value) if isinstance(value, Sized) else 1


def _kind_problem(value: Any, shape: type, kind: type | None) -> str | None:
    """What is wrong with a value that should be of a kind, or a collection of that shape with items of the kind."""
    if kind is None:
        return None
    if shape not in (list, tuple, dict):
        return None if isinstance(value, kind) else _misfit(value, kind)
    if type(value) is not shape:
        return _misfit(value, shape)
    items = value.values() if isinstance(value, dict) else value
    wrong = [item for item in items if not isinstance(item, kind)]
    return _misfit(wrong[0], kind) if wrong else None


def _misfit(value: Any, kind: type) -> str:
    return f"it handed on a {type(value).__name__} where a {kind.__name__} belongs"
