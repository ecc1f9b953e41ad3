"""Enhancers: what is done to evidence between retrieval and answer."""

from __future__ import annotations

from evigraph.query.run import Run
from evigraph.types import Mode

_WALKING = (Mode.LOCAL, Mode.HYBRID, Mode.TRAVERSE, Mode.ENTITY_CONNECTIONS)
"""Modes that follow assertions from entity to entity."""


def _report_ignored(run: Run) -> None:
    """Say which options have no meaning under the mode."""
    request = run.request
    mode = request.mode.value
    walks = request.mode in _WALKING or request.mix_weights is not None
    if request.predicates is not None and not walks and request.mode is not Mode.GLOBAL:
        run.ledger.degrade(f"predicates: mode `{mode}` follows no assertions; ignored")
    if request.direction != "both" and not walks:
        run.ledger.degrade(f"direction: mode `{mode}` follows no assertions; ignored")
    if request.seeds is not None and request.mode is not Mode.TRAVERSE:
        run.ledger.degrade(f"seeds: only `traverse` starts from them; ignored under `{mode}`")
    if request.fusion == "rrf" and request.mode is not Mode.MIX:
        run.ledger.degrade(f"weights: only `mix` fuses by them; ignored under `{mode}`")
    if request.community_level is not None and request.mode not in (Mode.THEMATIC_OVERVIEW, Mode.AUTO):
        run.ledger.degrade(f"community_level: mode `{mode}` reads no communities; ignored")


def enhance(run: Run) -> None:
    """Apply the requested enhancers, or say which did not run and why."""
    _report_ignored(run)
    request = run.request
    if request.hybrid and request.mode is not Mode.NAIVE:
        run.ledger.degrade(f"hybrid: it turns `naive` into dense+BM25; ignored under `{request.mode.value}`")
    for name, wanted in (
        ("rerank", request.rerank),
        ("compress", request.compress),
        ("parent_context", request.parent_context),
    ):
        if wanted:
            run.ledger.degrade(f"{name}: requested, but no {name} backend is available here; evidence is unchanged")
