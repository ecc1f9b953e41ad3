"""`ask --explain`: what the method decided, and the ledger of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evigraph.cli.render import say, table, tree

TOLD = ("decision", "hyde", "multi_query", "corrective", "self_rag")
"""Parts of `method_details` that say what a method did."""


def explain(wire: Mapping[str, Any]) -> None:
    """Stages in their order: what went in, came out and was lost, their time, calls and tokens ("?" where the model did
    not tell)."""
    requested = wire["requested"]
    say(f"mode {requested['mode']} → {wire['mode']}, method {requested['method']} → {wire['method']}")
    for name in TOLD:
        if wire["method_details"].get(name) is not None:
            say(f"{name}:")
            tree(wire["method_details"][name], 1)
    if wire["stats"].get("cached"):
        say("from the cache: the stages are those of the run that made the answer; no model was called this time")
    table(
        ("stage", "in", "out", "lost", "ms", "calls", "tokens", "degraded"),
        (
            (
                stage["name"],
                "" if stage["items_in"] is None else str(stage["items_in"]),
                "" if stage["items_out"] is None else str(stage["items_out"]),
                _lost(stage),
                f"{stage['took_ms']:.1f}",
                stage["llm_calls"],
                _tokens(stage),
                "; ".join(stage["degraded"]),
            )
            for stage in wire["ledger"]
        ),
    )


def _lost(stage: Mapping[str, Any]) -> str:
    lost = [f"{number} {reason}" for reason, number in stage["lost"].items()]
    beside = [
        f"{number} {kind} {reason}" for kind, one in stage["beside"].items() for reason, number in one["lost"].items()
    ]
    why = [f"failed: {stage['failed']}" if stage["failed"] else "", stage["empty_because"] or ""]
    return "; ".join([*lost, *beside, *filter(None, why)])


def _tokens(stage: Mapping[str, Any]) -> int | str:
    asked, said = stage["prompt_tokens"], stage["completion_tokens"]
    return "?" if asked is None or said is None else asked + said
