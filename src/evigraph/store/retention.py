"""Physical removal of revisions, and of what else holds their text."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from evigraph.errors import StoreError
from evigraph.store import conversations, knowledge_bases
from evigraph.store.keys import revision_key
from evigraph.store.merging import forget_names, merges_to_rewrite
from evigraph.store.migrations import REVISION_TABLES
from evigraph.store.store import Store
from evigraph.store.trees import doomed_rows

REMOVED_AT_ONCE = 1_000
VANISH_SECONDS = 120
ABANDONED_AFTER = timedelta(hours=24)
"""On a shared server, rows staged later than this may be another process's that it has yet to publish."""


def superseded(store: Store, workspace: str, horizon: int) -> list[tuple[str, int]]:
    """`(document_id, revision)` of all that nobody can see at `horizon`: replaced, deleted, or never published."""
    sql = """
        SELECT document_id, revision FROM stagings
        WHERE workspace = {workspace:String}
          AND (staged_at <= {before:DateTime64(6, 'UTC')} OR (document_id, revision) IN (
            SELECT document_id, revision FROM publications
            WHERE workspace = {workspace:String} AND generation <= {horizon:UInt64}))
          AND (document_id, revision) NOT IN (
            SELECT document_id, revision FROM publications
            WHERE workspace = {workspace:String} AND generation <= {horizon:UInt64} AND NOT deleted
              AND (document_id, revision) IN (
                SELECT document_id, max(revision) FROM publications
                WHERE workspace = {workspace:String} AND generation <= {horizon:UInt64} GROUP BY document_id))
        GROUP BY document_id, revision ORDER BY document_id, revision"""
    bound = {"workspace": workspace, "horizon": horizon, "before": abandoned_before(store)}
    rows = store.rows(sql, bound)
    return [(document_id, revision) for document_id, revision in rows]


def abandoned_before(store: Store) -> datetime:
    """What was staged earlier and is not published never will be."""
    now = datetime.now(UTC)
    return now if store.connection.folder is not None else now - ABANDONED_AFTER


def remove_revisions(store: Store, workspace: str, doomed: Sequence[tuple[str, int]]) -> None:
    """Delete every row of these revisions, and wait until no part file holds them, nor what an interrupted prune
    removed."""
    # `superseded` finds revisions by their stagings: these go last, so that a later prune finishes an interrupted one.
    tables = (*(table for table in REVISION_TABLES if table != "stagings"), "publications", "stagings")
    if not doomed and not _interrupted(store, tables):
        return
    with _vanishing(store, tables):
        for table in tables:
            for first in range(0, len(doomed), REMOVED_AT_ONCE):
                _remove(store, workspace, table, doomed[first : first + REMOVED_AT_ONCE])


def remove_names(store: Store, workspace: str, horizon: int) -> None:
    """Take names that no row mentions any more out of the recorded merges, and wait until no part file holds them.

    Does what is left to do, whatever removed the rows: a prune that was cut short is completed by the next.
    """
    if not merges_to_rewrite(store, workspace, horizon) and not _interrupted(store, ("changes",)):
        return
    with _vanishing(store, ("changes",)):
        forget_names(store, workspace, horizon)


def remove_communities(store: Store, workspace: str, horizon: int) -> None:
    """Remove trees and editions that nobody can ask for at the horizon, entities that no row mentions any more, and
    texts that rest on a removed revision; wait until no part file holds them.

    Does what is left to do, whatever removed the revisions: a prune that was cut short is completed by the next.
    """
    conditions, bound = doomed_rows(store, workspace, horizon, abandoned_before(store))
    left = {
        table: where
        for table, where in conditions.items()
        if store.rows(f"SELECT count() FROM {table} WHERE {where}", bound)[0][0]
    }
    if not left and not _interrupted(store, tuple(conditions)):
        return
    with _vanishing(store, tuple(conditions)):
        for table, where in left.items():
            store.command(f"ALTER TABLE {table} DELETE WHERE {where} SETTINGS mutations_sync = 2", bound)


def remove_conversations(store: Store, workspace: str) -> None:
    """Remove deleted conversations, and of the others what rests on a removed revision; wait until no part file holds
    them.

    Does what is left to do, whatever removed the revisions: a prune that was cut short is completed by the next.
    """
    _carry_out(store, workspace, conversations.removals(), conversations.TABLES)


def remove_bases(store: Store, workspace: str) -> None:
    """Remove names and descriptions of knowledge bases and pipelines that were deleted or renamed; wait until no part
    file holds them."""
    _carry_out(store, workspace, knowledge_bases.removals(), knowledge_bases.TABLES)


def _carry_out(store: Store, workspace: str, removals: Sequence[tuple[str, str, str]], tables: Sequence[str]) -> None:
    bound = {"workspace": workspace}
    left = any(store.rows(f"SELECT count() FROM {table} WHERE {where}", bound)[0][0] for table, _, where in removals)
    if not left and not _interrupted(store, tables):
        return
    with _vanishing(store, tables):
        for table, action, where in removals:
            store.command(f"ALTER TABLE {table} {action} WHERE {where} SETTINGS mutations_sync = 2", bound)


@contextlib.contextmanager
def _vanishing(store: Store, tables: Sequence[str]) -> Iterator[None]:
    """Have the engine drop old parts of these tables at once, and wait until they are gone."""
    try:
        for table in tables:
            store.command(f"ALTER TABLE {table} MODIFY SETTING old_parts_lifetime = 0")
        yield
        _wait_until_vanished(store, tables)
    finally:
        for table in tables:
            store.command(f"ALTER TABLE {table} RESET SETTING old_parts_lifetime")


def _remove(store: Store, workspace: str, table: str, doomed: Sequence[tuple[str, int]]) -> None:
    # A tombstone stays: it keeps revision numbers rising, and holds no text.
    kept = "AND NOT deleted" if table == "publications" else ""
    store.command(
        f"ALTER TABLE {table} DELETE WHERE workspace = {{workspace:String}} {kept}"
        " AND revision_key IN {keys:Array(UInt128)} SETTINGS mutations_sync = 2",
        {"workspace": workspace, "keys": [revision_key(*revision) for revision in doomed]},
    )


def _interrupted(store: Store, tables: Sequence[str]) -> bool:
    """Whether a removal never came to its end, so that part files may hold what it removed: its setting stands."""
    sql = """
        SELECT count() FROM system.tables
        WHERE database = currentDatabase() AND name IN {tables:Array(String)}
          AND create_table_query LIKE '%old_parts_lifetime%'"""
    return bool(store.rows(sql, {"tables": list(tables)})[0][0])


def _wait_until_vanished(store: Store, tables: Sequence[str]) -> None:
    """The engine keeps the old parts a while after a mutation; the text is gone only when they are."""
    sql = """
        SELECT count() FROM system.parts
        WHERE NOT active AND database = currentDatabase() AND table IN {tables:Array(String)}"""
    deadline = time.monotonic() + VANISH_SECONDS
    while store.rows(sql, {"tables": list(tables)})[0][0]:
        if time.monotonic() > deadline:
            raise StoreError(
                f"superseded rows are deleted, but the engine still holds old part files after {VANISH_SECONDS} s",
                hint="run `evigraph prune` again later",
            )
        time.sleep(0.25)
