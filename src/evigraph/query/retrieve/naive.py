"""`naive`: dense passages only; with the strategy `hybrid`, dense and BM25 by their plain score, or by reciprocal rank
where `fusion` says so."""

from __future__ import annotations

from evigraph.query.fusion import rrf
from evigraph.query.retrieve.arms import Board, dense_arm, ordered, plain_arms
from evigraph.query.retrieve.plain import plain_scores
from evigraph.query.run import Retrieved, Run
from evigraph.query.strategy import strategy


def retrieve(run: Run) -> Retrieved:
    board: Board = {}
    if strategy(run.request) != "hybrid":
        dense = dense_arm(run, board)
        return Retrieved(
            passages=ordered(board, {key: board[key].vector_score or 0.0 for key in dense}), retrieval="dense"
        )
    dense, lexical = plain_arms(run, board)
    fused = rrf([(1.0, dense), (1.0, lexical)])
    for key, score in fused.items():
        board[key].fused = score
    if run.request.fusion == "rrf":
        return Retrieved(passages=ordered(board, fused), retrieval="hybrid")
    keys = sorted(board)
    known = {key: board[key].vector_score for key in dense}
    plain = plain_scores(run, board, keys, {key: score for key, score in known.items() if score is not None})
    scores = {key: round(float(score), 9) for key, score in zip(keys, plain, strict=True)}
    return Retrieved(passages=ordered(board, scores), retrieval="hybrid")
