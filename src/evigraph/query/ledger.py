"""What happened to one question, stage by stage. `degraded`, `stats` and the ledger of a response are read from it.

It is kept like double-entry books. A stage that is given items says what became of each: handed on, or lost for a
reason; one that hands on nothing says why. What nobody accounts for is a deviation, and is reported as one. Values pass
from a stage to the next through `Stage.hand_on` alone, where they are counted and checked; what is handed on beside
them goes through `Stage.beside`. What is at hand is looked at before and after every step and stage (`Ledger.watch`),
so that a change between stages is noticed too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evigraph.errors import EvigraphError, StageFailed
from evigraph.models.meter import known_sum
from evigraph.models.ports import ChatReply
from evigraph.query.inventory import Goods, Inventory, unaccounted
from evigraph.reports import StageCount, StageReport

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
    """One stage under way. `given` items went in, where these are what comes out or is lost; `of` names their kind
    where all that is at hand of it must go in. `step` is the step that it is part of. One that `failed` handed nothing
    on, and what was at hand before still is."""

    name: str
    given: int | None = None
    of: str = ""
    step: str = ""
    failed: str | None = None
    handed_on: int | None = None
    result: Any = None
    counts_beside: dict[str, StageCount] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    ms: float = 0.0
    calls: int = 0
    failed_calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
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
        self.handed_on, self.result = counted(value), value
        self._balance()
        return value

    def beside(self, kind: str, *, given: int, out: int, lost: Mapping[str, int]) -> None:
        """Account for things of another kind that the stage passes on beside its result. Reasons in `lost` that took
        none are left out."""
        reasons = {reason: number for reason, number in lost.items() if number > 0}
        self.counts_beside[kind] = StageCount(items_in=given, items_out=out, lost=reasons)
        missing = given - out - sum(reasons.values())
        if missing > 0:
            self.degraded.append(
                f"{self.name}: {given} {kind} went in and {out} came out; nothing says what became of {missing}"
            )

    def _balance(self) -> None:
        out, lost = self.handed_on or 0, sum(self.lost.values())
        if self.given is not None and self.given > out + lost:
            self.degraded.append(
                f"{self.name}: {self.given} items went in and {out} came out; nothing says what became of"
                f" {self.given - out - lost}"
            )
        elif not out and self.given is None and not self.empty_because and not lost:
            self.degraded.append(f"{self.name}: nothing came out, and nothing says why")

    def settle(self, kind: str, entered: Goods, now: tuple[Any, ...]) -> str | None:
        """What is wrong where what is at hand of a kind changed in this stage: None if the stage accounts for it."""
        before = len(entered[kind])
        count = self.counts_beside.get(kind)
        if count is not None:
            if count.items_in < before:
                return unaccounted(self.name, kind, before, count.items_in)
            return None if count.items_out == len(now) else unaccounted(self.name, kind, count.items_out, len(now))
        same = tuple(self.result) == now if isinstance(self.result, list | tuple) else self.handed_on == len(now)
        if not same:
            return unaccounted(self.name, kind, before, len(now))
        if self.given is None:
            return (
                unaccounted(self.name, kind, before, len(now)) if before - len(now) > sum(self.lost.values()) else None
            )
        # More than what is at hand may go in (results of the web beside passages), never less.
        return self._not_all(kind, before) if not self.of and self.given < before else None

    def enter(self, at_hand: Goods) -> None:
        """Report where not all went in that is at hand of its kind."""
        if self.of in at_hand and self.given != len(at_hand[self.of]):
            self.degraded.append(self._not_all(self.of, len(at_hand[self.of])))

    def _not_all(self, kind: str, there: int) -> str:
        return f"{self.name}: {there} {kind} were at hand and {self.given} went in; nothing says why"

    def withdraw(self) -> list[str]:
        """Take back what was said of a result that is not used. Where there is none, what says so stays."""
        if not self.handed_on:
            return []
        said, self.degraded = self.degraded, []
        return said

    def report(self) -> StageReport:
        return StageReport(
            name=self.name,
            step=self.step or None,
            failed=self.failed,
            items_in=self.given,
            items_out=self.handed_on,
            lost=dict(self.lost),
            beside=dict(self.counts_beside),
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
        self._steps: list[str] = []
        self._inventory = Inventory()
        self._started = time.perf_counter()

    def watch(self, look: Callable[[], Goods]) -> None:
        """Have what is at hand looked at before and after each step and stage. What changes without one that accounts
        for it is a deviation."""
        self._inventory = Inventory(look)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step of the pipeline: what changes in it outside of its stages is a deviation of its name."""
        self._steps.append(name)
        try:
            yield
            self._reconcile()
        finally:
            self._steps.pop()

    def restored(self) -> None:
        """What is at hand is again as it was before an attempt that failed: no deviation beside that failure."""
        self._inventory.changes()

    def write_off(self, reason: str) -> None:
        """Account for all that was at hand and is no more, where a question starts anew."""
        gone = sum(max(0, len(before) - len(now)) for _, before, now in self._inventory.changes())
        self._current.lose(gone, reason)

    @contextmanager
    def stage(self, name: str, *, given: int | None = None, of: str = "") -> Iterator[Stage]:
        """A stage of this name. What goes wrong in it that is no `EvigraphError` becomes a `StageFailed`."""
        self._reconcile()
        entered = self._inventory.known
        stage = Stage(name=name, given=given, of=of, step=self._steps[-1] if self._steps else "")
        stage.boundary = self._boundary
        stage.enter(entered)
        self.stages.append(stage)
        self._open.append(stage)
        started = time.perf_counter()
        try:
            with _typed(name):
                self._boundary.enter(name)
                yield stage
            wrong = [stage.settle(kind, entered, now) for kind, _, now in self._inventory.changes()]
            stage.degraded.extend(sentence for sentence in wrong if sentence is not None)
        except EvigraphError as error:
            stage.failed, stage.handed_on = f"{error.code}: {error}", None
            raise
        finally:
            stage.ms = (time.perf_counter() - started) * 1000
            self._open.pop()

    @property
    def degraded(self) -> list[str]:
        """Every deviation, once, in the order of the stages; those of no stage last."""
        said = [sentence for stage in (*self.stages, self._whole) for sentence in stage.degraded]
        return list(dict.fromkeys(said))

    def take_back(self, names: Collection[str]) -> None:
        """Take back what stages of these names said of results that are not used after all."""
        for stage in self.stages:
            if stage.name in names:
                stage.withdraw()

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
            stage.prompt_tokens = known_sum(stage.prompt_tokens, reply.prompt_tokens)
            stage.completion_tokens = known_sum(stage.completion_tokens, reply.completion_tokens)

    def lose(self, number: int, reason: str) -> None:
        """Account for items that the stage under way does not hand on."""
        self._current.lose(number, reason)

    def count(self, name: str, value: Any) -> None:
        self.counts[name] = value

    def report(self) -> tuple[StageReport, ...]:
        """The stages in the order in which they began."""
        whole = (self._whole,) if self._whole.degraded or self._whole.calls or self._whole.lost else ()
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

    def _reconcile(self) -> None:
        """Report what a step changed outside of its stages. Who drives a run by hand, with no step under way, knows."""
        changes = self._inventory.changes()
        if self._steps:
            for kind, before, now in changes:
                self.degrade(unaccounted(self._steps[-1], kind, len(before), len(now)))


@contextmanager
def _typed(stage: str) -> Iterator[None]:
    """What is raised that is no `EvigraphError` as a `StageFailed`."""
    try:
        yield
    except EvigraphError:
        raise
    except TimeoutError as error:
        raise StageFailed(stage, "it took too long") from error
    except Exception as error:
        raise StageFailed(stage, f"{type(error).__name__} in it") from error


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
