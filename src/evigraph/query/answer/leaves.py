"""What an answer may cite where summaries are among the evidence: passages, never the summaries themselves.

A summary has no span in any document, so that nothing can be quoted from it. In its place stand the passages among its
supports that lie nearest to the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evigraph.query.run import Run
from evigraph.query.spaces import cosines
from evigraph.store.keys import PassageKey, passage_key
from evigraph.types import Chunk

LEAVES = 2
"""Passages that stand for one summary: one to say what it says, one beside it. All of them together would be the text
that the summary is there to spare."""
ASKED_AT_ONCE = 2_000


def cite_leaves(run: Run) -> None:
    """Leave in `run.numbered` the passages to cite, each once, in the order of the evidence: passages as they are, for
    a summary its `LEAVES` best supports, within the token budget. Evidence that does not fit with at least one passage
    to cite is cut off. Does nothing where no summary of a document is among the evidence."""
    if run.overview is not None or not any(chunk.level for chunk in run.chunks):
        return
    with run.ledger.stage("cite_leaves", given=len(run.chunks), of="chunks") as stage:
        best = _best_leaves(run, [chunk for chunk in run.chunks if chunk.level])
        facts = run.ledger.counts.get("context_tokens", 0) - sum(chunk.token_count for chunk in run.chunks)
        kept, numbered, used = _within(run.chunks, best, run.request.max_context_tokens - facts)
        stage.lose(len(run.chunks) - len(kept), f"beyond max_context_tokens {run.request.max_context_tokens}")
        cut = len(kept) < len(run.chunks)
        run.chunks, run.numbered = stage.hand_on(kept, kind=Chunk, most=len(run.chunks)), numbered
    run.ledger.count("chunks", len(run.chunks))
    run.ledger.count("citable_passages", len(numbered))
    run.ledger.count("context_tokens", facts + used)
    if cut:
        run.ledger.count("context_truncated", True)


def numbers_below(summary: Chunk, citable: Sequence[Chunk]) -> list[int]:
    """The numbers, from 1, of the passages that a summary rests on."""
    below = set(summary.supports)
    return [
        number
        for number, chunk in enumerate(citable, start=1)
        if chunk.id in below and chunk.revision == summary.revision
    ]


def _within(
    chunks: Sequence[Chunk], best: Mapping[str, Sequence[Chunk]], budget: int
) -> tuple[list[Chunk], list[Chunk], int]:
    """The evidence that fits with what it cites, the passages to cite, and the tokens of both. The first piece of
    evidence is kept, with one passage, whatever its size."""
    own = {chunk.id: chunk for chunk in chunks if not chunk.level}
    kept: list[Chunk] = []
    numbered: dict[str, Chunk] = {}
    used = 0
    for chunk in chunks:
        leaves = [own.get(leaf.id, leaf) for leaf in best.get(chunk.id, ())] if chunk.level else [chunk]
        fresh = [leaf for leaf in leaves if leaf.id not in numbered]
        least = min(1, len(fresh)) if len(fresh) == len(leaves) else 0
        while len(fresh) > least and used + _cost(chunk, fresh) > budget:
            fresh.pop()
        if kept and used + _cost(chunk, fresh) > budget:
            break
        used += _cost(chunk, fresh)
        kept.append(chunk)
        numbered.update({leaf.id: leaf for leaf in fresh})
    return kept, list(numbered.values()), used


def _cost(chunk: Chunk, fresh: Sequence[Chunk]) -> int:
    return (chunk.token_count if chunk.level else 0) + sum(leaf.token_count for leaf in fresh)


def _best_leaves(run: Run, summaries: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    """The supports of each summary that lie nearest to the question, by the summary's id; ties by key."""
    below = {one.id: [passage_key(one.document_id, one.revision, leaf) for leaf in one.supports] for one in summaries}
    cosines = _cosines(run, sorted({key for keys in below.values() for key in keys}))
    nearest = {
        one: sorted((key for key in keys if key in cosines), key=lambda key: (-cosines[key], key))[:LEAVES]
        for one, keys in below.items()
    }
    fetched = run.snapshot.chunks(sorted({key for keys in nearest.values() for key in keys}))
    return {one: [_scored(fetched[key], cosines[key]) for key in keys] for one, keys in nearest.items()}


def _cosines(run: Run, keys: Sequence[PassageKey]) -> dict[PassageKey, float]:
    found: dict[PassageKey, float] = {}
    for first in range(0, len(keys), ASKED_AT_ONCE):
        part = cosines(run, keys[first : first + ASKED_AT_ONCE])
        found.update({key: round(float(cosine), 9) for key, cosine in part.items()})
    return found


def _scored(chunk: Chunk, cosine: float) -> Chunk:
    score = min(1.0, max(0.0, cosine))
    return replace(chunk, vector_score=score, score=score)
