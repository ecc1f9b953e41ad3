"""Predicates that a request allows, as the scope's assertions spell them."""

from __future__ import annotations

from evigraph.query.plan.validate import CannotGoOn, Vocabulary
from evigraph.query.run import Run


def spelled(run: Run) -> tuple[str, ...] | None:
    """Case, blanks and declared synonyms make no difference. A predicate that no assertion has is left out, with a word
    on those near it. None where any is allowed."""
    if run.request.predicates is None:
        return None
    vocabulary = Vocabulary(run.snapshot)
    found: dict[str, None] = {}
    for given in run.request.predicates:
        try:
            spellings = vocabulary.predicate("predicates", given).spellings
        except CannotGoOn as stop:
            near = f"; near it: {', '.join(stop.alternatives)}" if stop.alternatives else ""
            run.ledger.degrade(f"predicates: no assertion in scope has {given[:80]!r}; left out{near}")
        else:
            found.update(dict.fromkeys(spellings))
    return tuple(sorted(found))
