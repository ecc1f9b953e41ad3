"""`global`: vector search on assertions, then both endpoints, then their passages re-ranked by vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evigraph.query.fusion import best_first
from evigraph.query.retrieve.arms import Board, ordered, relationships_in
from evigraph.query.run import Retrieved, Run, Signals
from evigraph.query.spaces import cosines_apart
from evigraph.query.strategy import candidates
from evigraph.store.keys import PassageKey, revision_key
from evigraph.types import Relationship

ASSERTIONS = 60
"""Assertions taken from the vector search for as many passages as `FOR_PASSAGES`, or fewer."""
FOR_PASSAGES = 30
PER_PASSAGE = 6
"""Assertions taken for each passage that is asked for beyond these: several are often of one passage."""
POPULAR = 10


def retrieve(run: Run) -> Retrieved:
    """High-level keywords are what is left of the question without its names (`Question.residual`)."""
    found = _nearest(run)
    if not found:
        return popular(run)
    entities: dict[str, float] = {}
    for item in found:
        for endpoint in (item.source, item.target):
            entities[endpoint] = max(entities.get(endpoint, 0.0), item.score or 0.0)
    passages = list(dict.fromkeys(passage_of(item) for item in found))
    return Retrieved(
        passages=_by_vector(run, passages),
        entities=tuple((entity_id, entities[entity_id]) for entity_id in best_first(entities)),
        relationships=tuple(found),
        retrieval="assertion vectors",
    )


def passage_of(item: Relationship) -> PassageKey:
    return PassageKey(revision_key(item.document_id, item.revision), int(item.chunk_id.rpartition("#")[2]))


def _nearest(run: Run) -> list[Relationship]:
    limit = assertion_limit(run)
    with run.ledger.stage("assertions") as stage:
        hits = run.snapshot.nearest_assertions(_vector(run), limit, predicates=run.predicates)
        kept = [(assertion_id, score) for assertion_id, score in hits if score >= run.request.min_score]
        rows = run.snapshot.assertions_named([assertion_id for assertion_id, _ in kept])
        found = [replace(rows[assertion_id], score=round(score, 6)) for assertion_id, score in kept]
        stage.given = len(hits)
        stage.lose(len(hits) - len(kept), f"below min_score {run.request.min_score:g}")
        return stage.hand_on(found, because="no assertion is near the question", kind=Relationship, most=limit)


def assertion_limit(run: Run) -> int:
    """Assertions that are looked at: what the passages asked for need, and no fewer than the caller asks for by
    `max_relationships`. Its default is what may be shown of any mode, and asks for nothing."""
    request = run.request
    asked = request.max_relationships if "max_relationships" in request.given else 0
    return max(asked, ASSERTIONS + PER_PASSAGE * max(0, candidates(request) - FOR_PASSAGES))


def _vector(run: Run) -> NDArray[np.float32]:
    """That of the high-level keywords, or of the text that a method puts in the question's place."""
    question = run.asked
    if question.vector_of or question.residual == question.text:
        return question.vector
    vector: NDArray[np.float32] = run.embedder().embed([question.residual])[0]
    return vector


def popular(run: Run) -> Retrieved:
    """Nothing matched: the most connected entities, which have nothing to do with the question. In one of several
    embedding spaces nothing stands in for what the others may hold."""
    if run.space is not None:
        return Retrieved(retrieval="assertion vectors")
    names = run.snapshot.most_connected(POPULAR)
    if not names:
        return Retrieved(retrieval="assertion vectors")
    run.ledger.degrade(
        "global: no assertion matched the question; its evidence is the most connected entities of the scope instead"
    )
    profiles = run.snapshot.profiles(names)
    ranked = [name for name in names if name in profiles]
    passages = list(dict.fromkeys(key for name in ranked for key in profiles[name].passages[: run.request.max_chunks]))
    return Retrieved(
        passages=_by_vector(run, passages),
        entities=tuple((name, None) for name in ranked),
        relationships=tuple(
            item
            for item in relationships_in(run, passages[: run.request.max_chunks])
            if run.predicates is None or item.type in run.predicates
        ),
        retrieval="most connected entities",
    )


def _by_vector(run: Run, passages: list[PassageKey]) -> tuple[tuple[PassageKey, Signals], ...]:
    board: Board = {}
    for cosines in cosines_apart(run, passages):
        for rank, key in enumerate(best_first(cosines), start=1):
            board[key] = Signals(vector_score=cosines[key], vector_rank=rank)
    return ordered(board, {key: signals.vector_score or 0.0 for key, signals in board.items()})
