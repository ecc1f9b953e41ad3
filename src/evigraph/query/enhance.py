"""Enhancers: what is done to evidence between retrieval and answer."""

from __future__ import annotations

from evigraph.query.run import Run
from evigraph.types import Mode


def enhance(run: Run) -> None:
    """Apply the requested enhancers, or say which did not run and why."""
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
