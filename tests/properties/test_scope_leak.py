"""Nothing of a passage outside the visible, filtered set shows in any field of any response.

Shown by comparison: a filtered question about a workspace with a history is answered exactly as the bare question in a
workspace of its own, into which only what the scope shows was ever indexed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from scope_check import REVISIONS, TEXTS, Case, Stage
from scope_directed import DIRECTED
from scope_draw import worlds
from scope_surfaces import MODES, SURFACES, TREED, UNFILTERED
from scope_world import Homographs, World

from evigraph.query.retrieve import RETRIEVERS
from evigraph.types import Mode
from small import CountingEmbedder, OneStore

VIEWS, ASKED = 5, 2
BRIEF = 7
"""Random worlds in the short run: times `VIEWS * ASKED`, 70 cases beside those of the worlds made by hand."""
MADE = {name: len(world.views) * len(world.asked) for name, world in DIRECTED.items()}
"""Cases of the worlds made by hand."""
SHOWN = (
    *("chunks", "entities", "names", "paths", "statements", "contradictions", "proposals", "merges", "prompt"),
    *(
        "rows",
        "lines",
        "vectors",
        "documents",
        "predicates",
        "texts",
        "revisions",
        "of all",
        "communities",
        "levels",
        "turns",
    ),
)
"""Parts of responses one of which holds something if anything was found."""
QUIET: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.explicit, Phase.generate),
}
"""A world takes seconds to play, so a failing one is shown as it is: shrinking would take minutes."""


@dataclass(slots=True)
class Tally:
    """What a run compared, so that it cannot pass by comparing nothing."""

    cases: int = 0
    hiding: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def check(self, case: Case) -> None:
        for probe in case.probes:
            got = probe.check()
            self.asked[probe.name] += 1
            self.found[probe.name] += "error" not in got and any(got.get(part) for part in SHOWN)
        self.cases += 1
        self.hiding += case.hiding

    def suffices(self, cases: int, asked: int) -> None:
        assert self.cases >= cases
        assert self.hiding >= cases / 2
        assert set(self.asked) == {*(mode.value for mode in MODES), *SURFACES, TEXTS, REVISIONS} - TREED
        for name, number in self.asked.items():
            assert number >= (cases / 50 if name in UNFILTERED else cases / asked), f"{name} was hardly asked: {self}"
            assert self.found[name] >= number / 10, f"{name} hardly found anything: {self}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with fresh_stage(tmp_path_factory.mktemp("scopes")) as stage:
        yield stage


@contextmanager
def fresh_stage(folder: Path) -> Iterator[Stage]:
    """Empty workspaces, one after the other. Short passages, so that a document has several."""
    store = OneStore(folder)
    engine = store.engine(embedder=CountingEmbedder(max_tokens=32), extractor=Homographs())
    yield Stage(engine.in_workspace(f"leak{number}") for number in count())
    store.close()


def test_every_mode_that_retrieves_is_compared() -> None:
    assert set(MODES) | {Mode.BYPASS} == set(Mode)
    assert set(RETRIEVERS) <= set(Mode)


@pytest.mark.parametrize("name", DIRECTED)
def test_a_scope_of_a_made_world_shows_nothing_from_outside_it(stage: Stage, name: str) -> None:
    tally = Tally()
    for case in stage.cases(DIRECTED[name]):
        tally.check(case)
    assert tally.cases == MADE[name]


def test_the_short_run_has_a_hundred_cases() -> None:
    assert BRIEF * VIEWS * ASKED + sum(MADE.values()) >= 100


def test_a_scope_shows_nothing_from_outside_it(stage: Stage) -> None:
    tally = Tally()

    @settings(max_examples=BRIEF, derandomize=True, **QUIET)
    @given(world=worlds(views=VIEWS, asked=ASKED))
    def check(world: World) -> None:
        for case in stage.cases(world):
            tally.check(case)

    check()
    tally.suffices(BRIEF * VIEWS * ASKED, ASKED)
