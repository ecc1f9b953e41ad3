"""`raptor`: the collapsed tree (Sarthi et al., RAPTOR, ICLR 2024). Passages and the summaries above them in one list by
cosine: a broad question lies nearer to a summary, a narrow one nearer to a passage."""

from __future__ import annotations

from evigraph.query.retrieve.arms import Board, arm_limit, dense_arm, ordered
from evigraph.query.run import Retrieved, Run, Signals
from evigraph.store.rows import Hit

NO_TREE = (
    "raptor: no document in scope has a summary tree (index with build_tree); the passages alone were searched, as"
    " under `standard`"
)


def retrieve(run: Run) -> Retrieved:
    """Passages and summaries of at least `min_score`, best first. Without a tree in the scope the dense passages, which
    is said."""
    trees = run.snapshot.documents_with_trees()
    run.ledger.count("documents_with_trees", trees)
    board: Board = {}
    if not trees:
        if not any(space.snapshot.documents_with_trees() for space in run.spaces):
            run.ledger.degrade(NO_TREE)
        found = dense_arm(run, board)
        return Retrieved(
            passages=ordered(board, {key: board[key].vector_score or 0.0 for key in found}), retrieval="dense"
        )
    for rank, hit in enumerate(_nearest(run), start=1):
        board[hit.key] = Signals(vector_score=hit.score, vector_rank=rank)
    return Retrieved(
        passages=ordered(board, {key: signals.vector_score or 0.0 for key, signals in board.items()}),
        retrieval="raptor",
    )


def _nearest(run: Run) -> list[Hit]:
    limit = arm_limit(run)
    with run.ledger.stage("collapsed_tree") as stage:
        hits = run.snapshot.nearest_passages(run.asked.vector, limit, summaries=True)
        near = [hit for hit in hits if hit.score >= run.request.min_score]
        stage.given = len(hits)
        stage.lose(len(hits) - len(near), f"below min_score {run.request.min_score:g}")
        kept = stage.hand_on(near, because="neither a passage nor a summary is near the question", kind=Hit, most=limit)
    run.ledger.count("dense_candidates", len(kept))
    return kept
