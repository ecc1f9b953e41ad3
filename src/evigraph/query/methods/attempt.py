"""Steps that a question can do without."""

from __future__ import annotations

from collections.abc import Callable

from evigraph.errors import ModelError, StageFailed
from evigraph.query.run import Run

NO_CHAT = "no chat model is configured (EVIGRAPH_CHAT_URL)"


def attempt(run: Run, name: str, act: Callable[[], None], *, instead: str) -> bool:
    """Do what can be done without; where it fails, say so and what was done instead. True if it was done. What was at
    hand before is at hand again where it fails: half of what was attempted is not what was done instead."""
    held = run.retrieved, run.chunks, run.entities, run.relationships
    try:
        act()
    except (ModelError, StageFailed) as error:
        run.retrieved, run.chunks, run.entities, run.relationships = held
        run.ledger.restored()
        run.repeatable = False
        said = str(error)
        run.ledger.degrade(f"{said if said.startswith(f'{name}:') else f'{name}: {said}'}; {instead}")
        return False
    return True
