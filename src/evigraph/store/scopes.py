"""Scopes worked out once and kept by the engine as sets, for all statements of a generation to share.

Some twenty statements a query each ask which revisions are visible. A subquery would be worked out in each of them, in
time that grows with the corpus; a table of the engine `Set` holds the keys in memory, hashed, and costs a statement
nothing.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from evigraph.errors import StoreError
from evigraph.store.database import Database
from evigraph.store.visibility import Kept, Scope, counts_of

Keep = Callable[[Scope], Scope]
"""The same scope, kept as a set where that can be."""

KEPT = 8
"""Sets that stay when nobody uses them, the last ones used; each takes some 50 bytes a document. With 0 every scope
stays a subquery."""

_TABLE = re.compile(r"visible_[0-9a-f]{16}")


@dataclass
class _Held:
    kept: Kept
    users: int = 0


class KeptScopes:
    """The sets of one embedded store. Thread safe.

    On a server, other processes and replicas answer from the same database, and one's set is not another's: there every
    scope stays a subquery.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._sets: dict[Hashable, _Held] = {}  # the one used last comes last

    @contextlib.contextmanager
    def lease(self) -> Iterator[Keep]:
        """What keeps scopes; the sets it hands out stay until the end."""
        leased: set[Hashable] = set()

        def keep(scope: Scope) -> Scope:
            if self._database.connection.folder is None or not KEPT:
                return scope
            key = _key(scope)
            with self._guard:
                found = self._sets.pop(key, None) or self._made(scope)
                self._sets[key] = found
                if key not in leased:
                    leased.add(key)
                    found.users += 1
            return scope.kept_as(found.kept)

        try:
            yield keep
        finally:
            with self._guard:
                for key in leased:
                    self._sets[key].users -= 1
                self._forget(KEPT)

    def sweep(self) -> None:
        """Drop what an earlier process left. Only for who holds the store alone."""
        sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Set' ORDER BY name"
        for (table,) in self._database.rows(sql, {}):
            if _TABLE.fullmatch(table):
                self._drop(table)

    def close(self) -> None:
        """Drop every set that nobody uses."""
        with self._guard:
            self._forget(0)

    def _made(self, scope: Scope) -> _Held:
        table = f"visible_{secrets.token_hex(8)}"
        self._database.command(f"CREATE TABLE {table} (revision_key UInt128) ENGINE = Set SETTINGS persistent = 0")
        try:
            self._database.command(f"INSERT INTO {table} {scope.revisions}", scope.parameters)
            counts = counts_of(self._database.rows(scope.size, scope.parameters)[0])
        except StoreError:
            self._drop(table)
            raise
        return _Held(Kept(table=table, counts=counts))

    def _forget(self, most: int) -> None:
        """Drop the sets that nobody uses but the last `most`."""
        idle = [key for key, kept in self._sets.items() if not kept.users]
        for key in idle[: max(0, len(idle) - most)]:
            self._drop(self._sets.pop(key).kept.table)

    def _drop(self, table: str) -> None:
        # What cannot be dropped now, as when the store was closed meanwhile, goes when the store is next opened.
        with contextlib.suppress(StoreError):
            self._database.command(f"DROP TABLE IF EXISTS {table} SYNC")


def _key(scope: Scope) -> Hashable:
    """What a scope is worked out from."""
    metadata = tuple(sorted((scope.metadata_filter or {}).items()))
    return scope.workspace, scope.generation, scope.document_filter, metadata, scope.space
