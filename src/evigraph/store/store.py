"""Opening a store, and every write: stage, publish, delete, jobs, the embedding model in force."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evigraph.errors import BeforePruneHorizon, ConcurrentWrite, EmbedderMismatch, NotFound
from evigraph.store import merging
from evigraph.store.connect import Connection, translated
from evigraph.store.database import Database
from evigraph.store.deletion import delete_documents
from evigraph.store.helpers import Helpers
from evigraph.store.keys import revision_key
from evigraph.store.migrations import migrate
from evigraph.store.reading import Means
from evigraph.store.rowcache import DEFAULT_BYTES, LEAST_BYTES, RowCache
from evigraph.store.rows import KnownRevision, Publication, StagedPassages, utc
from evigraph.store.scopes import KeptScopes
from evigraph.store.shared import Memory
from evigraph.store.snapshot import Snapshot
from evigraph.store.staging import insert_staged
from evigraph.store.state import STATE_KINDS, WorkspaceState, fold
from evigraph.store.visibility import Scope
from evigraph.text.analysis import forget_words
from evigraph.types import DocumentFilter, DocumentInfo, RevisionInfo
from evigraph.views import Merge

STATES_KEPT = 32


def open_store(dsn: str | None = None, *, client: Any = None, cache_bytes: int = DEFAULT_BYTES) -> Store:
    """Open a store by DSN or folder, or around a caller's `clickhouse-connect` client; migrate it if it is older.
    `cache_bytes` bounds the memory for rows read before, which all engines on one embedded store share: the last one
    opened decides; less than `LEAST_BYTES` counts as none."""
    connection = Connection(dsn, client=client)
    try:
        with connection.opening() as alone:
            with translated():
                migrate(connection.client, alone=alone)
            store = Store(connection)
            connection.shared.cache.resize(cache_bytes)
            if alone:
                store.fail_interrupted_jobs()
                store.scopes.sweep()
    except BaseException:
        connection.close()
        raise
    return store


class Store(Database):
    """All workspaces of one database. Thread safe; one process writes a workspace at a time."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.writing = connection.shared.writing
        """Held by whoever changes what is visible, so that generations stay in order."""
        self._maintaining = connection.shared.maintaining
        self._generations = connection.shared.generations
        self._pins = connection.shared.pins
        self.scopes = KeptScopes(self)
        self.helpers = Helpers(0) if connection.shares_client else Helpers()
        self._states = connection.shared.states

    def close(self) -> None:
        self.helpers.close()
        self.scopes.close()
        super().close()

    @contextlib.contextmanager
    def maintenance(self) -> Iterator[None]:
        """One index, prune or reembed run at a time; queries and deletions go on beside it."""
        with self._maintaining:
            yield

    # ---------------------------------------------------------------- generations

    def generation(self, workspace: str) -> int:
        """The newest generation of a workspace; 0 for one that nothing was ever published in."""
        known = self._generations.get(workspace)
        if known is not None:
            return known
        # What is read while somebody writes may be of before.
        undisturbed = self.connection.folder is not None and self.writing.acquire(blocking=False)
        try:
            newest = self._newest(workspace)
            if undisturbed:
                self._generations[workspace] = newest
        finally:
            if undisturbed:
                self.writing.release()
        return newest

    def _newest(self, workspace: str) -> int:
        sql = """
            SELECT greatest(
                (SELECT max(generation) FROM publications WHERE workspace = {workspace:String}),
                (SELECT max(generation) FROM changes WHERE workspace = {workspace:String}))"""
        return int(self.rows(sql, {"workspace": workspace})[0][0])

    def generation_at(self, workspace: str, moment: int | datetime) -> int:
        """Resolve `as_of`: a generation, or the newest one published at or before a timestamp (naive means UTC)."""
        horizon = self.prune_horizon(workspace)
        newest = self.generation(workspace)
        if isinstance(moment, datetime):
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            sql = """
                SELECT greatest(
                    (SELECT max(generation) FROM publications
                     WHERE workspace = {workspace:String} AND published_at <= {moment:DateTime64(6, 'UTC')}),
                    (SELECT max(generation) FROM changes
                     WHERE workspace = {workspace:String} AND at <= {moment:DateTime64(6, 'UTC')}))"""
            resolved = int(self.rows(sql, {"workspace": workspace, "moment": moment.astimezone(UTC)})[0][0])
        else:
            resolved = min(moment, newest)
        if resolved < horizon:
            raise BeforePruneHorizon(
                f"generation {resolved} lies before generation {horizon}, up to which superseded text was pruned",
                hint=f"ask for generation {horizon} or later",
            )
        return resolved

    def prune_horizon(self, workspace: str) -> int:
        sql = "SELECT max(generation) FROM changes WHERE workspace = {workspace:String} AND kind = 'prune'"
        return int(self.rows(sql, {"workspace": workspace})[0][0])

    @contextlib.contextmanager
    def snapshot(
        self,
        workspace: str,
        *,
        as_of: int | datetime | None = None,
        document_filter: DocumentFilter | None = None,
        metadata_filter: Mapping[str, str] | None = None,
    ) -> Iterator[Snapshot]:
        """Pin one generation; every statement of the snapshot reads that generation. `prune` waits for pins."""

        def resolve() -> int:
            return self.generation(workspace) if as_of is None else self.generation_at(workspace, as_of)

        self.connection.check_open()
        with self._pins.hold(workspace, resolve) as generation, self.scopes.lease() as keep:
            scope = Scope(
                workspace=workspace,
                generation=generation,
                document_filter=document_filter,
                metadata_filter=metadata_filter,
            )
            state = self.state_at(workspace, generation)
            means = Means(
                rows=self.rows, columns=self.columns, keep=keep, cache=self._row_cache(), beside=self.helpers.beside
            )
            yield Snapshot(scope, state, means)

    def remember(self, memory: Memory) -> None:
        """Have a memory of answers cleared when text is removed, whichever engine of this process removes it."""
        self.connection.shared.remember(memory)

    def forget_text(self) -> None:
        """Forget all text that this process keeps of the store: rows, answers, names of merges, and words."""
        self.connection.shared.forget()
        forget_words()

    def _row_cache(self) -> RowCache:
        """What all snapshots share, or one of its own for each where nothing is to last. Nothing does behind a server:
        another replica may not have all rows of a generation yet."""
        shared = self.connection.shared.cache
        lasts = shared.capacity >= LEAST_BYTES and self.connection.folder is not None
        return shared if lasts else RowCache(LEAST_BYTES)

    def wait_for_pins(self, workspace: str, before: int) -> None:
        """Block until no running query of this process reads a generation older than `before`. Raises `ConflictError`
        where one takes too long."""
        self._pins.wait(workspace, before)

    # ---------------------------------------------------------------- writing documents

    def known(self, workspace: str, document_ids: Sequence[str]) -> dict[str, KnownRevision]:
        """Latest publication of each given document that has one."""
        sql = """
            SELECT document_id, revision, content_hash, deleted FROM publications
            WHERE workspace = {workspace:String} AND document_id IN {ids:Array(String)}
            ORDER BY document_id, revision DESC LIMIT 1 BY document_id"""
        rows = self.rows(sql, {"workspace": workspace, "ids": list(document_ids)})
        return {row[0]: KnownRevision(revision=row[1], content_hash=row[2], deleted=row[3]) for row in rows}

    def reserve(self, workspace: str, document_ids: Sequence[str]) -> dict[str, int]:
        """Reserve the next revision number of each document, above any that was ever staged."""
        with self.writing:
            reserved = self.next_revisions(workspace, document_ids)
            now = datetime.now(UTC)
            self.insert(
                "stagings",
                ("workspace", "document_id", "revision", "revision_key", "staged_at"),
                [[workspace, name, number, revision_key(name, number), now] for name, number in reserved.items()],
            )
            return reserved

    def next_revisions(self, workspace: str, document_ids: Sequence[str]) -> dict[str, int]:
        """The next revision number of each document. Only under `writing`, since nothing is reserved."""
        sql = """
            SELECT document_id, max(revision) FROM (
                SELECT document_id, revision FROM stagings
                WHERE workspace = {workspace:String} AND document_id IN {ids:Array(String)}
                UNION ALL
                SELECT document_id, revision FROM publications
                WHERE workspace = {workspace:String} AND document_id IN {ids:Array(String)})
            GROUP BY document_id"""
        last = dict(self.rows(sql, {"workspace": workspace, "ids": list(document_ids)}))
        return {document_id: last.get(document_id, 0) + 1 for document_id in document_ids}

    def stage(self, workspace: str, model: str, batch: Sequence[StagedPassages]) -> None:
        """Write passages and all that hangs on them. Nothing of it is visible before `publish`."""
        insert_staged(self.insert, workspace, model, batch)

    def stage_text(self, workspace: str, parts: Sequence[tuple[int, int, str]]) -> None:
        """Write parts of extracted document text as `(revision_key, start, text)`."""
        self.insert(
            "document_texts",
            ("workspace", "revision_key", "start", "text"),
            [[workspace, *part] for part in parts],
        )

    def publish(self, workspace: str, publications: Sequence[Publication]) -> int:
        """Make staged revisions visible, all in one insert, each at its own generation; return the newest."""
        with self.writing:
            first = self.generation(workspace) + 1
            now = datetime.now(UTC)
            self._generations.pop(workspace, None)
            self.insert(
                "publications",
                _PUBLICATION_COLUMNS,
                [
                    _publication_row(workspace, publication, first + offset, now)
                    for offset, publication in enumerate(publications)
                ],
            )
            last = first + len(publications) - 1
            self._refuse_shared_generations(workspace, first, last)
            return last

    def delete(self, workspace: str, document_id: str) -> int:
        """Publish a revision without passages; return its generation. Raises `NotFound` if nothing is visible."""
        with self.writing:
            if not delete_documents(self, workspace, [document_id]):
                raise NotFound(f"no document {document_id!r} in workspace {workspace!r}", hint="list documents first")
            return self.generation(workspace)

    def _refuse_shared_generations(self, workspace: str, first: int, last: int) -> None:
        sql = """
            SELECT count() FROM (
                SELECT generation FROM publications WHERE workspace = {workspace:String}
                UNION ALL
                SELECT generation FROM changes WHERE workspace = {workspace:String})
            WHERE generation BETWEEN {first:UInt64} AND {last:UInt64}"""
        found = self.rows(sql, {"workspace": workspace, "first": first, "last": last})[0][0]
        if found != last - first + 1:
            raise ConcurrentWrite(
                f"another process published in workspace {workspace!r} at the same moment",
                hint="let one process (a server) write a workspace; nothing was lost, re-run to be sure of the order",
            )

    # ---------------------------------------------------------------- reading the catalogue

    def documents(self, workspace: str, *, as_of: int | datetime | None = None) -> list[DocumentInfo]:
        """Visible documents by source, then id."""
        with self.snapshot(workspace, as_of=as_of) as snapshot:
            return snapshot.documents()

    def document(self, workspace: str, document_id: str, *, as_of: int | datetime | None = None) -> DocumentInfo:
        """One visible document. Raises `NotFound`."""
        only = DocumentFilter(document_ids=(document_id,))
        with self.snapshot(workspace, as_of=as_of, document_filter=only) as snapshot:
            found = snapshot.documents()
        if not found:
            raise NotFound(f"no document {document_id!r} in workspace {workspace!r}", hint="list documents first")
        return found[0]

    def document_text(self, workspace: str, document_id: str, revision: int) -> str:
        """Extracted text of one published revision, whole. Raises `NotFound` where it was pruned or never published."""
        sql = """
            SELECT text FROM document_texts
            WHERE workspace = {workspace:String} AND revision_key IN (
                SELECT revision_key FROM publications
                WHERE workspace = {workspace:String} AND document_id = {id:String} AND revision = {revision:Int64})
            ORDER BY start"""
        parts = self.rows(sql, {"workspace": workspace, "id": document_id, "revision": revision})
        if not parts:
            raise NotFound(f"no text of {document_id!r} revision {revision}", hint="it may have been pruned")
        return "".join(part[0] for part in parts)

    def revisions(self, workspace: str, document_id: str) -> list[RevisionInfo]:
        """History of a document, oldest first. Raises `NotFound` for one never published."""
        sql = """
            SELECT document_id, revision, generation, published_at, deleted, passages, title, content_hash
            FROM publications WHERE workspace = {workspace:String} AND document_id = {id:String}
            ORDER BY revision, generation"""
        rows = self.rows(sql, {"workspace": workspace, "id": document_id})
        if not rows:
            raise NotFound(f"no document {document_id!r} in workspace {workspace!r}", hint="list documents first")
        return [
            RevisionInfo(
                document_id=row[0],
                revision=row[1],
                generation=row[2],
                published_at=utc(row[3]),
                deleted=row[4],
                passages=row[5],
                title=row[6],
                content_hash=row[7],
            )
            for row in rows
        ]

    def workspaces(self) -> list[str]:
        """Workspaces in which anything was ever published, by name."""
        return [row[0] for row in self.rows("SELECT DISTINCT workspace FROM publications ORDER BY workspace", {})]

    # ---------------------------------------------------------------- changes that are not publications

    def state_at(self, workspace: str, generation: int) -> WorkspaceState:
        """Embedding model, standing merges and schema at a generation. Kept for the newest few, since the past does
        not change."""
        key = workspace, generation
        state = self._states.get(key)
        if state is None:
            sql = """
                SELECT kind, generation, at, detail FROM changes
                WHERE workspace = {workspace:String} AND generation <= {generation:UInt64}
                  AND kind IN {kinds:Array(String)}
                ORDER BY generation"""
            bound = {"workspace": workspace, "generation": generation, "kinds": list(STATE_KINDS)}
            state = fold(self.rows(sql, bound))
            while len(self._states) >= STATES_KEPT:
                self._states.pop(next(iter(self._states), key), None)
            self._states[key] = state
        return state

    def embedder_at(self, workspace: str, generation: int) -> tuple[str, int]:
        """Name and dimension of the embedding model at a generation; `("", 0)` before the first index."""
        state = self.state_at(workspace, generation)
        return state.model, state.dimension

    def claim_embedder(self, workspace: str, model: str, dimension: int) -> None:
        """Record the embedding model of a new workspace; raises `EmbedderMismatch` for another one in an old one."""
        with self.writing:
            in_force = self.embedder_at(workspace, self.generation(workspace))
            if not in_force[0]:
                self.record_change(workspace, "embedder", {"model": model, "dimension": dimension})
            elif in_force != (model, dimension):
                raise EmbedderMismatch(in_force[0], model)

    def forget_states(self, workspace: str) -> None:
        """Read the states of a workspace anew, after its past was rewritten."""
        for key in [key for key in list(self._states) if key[0] == workspace]:
            self._states.pop(key, None)

    def merge(
        self, workspace: str, entities: Sequence[str], *, canonical: str | None = None, reason: str = ""
    ) -> Merge:
        """Record that these entities, and `canonical` with them, are one; reads show them as `canonical`, by default
        the one that most passages mention. Rewrites no assertion. Raises `InvalidValue` for fewer than two or for ones
        that are one already, `NotFound` for one that no visible passage mentions."""
        return merging.merge(self, workspace, entities, canonical, reason)

    def unmerge(self, workspace: str, merge_id: int) -> int:
        """Undo one merge, whatever came after it; return the generation. Raises `NotFound` unless it stands."""
        return merging.unmerge(self, workspace, merge_id)

    def merges(self, workspace: str, *, as_of: int | datetime | None = None) -> list[Merge]:
        """Merges that stand, oldest first, as far as visible passages mention what they join."""
        with self.snapshot(workspace, as_of=as_of) as snapshot:
            return snapshot.merges()

    def record_change(self, workspace: str, kind: str, detail: Mapping[str, Any]) -> int:
        """Append a change that is not a publication; return its generation."""
        with self.writing:
            generation = self.generation(workspace) + 1
            self._generations.pop(workspace, None)
            self.insert(
                "changes",
                ("workspace", "generation", "at", "kind", "detail"),
                [[workspace, generation, datetime.now(UTC), kind, json.dumps(detail, sort_keys=True)]],
            )
            self._refuse_shared_generations(workspace, generation, generation)
            return generation


_PUBLICATION_COLUMNS = (
    "workspace",
    "document_id",
    "revision",
    "revision_key",
    "generation",
    "published_at",
    "deleted",
    "origin",
    "source",
    "title",
    "date",
    "metadata",
    "media_type",
    "language",
    "content_hash",
    "passages",
    "terms",
)


def _publication_row(workspace: str, publication: Publication, generation: int, now: datetime) -> list[Any]:
    return [
        workspace,
        publication.document_id,
        publication.revision,
        revision_key(publication.document_id, publication.revision),
        generation,
        now,
        publication.deleted,
        publication.origin,
        publication.source,
        publication.title,
        publication.date,
        dict(publication.metadata),
        publication.media_type,
        publication.language,
        publication.content_hash,
        publication.passages,
        publication.terms,
    ]
