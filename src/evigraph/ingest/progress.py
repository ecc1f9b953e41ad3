"""Progress of an index run, for whoever asked to be told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evigraph.ingest.discover import discover
from evigraph.reports import Progress

if TYPE_CHECKING:
    from evigraph.ingest.pipeline import Indexer


def reporter(
    indexer: Indexer, progress: Callable[[Progress], None] | None, inputs: Sequence[Any], root: Path | None
) -> Callable[[str], None]:
    """What calls `progress`. The total counts files beforehand; a file of many records makes it grow as it is read."""
    if progress is None:
        return lambda source: None
    started = time.monotonic()
    paths = [item for item in inputs if not isinstance(item, Mapping)]
    listed = len(inputs) - len(paths) + sum(1 for _ in discover(paths, root))

    def report(source: str) -> None:
        done = len(indexer.documents) + len(indexer.errors) + len(indexer.finished)
        progress(
            Progress(
                documents_done=done,
                documents_total=max(listed, done, len(indexer.seen)),
                passages=indexer.passages,
                source=source,
                seconds=time.monotonic() - started,
            )
        )

    return report
