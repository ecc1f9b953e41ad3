"""`local`: question → entities → bounded traversal → assertions → their passages; plus dense passages."""

from __future__ import annotations

from dataclasses import replace

from evigraph.query.fusion import best_first, rrf
from evigraph.query.retrieve.arms import Board, dense_arm, enter_graph, ordered
from evigraph.query.retrieve.facts import passage_of
from evigraph.query.run import Retrieved, Run
from evigraph.store.keys import PassageKey
from evigraph.types import CO_OCCURS, Relationship

SIMILAR_ENTITIES = 10
SIMILAR_ENOUGH = 0.5
"""Cosine from which an entity's name and description count as meant by the question."""
DECAY = 0.5
"""What an assertion is worth one hop further out."""
WEAK = 0.3
"""What a co-occurrence is worth beside a stated assertion."""
FRONTIER = 500
"""Entities followed per hop, best first."""
TRAVERSED = 10_000
"""Assertions fetched per hop."""


def retrieve(run: Run) -> Retrieved:
    board: Board = {}
    dense = dense_arm(run, board)
    seeds = seed_entities(run)
    entities, assertions = traverse(run, seeds)
    scores: dict[PassageKey, float] = {}
    for item in assertions:
        key = passage_of(item)
        scores[key] = scores.get(key, 0.0) + (item.score or 0.0)
    graph = enter_graph(board, _near_question(run, scores))
    fused = rrf([(0.5, graph), (0.5, dense)])
    for key, score in fused.items():
        board[key].fused = score
    return Retrieved(
        passages=ordered(board, fused),
        entities=tuple((entity_id, round(entities[entity_id], 9)) for entity_id in best_first(entities)),
        relationships=tuple(assertions),
        retrieval="entities+vector",
    )


def seed_entities(run: Run) -> dict[str, float]:
    """Entities the question means: behind its anchors, and those whose name and description lie near it."""
    with run.ledger.stage("seeds") as record:
        seeds: dict[str, float] = {}
        anchors = {anchor.key: anchor.weight for anchor in run.asked.anchors}
        for key, homographs in run.snapshot.entity_ids(list(anchors)).items():
            total = sum(passages for _, passages in homographs)
            for entity_id, passages in homographs:
                seeds[entity_id] = anchors[key] * passages / total
        for entity_id, cosine in run.snapshot.nearest_entities(run.asked.vector, SIMILAR_ENTITIES):
            if cosine >= SIMILAR_ENOUGH:
                seeds[entity_id] = max(seeds.get(entity_id, 0.0), 0.5 * cosine)
        record.items_out = len(seeds)
    run.ledger.count("seed_entities", len(seeds))
    return seeds


def traverse(run: Run, seeds: dict[str, float]) -> tuple[dict[str, float], list[Relationship]]:
    """Expand hop by hop; an entity's worth is that of the best way to it. Assertions come best first, each once."""
    request = run.request
    reached = dict(seeds)
    frontier = dict(seeds)
    found: dict[str, Relationship] = {}
    with run.ledger.stage("traverse") as record:
        for _ in range(request.graph_depth):
            followed = best_first(frontier)[:FRONTIER]
            if len(followed) < len(frontier):
                run.ledger.degrade(f"local: a hop followed {FRONTIER} of {len(frontier)} entities (safety cap)")
            rows = run.snapshot.assertions_of(
                followed, per_node_limit=request.per_node_limit, limit=TRAVERSED, predicates=request.predicates
            )
            if len(rows) == TRAVERSED:
                run.ledger.degrade(f"local: a hop was cut at {TRAVERSED} assertions (safety cap)")
            nearer: dict[str, float] = {}
            for origin, item in rows:
                worth = frontier[origin] * item.confidence * (WEAK if item.type == CO_OCCURS else 1.0)
                known = found.get(item.id)
                if known is None or (known.score or 0.0) < worth:
                    found[item.id] = replace(item, score=worth)
                other = item.target if item.source == origin else item.source
                if other not in reached:
                    nearer[other] = max(nearer.get(other, 0.0), worth * DECAY)
            reached.update(nearer)
            frontier = nearer
        record.items_in, record.items_out = len(seeds), len(found)
    run.ledger.count("traversed_assertions", len(found))
    ordered_ids = best_first({assertion_id: item.score or 0.0 for assertion_id, item in found.items()})
    return reached, [replace(found[name], score=round(found[name].score or 0.0, 9)) for name in ordered_ids]


def _near_question(run: Run, scores: dict[PassageKey, float]) -> dict[PassageKey, float]:
    """Worth of a passage's assertions times its nearness to what is asked, so that a hub does not drown it."""
    cosines = run.snapshot.similarities([run.asked.vector], list(scores))
    return {key: scores[key] * max(0.0, cosines[key][0]) for key in scores if key in cosines}
