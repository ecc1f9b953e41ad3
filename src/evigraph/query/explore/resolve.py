"""From what a caller writes to an entity in scope."""

from __future__ import annotations

from collections.abc import Sequence

from evigraph.errors import AmbiguousEntity, InvalidValue, NotFound
from evigraph.query.checks import check_text
from evigraph.store import Snapshot
from evigraph.text.names import entity_id, name_key

MAX_CHARS = 2_000
NEAR = 5
"""Names that an error suggests."""
STEM = 3
"""First letters of a word by which a misspelt name is looked for."""


def resolve(snapshot: Snapshot, given: str, *, asserted: bool = True) -> str:
    """The entity as extracted (merged or not) behind an id, or behind a name that one entity alone has.

    Names are those of mentions; an id may also be of an entity that only assertions name, with `asserted`. Raises
    `NotFound` with near names, `AmbiguousEntity`, or `InvalidValue` for a text that can be neither.
    """
    _check(given)
    if snapshot.mentioned([given]) or (asserted and snapshot.entity_labels([given])):
        return given
    key = name_key(given)
    named = snapshot.entity_ids([key]).get(key, []) if key else []
    return _only(snapshot, given, sorted({snapshot.identities.of(entity_id) for entity_id, _ in named}))


def resolve_past(snapshot: Snapshot, given: str) -> tuple[str, str, str]:
    """Representative, name and type of the entity behind an id or name that some published, unpruned revision uses.

    Raises as `resolve` does; what it suggests is visible.
    """
    _check(given)
    found = snapshot.past_entity(given)
    if found is None:
        key = name_key(given)
        found = snapshot.past_entity(_only(snapshot, given, snapshot.past_named(key) if key else []))
    assert found is not None
    return found


def _check(given: str) -> None:
    if not isinstance(given, str) or not given.strip() or len(given) > MAX_CHARS:
        raise InvalidValue("an entity is named by its id or name", hint="for example `person:hana sefu`")
    check_text("the entity", given)


def _only(snapshot: Snapshot, given: str, found: Sequence[str]) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousEntity(f"{len(found)} entities are named {_shown(given)}", hint=f"say which: {_listed(found)}")
    near = _near(snapshot, given)
    hint = f"near: {_listed(near)}" if near else "search for a part of its name, or widen the filters"
    raise NotFound(f"nothing in scope mentions an entity {_shown(given)}", hint=hint)


def _near(snapshot: Snapshot, given: str) -> list[str]:
    key = name_key(given.rpartition(":")[2])
    if key and ":" not in given:
        asserted = snapshot.entity_labels([entity_id(key, kind) for kind, _ in snapshot.type_counts()])
        if asserted:
            return sorted(asserted)
    words = key.split()
    for tried in (words, [word[:STEM] for word in words]):
        found, _ = snapshot.search_entities(tried, type=None, limit=NEAR, offset=0) if tried else ([], 0)
        if found:
            return [near for near, _ in found]
    return []


def _listed(entity_ids: Sequence[str]) -> str:
    listed = ", ".join(entity_ids[:NEAR])
    return listed if len(entity_ids) <= NEAR else f"{listed}, and {len(entity_ids) - NEAR} more"


def _shown(given: str) -> str:
    return repr(given if len(given) <= 80 else f"{given[:77]}...")
