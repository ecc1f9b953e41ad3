"""`naive`: dense passages only; with the strategy `hybrid`, dense and BM25 fused by reciprocal rank."""

from __future__ import annotations

from evigraph.query.fusion import rrf
from evigraph.query.retrieve.arms import Board, dense_arm, lexical_arm, ordered
from evigraph.query.run import Retrieved, Run
from evigraph.query.strategy import strategy


def retrieve(run: Run) -> Retrieved:
    board: Board = {}
    dense = dense_arm(run, board)
    if strategy(run.request) != "hybrid":
        return Retrieved(
            passages=ordered(board, {key: board[key].vector_score or 0.0 for key in dense}), retrieval="dense"
        )
    fused = rrf([(1.0, dense), (1.0, lexical_arm(run, board))])
    for key, score in fused.items():
        board[key].fused = score
    return Retrieved(passages=ordered(board, fused), retrieval="hybrid")
