"""The composition root: one object that opens a store, indexes documents, and answers questions from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from evigraph.config import Settings
from evigraph.ingest.extractors import Extractor, make_extractor
from evigraph.ingest.pipeline import Indexer, IndexOptions
from evigraph.ingest.prune import prune
from evigraph.ingest.reembed import reembed
from evigraph.models.factory import make_chat, make_embedder
from evigraph.models.ports import ChatModel, Embedder
from evigraph.query.cache import ContextCache
from evigraph.query.pipeline import QueryEngine
from evigraph.query.request import moment, parse
from evigraph.reports import IndexReport, Job, Progress, PruneReport
from evigraph.store import Store, open_store
from evigraph.types import Answer, DocumentInfo, Evidence, RevisionInfo
from evigraph.workspaces import check_workspace

Item = str | Path | Mapping[str, Any]
"""A file, folder or glob; or `{"document_id"?, "title"?, "text", "source"?, "date"?, "metadata"?}`."""


class Evigraph:
    """An evidence graph over documents.

        with Evigraph("./evigraph-data") as graph:
            graph.index("reports/")
            answer = graph.ask("Who supplied the pumps at Tarn?")
            print(answer.text, answer.citations)

    `data` is a folder or a DSN (`chdb:///folder`, `http(s)://user:pass@host:8123/db`); `client` a ready
    `clickhouse-connect` client instead. `embedder`, `chat` and `extractor` replace what the settings name. Thread safe;
    one process at a time holds an embedded store (`StoreLocked`), and one at a time writes a workspace.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        workspace: str = "default",
        client: Any = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        extractor: Extractor | None = None,
    ) -> None:
        self.workspace = check_workspace(workspace)
        self.settings = settings or Settings()
        self.data = None if client is not None else str(data or self.settings.data)
        self.store: Store = open_store(self.data, client=client)
        self._cache = ContextCache()
        self._models = _Models(self.settings, embedder=embedder, chat=chat, extractor=extractor)

    @property
    def embedder(self) -> Embedder:
        """The embedding model, made when first needed."""
        return self._models.embedder

    @property
    def chat(self) -> ChatModel | None:
        """The chat model; None in offline mode."""
        return self._models.chat

    @property
    def extractor(self) -> Extractor:
        """The extractor, made when first needed."""
        return self._models.extractor

    def in_workspace(self, workspace: str) -> Evigraph:
        """The same store and models, another workspace. Closing either closes both."""
        view = object.__new__(Evigraph)
        view.__dict__.update(self.__dict__)
        view.workspace = check_workspace(workspace)
        return view

    # ---------------------------------------------------------------- documents

    def index(
        self,
        inputs: Item | Iterable[Item],
        *,
        root: str | Path | None = None,
        metadata: Mapping[str, Any] | None = None,
        sync: bool = False,
        origin: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        """Read, chunk, extract, embed and publish. What cannot be read is listed in the report; the rest goes on.

        `root` bounds what may be read and names sources relative to it; `metadata` is added to every document; `sync`
        deletes documents of the indexed folder whose files are gone; `origin` names where files came from if not the
        folder they are read from (an upload says ""). Unchanged content costs nothing.
        Raises `EmbedderMismatch` if the workspace was embedded with another model.
        """
        options = IndexOptions(
            root=None if root is None else Path(root), metadata=metadata or {}, sync=sync, origin=origin
        )
        items = [inputs] if isinstance(inputs, str | Path | Mapping) else list(inputs)
        indexer = Indexer(
            self.store, self.workspace, self._models.embedder, lambda: self._models.extractor, self.settings
        )
        return indexer.run(items, options, progress)

    def delete(self, document_id: str) -> int:
        """Publish a revision without passages; return its generation. Raises `NotFound`."""
        return self.store.delete(self.workspace, document_id)

    def documents(self, *, as_of: int | datetime | None = None) -> list[DocumentInfo]:
        """Visible documents, by source. `as_of` (generation or time) raises `BeforePruneHorizon` where pruned."""
        return self.store.documents(self.workspace, as_of=None if as_of is None else moment(as_of))

    def document(self, document_id: str, *, as_of: int | datetime | None = None) -> DocumentInfo:
        """One visible document. Raises `NotFound`."""
        return self.store.document(self.workspace, document_id, as_of=None if as_of is None else moment(as_of))

    def document_text(self, document_id: str, *, revision: int | None = None) -> str:
        """Extracted text (Markdown) of a revision, by default the visible one: what spans point into."""
        number = self.document(document_id).revision if revision is None else revision
        return self.store.document_text(self.workspace, document_id, number)

    def revisions(self, document_id: str) -> list[RevisionInfo]:
        """A document's history, deletions included, oldest first. Raises `NotFound`."""
        return self.store.revisions(self.workspace, document_id)

    def prune(self) -> PruneReport:
        """Remove superseded and unpublished rows for good; `as_of` before this generation is refused afterwards."""
        report = prune(self.store, self.workspace)
        self._cache.clear()
        return report

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> int:
        """Embed the workspace with the configured model, then switch to it; return the generation of the switch."""
        return reembed(self.store, self.workspace, self._models.embedder, progress)

    def jobs(self) -> list[Job]:
        """Records of index, prune and reembed runs, newest first."""
        return self.store.jobs(self.workspace)

    # ---------------------------------------------------------------- questions

    def ask(self, question: str, **options: Any) -> Answer:
        """Answer from evidence, with citations that were checked; or abstain and say which stage came up empty.

        Options are the fields of the query API (`mode`, `max_chunks`, `document_filter`, `metadata_filter`,
        `context_only`, `as_of`, …). Raises `InputError`s for bad ones and `ModelNotConfigured` for `bypass` offline.
        """
        request = parse({"query": question, **options}, max_query_chars=self.settings.max_query_chars)
        return self.queries.ask(request)

    def retrieve(self, question: str, **options: Any) -> Evidence:
        """Evidence alone: ranked passages, entities and relationships of the chosen mode (default `mix`)."""
        request = parse({"query": question, **options}, max_query_chars=self.settings.max_query_chars)
        return self.queries.retrieve(request)

    def capabilities(self) -> dict[str, Any]:
        """What runs here: models, and each mode, method and enhancer with its limits."""
        return self.queries.capabilities(extractor=lambda: self._models.extractor.name)

    @property
    def queries(self) -> QueryEngine:
        """The query pipeline over this workspace, for those who drive its steps themselves."""
        return QueryEngine(
            self.store,
            self.workspace,
            embedder=lambda: self._models.embedder,
            chat=self._models.chat,
            settings=self.settings,
            cache=self._cache,
        )

    # ---------------------------------------------------------------- lifetime

    def close(self) -> None:
        """Release the store. Further calls raise `StoreError`."""
        self.store.close()

    def __enter__(self) -> Evigraph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Models:
    """What was handed in, else what the settings name; shared by all workspaces of an engine."""

    def __init__(
        self, settings: Settings, *, embedder: Embedder | None, chat: ChatModel | None, extractor: Extractor | None
    ) -> None:
        self._settings = settings
        self._given = embedder, chat, extractor

    @cached_property
    def embedder(self) -> Embedder:
        given = self._given[0]
        return make_embedder(self._settings) if given is None else given

    @cached_property
    def chat(self) -> ChatModel | None:
        given = self._given[1]
        return make_chat(self._settings) if given is None else given

    @cached_property
    def extractor(self) -> Extractor:
        given = self._given[2]
        return make_extractor(self._settings) if given is None else given
