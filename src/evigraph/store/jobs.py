"""Job records of long runs: begun, noted on the way, and closed whatever happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from evigraph.errors import EvigraphError, StoreError
from evigraph.reports import Job
from evigraph.store.store import Store


class RunRecord:
    """The record of a run under way. `note` adds to its detail; `save` writes it for others to see."""

    def __init__(self, store: Store, workspace: str, job: Job) -> None:
        self.job_id = job.job_id
        self.detail: dict[str, Any] = dict(job.detail)
        self._store = store
        self._workspace = workspace
        self._job = job

    def note(self, **detail: Any) -> None:
        self.detail.update(detail)

    def save(self, state: str = "running") -> None:
        self._store.update_job(self._workspace, self._job, state, self.detail)


@contextlib.contextmanager
def recorded(store: Store, workspace: str, kind: str, detail: Mapping[str, Any]) -> Iterator[RunRecord]:
    """Record a run as `running`, then `done`, or `failed` with the error's code and message."""
    record = RunRecord(store, workspace, store.start_job(workspace, kind, detail))
    try:
        yield record
    except BaseException as error:
        record.note(error=_short(error))
        # Where the store itself failed, that is the error to be seen, not the record that could not be written.
        with contextlib.suppress(StoreError):
            record.save("failed")
        raise
    record.save("done")


def _short(error: BaseException) -> str:
    code = error.code if isinstance(error, EvigraphError) else type(error).__name__
    return f"{code}: {str(error)[:300]}"
