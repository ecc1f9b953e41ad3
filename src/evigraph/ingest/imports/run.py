"""`import_graph`: find out what a folder or file is, make documents of it, index them, and account for every row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evigraph.errors import InvalidValue, NotFound, UnknownGraphFormat
from evigraph.ingest.extraction import GivenAndExtracted
from evigraph.ingest.imports import graphrag, jsonl, openie
from evigraph.ingest.imports.documents import Import, given_metadata
from evigraph.ingest.imports.given import GivenGraph
from evigraph.ingest.imports.rows import Folder
from evigraph.ingest.pipeline import Indexer
from evigraph.ingest.sources import SourceDocument
from evigraph.reports import ImportReport, IndexReport, Progress
from evigraph.store import Store
from evigraph.store.identity import groups

FORMATS: Mapping[str, Any] = {"graphrag": graphrag, "openie": openie, "jsonl": jsonl}
"""Formats in the order they are tried. Each has `matches(folder)` and `documents(job)`."""


def import_graph(
    indexer: Indexer,
    path: str | Path,
    *,
    format: str | None = None,
    root: str | Path | None = None,
    metadata: Mapping[str, Any] | None = None,
    extract: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ImportReport:
    """Import a folder or file with the indexer; with `extract`, its extractor reads the passages too. Raises
    `ReadError`s for what cannot be opened, `InvalidValue`, `MissingExtra`; rows that cannot be used are in the
    report."""
    started = time.monotonic()
    bounds = None if root is None else Path(root)
    folder = Folder.open(Path(path), bounds, indexer.settings.max_file_bytes)
    job = Import(folder=folder, workspace=indexer.workspace, metadata=given_metadata(metadata or {}))
    name = _format(folder, format)
    made: Iterator[SourceDocument] = FORMATS[name].documents(job)
    if extract:
        _ = indexer.extractor.name  # where it cannot be made, that is said before anything is read
        made = (_read_too(document, indexer, job) for document in made)
    report = indexer.run_given(made, {"format": name, "source": Path(path).name}, progress)
    merged = _merge(indexer.store, indexer.workspace, job)
    return _report(name, job, report, merged, time.monotonic() - started)


def _format(folder: Folder, given: str | None) -> str:
    if given is not None:
        if given not in FORMATS:
            raise InvalidValue(f"unknown format {given[:40]!r}", hint=f"valid: {', '.join(FORMATS)}")
        return given
    for name, format in FORMATS.items():
        if format.matches(folder):
            return name
    raise UnknownGraphFormat(
        "no graph was found",
        hint="name a GraphRAG output folder, a folder with corpus.jsonl and openie*.jsonl, or a file of "
        "`evigraph export --format jsonl`; --format says which it is",
    )


def _read_too(document: SourceDocument, indexer: Indexer, job: Import) -> SourceDocument:
    given = document.given
    if not isinstance(given, GivenGraph):
        return document
    both = GivenAndExtracted(given=given, extractor=indexer.extractor, untyped=given.untyped, counts=job.counts)
    return replace(document, given=both)


def _merge(store: Store, workspace: str, job: Import) -> int:
    """Record the merges an export brought, those that do not stand already; return how many."""
    made = 0
    for canonical, *others in job.merges:
        state = store.state_at(workspace, store.generation(workspace))
        if groups(state.merges).get(canonical, frozenset()).issuperset(others):
            continue
        try:
            store.merge(workspace, [canonical, *others], canonical=canonical, reason="imported")
            made += 1
        except (NotFound, InvalidValue) as error:
            job.problems.note("", 0, "merge_left_out", str(error))
    return made


def _report(name: str, job: Import, report: IndexReport, merged: int, seconds: float) -> ImportReport:
    indexed = [document for document in report.documents if document.status in ("added", "replaced")]
    counts = {
        "documents": len(indexed),
        "passages": sum(document.passages for document in indexed),
        "entities": sum(document.entities for document in indexed),
        "assertions": sum(document.assertions for document in indexed),
        **dict(sorted(job.counts.items())),
        "merges": merged,
    }
    return ImportReport(
        format=name,
        documents=report.documents,
        errors=report.errors,
        rows=dict(sorted(job.rows.items())),
        counts=counts,
        not_imported=job.not_imported,
        problems=job.problems.report(),
        generation=report.generation,
        seconds=seconds,
        job_id=report.job_id,
        extraction=report.extraction,
    )
