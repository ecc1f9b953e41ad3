"""Contradictions with everything that is said on each side."""

from __future__ import annotations

from evigraph.graph.contradictions import Claim, Conflict, contradictions, read_predicates
from evigraph.store import Snapshot
from evigraph.views import Contradiction, ContradictionKind, ContradictionList, Side, Statement

PAIRS = 2_000
"""Pairs of subject and predicate that are compared at most."""
SIDES = 10
STATEMENTS = 20
"""Sides shown of a contradiction, and assertions of a side."""


def contradictions_of(
    snapshot: Snapshot, entity_id: str | None, *, kind: ContradictionKind | None, limit: int, offset: int
) -> ContradictionList:
    """Contradictions in scope; only those whose subject, or one of whose objects, is `entity_id`, where given."""
    schema = snapshot.state.schema
    readings = read_predicates(snapshot.predicates(), schema)
    rows, more = snapshot.rival_claims(
        {written: (reading.predicate, reading.negated) for written, reading in readings.items()},
        functional=sorted({reading.predicate for reading in readings.values() if reading.functional}),
        any_predicate=schema is None,
        entity_ids=None if entity_id is None else [entity_id],
        limit=PAIRS,
    )
    claims = [
        Claim(
            assertion_id=row.assertion_id,
            document=row.document_id,
            subject=row.subject,
            predicate=row.predicate,
            negated=row.negated,
            object=row.object,
            object_type=row.object_type,
        )
        for row in rows
    ]
    found = [
        conflict
        for conflict in contradictions(claims, schema)
        if kind in (None, conflict.kind) and (entity_id is None or entity_id in _entities(conflict))
    ]
    page = found[offset : offset + limit]
    cited = [claim.assertion_id for one in page for side in one.sides[:SIDES] for claim in side[:STATEMENTS]]
    statements = snapshot.statements_named(cited, [one.subject for one in page])
    truncated = []
    if more:
        hint = "; ask for one entity" if entity_id is None else ""
        truncated.append(f"not all claims were compared: there may be more than {len(found)} contradictions{hint}")
    if any(len(one.sides) > SIDES or any(len(side) > STATEMENTS for side in one.sides) for one in page):
        truncated.append(f"at most {SIDES} sides, and {STATEMENTS} assertions of each, are shown of a contradiction")
    return ContradictionList(
        generation=snapshot.generation,
        total=len(found),
        contradictions=tuple(_shown(conflict, statements) for conflict in page),
        truncated=tuple(truncated),
    )


def _entities(conflict: Conflict) -> set[str]:
    return {conflict.subject, *(side[0].object for side in conflict.sides)}


def _shown(conflict: Conflict, statements: dict[str, Statement]) -> Contradiction:
    sides = []
    for claims in conflict.sides[:SIDES]:
        said = sorted(
            (statements[claim.assertion_id] for claim in claims[:STATEMENTS]),
            key=lambda one: (one.date is None, one.date, one.document_id, one.chunk_id, one.start, one.id),
        )
        sides.append(
            Side(
                predicate=said[0].predicate,
                object=said[0].object,
                object_name=said[0].object_name,
                statements=tuple(said),
            )
        )
    return Contradiction(
        kind=conflict.kind,
        subject=conflict.subject,
        subject_name=sides[0].statements[0].subject_name,
        predicate=conflict.predicate,
        sides=tuple(sides),
    )
