"""The scope-leak test at length. In a module of its own, since a process opens one store at a time."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings
from scope_draw import worlds
from scope_world import World
from test_scope_leak import QUIET, VIEWS, Tally, fresh_stage

PARTS, LONG, LONG_ASKED = 9, 15, 3
"""Parts of the run, each with a store of its own, random worlds in each, and their questions: 2,025 cases."""


def test_the_long_run_has_two_thousand_cases() -> None:
    assert PARTS * LONG * VIEWS * LONG_ASKED >= 2_000


@pytest.mark.verify
def test_a_scope_shows_nothing_from_outside_it_at_length(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A store gets slower with every workspace, so that each part begins with an empty one."""
    tally = Tally()
    for part in range(PARTS):

        @seed(20_260 + part)
        @settings(max_examples=LONG, **QUIET)
        @given(world=worlds(views=VIEWS, asked=LONG_ASKED))
        def check(world: World) -> None:
            for case in stage.cases(world):
                tally.check(case)

        with fresh_stage(tmp_path_factory.mktemp(f"part{part}")) as stage:
            check()
    tally.suffices(PARTS * LONG * VIEWS * LONG_ASKED, LONG_ASKED)
