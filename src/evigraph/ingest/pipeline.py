"""How a document becomes visible: read → chunk → extract → embed → stage → publish.

`Indexer.run` is the loop over inputs; `Indexer._prepare` the path of one document, a window of passages at a time, so
that a document of any size is held in part only. Staged rows become visible by one small publication each: a crash
leaves the old or the new revision, whole.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from evigraph.config import Settings
from evigraph.errors import EmbedderMismatch, EmptyDocument, EvigraphError, InvalidValue, ReadError
from evigraph.ingest.chunk import CHUNKER, chunk
from evigraph.ingest.embed import FactEmbedder
from evigraph.ingest.extractors import Extractor
from evigraph.ingest.read import read
from evigraph.models.ports import Embedder
from evigraph.store import Store
from evigraph.store.keys import revision_key
from evigraph.store.rows import KnownRevision, Publication, StagedPassages
from evigraph.text.analysis import analyse, analyser_name
from evigraph.text.language import detect_language
from evigraph.types import FileError, IndexedDocument, IndexReport, Job, Passage, Progress, SourceDocument

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


class Indexer:
    """One `index` call. `extractor` is made only when a document needs it."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        embedder: Embedder,
        extractor: Callable[[], Extractor],
        settings: Settings,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.embedder = embedder
        self.make_extractor = extractor
        self.settings = settings
        self.facts = FactEmbedder(embedder)
        self.documents: list[IndexedDocument] = []
        self.errors: list[FileError] = []
        self.seen: set[str] = set()

    def run(
        self, inputs: Sequence[Any], options: IndexOptions, progress: Callable[[Progress], None] | None
    ) -> IndexReport:
        """Index everything, file by file; what fails is reported and the rest goes on."""
        folders = _sync_folders(inputs) if options.sync else []
        started = time.monotonic()
        with self.store.maintenance(), self._job(len(inputs)) as job:
            self._claim_embedder()
            self.fingerprint = f"{CHUNKER}|{analyser_name('en')}|{self.make_extractor().name}"
            found = read(
                inputs,
                workspace=self.workspace,
                root=options.root,
                max_file_bytes=self.settings.max_file_bytes,
                metadata=options.metadata,
            )
            report_progress = _reporter(progress, started)
            for batch in _batched(found, LOOKAHEAD):
                self._index_batch(batch, report_progress)
            if options.sync:
                self._delete_gone(folders)
            return IndexReport(
                documents=tuple(self.documents),
                errors=tuple(self.errors),
                generation=self.store.generation(self.workspace),
                seconds=time.monotonic() - started,
                job_id=job.job_id,
            )

    # ---------------------------------------------------------------- a batch of documents

    def _index_batch(self, batch: Sequence[SourceDocument | FileError], report: Callable[[Indexer, str], None]) -> None:
        documents = [item for item in batch if isinstance(item, SourceDocument)]
        self.errors += [item for item in batch if isinstance(item, FileError)]
        known = self.store.known(self.workspace, [document.document_id for document in documents])
        changed: dict[str, SourceDocument] = {}
        for document in documents:
            before = known.get(document.document_id)
            if document.document_id in self.seen:
                self._refuse_twin(document)
            elif before and not before.deleted and before.content_hash == self._payload_hash(document):
                self._note(document, "unchanged", before.revision)
            else:
                changed[document.document_id] = document
            self.seen.add(document.document_id)
        self._publish_changed(changed, known, report)
        report(self, batch[-1].source)

    def _publish_changed(
        self,
        changed: Mapping[str, SourceDocument],
        known: Mapping[str, KnownRevision],
        report: Callable[[Indexer, str], None],
    ) -> None:
        if not changed:
            return
        revisions = self.store.reserve(self.workspace, list(changed))
        staged: list[StagedPassages] = []
        finished: list[tuple[Publication, IndexedDocument]] = []
        for document_id, document in changed.items():
            tally = _Tally()
            try:
                for part in self._prepare(document, revisions[document_id], tally):
                    staged.append(part)
                    if sum(len(item.passages) for item in staged) >= FLUSH_PASSAGES:
                        self._flush(staged, finished)
                        report(self, document.source)
                if not tally.passages:
                    raise EmptyDocument(f"{document.source} holds no text", hint="remove it, or add text")
            except (ReadError, OSError) as error:
                self._fail(document, error)
                continue
            before = known.get(document_id)
            status = "replaced" if before and not before.deleted else "added"
            finished.append(
                (
                    self._publication(document, revisions[document_id], tally),
                    IndexedDocument(
                        document_id=document_id,
                        source=document.source,
                        status=status,  # type: ignore[arg-type]
                        revision=revisions[document_id],
                        passages=tally.passages,
                        entities=len(tally.entities),
                        assertions=tally.assertions,
                        warnings=(*document.warnings, *sorted(tally.warnings)),
                    ),
                )
            )
        self._flush(staged, finished)

    def _flush(self, staged: list[StagedPassages], finished: list[tuple[Publication, IndexedDocument]]) -> None:
        """Stage what is prepared, then publish the documents that are complete."""
        if staged:
            self.store.stage(self.workspace, self.embedder.name, staged)
        if finished:
            self.store.publish(self.workspace, [publication for publication, _ in finished])
            self.documents += [done for _, done in finished]
        staged.clear()
        finished.clear()

    # ---------------------------------------------------------------- one document

    def _prepare(self, document: SourceDocument, revision: int, tally: _Tally) -> Iterator[StagedPassages]:
        """Chunk, extract and embed one document, a window at a time."""
        key = revision_key(document.document_id, revision)
        first = next(iter(document.segments()), None)
        if first is None:
            return
        tally.language = detect_language(f"{document.title}\n{first.text[:4000]}")
        for parts in _batched(document.segments(), 8):
            self.store.stage_text(self.workspace, [(key, part.start, part.text) for part in parts])
        passages = chunk(
            document,
            revision=revision,
            language=tally.language,
            max_tokens=self.embedder.max_tokens,
            count_tokens=self.embedder.count_tokens,
        )
        for window in _batched(passages, WINDOW):
            yield self._prepare_window(document, window, tally)

    def _prepare_window(self, document: SourceDocument, window: Sequence[Passage], tally: _Tally) -> StagedPassages:
        extraction = self.make_extractor().extract(window, title=document.title, language=tally.language)
        vectors = self.embedder.embed([passage.searchable_text for passage in window])
        terms = [Counter(analyse(passage.searchable_text, tally.language)) for passage in window]
        tally.add(window, terms, extraction)
        return StagedPassages(
            passages=window,
            vectors=vectors,
            terms=terms,
            mentions=extraction.mentions,
            assertions=extraction.assertions,
            facts=self.facts.embed(document.document_id, extraction),
        )

    def _payload_hash(self, document: SourceDocument) -> str:
        """Changes with text, title, date, metadata, and with the rules that turn text into rows."""
        return hashlib.sha256(f"{document.content_hash}|{self.fingerprint}".encode()).hexdigest()

    def _publication(self, document: SourceDocument, revision: int, tally: _Tally) -> Publication:
        return Publication(
            document_id=document.document_id,
            revision=revision,
            origin=document.origin,
            source=document.source,
            title=document.title,
            date=document.date,
            metadata=document.metadata,
            media_type=document.media_type,
            language=tally.language,
            content_hash=self._payload_hash(document),
            passages=tally.passages,
            terms=tally.terms,
        )

    # ---------------------------------------------------------------- the rest of a run

    def _claim_embedder(self) -> None:
        """Record the embedding model of a new workspace; refuse another one in an old workspace."""
        with self.store.writing:
            model, dimension = self.store.embedder_at(self.workspace, self.store.generation(self.workspace))
            mine = {"model": self.embedder.name, "dimension": self.embedder.dimension}
            if not model:
                self.store.record_change(self.workspace, "embedder", mine)
            elif (model, dimension) != (self.embedder.name, self.embedder.dimension):
                raise EmbedderMismatch(model, self.embedder.name)

    def _delete_gone(self, folders: Sequence[str]) -> None:
        """Delete documents indexed from these folders whose files are gone. A file that failed to read is not gone."""
        failed = {error.source for error in self.errors}
        for info in self.store.documents(self.workspace):
            kept = info.document_id in self.seen or info.source in failed
            if info.origin in folders and not kept:
                self.store.delete(self.workspace, info.document_id)
                self.documents.append(
                    IndexedDocument(
                        document_id=info.document_id,
                        source=info.source,
                        status="deleted",
                        revision=info.revision + 1,
                    )
                )

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

    def _fail(self, document: SourceDocument, error: ReadError | OSError) -> None:
        if isinstance(error, OSError):
            error = ReadError(
                f"{document.source} cannot be read: {error.strerror}", hint="check the file and its rights"
            )
        self.errors.append(FileError(source=document.source, code=error.code, message=str(error), hint=error.hint))

    @contextmanager
    def _job(self, inputs: int) -> Iterator[Job]:
        job = self.store.start_job(self.workspace, "index", {"inputs": inputs})
        try:
            yield job
        except BaseException as error:
            self.store.update_job(self.workspace, job, "failed", {**self._totals(), "error": _short(error)})
            raise
        self.store.update_job(self.workspace, job, "done", self._totals())

    def _totals(self) -> dict[str, int]:
        return {
            "documents": len(self.documents),
            "unchanged": sum(1 for document in self.documents if document.status == "unchanged"),
            "failed": len(self.errors),
            "passages": sum(document.passages for document in self.documents),
        }


class _Tally:
    """Running counts of one document."""

    def __init__(self) -> None:
        self.language = ""
        self.passages = 0
        self.terms = 0
        self.assertions = 0
        self.entities: set[str] = set()
        self.warnings: set[str] = set()

    def add(self, window: Sequence[Passage], terms: Sequence[Mapping[str, int]], extraction: Any) -> None:
        self.passages += len(window)
        self.terms += sum(sum(counts.values()) for counts in terms)
        self.assertions += len(extraction.assertions)
        self.entities |= {mention.entity_id for mention in extraction.mentions}
        self.warnings |= set(extraction.warnings)


def _sync_folders(inputs: Sequence[Any]) -> list[str]:
    """What `sync` may compare: whole folders. A single file says nothing of what is gone beside it."""
    folders = [Path(item).resolve() for item in inputs if isinstance(item, str | Path)]
    if len(folders) != len(inputs) or not all(folder.is_dir() for folder in folders):
        raise InvalidValue("sync needs folders", hint="name the folders to mirror, without files, globs or items")
    return [str(folder) for folder in folders]


def _reporter(progress: Callable[[Progress], None] | None, started: float) -> Callable[[Indexer, str], None]:
    def report(indexer: Indexer, source: str) -> None:
        if progress is not None:
            done = len(indexer.documents) + len(indexer.errors)
            progress(
                Progress(
                    documents_done=done,
                    documents_total=done,
                    passages=sum(document.passages for document in indexer.documents),
                    source=source,
                    seconds=time.monotonic() - started,
                )
            )

    return report


def _batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _short(error: BaseException) -> str:
    code = error.code if isinstance(error, EvigraphError) else type(error).__name__
    return f"{code}: {str(error)[:300]}"
