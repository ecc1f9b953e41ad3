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
    summaries: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionAccount:
    """What extraction by a model cost, or, as an estimate, would cost.

    `cached` counts answers that were stored before and cost nothing, `failed` calls without a reply, `retried` those
    made because a reply was unusable, `unusable` replies that nothing came of, `unreported` replies whose tokens the
    server did not tell (they are estimated). Tokens are those of this run. `dropped` counts records by reason;
    `notes` counts repairs of those that were kept. `unverified` assertions were not found in their
    passage. `stopped_at` says where the token budget, if any, ended the run.
    """

    model: str
    passages: int = 0
    calls: int = 0
    cached: int = 0
    failed: int = 0
    retried: int = 0
    unusable: int = 0
    unreported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    entities: int = 0
    assertions: int = 0
    unverified: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    budget: int | None = None
    stopped_at: str | None = None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeAccount:
    """Trees of summaries that an index run made, and what a chat model's share in them cost.

    `too_short` counts documents of too few passages for a tree, `by_model` the summaries that the model wrote (the
    others are sentences of the passages). `cached` counts replies that were stored before and cost nothing, `failed`
    calls without a reply, `unusable` replies of which nothing was kept, `unreported` replies whose tokens the server
    did not tell (they are estimated). `dropped` counts by reason what was left out of summaries. `stopped_at` says
    where the token budget, if any, ended the calls.
    """

    trees: int = 0
    too_short: int = 0
    summaries: int = 0
    by_model: int = 0
    model: str | None = None
    calls: int = 0
    cached: int = 0
    failed: int = 0
    unusable: int = 0
    unreported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    stopped_at: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionEstimate:
    """What `index` would do with these inputs, without asking a model. `calls`, `prompt_tokens` and `completion_tokens`
    are expected values; `cached` answers are known already. An offline extractor needs no calls. `over_budget` says
    that more tokens are expected than the budget allows."""

    extractor: str
    documents: int
    unchanged: int
    passages: int
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    budget: int | None
    over_budget: bool
    errors: tuple[FileError, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """Outcome of one `index` call, per document and in total."""

    documents: tuple[IndexedDocument, ...]
    errors: tuple[FileError, ...]
    generation: int
    seconds: float
    warnings: tuple[str, ...] = ()
    job_id: str = ""
    extraction: ExtractionAccount | None = None
    trees: TreeAccount | None = None

    def count(self, status: str) -> int:
        return sum(1 for document in self.documents if document.status == status)

    @property
    def ok(self) -> bool:
        return not self.errors


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemExample:
    """Where a row of an imported file went wrong: line (JSON Lines) or row (Parquet), from 1; 0 is the whole file."""

    file: str
    row: int
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProblem:
    """Rows that were not imported, or not as they were, for one reason. `examples` are the first 100."""

    reason: str
    count: int
    examples: tuple[ProblemExample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """Outcome of one `import_graph` call. `rows` counts what was read by kind of row, `counts` what was made of it
    (of documents that changed), `not_imported` the rows of tables that have no use here yet, each with the reason.
    `extraction` is the account of an extractor that asks a model, where passages were read too."""

    format: str
    documents: tuple[IndexedDocument, ...]
    errors: tuple[FileError, ...]
    rows: Mapping[str, int]
    counts: Mapping[str, int]
    not_imported: Mapping[str, str]
    problems: tuple[ImportProblem, ...]
    generation: int
    seconds: float
    job_id: str = ""
    extraction: ExtractionAccount | None = None

    def count(self, reason: str) -> int:
        """How many rows had a problem of this reason."""
        return sum(problem.count for problem in self.problems if problem.reason == reason)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCount:
    """Things of one kind that passed through a stage beside its result, and what became of them."""

    items_in: int
    items_out: int
    lost: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StageReport:
    """One stage of a query: the `step` that it is part of; items that went in (where they can be lost), came out and
    were `lost`, by reason; the same of what passed `beside` them; calls to a chat model and the tokens of its replies
    (null where one did not tell); and what it did otherwise than asked. One that `failed`, and why, handed nothing on:
    what was at hand before still is. One that is `cached` belongs to the run whose answer was kept."""

    name: str
    step: str | None = None
    failed: str | None = None
    cached: bool = False
    items_in: int | None = None
    items_out: int | None = None
    lost: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, StageCount] = field(default_factory=dict)
    empty_because: str | None = None
    took_ms: float = 0.0
    llm_calls: int = 0
    failed_calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    degraded: tuple[str, ...] = ()
