"""Merges: recording that entities are one, undoing it, and forgetting names that nothing mentions any more.

A merge is one row in `changes`, folded into the state (`state`) and applied when rows are read (`identity`); mentions
and assertions stay as their passages made them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from evigraph.errors import InvalidValue, NotFound
from evigraph.store.identity import groups, without
from evigraph.views import Merge

if TYPE_CHECKING:
    from evigraph.store.store import Store

MAX_ENTITIES = 1_000
MAX_ID = 2_000
"""Characters of an entity's id."""
MAX_REASON = 2_000


def merge(store: Store, workspace: str, entities: Sequence[str], canonical: str | None, reason: str) -> Merge:
    """See `Store.merge`."""
    named = _checked(entities, canonical, reason)
    with store.writing, store.snapshot(workspace) as snapshot:
        passages = snapshot.mentioned(named)
        missing = next((entity_id for entity_id in named if entity_id not in passages), None)
        if missing is not None:
            raise NotFound(
                f"no visible passage mentions an entity {missing!r}",
                hint="an entity's id is `type:name`, as evidence and the graph show it",
            )
        group = groups(snapshot.state.merges).get(named[0], frozenset())
        if group.issuperset(named):
            raise InvalidValue("these entities are one already", hint="list the merges; undo one to merge otherwise")
        if canonical is None:
            canonical = min(named, key=lambda entity_id: (-passages[entity_id], entity_id))
        detail = {"canonical": canonical, "entities": named, "reason": reason}
        generation = store.record_change(workspace, "merge", detail)
    return next(item for item in store.state_at(workspace, generation).merges if item.merge_id == generation)


def unmerge(store: Store, workspace: str, merge_id: int) -> int:
    """See `Store.unmerge`."""
    with store.writing:
        state = store.state_at(workspace, store.generation(workspace))
        if all(item.merge_id != merge_id for item in state.merges):
            raise NotFound(
                f"no merge {merge_id} stands in workspace {workspace!r}",
                hint="list the merges; it may have been undone already",
            )
        return store.record_change(workspace, "unmerge", {"merge_id": merge_id})


def merges_to_rewrite(store: Store, workspace: str, horizon: int) -> dict[int, Merge | None]:
    """What becomes of merges up to the horizon that name entities no row mentions any more: rewritten, or None for one
    to be dropped. What is visible at the horizon stays as it was (`identity.without`); before it nobody may ask."""
    sql = """
        SELECT generation, at, detail FROM changes
        WHERE workspace = {workspace:String} AND kind = 'merge' AND generation <= {horizon:UInt64}
        ORDER BY generation"""
    recorded = [_recorded(*row) for row in store.rows(sql, {"workspace": workspace, "horizon": horizon})]
    named = {entity_id for item in recorded for entity_id in (item.canonical, *item.entities) if entity_id}
    if not named:
        return {}
    sql = """
        SELECT DISTINCT entity_id FROM mentions
        WHERE workspace = {workspace:String} AND entity_id IN {entities:Array(String)}"""
    forgotten = named - {row[0] for row in store.rows(sql, {"workspace": workspace, "entities": sorted(named)})}
    standing = store.state_at(workspace, horizon).merges
    # One that was undone is not among them, and none of it needs to stay.
    reduced = dict(zip((item.merge_id for item in standing), without(standing, forgotten), strict=True))
    return {
        item.merge_id: reduced.get(item.merge_id)
        for item in recorded
        if forgotten.intersection((item.canonical, *item.entities))
    }


def forget_names(store: Store, workspace: str, horizon: int) -> None:
    """Rewrite the records of merges, see `merges_to_rewrite`."""
    rewritten = merges_to_rewrite(store, workspace, horizon)
    where = " WHERE workspace = {workspace:String} AND kind = 'merge' AND generation IN {merges:Array(UInt64)}"
    kept = {merge_id: _detail(item) for merge_id, item in rewritten.items() if item is not None}
    if kept:
        # One mutation: after a crash either none or all of them are rewritten.
        store.command(
            "ALTER TABLE changes UPDATE detail = transform(generation, {merges:Array(UInt64)}, {details:Array(String)},"
            f" detail){where} SETTINGS mutations_sync = 2",
            {"workspace": workspace, "merges": list(kept), "details": list(kept.values())},
        )
    dropped = [merge_id for merge_id, item in rewritten.items() if item is None]
    if dropped:
        store.command(
            f"ALTER TABLE changes DELETE{where} SETTINGS mutations_sync = 2",
            {"workspace": workspace, "merges": dropped},
        )
    store.forget_states(workspace)


def _detail(item: Merge) -> str:
    detail = {"canonical": item.canonical, "entities": list(item.entities), "reason": item.reason}
    return json.dumps(detail, sort_keys=True)


def _recorded(generation: int, at: datetime, detail: str) -> Merge:
    told = json.loads(detail)
    return Merge(
        merge_id=generation,
        canonical=told["canonical"],
        entities=tuple(told["entities"]),
        reason=told["reason"],
        merged_at=at,
    )


def _checked(entities: Sequence[str], canonical: str | None, reason: str) -> list[str]:
    """The distinct entities to merge, sorted. Raises `InvalidValue`."""
    if isinstance(entities, str) or not all(isinstance(entity_id, str) for entity_id in entities):
        raise InvalidValue("entities must be a list of entity ids", hint="write ['person:j smith', …]")
    named = sorted({*entities, *([canonical] if canonical is not None else [])})
    for value in named:
        _check_text(value, "an entity's id", MAX_ID)
    _check_text(reason, "the reason", MAX_REASON)
    if len(named) < 2:
        raise InvalidValue("a merge needs at least two distinct entities", hint="give the ids of all that are one")
    if len(named) > MAX_ENTITIES:
        raise InvalidValue(f"a merge of {len(named)} entities", hint=f"at most {MAX_ENTITIES}; merge in several steps")
    return named


def _check_text(value: object, what: str, longest: int) -> None:
    if not isinstance(value, str):
        raise InvalidValue(f"{what} must be text", hint="give a string")
    if len(value) > longest:
        raise InvalidValue(f"{what} has {len(value)} characters", hint=f"at most {longest}")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidValue(f"{what} holds a NUL or half a surrogate pair", hint="send valid Unicode text")
