"""From ranked keys to evidence: fetch, cut to the limits, and fit the token budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from evigraph.query.ledger import Stage
from evigraph.query.run import Run, Signals
from evigraph.query.strategy import candidates
from evigraph.store.keys import PassageKey
from evigraph.store.rows import EntityProfile
from evigraph.types import Chunk, Entity, QueryRequest, Relationship

PASSAGE_SHARE = 0.4
"""Share of the token budget that entities and relationships may never take from passages."""
ENTITY_SHARE = 0.2
CHARS_PER_TOKEN = 4
"""Estimate for lines that were never tokenised."""
SOURCE_CHUNKS = 20
"""Chunk ids listed per entity."""

Item = TypeVar("Item")


def assemble(run: Run) -> None:
    """Leave chunks, entities and relationships in the run, cut to the request's limits, counts before and after."""
    found, request = run.retrieved, run.request
    given = len(found.passages) + len(found.summaries)
    with run.ledger.stage("assemble", given=given, of="passages") as stage:
        wanted = candidates(request)
        ranked = found.entities[: request.max_entities]
        with run.snapshot.beside(lambda: run.snapshot.profiles([entity_id for entity_id, _ in ranked])) as profiles:
            chunks = _chunks(run, found.passages[:wanted])
            run.entities, unseen = _entities(run, ranked, profiles())
        chunks += list(found.summaries[: request.max_chunks])
        limit = f"max_chunks {wanted}" if wanted == request.max_chunks else f"the {wanted} candidates of the reranker"
        beyond = max(0, len(found.passages) - wanted) + max(0, len(found.summaries) - request.max_chunks)
        stage.lose(beyond, f"beyond {limit}")
        run.chunks = stage.hand_on(chunks, kind=Chunk, most=wanted + request.max_chunks)
        run.relationships = list(found.relationships[: request.max_relationships])
        _account_for_facts(run, stage, unseen)
        run.ledger.count("chunks_found", given)
        run.ledger.count("entities_found", len(found.entities))
        total = found.relationships_found
        run.ledger.count("unverified_relationships", sum(not item.verified for item in run.relationships))
        run.ledger.count("relationships_found", len(found.relationships) if total is None else total)


def _account_for_facts(run: Run, stage: Stage, unseen: int) -> None:
    """Say what became of the entities and relationships that were found."""
    found, request = run.retrieved, run.request
    beyond = {
        f"beyond max_entities {request.max_entities}": len(found.entities) - request.max_entities,
        "no passage in scope mentions them": unseen,
    }
    stage.beside("entities", given=len(found.entities), out=len(run.entities), lost=beyond)
    beyond = {
        f"beyond max_relationships {request.max_relationships}": len(found.relationships) - request.max_relationships
    }
    stage.beside("relationships", given=len(found.relationships), out=len(run.relationships), lost=beyond)


def passage_budget(request: QueryRequest) -> int:
    """Tokens that passages get if they want them, whatever the facts take."""
    return request.max_context_tokens - int(request.max_context_tokens * ENTITY_SHARE)


def fit_budget(run: Run) -> None:
    """Cut to `max_context_tokens`. Passages keep at least 40 %; facts get what they leave, and 20 % in any case.

    The best passage is kept whatever its size.
    """
    with run.ledger.stage("budget", given=len(run.chunks), of="chunks") as stage:
        before = [len(part) for part in (run.chunks, run.entities, run.relationships)]
        budget = run.request.max_context_tokens
        wanted = sum(chunk.token_count for chunk in run.chunks)
        # Passages come first: facts get what passages leave free, but never more than the passages' share allows.
        facts = min(max(budget - wanted, int(budget * ENTITY_SHARE)), int(budget * (1 - PASSAGE_SHARE)))
        run.entities, entity_tokens = _prefix(run.entities, _entity_tokens, min(facts, int(budget * ENTITY_SHARE)))
        run.relationships, fact_tokens = _prefix(run.relationships, _relationship_tokens, facts - entity_tokens)
        kept, passage_tokens = _prefix(
            run.chunks, lambda chunk: chunk.token_count, budget - entity_tokens - fact_tokens, at_least=1
        )
        stage.lose(len(run.chunks) - len(kept), f"beyond max_context_tokens {budget}")
        run.chunks = stage.hand_on(kept, kind=Chunk, most=len(run.chunks))
        beyond = f"beyond their share of max_context_tokens {budget}"
        for kind, given, out in (
            ("entities", before[1], len(run.entities)),
            ("relationships", before[2], len(run.relationships)),
        ):
            stage.beside(kind, given=given, out=out, lost={beyond: given - out})
    count = run.ledger.count
    count("chunks", len(run.chunks))
    count("entities", len(run.entities))
    count("relationships", len(run.relationships))
    count("context_tokens", entity_tokens + fact_tokens + passage_tokens)
    count("context_truncated", before != [len(part) for part in (run.chunks, run.entities, run.relationships)])


def _chunks(run: Run, ranked: tuple[tuple[PassageKey, Signals], ...]) -> list[Chunk]:
    fetched = run.snapshot.chunks([key for key, _ in ranked])
    return [
        replace(
            fetched[key],
            # Cosines lie in [-1, 1]; the API promises 0-1.
            vector_score=_rounded(None if signals.vector_score is None else min(1.0, max(0.0, signals.vector_score))),
            vector_rank=signals.vector_rank,
            bm25_score=_rounded(signals.bm25_score),
            bm25_rank=signals.bm25_rank,
            graph_score=_rounded(signals.graph_score),
            graph_rank=signals.graph_rank,
            fused_score=_rounded(signals.fused),
            score=_rounded(signals.score) or 0.0,
        )
        for key, signals in ranked
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def _entities(
    run: Run, ranked: tuple[tuple[str, float | None], ...], profiles: Mapping[str, EntityProfile]
) -> tuple[list[Entity], int]:
    """The entities, and how many have no profile in scope."""
    listed = {key for profile in profiles.values() for key in profile.passages[:SOURCE_CHUNKS]}
    ids = run.snapshot.chunk_ids(sorted(listed))
    entities = [
        Entity(
            id=entity_id,
            name=profiles[entity_id].name,
            type=profiles[entity_id].type,
            description=describe(profiles[entity_id]),
            degree=profiles[entity_id].degree,
            source_chunks=tuple(ids[key] for key in profiles[entity_id].passages[:SOURCE_CHUNKS]),
            score=score,
        )
        for entity_id, score in ranked
        if entity_id in profiles
    ]
    return entities, sum(entity_id not in profiles for entity_id, _ in ranked)


def describe(profile: EntityProfile) -> str:
    """What a visible passage says of the entity, and how that was extracted."""
    count = f"{profile.passage_count} passage{'s' if profile.passage_count != 1 else ''}"
    said = profile.description or f"Mentioned in {count}."
    return f"{said} (extracted by {profile.extractor or 'unknown'}, confidence {profile.confidence:.2f}; in {count})"


def entity_line(entity: Entity) -> str:
    """An entity as a line of the context."""
    return f"- {entity.name} ({entity.type}): {entity.description}"


def relationship_line(item: Relationship) -> str:
    """A relationship as a line of the context."""
    return f"- {item.source_name} -[{item.type}]-> {item.target_name}: {item.description}"


def _entity_tokens(entity: Entity) -> int:
    return len(entity_line(entity)) // CHARS_PER_TOKEN + 1


def _relationship_tokens(item: Relationship) -> int:
    return len(relationship_line(item)) // CHARS_PER_TOKEN + 1


def _prefix(
    items: Sequence[Item], cost: Callable[[Item], int], budget: int, *, at_least: int = 0
) -> tuple[list[Item], int]:
    """The longest prefix within a budget, and its cost."""
    kept: list[Item] = []
    used = 0
    for item in items:
        if len(kept) >= at_least and used + cost(item) > budget:
            break
        kept.append(item)
        used += cost(item)
    return kept, used
