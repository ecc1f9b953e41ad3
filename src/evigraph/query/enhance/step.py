"""The step that applies the enhancers a request asks for, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evigraph.models.rerank_chat import PROMPT_CHARS, cut_short
from evigraph.query.enhance.compress import compress
from evigraph.query.enhance.parent_context import widen
from evigraph.query.enhance.rerank import rerank
from evigraph.query.run import Run
from evigraph.query.strategy import ENHANCED, ignored, reranked, reranks
from evigraph.types import Chunk, Mode

_WALKING = (Mode.LOCAL, Mode.HYBRID, Mode.TRAVERSE, Mode.ENTITY_CONNECTIONS)
"""Modes that follow assertions from entity to entity."""


def enhance(run: Run) -> None:
    """Apply what was asked for, and say what of it has no meaning under the mode.

    Passages are found and re-ranked as they are stored, since a short one can be judged exactly; then widened; and cut
    last, so that sentences of the neighbours count too.
    """
    _report_ignored(run)
    request = run.request
    if request.mode not in ENHANCED:
        return
    if request.parent_context:
        _name_strategy(run)
    if not run.chunks:
        return
    if reranks(request):
        candidates = run.chunks[: reranked(request)]
        rerank(run)
        _tell_what_was_cut(run, candidates)
    if request.parent_context:
        widen(run)
    if request.compress:
        compress(run)


def _tell_what_was_cut(run: Run, judged: Sequence[Chunk]) -> None:
    """Say how many candidates the chat model judged by their beginning alone; other rerankers see all of each."""
    by_model = run.settings.reranker == "llm" and run.chat is not None and run.reranker() is None
    if not by_model or not run.ledger.counts["rerank"]["applied"]:
        return
    cut = cut_short([f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text for chunk in judged])
    if cut:
        run.ledger.degrade(
            f"rerank: {cut} of {len(judged)} passages were judged by their beginning, for the chat model is shown"
            f" {PROMPT_CHARS:,} characters in all; a smaller rerank_top_k leaves more to each"
        )


def _name_strategy(run: Run) -> None:
    """Say that passages come with their neighbours: under `naive` instead of the arms, elsewhere beside them."""
    arms = run.retrieved.retrieval
    named = "parent_context" if run.request.mode is Mode.NAIVE or not arms else f"{arms}+parent_context"
    run.retrieved = replace(run.retrieved, retrieval=named)


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
    for sentence in ignored(request):
        run.ledger.degrade(sentence)
