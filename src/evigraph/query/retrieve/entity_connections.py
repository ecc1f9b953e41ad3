"""`entity_connections`: BM25 and dense passages by reciprocal rank → their entities → all relationships of those.

Direct relationships are asserted by the passages shown, extended ones by others, one hop away.
"""

from __future__ import annotations

from evigraph.query.ledger import repeated
from evigraph.query.retrieve import keyword_lookup
from evigraph.query.retrieve.arms import Ranking, entities_in
from evigraph.query.retrieve.keyword_lookup import rank
from evigraph.query.run import Retrieved, Run
from evigraph.types import Connections


def retrieve(run: Run) -> Retrieved:
    # In one of several embedding spaces: relationships are sought in all of them, once passages are ranked.
    return around(run, rank(run)) if run.space is None else keyword_lookup.around(run, rank(run))


def around(run: Run, passages: Ranking) -> Retrieved:
    """Ranked passages with the entities of the best, and all relationships of those."""
    request = run.request
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
