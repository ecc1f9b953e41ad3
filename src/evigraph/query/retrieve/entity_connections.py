"""`entity_connections`: BM25 and dense passages by reciprocal rank → their entities → all relationships of those.

Direct relationships are asserted by the passages shown, extended ones by others, one hop away.
"""

from __future__ import annotations

from evigraph.query.fusion import rrf
from evigraph.query.ledger import repeated
from evigraph.query.retrieve.arms import Board, dense_arm, entities_in, lexical_arm, ordered
from evigraph.query.run import Retrieved, Run
from evigraph.types import Connections


def retrieve(run: Run) -> Retrieved:
    request = run.request
    board: Board = {}
    dense = dense_arm(run, board)
    fused = rrf([(1.0, dense), (1.0, lexical_arm(run, board))])
    for key, score in fused.items():
        board[key].fused = score
    passages = ordered(board, fused)
    top = [key for key, _ in passages[: request.max_chunks]]
    entities = entities_in(run, top)
    with run.ledger.stage("connections") as stage:
        found = run.snapshot.connections_of(
            [name for name, _ in entities[: request.max_entities]],
            top,
            limit=request.max_relationships,
            predicates=run.predicates,
            direction=request.direction,
        )
        items = run.snapshot.assertions_at([*found.direct, *found.extended])
        connections = stage.hand_on(
            Connections(
                direct=tuple(items[edge.id] for edge in found.direct),
                extended=tuple(items[edge.id] for edge in found.extended),
                total=found.total,
            ),
            because="no assertion speaks of the entities found",
            kind=Connections,
            count=lambda made: len(made.direct) + len(made.extended),
            check=lambda made: repeated("relationship", (item.id for item in (*made.direct, *made.extended))),
        )
    direct, extended = connections.direct, connections.extended
    run.ledger.count("direct_relationships_found", found.total_direct)
    run.ledger.count("direct_relationships", len(direct))
    run.ledger.count("extended_relationships_found", found.total - found.total_direct)
    run.ledger.count("extended_relationships", len(extended))
    return Retrieved(
        passages=passages,
        entities=tuple(entities),
        relationships=(*direct, *extended),
        relationships_found=found.total,
        connections=connections,
        retrieval="bm25+vector+connections",
    )
