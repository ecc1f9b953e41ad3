"""Run the scope-leak probes against the store with one predicate missing at a time.

Worlds are played once, on sound code. Then each mutation (as JSON on standard input) in turn replaces the code of its
module, and the probes run until one objects. Where it is in what writes, some worlds are played anew with it. Run by
`tools/mutate_visibility.py`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from scope_check import Case, Stage
from scope_directed import DIRECTED
from scope_draw import worlds
from scope_play import Memory, Played
from scope_world import Homographs, World
from test_scope_leak import ASKED, QUIET, VIEWS

from evigraph import Evigraph
from evigraph.errors import StoreError
from evigraph.once import once
from evigraph.store import Store, scopes
from evigraph.store.rowcache import RowCache
from small import CountingEmbedder, OneStore

LONGEST = 30
"""Seconds that a mutation may take: without a condition, a page may follow itself for ever."""


REPLAYED = ("loops", "pruned")
"""Worlds to play anew with a mutation of what writes."""


def some_worlds(number: int) -> list[World]:
    drawn: list[World] = []

    @settings(max_examples=number, derandomize=True, **QUIET)
    @given(world=worlds(views=VIEWS, asked=ASKED))
    def draw(world: World) -> None:
        drawn.append(world)

    draw()
    return drawn


def codes(holder: Any, prefix: str = "") -> dict[str, Any]:
    """Every function of a module or class, by its qualified name."""
    found: dict[str, Any] = {}
    home = {getattr(holder, "__name__", ""), getattr(holder, "__module__", "")}
    for name, value in vars(holder).items():
        plain = value.fget if isinstance(value, property) else value.work if isinstance(value, once) else value
        if isinstance(plain, types.FunctionType) and plain.__module__ in home:
            found[f"{prefix}{name}"] = plain
        elif isinstance(plain, type) and plain.__module__ in home:
            found |= codes(plain, f"{prefix}{name}.")
    return found


@contextlib.contextmanager
def swapped(name: str, source: str) -> Iterator[None]:
    """The module with other sources: its functions get their code, its constants their values."""
    module = importlib.import_module(name)
    other = types.ModuleType(name)
    other.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    exec(compile(source, str(module.__file__), "exec"), other.__dict__)  # noqa: S102 - our own sources
    mine, theirs = codes(module), codes(other)
    before = {key: function.__code__ for key, function in mine.items()}
    texts = {key: value for key, value in vars(module).items() if isinstance(value, str) and not key.startswith("__")}
    for key, function in mine.items():
        function.__code__ = theirs[key].__code__
    for key in texts:
        setattr(module, key, getattr(other, key))
    try:
        yield
    finally:
        for key, function in mine.items():
            function.__code__ = before[key]
        for key, text in texts.items():
            setattr(module, key, text)


def judged(cases: Iterable[tuple[str, Case]], graph: Evigraph) -> tuple[str, str, int]:
    """Outcome, how it showed, and the number of probes that ran."""
    graph.store._states.clear()
    graph.store._generations.clear()
    graph._cache.clear()
    ran = 0
    for world, case in cases:
        for probe in case.probes:
            ran += 1
            found = _objection(probe.check)
            if found is not None:
                return found[0], f"{world}, {probe.name}: {found[1]}", ran
    return "survived", "", ran


def _objection(attempt: Callable[[], object]) -> tuple[str, str] | None:
    """Outcome and how it showed; None where nothing did."""
    try:
        attempt()
    except AssertionError as error:
        lines = str(error).splitlines() or [repr(error)]
        return "killed", lines[min(1, len(lines) - 1)].strip()
    except StoreError as error:
        return "invalid" if "refused a statement" in str(error) else "killed", str(error)
    except Exception as error:
        return "killed", f"{type(error).__name__}: {error}"
    return None


def replayed(stage: Stage, graph: Evigraph, change: Callable[[], AbstractContextManager[None]]) -> tuple[str, str, int]:
    """Play worlds while the change is in force, and judge them when it is not."""
    for name in REPLAYED:
        world = DIRECTED[name]
        done: list[Played] = []
        with change():
            found = _objection(partial(_play, stage, world, done))
        if found is not None:
            return found[0], f"{name}, playing: {found[1]}", 0
        outcome, why, ran = judged(((name, case) for case in stage.judged(world, done[0])), graph)
        if outcome != "survived":
            return outcome, why, ran
    return "survived", "", 0


def _play(stage: Stage, world: World, done: list[Played]) -> None:
    done.append(stage.played(world))


def report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _give_up(*_: object) -> None:
    raise TimeoutError(f"no end within {LONGEST} s")


def main(number: int) -> None:
    mutants = json.load(sys.stdin)
    signal.signal(signal.SIGALRM, _give_up)
    # A kept set or row would outlive the mutation of what it was worked out by.
    scopes.KEPT = 0
    Store._row_cache = lambda _: RowCache()  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        store = OneStore(Path(folder))
        engine = store.engine(embedder=CountingEmbedder(max_tokens=32), extractor=Homographs())
        stage = Stage(engine.in_workspace(f"leak{place}") for place in count())
        named = {**DIRECTED, **{f"random {place}": world for place, world in enumerate(some_worlds(number))}}
        cases = [(name, case) for name, world in named.items() for case in stage.cases(world)]
        # A statement that a mutation leaves alone has the same rows as before.
        memory = Memory(engine)
        with memory:
            outcome, why, ran = judged(cases, engine)
        report(json.dumps({"cases": len(cases), "probes": ran, "outcome": outcome, "why": why}))
        for mutant in mutants:
            started = time.monotonic()
            change = partial(swapped, f"evigraph.store.{mutant['module']}", mutant["source"])
            # To play worlds anew takes longer, and nothing of it follows itself.
            signal.alarm(LONGEST * (10 if mutant["writes"] else 1))
            if mutant["writes"]:
                outcome, why, ran = replayed(stage, engine, change)
            else:
                with memory, change():
                    outcome, why, ran = judged(cases, engine)
            signal.alarm(0)
            took = time.monotonic() - started
            report(json.dumps({"outcome": outcome, "why": why, "probes": ran, "seconds": took}))
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
