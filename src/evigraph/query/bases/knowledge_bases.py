"""`engine.knowledge_bases`: make, list, change and delete knowledge bases, and what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evigraph.bases import BaseDeleted, KnowledgeBase
from evigraph.errors import NotFound
from evigraph.models.embedders import Embedders
from evigraph.query.bases.fields import check_description, check_embedding_model, check_llm_model, check_name
from evigraph.reports import IndexReport
from evigraph.store import Store
from evigraph.store.knowledge_bases import BaseRow, add_base, change_base, delete_base, get_base, standing_bases
from evigraph.types import DocumentFilter, DocumentInfo

_KEEP: Any = object()
"""Leaves a field as it is; None would clear it."""


class KnowledgeBases:
    """The knowledge bases of one workspace. A document belongs to one at most; the same file in two bases is two
    documents. What asks the workspace as a whole sees the documents of all of them.

    `index` is that of the engine. Whatever takes a `base_id` raises `NotFound`; fields raise `InvalidValue`."""

    def __init__(
        self, store: Store, workspace: str, *, embedders: Embedders, index: Callable[..., IndexReport]
    ) -> None:
        self.store = store
        self.workspace = workspace
        self._embedders = embedders
        self._index = index

    def create(
        self, name: str, *, description: str = "", llm_model: str | None = None, embedding_model: str | None = None
    ) -> KnowledgeBase:
        """Make an empty base. `embedding_model` names one of `EVIGRAPH_EMBEDDERS`, under which the entry or the model
        itself is known; it is the base's own for good. By default it is the workspace's, whichever that is.

        Raises `NameTaken`, `UnknownEmbedder`, `EmbedderMismatch` where the base would have the workspace's model and
        another is configured, and what making the model raises.
        """
        name, description, llm_model = check_name(name), check_description(description), check_llm_model(llm_model)
        asked = check_embedding_model(embedding_model)
        main = self._embedders.main
        chosen = main if asked is None else self._embedders.chosen(asked)
        own = ("", 0)
        if (chosen.name, chosen.dimension) == (main.name, main.dimension):
            self.store.claim_embedder(self.workspace, main.name, main.dimension)
        else:
            own = chosen.name, chosen.dimension
        return self.show(
            add_base(self.store, self.workspace, name, description, llm_model or "", own_model=own).base_id
        )

    def list(self) -> tuple[KnowledgeBase, ...]:
        """All bases, by name."""
        with self.store.snapshot(self.workspace) as snapshot:
            counts = snapshot.base_counts()
            rows = standing_bases(self.store, self.workspace)
            return tuple(_shown(row, snapshot.model, counts.get(row.base_id, (0, 0))) for row in rows)

    def show(self, base_id: str) -> KnowledgeBase:
        """One base."""
        only = DocumentFilter(knowledge_bases=(base_id,))
        with self.store.snapshot(self.workspace, document_filter=only) as snapshot:
            row, counts = get_base(self.store, self.workspace, base_id), snapshot.counts()
            return _shown(row, snapshot.model, (counts.documents, counts.passages))

    def update(
        self, base_id: str, *, name: str = _KEEP, description: str = _KEEP, llm_model: str | None = _KEEP
    ) -> KnowledgeBase:
        """Change what is given; `llm_model` None leaves the choice of a model to the configuration. Raises
        `NameTaken`."""
        fields: dict[str, str] = {}
        if name is not _KEEP:
            fields["name"] = check_name(name)
        if description is not _KEEP:
            fields["description"] = check_description(description)
        if llm_model is not _KEEP:
            fields["llm_model"] = check_llm_model(llm_model) or ""
        change_base(self.store, self.workspace, base_id, fields)
        return self.show(base_id)

    def delete(self, base_id: str) -> BaseDeleted:
        """Delete a base and its documents, and nothing else: a pipeline that names it goes on without it."""
        documents, generation = delete_base(self.store, self.workspace, base_id)
        return BaseDeleted(id=base_id, documents=documents, generation=generation)

    def index(self, base_id: str, inputs: Any, **options: Any) -> IndexReport:
        """Index into a base; inputs and options as for `engine.index`. Ids of documents that are given none are derived
        from base and source. A document that is visible elsewhere in the workspace is refused, in the report."""
        return self._index(inputs, knowledge_base=base_id, **options)

    def documents(self, base_id: str) -> tuple[DocumentInfo, ...]:
        """Visible documents of a base, by source."""
        only = DocumentFilter(knowledge_bases=(base_id,))
        with self.store.snapshot(self.workspace, document_filter=only) as snapshot:
            get_base(self.store, self.workspace, base_id)
            return tuple(snapshot.documents())

    def remove(self, base_id: str, document_id: str) -> int:
        """Delete one of a base's documents; return the generation. Raises `NotFound` for any other document."""
        with self.store.writing:
            get_base(self.store, self.workspace, base_id)
            only = DocumentFilter(document_ids=(document_id,), knowledge_bases=(base_id,))
            with self.store.snapshot(self.workspace, document_filter=only) as snapshot:
                if not snapshot.documents():
                    raise NotFound(
                        f"no document {document_id!r} in knowledge base {base_id}", hint="list the base's documents"
                    )
            return self.store.delete(self.workspace, document_id)


def _shown(row: BaseRow, embedding_model: str, counts: tuple[int, int]) -> KnowledgeBase:
    # Without one of its own, the model that the workspace has on record: `reembed` switches all of those bases at once.
    return KnowledgeBase(
        id=row.base_id,
        name=row.name,
        description=row.description,
        embedding_model=row.embedding_model or embedding_model,
        llm_model=row.llm_model or None,
        documents=counts[0],
        passages=counts[1],
        created_at=row.created_at,
        updated_at=row.at,
    )
