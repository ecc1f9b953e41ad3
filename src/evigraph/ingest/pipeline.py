"""How a document becomes visible: read → chunk → extract → embed → (summarise →) stage → publish.

`Indexer.run` is the loop over inputs; `Indexer._prepare` the path of one document, a window of passages at a time, so
that a document of any size is held in part only. Staged rows become visible by one small publication each: a crash
leaves the old or the new revision, whole.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from evigraph.config import Settings
from evigraph.errors import (
    EmbedderNotConfigured,
    EmptyDocument,
    EvigraphError,
    InvalidItem,
    ReadError,
    TokenBudgetReached,
)
from evigraph.ingest.chunk import CHUNKER, chunk
from evigraph.ingest.embed import RunEmbedders
from evigraph.ingest.extraction import RunExtractor, distinct
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.fingerprint import Fingerprint, TreeMark
from evigraph.ingest.membership import Membership, id_space
from evigraph.ingest.progress import reporter
from evigraph.ingest.read import read
from evigraph.ingest.sources import SourceDocument
from evigraph.ingest.sync import Mirror, is_gone, mirrors
from evigraph.ingest.tally import Tally
from evigraph.ingest.tree.run import RunTrees
from evigraph.models.embedders import Embedders
from evigraph.models.ports import ChatModel, Embedder
from evigraph.reports import FileError, IndexedDocument, IndexReport, Progress
from evigraph.store import Store
from evigraph.store.jobs import recorded
from evigraph.store.keys import revision_key
from evigraph.store.rows import KnownRevision, Publication, StagedPassages
from evigraph.text.analysis import analyse, analyser_name
from evigraph.text.language import detect_language
from evigraph.text.names import RUNS
from evigraph.types import Passage

LOOKAHEAD = 32
"""Documents whose stored state is asked for in one statement."""
WINDOW = 128
"""Passages of one document that are extracted, embedded and staged together."""
FLUSH_PASSAGES = 512
"""Staged passages after which finished documents are published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexOptions:
    root: Path | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sync: bool = False
    origin: str | None = None
    build_tree: bool = False
    knowledge_base: str | None = None


class Indexer:
    """One `index` call. `extractor` is made only when a document needs it, `chat` only when trees of summaries do."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        embedder: Embedder,
        extractor: Callable[[], Extractor],
        settings: Settings,
        *,
        chat: Callable[[], ChatModel | None] = lambda: None,
        embedders: Embedders | None = None,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.embedders = RunEmbedders(embedder, embedders or Embedders(lambda: embedder, {}))
        self.extractor = RunExtractor(extractor, store, workspace)
        self.settings = settings
        self.trees = RunTrees(store, workspace, chat, settings)
        self.membership = Membership(store, workspace)
        self.build_tree = False
        self.documents: list[IndexedDocument] = []
        self.errors: list[FileError] = []
        self.seen: set[str] = set()
        self.staged: list[tuple[str, StagedPassages]] = []
        self.finished: list[tuple[Publication, IndexedDocument]] = []
        """Prepared, not yet visible: parts of documents with the model that embedded them, and complete documents."""
        self.passages = 0

    def run(
        self, inputs: Sequence[Any], options: IndexOptions, progress: Callable[[Progress], None] | None
    ) -> IndexReport:
        """Index everything, file by file; what fails is reported and the rest goes on."""
        _check_inputs(inputs)
        mirrored = mirrors(inputs, options.root, options.origin) if options.sync else []
        self.origin, self.build_tree = options.origin, options.build_tree
        self.membership.base = options.knowledge_base
        self.membership.require_base()
        if self.membership.all_of_own_model:
            self.embedders.of(self.membership.home(""))
        self.report = reporter(self, progress, inputs, options.root)

        def found() -> Iterator[SourceDocument | FileError]:
            # Where a model cannot be made, that is said before anything is read.
            _ = self.extractor.name, self.trees.model if self.build_tree else None
            return read(
                inputs,
                workspace=id_space(self.workspace, options.knowledge_base),
                root=options.root,
                max_file_bytes=self.settings.max_file_bytes,
                metadata=options.metadata,
            )

        return self._run("index", {"inputs": len(inputs)}, found, mirrored)

    def run_given(
        self,
        documents: Iterable[SourceDocument],
        detail: Mapping[str, Any],
        progress: Callable[[Progress], None] | None,
    ) -> IndexReport:
        """Index documents that were read elsewhere, such as those of an import; they go the same way as files."""
        self.origin = None
        self.report = reporter(self, progress, (), None)
        return self._run("import", detail, lambda: documents, ())

    def _run(
        self,
        kind: str,
        detail: Mapping[str, Any],
        found: Callable[[], Iterable[SourceDocument | FileError]],
        mirrored: Sequence[Mirror],
    ) -> IndexReport:
        started = time.monotonic()
        with self.store.maintenance(), recorded(self.store, self.workspace, kind, detail) as record:
            if not self.membership.all_of_own_model:
                main = self.embedders.main
                self.store.claim_embedder(self.workspace, main.name, main.dimension)
            for batch in batched(found(), LOOKAHEAD):
                before = self.passages
                self._index_batch(batch)
                record.note(**self._totals())
                if self.passages > before:
                    record.save()
            self._delete_gone(mirrored)
            accounts = {"extraction": self.extractor.account, "trees": self.trees.account}
            record.note(**self._totals(), **{name: asdict(it) for name, it in accounts.items() if it is not None})
            return IndexReport(
                documents=tuple(self.documents),
                errors=tuple(self.errors),
                generation=self.store.generation(self.workspace),
                seconds=time.monotonic() - started,
                job_id=record.job_id,
                extraction=self.extractor.account,
                trees=self.trees.account,
            )

    # ---------------------------------------------------------------- a batch of documents

    def _index_batch(self, batch: Sequence[SourceDocument | FileError]) -> None:
        documents = [item for item in batch if isinstance(item, SourceDocument)]
        self.errors += [item for item in batch if isinstance(item, FileError)]
        known = self.store.known(self.workspace, [document.document_id for document in documents])
        self.membership.look_up(known)
        changed: dict[str, SourceDocument] = {}
        for document in documents:
            before = known.get(document.document_id)
            if document.document_id in self.seen:
                self._refuse_twin(document)
            elif refused := self.membership.refusal(document):
                self.errors.append(refused)
            elif before and self._serves(document, before):
                self._note(document, "unchanged", before.revision)
            else:
                changed[document.document_id] = document
            self.seen.add(document.document_id)
        self._publish_changed(changed, known)
        self.report(batch[-1].source)

    def _publish_changed(self, changed: Mapping[str, SourceDocument], known: Mapping[str, KnownRevision]) -> None:
        if not changed:
            return
        revisions = self.store.reserve(self.workspace, list(changed))
        self.membership.stage(revisions)
        for document_id, document in changed.items():
            if self.extractor.stopped is not None and document.given is None:
                self._fail(document, self.extractor.stopped)
                continue
            try:
                prepared = self._index_document(document, revisions[document_id], known.get(document_id))
                self.finished.append(prepared)
            except (ReadError, OSError, TokenBudgetReached, EmbedderNotConfigured) as error:
                self._fail(document, error)
            self.report(document.source)
        self._flush()

    def _index_document(
        self, document: SourceDocument, revision: int, before: KnownRevision | None
    ) -> tuple[Publication, IndexedDocument]:
        tally = Tally()
        embedder = self.embedders.of(self.membership.home(document.document_id))
        replaced = Fingerprint.read(before.content_hash) if before and not before.deleted else None
        with_tree = self.build_tree or (replaced is not None and replaced.keeps_tree(self._payload_hash(document)))
        for part in self._prepare(document, revision, tally, embedder, with_tree=with_tree):
            self.staged.append((embedder.name, part))
            self.passages += sum(not passage.level for passage in part.passages)
            if sum(len(item.passages) for _, item in self.staged) >= FLUSH_PASSAGES:
                self._flush()
                self.report(document.source)
        if not tally.passages:
            raise EmptyDocument(f"{document.source} holds no text", hint="remove it, or add text")
        if replaced is not None and replaced.tree is not TreeMark.NONE and not with_tree:
            tally.warnings.add("tree: the replaced revision had a tree of summaries; this one has none (build_tree)")
        return self._publication(document, revision, tally), IndexedDocument(
            document_id=document.document_id,
            source=document.source,
            status="added" if replaced is None else "replaced",
            revision=revision,
            passages=tally.passages,
            entities=len(tally.entities),
            assertions=tally.assertions,
            summaries=tally.summaries,
            warnings=(*document.warnings, *sorted(tally.warnings)),
        )

    def _flush(self) -> None:
        """Stage what is prepared, then publish the documents that are complete."""
        for model in dict.fromkeys(model for model, _ in self.staged):
            self.store.stage(self.workspace, model, [part for name, part in self.staged if name == model])
        self.staged.clear()
        if self.finished:
            with self.store.writing:
                self.membership.require_base()
                self.store.publish(self.workspace, [publication for publication, _ in self.finished])
            self.documents += [done for _, done in self.finished]
            self.finished.clear()

    # ---------------------------------------------------------------- one document

    def _prepare(
        self, document: SourceDocument, revision: int, tally: Tally, embedder: Embedder, *, with_tree: bool
    ) -> Iterator[StagedPassages]:
        """Chunk, extract and embed one document, a window at a time; then the summaries of its tree."""
        key = revision_key(document.document_id, revision)
        first = next(iter(document.segments()), None)
        if first is None:
            return
        tally.language = detect_language(f"{document.title}\n{first.text[:4000]}")
        for parts in batched(document.segments(), 8):
            self.store.stage_text(self.workspace, [(key, part.start, part.text) for part in parts])
        tree = self.trees.builder(document, revision, tally.language, embedder) if with_tree else None
        for window in batched(self._passages(document, revision, tally.language, embedder), WINDOW):
            part = self._prepare_window(document, window, tally, embedder)
            yield part
            if tree is not None:
                tree.add(part.passages, part.vectors)
        if tree is not None:
            yield from tree.nodes()
            tally.add_tree(tree, self.trees.close(tree))

    def _passages(
        self, document: SourceDocument, revision: int, language: str, embedder: Embedder
    ) -> Iterator[Passage]:
        limits: Any = {"max_tokens": embedder.max_tokens, "count_tokens": embedder.count_tokens}

        def chunked() -> Iterator[Passage]:
            return chunk(document, revision=revision, language=language, **limits)

        if document.given is None:
            return chunked()
        return document.given.passages(
            document.document_id, revision=revision, language=language, chunked=chunked, **limits
        )

    def _prepare_window(
        self, document: SourceDocument, window: Sequence[Passage], tally: Tally, embedder: Embedder
    ) -> StagedPassages:
        extractor = document.given or self.extractor
        extraction = distinct(extractor.extract(window, title=document.title, language=tally.language))
        vectors = embedder.embed([passage.searchable_text for passage in window])
        terms = [Counter(analyse(passage.searchable_text, tally.language)) for passage in window]
        facts = self.embedders.facts(embedder).embed(document.document_id, extraction, embedded=tally.entities)
        tally.add(window, terms, extraction)
        return StagedPassages(
            passages=window,
            vectors=vectors,
            terms=terms,
            mentions=extraction.mentions,
            assertions=extraction.assertions,
            facts=facts,
        )

    def _serves(self, document: SourceDocument, before: KnownRevision) -> bool:
        """Whether what is published is what this run would make of the document."""
        recorded = Fingerprint.read(before.content_hash)
        return not before.deleted and recorded.serves(self._payload_hash(document), build_tree=self.build_tree)

    def _payload_hash(self, document: SourceDocument) -> str:
        """Changes with text, title, date, metadata, source, and with the rules that turn text into rows."""
        extractor = document.given or self.extractor
        rules = f"{CHUNKER}|{analyser_name('en')}|{RUNS}|{extractor.name}"
        shown = f"{document.content_hash}|{document.source}|{rules}"
        return hashlib.sha256(shown.encode()).hexdigest()

    def _publication(self, document: SourceDocument, revision: int, tally: Tally) -> Publication:
        # Where calls to a model failed, the next run finds the document changed, and asks for what is missing.
        made = Fingerprint(payload=self._payload_hash(document), incomplete=tally.incomplete, tree=tally.tree)
        return Publication(
            document_id=document.document_id,
            revision=revision,
            origin=document.origin if self.origin is None else self.origin,
            source=document.source,
            title=document.title,
            date=document.date,
            metadata=document.metadata,
            media_type=document.media_type,
            language=tally.language,
            content_hash=made.recorded,
            passages=tally.passages,
            terms=tally.terms,
        )

    # ---------------------------------------------------------------- the rest of a run

    def _delete_gone(self, mirrored: Sequence[Mirror]) -> None:
        """Delete documents of the mirrored folders whose files are gone. A file that failed to read is not gone."""
        if not mirrored:
            return
        gone = [
            info
            for info in self.membership.of_this(self.store.documents(self.workspace))
            if info.document_id not in self.seen and is_gone(info, mirrored, self.errors)
        ]
        for info in gone:
            self.store.delete(self.workspace, info.document_id)
        now = self.store.known(self.workspace, [info.document_id for info in gone])
        self.documents += [
            IndexedDocument(
                document_id=info.document_id,
                source=info.source,
                status="deleted",
                revision=now[info.document_id].revision,
            )
            for info in gone
        ]

    def _note(self, document: SourceDocument, status: Any, revision: int) -> None:
        self.documents.append(
            IndexedDocument(document_id=document.document_id, source=document.source, status=status, revision=revision)
        )

    def _refuse_twin(self, document: SourceDocument) -> None:
        self.errors.append(
            FileError(
                source=document.source,
                code="duplicate_id",
                message=f"document id {document.document_id!r} was given twice in one call",
                hint="give each document its own id or source; the first was indexed",
            )
        )

    def _fail(self, document: SourceDocument, error: EvigraphError | OSError) -> None:
        if isinstance(error, OSError):
            error = ReadError(
                f"{document.source} cannot be read: {error.strerror}", hint="check the file and its rights"
            )
        self.errors.append(FileError(source=document.source, code=error.code, message=str(error), hint=error.hint))

    def _totals(self) -> dict[str, int]:
        return {
            "documents": len(self.documents),
            "unchanged": sum(1 for document in self.documents if document.status == "unchanged"),
            "failed": len(self.errors),
            "passages": sum(document.passages for document in self.documents),
        }


def _check_inputs(inputs: Sequence[Any]) -> None:
    for item in inputs:
        if not isinstance(item, str | Path | Mapping):
            raise InvalidItem(
                f"{type(item).__name__} is no input: {str(item)[:40]!r}",
                hint="give paths, or items such as {'text': '…'}",
            )


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
