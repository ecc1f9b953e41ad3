"""`local`: question → entities → bounded traversal → assertions → their passages; plus dense passages.

The neighbourhood is ranked by personalised PageRank from the question's entities (`graph/rank.py`): an entity by the
mass it holds, an assertion by the mass that passes over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evigraph.graph.rank import personalised_pagerank
from evigraph.graph.traverse import worth
from evigraph.query.fusion import best_first, rrf
from evigraph.query.ledger import repeated
from evigraph.query.retrieve.arms import Board, dense_arm, enter_graph, ordered
from evigraph.query.run import Retrieved, Run
from evigraph.store.assertions import Edge
from evigraph.store.keys import PassageKey
from evigraph.types import Relationship

SIMILAR_ENTITIES = 10
SIMILAR_ENOUGH = 0.5
"""Cosine from which an entity's name and description count as meant by the question."""
MOST_SEEDS = 1_000
"""Entities that a question can mean."""
DECAY = 0.5
"""What an assertion is worth one hop further out, when a hop has to choose whom to follow."""
FRONTIER = 500
"""Entities followed per hop, best first."""
TRAVERSED = 10_000
"""Assertions fetched per hop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbourhood:
    """What a traversal reached: entities with their mass, and assertions with what passes over them, best first."""

    entities: Mapping[str, float]
    edges: tuple[tuple[Edge, float], ...]


def retrieve(run: Run) -> Retrieved:
    board: Board = {}
    dense = dense_arm(run, board)
    found = traverse(run, seed_entities(run))
    scores: dict[PassageKey, float] = {}
    for edge, traffic in found.edges:
        scores[edge.passage] = scores.get(edge.passage, 0.0) + traffic
    graph = enter_graph(board, _near_question(run, scores))
    fused = rrf([(0.5, graph), (0.5, dense)])
    for key, score in fused.items():
        board[key].fused = score
    return Retrieved(
        passages=ordered(board, fused),
        entities=tuple((name, round(found.entities[name], 9)) for name in best_first(found.entities)),
        relationships=_relationships(run, found),
        relationships_found=len(found.edges),
        retrieval="entities+vector",
    )


def seed_entities(run: Run) -> dict[str, float]:
    """Entities the question means: behind its anchors, and those whose name and description lie near it."""
    with run.ledger.stage("seeds") as stage:
        seeds = anchored_entities(run)
        for entity_id, cosine in run.snapshot.nearest_entities(run.asked.vector, SIMILAR_ENTITIES):
            if cosine >= SIMILAR_ENOUGH:
                seeds[entity_id] = max(seeds.get(entity_id, 0.0), 0.5 * cosine)
        seeds = stage.hand_on(seeds, because="the question means no entity of the scope", kind=float, most=MOST_SEEDS)
    run.ledger.count("seed_entities", len(seeds))
    return seeds


def anchored_entities(run: Run) -> dict[str, float]:
    """Entities behind the question's anchors; homographs share an anchor's weight by their passages."""
    seeds: dict[str, float] = {}
    anchors = {anchor.key: anchor.weight for anchor in run.asked.anchors}
    for key, homographs in run.snapshot.entity_ids(list(anchors)).items():
        total = sum(passages for _, passages in homographs)
        for entity_id, passages in homographs:
            seeds[entity_id] = max(seeds.get(entity_id, 0.0), anchors[key] * passages / total)
    return seeds


def traverse(run: Run, seeds: dict[str, float]) -> Neighbourhood:
    """Expand hop by hop, following the entities with the best way to them; then rank all that was met."""
    request = run.request
    reached, frontier = dict(seeds), dict(seeds)
    edges: dict[str, Edge] = {}
    with run.ledger.stage("traverse") as stage:
        for _ in range(request.graph_depth):
            followed = best_first(frontier)[:FRONTIER]
            if len(followed) < len(frontier):
                run.ledger.degrade(f"local: a hop followed {FRONTIER} of {len(frontier)} entities (safety cap)")
            found = run.snapshot.edges_of(
                followed,
                per_node_limit=request.per_node_limit,
                limit=TRAVERSED,
                predicates=run.predicates,
                direction=request.direction,
            )
            if len(found) == TRAVERSED:
                run.ledger.degrade(f"local: a hop was cut at {TRAVERSED} assertions (safety cap)")
            nearer: dict[str, float] = {}
            for edge in found:
                edges.setdefault(edge.id, edge)
                if edge.other not in reached:
                    way = frontier[edge.origin] * worth(edge.predicate, edge.confidence) * DECAY
                    nearer[edge.other] = max(nearer.get(edge.other, 0.0), way)
            reached.update(nearer)
            frontier = nearer
        edges = stage.hand_on(
            edges,
            because="no assertion leads on from the seeds",
            kind=Edge,
            check=lambda met: repeated("assertion", (edge.id for edge in met.values())),
        )
    run.ledger.count("traversed_assertions", len(edges))
    return _ranked(run, seeds, [edges[name] for name in sorted(edges)])


def _ranked(run: Run, seeds: Mapping[str, float], edges: list[Edge]) -> Neighbourhood:
    with run.ledger.stage("rank") as stage:
        links = [(edge.origin, edge.other, worth(edge.predicate, edge.confidence)) for edge in edges]
        ranks = personalised_pagerank(links, seeds)
        traffic = {edge.id: share for edge, share in zip(edges, ranks.links, strict=True)}
        named = {edge.id: edge for edge in edges}
        best = tuple((named[name], traffic[name]) for name in best_first(traffic))
        return stage.hand_on(
            Neighbourhood(entities=ranks.nodes, edges=best),
            because="there is nothing to rank",
            kind=Neighbourhood,
            count=lambda ranked: len(ranked.entities),
            check=lambda ranked: repeated("assertion", (edge.id for edge, _ in ranked.edges)),
        )


def _relationships(run: Run, found: Neighbourhood) -> tuple[Relationship, ...]:
    """The best assertions, as many as may be shown."""
    shown = found.edges[: run.request.max_relationships]
    items = run.snapshot.assertions_at(edge for edge, _ in shown)
    return tuple(replace(items[edge.id], score=round(traffic, 9)) for edge, traffic in shown)


def _near_question(run: Run, scores: dict[PassageKey, float]) -> dict[PassageKey, float]:
    """Worth of a passage's assertions times its nearness to what is asked, so that a hub does not drown it."""
    cosines = run.snapshot.similarities([run.asked.vector], list(scores))
    return {key: scores[key] * max(0.0, cosines[key][0]) for key in scores if key in cosines}
