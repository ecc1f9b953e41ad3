"""Knowledge bases: their states, and which of them a document's revision was published in.

Deleting inserts one row: from then on no statement finds the base, and `prune` removes its rows for good. A base's
documents are those whose visible revision was published in it, so whatever ends a revision ends its membership.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evigraph.errors import NameTaken, NotFound, NotSupported
from evigraph.store.deletion import delete_documents
from evigraph.store.keys import revision_key
from evigraph.store.reading import Reading
from evigraph.store.rows import utc

if TYPE_CHECKING:
    from evigraph.store.store import Store

_IN_FORCE = """
    SELECT * FROM knowledge_bases WHERE workspace = {workspace:String}
    ORDER BY base_id, version DESC LIMIT 1 BY base_id"""

_COLUMNS = (
    "workspace",
    "base_id",
    "version",
    "name",
    "description",
    "llm_model",
    "deleted",
    "created_at",
    "at",
    "embedding_model",
    "embedding_dimension",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseRow:
    """A knowledge base that stands; `version` is the row in force, `llm_model` "" for none. `embedding_model` is ""
    where it is the workspace's, whichever that is; one of the base's own never changes."""

    base_id: str
    version: int
    name: str
    description: str
    llm_model: str
    created_at: datetime
    at: datetime
    embedding_model: str = ""
    embedding_dimension: int = 0


class BaseReading(Reading):
    """Knowledge bases in a snapshot."""

    def base_counts(self) -> dict[str, tuple[int, int]]:
        """Visible documents and passages of each base that has any."""
        sql = f"""
            SELECT base_id, count(), sum(passages) FROM (
                SELECT base_id, passages FROM (SELECT revision_key, passages FROM {self._asked.documents}) AS seen
                INNER JOIN (
                    SELECT DISTINCT revision_key, base_id FROM knowledge_base_documents
                    WHERE workspace = {{workspace:String}}) AS held
                ON seen.revision_key = held.revision_key)
            GROUP BY base_id"""
        return {row[0]: (row[1], row[2]) for row in self._run(sql, self._asked.parameters)}


def standing_bases(store: Store, workspace: str) -> list[BaseRow]:
    """Every base, by name."""
    sql = f"""
        SELECT base_id, version, name, description, llm_model, created_at, at, embedding_model, embedding_dimension
        FROM ({_IN_FORCE})
        WHERE NOT deleted ORDER BY name, base_id"""
    return [
        BaseRow(
            base_id=row[0],
            version=row[1],
            name=row[2],
            description=row[3],
            llm_model=row[4],
            created_at=utc(row[5]),
            at=utc(row[6]),
            embedding_model=row[7],
            embedding_dimension=row[8],
        )
        for row in store.rows(sql, {"workspace": workspace})
    ]


def get_base(store: Store, workspace: str, base_id: str) -> BaseRow:
    """One that stands. Raises `NotFound`."""
    for base in standing_bases(store, workspace):
        if base.base_id == base_id:
            return base
    raise NotFound(f"no knowledge base {base_id[:80]!r}", hint="list knowledge bases first")


def add_base(
    store: Store, workspace: str, name: str, description: str, llm_model: str, *, own_model: tuple[str, int] = ("", 0)
) -> BaseRow:
    """Make a base. `own_model` is name and dimension of an embedding model other than the workspace's. Raises
    `NameTaken`, and `NotSupported` where vectors of that name have another dimension."""
    with store.writing:
        refuse_taken(name, {base.name for base in standing_bases(store, workspace)})
        if own_model[0]:
            _record_model(store, workspace, *own_model)
        now = datetime.now(UTC)
        base = BaseRow(
            base_id=_free_id(store, workspace, name),
            version=1,
            name=name,
            description=description,
            llm_model=llm_model,
            created_at=now,
            at=now,
            embedding_model=own_model[0],
            embedding_dimension=own_model[1],
        )
        _write(store, workspace, base)
        return base


def _record_model(store: Store, workspace: str, model: str, dimension: int) -> None:
    """Put a base's own model on record, before anything is embedded with it."""
    state = store.state_at(workspace, store.generation(workspace))
    known = {**state.base_models, state.model: state.dimension}
    if known.setdefault(model, dimension) != dimension:
        raise NotSupported(
            f"vectors of {model!r} have {known[model]} dimensions here, and {dimension} as it is configured now",
            hint="configure the model that made them, or make the knowledge base in another workspace",
        )
    if model not in state.base_models:
        store.record_change(workspace, "base_embedder", {"model": model, "dimension": dimension})


def change_base(store: Store, workspace: str, base_id: str, fields: Mapping[str, str]) -> None:
    """Give a base another name, description or model. Raises `NotFound` and `NameTaken`."""
    with store.writing:
        found = get_base(store, workspace, base_id)
        changed = replace(found, **fields)  # type: ignore[arg-type]
        others = (base for base in standing_bases(store, workspace) if base.base_id != base_id)
        refuse_taken(changed.name, {base.name for base in others})
        if changed != found:
            _write(store, workspace, replace(changed, version=found.version + 1, at=datetime.now(UTC)))


def delete_base(store: Store, workspace: str, base_id: str) -> tuple[int, int]:
    """Delete a base's documents, then the base; return how many there were, and the generation. Raises `NotFound`."""
    with store.writing:
        found = get_base(store, workspace, base_id)
        deleted = delete_documents(store, workspace, _members(store, workspace, base_id))
        _write(store, workspace, replace(found, version=found.version + 1, at=datetime.now(UTC)), deleted=True)
        # Also that of an empty base changes what a question is told: answers that were kept are not served any more.
        return len(deleted), store.record_change(workspace, "knowledge_base", {"deleted": base_id})


def refuse_taken(name: str, names: set[str]) -> None:
    """Raises `NameTaken` where the name is among those of others."""
    if name in names:
        raise NameTaken(f"there is one named {name[:80]!r} already", hint="give another name, or use that one")


def bases_of(store: Store, workspace: str, revisions: Mapping[str, int]) -> dict[str, str]:
    """The standing base of each document, given with a revision, that was published in one."""
    if not revisions:
        return {}
    sql = f"""
        SELECT document_id, base_id FROM knowledge_base_documents
        WHERE workspace = {{workspace:String}} AND revision_key IN {{keys:Array(UInt128)}}
          AND base_id IN (SELECT base_id FROM ({_IN_FORCE}) WHERE NOT deleted)"""
    keys = sorted(revision_key(document_id, number) for document_id, number in revisions.items())
    return dict(store.rows(sql, {"workspace": workspace, "keys": keys}))


def stage_members(store: Store, workspace: str, members: Sequence[tuple[str, int, BaseRow]]) -> None:
    """Write `(document_id, revision, base)` of revisions that are about to be published in a base."""
    columns = ("workspace", "revision_key", "base_id", "document_id", "embedding_model")
    rows = [
        [workspace, revision_key(name, number), base.base_id, name, base.embedding_model]
        for name, number, base in members
    ]
    store.insert("knowledge_base_documents", columns, rows)


def of_own_models(store: Store, workspace: str) -> int:
    """How many visible documents belong to bases that have an embedding model of their own."""
    with store.snapshot(workspace) as snapshot:
        return sum(space.documents for space in snapshot.spaces() if not space.of_workspace)


def _members(store: Store, workspace: str, base_id: str) -> list[str]:
    """Documents whose newest revision is of the base, deleted ones among them."""
    sql = """
        SELECT document_id FROM (
            SELECT document_id, revision_key FROM publications WHERE workspace = {workspace:String}
            ORDER BY document_id, revision DESC, generation DESC LIMIT 1 BY document_id)
        WHERE revision_key IN (
            SELECT revision_key FROM knowledge_base_documents
            WHERE workspace = {workspace:String} AND base_id = {base:String})
        ORDER BY document_id"""
    return [row[0] for row in store.rows(sql, {"workspace": workspace, "base": base_id})]


def _free_id(store: Store, workspace: str, name: str) -> str:
    """An id made of the name, so that the same steps give the same ids of documents; never one that something in the
    store still means another base by."""
    sql = """
        SELECT base_id FROM knowledge_bases WHERE workspace = {workspace:String}
        UNION DISTINCT SELECT arrayJoin(knowledge_bases) FROM pipelines WHERE workspace = {workspace:String}"""
    taken = {row[0] for row in store.rows(sql, {"workspace": workspace})}
    return made_id("kb", workspace, name, taken)


def made_id(kind: str, workspace: str, name: str, taken: set[str]) -> str:
    number = 0
    while True:
        digest = hashlib.sha256(f"{kind}\0{workspace}\0{name}\0{number}".encode()).hexdigest()[:12]
        if f"{kind}-{digest}" not in taken:
            return f"{kind}-{digest}"
        number += 1


def _write(store: Store, workspace: str, base: BaseRow, *, deleted: bool = False) -> None:
    row = [
        workspace,
        base.base_id,
        base.version,
        base.name,
        base.description,
        base.llm_model,
        deleted,
        base.created_at,
        base.at,
        base.embedding_model,
        base.embedding_dimension,
    ]
    store.insert("knowledge_bases", _COLUMNS, [row])


# --------------------------------------------------------------------- physical removal

TABLES = ("knowledge_bases", "pipelines")


def removals() -> list[tuple[str, str, str]]:
    """`(table, action, condition)` of what a prune does: rows that are not in force go, then those of what was deleted,
    last, since these hide the others."""
    found = []
    for table, key in (("knowledge_bases", "base_id"), ("pipelines", "pipeline_id")):
        in_force = f"""SELECT {key}, version FROM (
            SELECT {key}, version FROM {table} WHERE workspace = {{workspace:String}}
            ORDER BY {key}, version DESC LIMIT 1 BY {key})"""
        workspace = "workspace = {workspace:String}"
        found.append((table, "DELETE", f"{workspace} AND ({key}, version) NOT IN ({in_force})"))
        found.append((table, "DELETE", f"{workspace} AND deleted AND ({key}, version) IN ({in_force})"))
    return found
