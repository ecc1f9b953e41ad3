"""Lists of entities, and the page of one: all derived from visible, filtered passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evigraph.query.assemble import describe
from evigraph.query.explore.claims import contradictions_of
from evigraph.store import Snapshot
from evigraph.text.names import name_key, split_entity_id
from evigraph.views import EntityHit, EntityList, EntityMerge, EntityPage, EntityTotals

NAMES = 100
SOURCES = 100
CONTRADICTIONS = 10
"""Names, source documents and contradictions shown on a page; their totals count all."""


def entity_list(snapshot: Snapshot, text: str, *, type: str | None, limit: int, offset: int) -> EntityList:
    """Entities whose names share words with `text`; all of them by degree where it is empty."""
    scores: Mapping[str, float] = {}
    if text.strip():
        words = name_key(text).split()
        ranked, total = snapshot.search_entities(words, type=type, limit=limit, offset=offset) if words else ([], 0)
        scores = dict(ranked)
        ids = list(scores)
    else:
        ids, total = snapshot.list_entities(type=type, limit=limit, offset=offset)
    return EntityList(generation=snapshot.generation, total=total, entities=hits(snapshot, ids, scores))


def hits(
    snapshot: Snapshot, entity_ids: Sequence[str], scores: Mapping[str, float] | None = None
) -> tuple[EntityHit, ...]:
    """The given representatives as a list shows them, in their order."""
    profiles, tallies = snapshot.profiles(entity_ids), snapshot.tallies(entity_ids)
    found = []
    for entity_id in entity_ids:
        profile, (mentions, documents, names) = profiles[entity_id], tallies[entity_id]
        score = (scores or {}).get(entity_id)
        found.append(
            EntityHit(
                id=entity_id,
                name=profile.name,
                type=profile.type,
                names=tuple(name for name in names if name != profile.name)[:5],
                degree=profile.degree,
                mentions=mentions,
                documents=documents,
                score=None if score is None else round(score, 6),
            )
        )
    return tuple(found)


def entity_page(snapshot: Snapshot, entity_id: str, *, limit: int, offset: int) -> EntityPage:
    """The page of a representative; `limit` and `offset` cut mentions, assertions and relationships alike."""
    profile = snapshot.known_profiles([entity_id])[entity_id]
    names, names_total = snapshot.surface_names([entity_id], limit=NAMES)
    sources, sources_total = snapshot.source_documents([entity_id], limit=SOURCES)
    mentions, mentions_total = snapshot.mention_views([entity_id], limit=limit, offset=offset)
    outgoing, outgoing_total = snapshot.statements_of([entity_id], "subject", limit=limit, offset=offset)
    incoming, incoming_total = snapshot.statements_of([entity_id], "object", limit=limit, offset=offset)
    relations, relations_total = snapshot.relations([entity_id], limit=limit, offset=offset)
    rivals = contradictions_of(snapshot, entity_id, kind=None, limit=CONTRADICTIONS, offset=0)
    return EntityPage(
        generation=snapshot.generation,
        id=entity_id,
        name=profile.name,
        type=profile.type,
        description=describe(profile),
        degree=profile.degree,
        weight=snapshot.weight([entity_id]),
        names=tuple(names),
        sources=tuple(sources),
        mentions=tuple(mentions),
        outgoing=tuple(outgoing),
        incoming=tuple(incoming),
        relationships=tuple(relations),
        contradictions=rivals.contradictions,
        merges=_merges(snapshot, entity_id),
        homographs=_homographs(snapshot, entity_id),
        totals=EntityTotals(
            names=names_total,
            sources=sources_total,
            mentions=mentions_total,
            outgoing=outgoing_total,
            incoming=incoming_total,
            relationships=relations_total,
            contradictions=rivals.total,
        ),
        truncated=rivals.truncated,
    )


def _merges(snapshot: Snapshot, entity_id: str) -> tuple[EntityMerge, ...]:
    """Merges that have a part in what the entity is, as far as the scope mentions what they join."""
    members = set(snapshot.identities.members.get(entity_id, ()))
    return tuple(
        EntityMerge(
            merge_id=merge.merge_id,
            entities=merge.entities,
            reason=merge.reason,
            merged_at=merge.merged_at,
            undo=f"evigraph graph unmerge {merge.merge_id}, or DELETE /api/v1/graph/merges/{merge.merge_id}",
        )
        for merge in snapshot.merges()
        if members.intersection(merge.entities)
    )


def _homographs(snapshot: Snapshot, entity_id: str) -> tuple[EntityHit, ...]:
    keys = sorted({split_entity_id(member)[0] for member in snapshot.identities.expand([entity_id])})
    named = snapshot.entity_ids(keys)
    others = {snapshot.identities.of(other) for key in keys for other, _ in named.get(key, ())} - {entity_id}
    return hits(snapshot, sorted(others))
