"""What the modes share: the dense and lexical arms, and the entities and assertions of ranked passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from evigraph.query.fusion import best_first
from evigraph.query.run import Run, Signals
from evigraph.query.strategy import candidates
from evigraph.query.understand import rarity
from evigraph.store.keys import PassageKey
from evigraph.store.rows import Hit
from evigraph.types import Relationship

ARM_LIMIT = 100
"""Passages each arm ranks; more if more chunks are asked for."""

Board = dict[PassageKey, Signals]
"""Every passage any arm ranked, with what the arms say of it."""

Ranking = tuple[tuple[PassageKey, Signals], ...]
"""Passages, best first."""


def arm_limit(run: Run) -> int:
    """Passages that an arm ranks: no fewer than a reranker is to judge."""
    return max(ARM_LIMIT, 2 * run.request.max_chunks, candidates(run.request))


def dense_arm(run: Run, board: Board) -> list[PassageKey]:
    """Passages by cosine, those of at least `min_score`. Searched once a run, whichever modes it combines."""
    if run.dense_hits is None:
        run.dense_hits = _dense_hits(run)
    _enter(board, run.dense_hits, "vector")
    return [hit.key for hit in run.dense_hits]


def _dense_hits(run: Run) -> list[Hit]:
    with run.ledger.stage("dense", given=min(run.counts.passages, arm_limit(run))) as stage:
        hits = run.snapshot.nearest_passages(run.asked.vector, arm_limit(run))
        near = [hit for hit in hits if hit.score >= run.request.min_score]
        stage.lose(len(hits) - len(near), f"below min_score {run.request.min_score:g}")
        kept = stage.hand_on(near, because="no passage is near the question", kind=Hit, most=arm_limit(run))
    run.ledger.count("dense_candidates", len(kept))
    return kept


def plain_arms(run: Run, board: Board) -> tuple[list[PassageKey], list[PassageKey]]:
    """Passages by cosine, and passages by BM25, both searched at once."""
    with run.snapshot.beside(lambda: _lexical_hits(run)) as lexical_hits:
        return dense_arm(run, board), lexical_arm(run, board, lexical_hits)


def _lexical_hits(run: Run) -> list[Hit]:
    return run.snapshot.lexical(run.asked.terms, run.counts, arm_limit(run))


def lexical_arm(run: Run, board: Board, found: Callable[[], list[Hit]] | None = None) -> list[PassageKey]:
    """Passages by BM25, those `found` where the search was begun before."""
    with run.ledger.stage("lexical") as stage:
        hits = found() if found is not None else _lexical_hits(run)
        hits = stage.hand_on(hits, because="no passage holds a term of the question", kind=Hit, most=arm_limit(run))
    _enter(board, hits, "bm25")
    run.ledger.count("lexical_candidates", len(hits))
    return [hit.key for hit in hits]


def enter_graph(board: Board, scores: Mapping[PassageKey, float]) -> list[PassageKey]:
    """Enter passages ranked by the graph."""
    order = best_first(scores)
    _enter(board, [Hit(key=key, score=scores[key]) for key in order], "graph")
    return order


def _enter(board: Board, hits: Iterable[Hit], arm: str) -> None:
    for rank, hit in enumerate(hits, start=1):
        signals = board.setdefault(hit.key, Signals())
        setattr(signals, f"{arm}_score", hit.score)
        setattr(signals, f"{arm}_rank", rank)


def ordered(board: Board, scores: Mapping[PassageKey, float]) -> Ranking:
    """The board by the given scores, which become `score`."""
    for key, score in scores.items():
        board[key].score = score
    return tuple((key, board[key]) for key in best_first(scores))


def entities_in(
    run: Run, passages: Sequence[PassageKey], mass: Mapping[str, float] | None = None
) -> list[tuple[str, float | None]]:
    """Entities of ranked passages, most telling first.

    An entity counts more the higher its passages rank, the rarer its name and, where the graph walked, the more mass
    its name gathered.
    """
    rows = run.snapshot.mentions_in(passages)
    rank = {key: position for position, key in enumerate(passages, start=1)}
    names = run.snapshot.names([row.key for row in rows])
    scores: dict[str, float] = {}
    for row in rows:
        rare = rarity(names[row.key].passages, run.counts.passages) if row.key in names else 0.0
        extra = 1.0 + (mass or {}).get(row.key, 0.0) * len(mass or {})
        scores[row.entity_id] = scores.get(row.entity_id, 0.0) + row.weight * rare * extra / rank[row.passage]
    return [(entity_id, round(scores[entity_id], 9)) for entity_id in best_first(scores)]


def relationships_in(run: Run, passages: Sequence[PassageKey]) -> list[Relationship]:
    """Assertions that ranked passages make, in the order of their passages, stated before co-occurring."""
    return run.snapshot.assertions_in(passages, limit=run.request.max_relationships)
