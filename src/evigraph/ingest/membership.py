"""Which knowledge base the documents of an index run belong to: to one at most, and they stay in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evigraph.errors import OtherBase
from evigraph.ingest.sources import SourceDocument
from evigraph.reports import FileError
from evigraph.store import Store
from evigraph.store.knowledge_bases import BaseRow, bases_of, get_base, stage_members, standing_bases
from evigraph.store.rows import KnownRevision
from evigraph.types import DocumentInfo


def id_space(workspace: str, base: str | None) -> str:
    """What ids of documents are derived from besides their source: the same file in two bases is two documents."""
    # No name of a workspace holds a NUL.
    return workspace if base is None else f"{workspace}\0{base}"


class Membership:
    """Membership of one run's documents. `base` is the knowledge base that is indexed into; without one, new documents
    belong to none, and those that belong to one stay there."""

    def __init__(self, store: Store, workspace: str) -> None:
        self._store = store
        self._workspace = workspace
        self.base: str | None = None
        self._homes: dict[str, str] = {}
        self._bases: dict[str, BaseRow] = {}
        self._visible: set[str] = set()

    def require_base(self) -> None:
        """Raises `NotFound` where the base that is indexed into is no more. To be asked again before publishing, under
        the store's lock, since it may be deleted at any time."""
        if self.base is not None:
            self._bases[self.base] = get_base(self._store, self._workspace, self.base)

    def look_up(self, known: Mapping[str, KnownRevision]) -> None:
        """Find out where the visible ones of a batch's documents belong."""
        visible = {name: before.revision for name, before in known.items() if not before.deleted}
        self._visible = set(visible)
        self._homes = bases_of(self._store, self._workspace, visible)
        if not self._bases.keys() >= set(self._homes.values()):
            self._bases |= {base.base_id: base for base in standing_bases(self._store, self._workspace)}

    def home(self, document_id: str) -> BaseRow | None:
        """The base that a document of the batch belongs to, or will; None for none."""
        base = self.base or self._homes.get(document_id)
        return None if base is None else self._bases.get(base)

    @property
    def all_of_own_model(self) -> bool:
        """Whether the base that is indexed into has an embedding model of its own."""
        return self.base is not None and bool(self._bases[self.base].embedding_model)

    def refusal(self, document: SourceDocument) -> FileError | None:
        """Why a document cannot be indexed here: it is visible, and belongs elsewhere."""
        if self.base is None or document.document_id not in self._visible:
            return None
        home = self._homes.get(document.document_id)
        if home == self.base:
            return None
        where = f"belongs to knowledge base {home}" if home else "belongs to no knowledge base"
        return FileError(
            source=document.source,
            code=OtherBase.code,
            message=f"document {document.document_id!r} is indexed already and {where}",
            hint="delete it first, or give this one another document_id",
        )

    def stage(self, revisions: Mapping[str, int]) -> None:
        """Record where revisions belong that are about to be published."""
        members = [(name, number, home) for name, number in revisions.items() if (home := self.home(name)) is not None]
        stage_members(self._store, self._workspace, members)

    def of_this(self, documents: Iterable[DocumentInfo]) -> list[DocumentInfo]:
        """Those of some visible documents that belong to the base that is indexed into, or to none if that is meant."""
        listed = list(documents)
        homes = bases_of(self._store, self._workspace, {info.document_id: info.revision for info in listed})
        return [info for info in listed if homes.get(info.document_id) == self.base]
