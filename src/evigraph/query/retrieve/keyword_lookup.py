"""`keyword_lookup`: BM25 and dense passages by reciprocal rank, the entities in them, relationships among those."""

from __future__ import annotations

from evigraph.query.fusion import rrf
from evigraph.query.retrieve.arms import Board, Ranking, entities_in, ordered, plain_arms, relationships_in
from evigraph.query.run import Retrieved, Run


def retrieve(run: Run) -> Retrieved:
    return around(run, rank(run))


def rank(run: Run) -> Ranking:
    """Passages by both arms."""
    board: Board = {}
    dense, lexical = plain_arms(run, board)
    fused = rrf([(1.0, dense), (1.0, lexical)])
    for key, score in fused.items():
        board[key].fused = score
    return ordered(board, fused)


def around(run: Run, passages: Ranking) -> Retrieved:
    """Ranked passages with the entities of the best, and the relationships among those."""
    top = [key for key, _ in passages[: run.request.max_chunks]]
    entities = entities_in(run, top)
    named = {entity_id for entity_id, _ in entities[: run.request.max_entities]}
    among = [item for item in relationships_in(run, top) if item.source in named and item.target in named]
    return Retrieved(passages=passages, entities=tuple(entities), relationships=tuple(among), retrieval="bm25+vector")
