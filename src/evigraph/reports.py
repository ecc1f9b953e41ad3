"""What long runs report: per document, per file that failed, in progress and in the job record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class FileError:
    """One input that was not indexed: which, why, and what to do."""

    source: str
    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedDocument:
    """What became of one input. `status` is `added`, `replaced`, `unchanged` or `deleted`."""

    document_id: str
    source: str
    status: Literal["added", "replaced", "unchanged", "deleted"]
    revision: int
    passages: int = 0
    entities: int = 0
    assertions: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """Outcome of one `index` call, per document and in total."""

    documents: tuple[IndexedDocument, ...]
    errors: tuple[FileError, ...]
    generation: int
    seconds: float
    warnings: tuple[str, ...] = ()
    job_id: str = ""

    def count(self, status: str) -> int:
        return sum(1 for document in self.documents if document.status == status)

    @property
    def ok(self) -> bool:
        return not self.errors


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One step of a running index job: documents done and passages staged so far. `documents_total` may grow while
    folders are still being listed."""

    documents_done: int
    documents_total: int
    passages: int
    source: str
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneReport:
    """What `prune` removed for good."""

    documents: int
    revisions: int
    horizon: int
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Record of an index, reembed or prune run. `state` is `running`, `done` or `failed`."""

    job_id: str
    kind: str
    state: Literal["running", "done", "failed"]
    started_at: datetime
    updated_at: datetime
    detail: Mapping[str, Any] = field(default_factory=dict)
