"""The composition root: one object that opens a store, indexes documents, and answers questions from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from evigraph.config import Settings
from evigraph.domain import DomainSchema
from evigraph.ingest.estimate import Estimator
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.imports.run import import_graph
from evigraph.ingest.pipeline import Indexer, IndexOptions
from evigraph.ingest.prune import prune
from evigraph.ingest.reembed import reembed
from evigraph.models.ports import ChatModel, Embedder, Reranker, WebSearch
from evigraph.plans import Plan
from evigraph.query.bases.knowledge_bases import KnowledgeBases
from evigraph.query.bases.pipelines import Pipelines
from evigraph.query.cache import ContextCache
from evigraph.query.communities import Communities
from evigraph.query.conversations import Conversations
from evigraph.query.entities import Entities
from evigraph.query.export import export_graph
from evigraph.query.ledger import Boundary
from evigraph.query.pipeline import QueryEngine
from evigraph.query.plan.parse import plan_fields
from evigraph.query.plan.schema import read_schema, write_schema
from evigraph.query.request import moment, parse
from evigraph.reports import ExtractionEstimate, ImportReport, IndexReport, Job, Progress, PruneReport
from evigraph.routing import Route
from evigraph.store import Store, open_store
from evigraph.types import Answer, DocumentInfo, Evidence, Mode, RevisionInfo
from evigraph.wiring import Models
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
    `clickhouse-connect` client instead. `embedder`, `chat`, `extractor`, `reranker` and `web_search` replace what the
    settings name, `embedders` (by name) the further ones that knowledge bases may have. Thread safe; one process at a
    time holds an embedded store (`StoreLocked`), and one at a time writes a workspace.
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
        reranker: Reranker | None = None,
        web_search: WebSearch | None = None,
        embedders: Mapping[str, Embedder] | None = None,
    ) -> None:
        self.workspace = check_workspace(workspace)
        self.settings = settings or Settings()
        self.data = None if client is not None else str(data or self.settings.data)
        self.store: Store = open_store(self.data, client=client, cache_bytes=self.settings.cache_bytes)
        self._cache = ContextCache()
        self.store.remember(self._cache)
        self._boundary: Boundary | None = None
        self._models = Models(
            self.settings,
            embedder=embedder,
            chat=chat,
            extractor=extractor,
            reranker=reranker,
            web_search=web_search,
            embedders=embedders,
        )

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
        build_tree: bool = False,
        knowledge_base: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        """Read, chunk, extract, embed and publish. What cannot be read is listed in the report; the rest goes on.

        `root` bounds what may be read and names sources relative to it; `metadata` is added to every document; `sync`
        deletes documents of the indexed folder whose files are gone; `origin` names where files came from if not the
        folder they are read from (an upload says ""). Unchanged content costs nothing. With `build_tree` each document
        gets a tree of summaries, which method `raptor` searches; unchanged content that has one keeps it in any case.
        `knowledge_base` is the id of one to index into; a document that belongs to one stays in it without.
        Raises `EmbedderMismatch` if the workspace was embedded with another model, `NotFound` for an unknown base,
        `EmbedderNotConfigured` for one whose own model is not configured any more.
        """
        options = IndexOptions(
            root=None if root is None else Path(root),
            metadata=metadata or {},
            sync=sync,
            origin=origin,
            build_tree=build_tree,
            knowledge_base=knowledge_base,
        )
        items = [inputs] if isinstance(inputs, str | Path | Mapping) else list(inputs)
        chat = self._models.chat_of(self.store, self.workspace, knowledge_base)
        return Indexer(*self._parts, chat=chat, embedders=self._models.embedders).run(items, options, progress)

    def estimate(
        self,
        inputs: Item | Iterable[Item],
        *,
        root: str | Path | None = None,
        metadata: Mapping[str, Any] | None = None,
        origin: str | None = None,
    ) -> ExtractionEstimate:
        """What `index` would ask of the chat model for the same inputs: passages, calls, tokens. Asks and writes
        nothing."""
        options = IndexOptions(root=None if root is None else Path(root), metadata=metadata or {}, origin=origin)
        items = [inputs] if isinstance(inputs, str | Path | Mapping) else list(inputs)
        return Estimator(*self._parts, embedders=self._models.embedders).estimate(items, options)

    def import_graph(self, path: str | Path, *, format: str | None = None, **options: Any) -> ImportReport:
        """Import a graph made elsewhere: a GraphRAG output folder, a corpus with OpenIE triples, or JSON Lines as
        `export` writes them (`format` is `graphrag`, `openie` or `jsonl`; by default it is found out). Its documents
        are then like any other. With `extract` the extractor reads the passages besides. `root`, `metadata` and
        `progress` as for `index`. Rows that cannot be used are in the report. Raises `ReadError`s and `MissingExtra`.
        """
        return import_graph(self._indexer, path, format=format, **options)

    def export(self, format: str = "jsonl", **filters: Any) -> Iterator[str]:
        """The visible graph as text, piece by piece: `jsonl` (which `import_graph` reads) or `graphml`. `filters` are
        `as_of`, `document_filter` and `metadata_filter`. The state at the call is what is written."""
        return export_graph(self.store, self.workspace, format, filters)

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
        return prune(self.store, self.workspace)

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> int:
        """Embed the workspace with the configured model, then switch to it; return the generation of the switch. What
        is in knowledge bases with a model of their own is left alone; the run's job counts it."""
        return reembed(self.store, self.workspace, self._models.embedder, progress)

    def jobs(self) -> list[Job]:
        """Records of index, prune and reembed runs, newest first."""
        return self.store.jobs(self.workspace)

    # ---------------------------------------------------------------- questions

    def ask(self, question: str, **options: Any) -> Answer:
        """Answer from evidence, with citations that were checked; or abstain and say which stage came up empty.

        Options are the fields of the query API (`mode`, `max_chunks`, `document_filter`, `metadata_filter`,
        `context_only`, `as_of`, …); a `conversation_id` makes it a turn of that conversation of `user`. Raises
        `InputError`s for bad ones, `ModelNotConfigured` for `bypass` offline, and `NotFound` for a conversation of
        another user that is not shared.
        """
        request = parse({"query": question, **options}, max_query_chars=self.settings.max_query_chars)
        return self.queries.ask(request)

    def retrieve(self, question: str, **options: Any) -> Evidence:
        """Evidence alone: ranked passages, entities and relationships of the chosen mode (default `mix`)."""
        request = parse({"query": question, **options}, max_query_chars=self.settings.max_query_chars)
        return self.queries.retrieve(request)

    def route(self, question: str, **options: Any) -> Route:
        """What mode `auto` makes of a question: its class, the mode, and the signals that speak for it. Options as for
        `ask`."""
        fields = {**options, "query": question, "mode": Mode.AUTO}
        found = self.queries.route(parse(fields, max_query_chars=self.settings.max_query_chars))
        assert found is not None
        return found

    def plan(self, plan: Plan | Mapping[str, Any] | str, **options: Any) -> Answer:
        """Execute a typed plan, or one that the chat model proposes for a question (a text). Steps, bindings and their
        assertions are in `answer.evidence.plan`. Options as for `ask`. Raises `InvalidPlan`, `ModelNotConfigured`."""
        request = parse({**options, **plan_fields(plan, options)}, max_query_chars=self.settings.max_query_chars)
        return self.queries.ask(request)

    def schema(self, *, as_of: int | datetime | None = None) -> DomainSchema:
        """The domain schema given, else one inferred from the visible assertions."""
        return read_schema(self.store, self.workspace, None if as_of is None else moment(as_of))

    def set_schema(self, schema: DomainSchema | Mapping[str, Any] | None) -> int:
        """Give a domain schema, or take it back (None); return the generation. Raises `InvalidSchema`."""
        return write_schema(self.store, self.workspace, schema)

    def capabilities(self) -> dict[str, Any]:
        """What runs here: models, and each mode, method and enhancer with its limits."""
        return self.queries.capabilities(extractor=lambda: self._models.extractor.name)

    @property
    def queries(self) -> QueryEngine:
        """The query pipeline over this workspace, for those who drive its steps themselves."""
        return QueryEngine(
            self.store,
            self.workspace,
            reranker=lambda: self._models.reranker,
            web_search=lambda: self._models.web_search,
            embedder=lambda: self._models.embedder,
            embedders=self._models.embedders,
            chat=self._models.chat,
            settings=self.settings,
            cache=self._cache,
            boundary=self._boundary,
        )

    @property
    def _parts(self) -> tuple[Store, str, Embedder, Callable[[], Extractor], Settings]:
        """What an index run works with."""
        return self.store, self.workspace, self._models.embedder, lambda: self._models.extractor, self.settings

    @property
    def _indexer(self) -> Indexer:
        return Indexer(*self._parts, chat=lambda: self._models.chat, embedders=self._models.embedders)

    @property
    def entities(self) -> Entities:
        """The graph itself: entities, their pages and neighbours, paths, contradictions, history, merges."""
        return Entities(self.store, self.workspace)

    @property
    def communities(self) -> Communities:
        """Communities of the graph and their summaries, which corpus-wide questions are answered from."""
        return Communities(self.store, self.workspace, self._models.chat, concurrency=self.settings.model_concurrency)

    @property
    def conversations(self) -> Conversations:
        """Conversations that questions with a `conversation_id` make: list, show, share, delete."""
        return Conversations(self.store, self.workspace)

    @property
    def knowledge_bases(self) -> KnowledgeBases:
        """Named sets of documents inside the workspace: make, list, change, fill and delete them."""
        return KnowledgeBases(self.store, self.workspace, embedders=self._models.embedders, index=self.index)

    @property
    def pipelines(self) -> Pipelines:
        """Ways of questioning knowledge bases: make, list, change and delete them, and ask them."""
        return Pipelines(self.store, self.workspace, queries=lambda: self.queries)

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
