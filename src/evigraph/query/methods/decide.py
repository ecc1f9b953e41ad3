"""`auto` (the method): choose how a question is asked by what it says and what the scope knows of it.

Rules alone, each named in the decision. What the caller set explicitly is kept; the suggested strategy is advice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evigraph.query.methods.combinations import refusal
from evigraph.query.retrieve.arms import arm_limit
from evigraph.query.route import cues
from evigraph.query.run import Run
from evigraph.query.strategy import strategy
from evigraph.types import Method, Mode

NAME = "auto"
FEW, SOME, MANY = 5, 10, 15
"""Passages for a question about one thing, about several, and about many cases."""
_DECIDED = {"top_k", "rerank", "hyde", "self_rag", "retrieval_strategy", "reasons", "decided_by"}
UNKNOWN_WORDS = 0.5
"""Share of the question's terms that no passage holds, from which its words are taken to be others than the texts'."""


def decide(run: Run) -> None:
    """Leave the decision, with its reasons and what of it was applied, in the run; and the run's request changed."""
    with run.ledger.stage("decide") as stage:
        decision = stage.hand_on(_decision(run), kind=object, check=_undecided)
    decision["applied"] = _apply(run, decision)
    run.details["decision"] = decision
    advised, used = decision["retrieval_strategy"], strategy(run.request)
    if run.request.mode is Mode.NAIVE and advised != used:  # other modes have arms of their own, whatever the flags say
        run.ledger.degrade(
            f"{NAME}: the decision suggests {advised} retrieval; the flags ask for {used}, which was used"
        )


def _undecided(decision: dict[str, Any]) -> str | None:
    flags = [decision.get(name) for name in ("rerank", "hyde", "self_rag")]
    sound = set(decision) == _DECIDED and isinstance(decision["top_k"], int) and set(map(type, flags)) == {bool}
    return None if sound else "it handed on no decision"


def _decision(run: Run) -> dict[str, Any]:
    question = run.asked
    reasons = []
    names = {(anchor.start, anchor.end) for anchor in question.anchors}
    wide = run.corpus_wide or bool(cues.AGGREGATE.search(question.text))
    if wide:
        top_k = MANY
        reasons.append(f"it asks about many cases: {MANY} passages")
    elif len(names) == 1:
        top_k = FEW
        reasons.append(f"it names one thing that is known: {FEW} passages")
    else:
        top_k = SOME
        reasons.append(f"it names {len(names)} things that are known: {SOME} passages")
    several = len(names) > 1
    rerank = several and not _would_break_chains(run)
    if rerank:
        reasons.append("it names several things: passages are compared with the whole question (rerank)")
    elif several:
        reasons.append(
            "it names several things, but rules that compare words would break the chains of `mix`: no rerank"
        )
    foreign = _foreign(run)
    if run.chat is None:
        reasons.append("no chat model is configured: neither hyde nor self_rag")
    strange = run.chat is not None and not names and foreign >= UNKNOWN_WORDS
    hyde = strange and not run.blind
    if strange and run.blind:
        reasons.append("no document in scope is searched by vector: no hyde")
    if hyde:
        reasons.append(f"{foreign:.0%} of its words are in no passage, and it names nothing: hyde")
    grade = run.chat is not None and not hyde and (wide or len(names) > 1)
    if grade:
        reasons.append("several facts must come together: the answer is graded (self_rag)")
    suggested = "dense" if foreign >= UNKNOWN_WORDS else "hybrid"
    return {
        "top_k": top_k,
        "rerank": rerank,
        "hyde": hyde,
        "self_rag": grade,
        "retrieval_strategy": suggested,
        "reasons": reasons,
        "decided_by": "rules",
    }


def _would_break_chains(run: Run) -> bool:
    """Whether re-ranking would undo what the graph found: rules judge each sentence by the question's words, of which
    the second passage of a chain has few. They cost `mix` 2 and 6 points of recall@5 on two sets (`docs/effects.md`).
    """
    by_model = run.reranker() is not None or (run.settings.reranker == "llm" and run.chat is not None)
    return run.request.mode is Mode.MIX and not by_model


def _apply(run: Run, decision: dict[str, Any]) -> dict[str, Any]:
    """Change the request as decided, as far as the caller left it open and it can be done here."""
    request = run.request
    method = Method.HYDE if decision["hyde"] else Method.SELF_RAG if decision["self_rag"] else Method.STANDARD
    if refusal(request.mode, method) is not None:
        method = Method.STANDARD
    run.method = method
    changes: dict[str, Any] = {}
    if "max_chunks" not in request.given:
        changes["max_chunks"] = decision["top_k"]
    if "rerank" not in request.given and request.mode is not Mode.BYPASS:
        changes["rerank"] = decision["rerank"]
    searched = arm_limit(run)
    run.request = replace(request, **changes)
    if arm_limit(run) > searched:
        run.dense_hits = None  # what the router saw is too little now
    return {"top_k": run.request.max_chunks, "rerank": run.request.rerank, "method": method.value}


def _foreign(run: Run) -> float:
    """Share of the question's terms that no passage in scope holds."""
    terms = run.asked.terms
    held = run.snapshot.term_frequencies(terms)
    return sum(not held.get(term) for term in terms) / len(terms) if terms else 0.0
