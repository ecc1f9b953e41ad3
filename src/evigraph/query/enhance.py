"""Enhancers: what is done to evidence between retrieval and answer."""

from __future__ import annotations

from evigraph.query.run import Run
from evigraph.types import Mode


def _report_ignored(run: Run) -> None:
    """Say which options have no meaning under the mode."""
    request = run.request
    follows = request.mode in (Mode.LOCAL, Mode.GLOBAL, Mode.HYBRID) or request.mix_weights is not None
    if request.predicates is not None and not follows:
        run.ledger.degrade(f"predicates: mode `{request.mode.value}` follows no assertions; ignored")
    if request.fusion == "rrf" and request.mode is not Mode.MIX:
        run.ledger.degrade(f"weights: only `mix` fuses by them; ignored under `{request.mode.value}`")


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
