"""Scopes worked out once and kept by the engine as sets, for all statements of a generation to share.

Some twenty statements a query each ask which revisions are visible. A subquery would be worked out in each of them, in
time that grows with the corpus; a table of the engine `Set` holds the keys in memory, hashed, and costs a statement
nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Hashable, Iterator

from evigraph.errors import StoreError
from evigraph.store.database import Database
from evigraph.store.shared import HeldSet
from evigraph.store.visibility import Kept, Scope, counts_of

Keep = Callable[[Scope], Scope]
"""The same scope, kept as a set where that can be."""

KEPT = 8
"""Sets that stay when nobody uses them, the last ones used; each takes some 50 bytes a document. With 0 every scope
stays a subquery."""

_TABLE = re.compile(r"visible_[0-9a-f]{16}")


class KeptScopes:
    """The sets of an embedded store, shared by all engines of this process. Thread safe.

    On a server, other processes and replicas answer from the same database, and one's set is not another's: there every
    scope stays a subquery.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = database.connection.shared.keeping
        self._sets = database.connection.shared.sets
        self._salt = database.connection.shared.salt

    @contextlib.contextmanager
    def lease(self) -> Iterator[Keep]:
        """What keeps scopes; the sets it hands out stay until the end."""
        leased: set[Hashable] = set()

        def keep(scope: Scope) -> Scope:
            if self._database.connection.folder is None or not KEPT:
                return scope
            key = scope.identity
            with self._guard:
                found = self._sets.pop(key, None) or self._made(key, scope)
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
        """Drop what an earlier process left."""
        sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Set' ORDER BY name"
        with self._guard:
            ours = {held.kept.table for held in self._sets.values()}
            for (table,) in self._database.rows(sql, {}):
                if _TABLE.fullmatch(table) and table not in ours:
                    self._drop(table)

    def close(self) -> None:
        """Drop every set that nobody uses. Other engines make theirs anew."""
        with self._guard:
            self._forget(0)

    def _made(self, key: Hashable, scope: Scope) -> HeldSet:
        table = f"visible_{hashlib.sha256(f'{self._salt}{key}'.encode()).hexdigest()[:16]}"
        # What an interrupt left of it holds keys of this scope, if any.
        made = f"CREATE TABLE IF NOT EXISTS {table} (revision_key UInt128) ENGINE = Set SETTINGS persistent = 0"
        self._database.command(made)
        try:
            self._database.command(f"INSERT INTO {table} {scope.revisions}", scope.parameters)
            counts = counts_of(self._database.rows(scope.size, scope.parameters)[0])
        except BaseException:  # an interrupt, too, leaves no set that nobody knows
            self._drop(table)
            raise
        return HeldSet(Kept(table=table, counts=counts))

    def _forget(self, most: int) -> None:
        """Drop the sets that nobody uses but the last `most`. One that cannot be dropped now, as when this engine was
        closed meanwhile, is dropped by the next lease of another engine, or when the store is next opened."""
        idle = [key for key, held in self._sets.items() if not held.users]
        for key in idle[: max(0, len(idle) - most)]:
            if self._drop(self._sets[key].kept.table):
                del self._sets[key]

    def _drop(self, table: str) -> bool:
        try:
            self._database.command(f"DROP TABLE IF EXISTS {table} SYNC")
        except StoreError:
            return False
        return True
