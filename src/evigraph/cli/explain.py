"""`ask --explain`: what the method decided, and the ledger of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evigraph.cli.render import say, table, tree

TOLD = ("decision", "hyde", "multi_query", "corrective", "self_rag")
"""Parts of `method_details` that say what a method did."""


def explain(wire: Mapping[str, Any]) -> None:
    """Stages in their order: what went in, came out and was lost, their time, calls and tokens."""
    requested = wire["requested"]
    say(f"mode {requested['mode']} → {wire['mode']}, method {requested['method']} → {wire['method']}")
    for name in TOLD:
        if wire["method_details"].get(name) is not None:
            say(f"{name}:")
            tree(wire["method_details"][name], 1)
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
                stage["prompt_tokens"] + stage["completion_tokens"],
                "; ".join(stage["degraded"]),
            )
            for stage in wire["ledger"]
        ),
    )


def _lost(stage: Mapping[str, Any]) -> str:
    lost = [f"{number} {reason}" for reason, number in stage["lost"].items()]
    return "; ".join([*lost, *([stage["empty_because"]] if stage["empty_because"] else [])])
