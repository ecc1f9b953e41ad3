"""Statements on one connection, and the job records that every long run leaves."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from numpy.typing import NDArray

from evigraph.reports import Job
from evigraph.store.binding import bound
from evigraph.store.connect import Connection, translated
from evigraph.store.rows import utc


class Database:
    """Runs statements; values travel as bound parameters only."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def close(self) -> None:
        self.connection.close()

    def rows(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one SELECT with bound parameters."""
        with translated(), self.connection.serial:
            return list(self.connection.client.query(sql, parameters=bound(parameters)).result_rows)

    def columns(self, sql: str, parameters: Mapping[str, Any]) -> list[NDArray[Any]]:
        """Run one SELECT, column by column; numbers come as arrays of numbers, text as arrays of objects. Many rows
        cost a tenth of what `rows` does. Empty where no row was found, whatever the columns."""
        with translated(), self.connection.serial:
            found = self.connection.client.query_np(sql, parameters=bound(parameters))
        if not len(found):
            return []
        names = found.dtype.names
        return list(found.T) if names is None else [found[name] for name in names]

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows as one block: all of them become readable, or none."""
        if rows:
            with translated(), self.connection.serial:
                self.connection.client.insert(table, rows, column_names=list(columns))

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        with translated(), self.connection.serial:
            self.connection.client.command(sql, parameters=bound(parameters or {}))

    def start_job(self, workspace: str, kind: str, detail: Mapping[str, Any]) -> Job:
        now = datetime.now(UTC)
        job = Job(
            job_id=uuid.uuid4().hex[:12], kind=kind, state="running", started_at=now, updated_at=now, detail=detail
        )
        self._write_job(workspace, job)
        return job

    def update_job(self, workspace: str, job: Job, state: str, detail: Mapping[str, Any]) -> None:
        updated = Job(
            job_id=job.job_id,
            kind=job.kind,
            state=state,  # type: ignore[arg-type]
            started_at=job.started_at,
            updated_at=datetime.now(UTC),
            detail=detail,
        )
        self._write_job(workspace, updated)

    def jobs(self, workspace: str, *, limit: int = 50) -> list[Job]:
        """Latest state of each job, newest first."""
        sql = """
            SELECT job_id, kind, state, started_at, updated_at, detail FROM (
                SELECT * FROM jobs WHERE workspace = {workspace:String}
                ORDER BY job_id, updated_at DESC LIMIT 1 BY job_id)
            ORDER BY started_at DESC, job_id LIMIT {limit:UInt32}"""
        rows = self.rows(sql, {"workspace": workspace, "limit": limit})
        return [
            Job(
                job_id=row[0],
                kind=row[1],
                state=row[2],
                started_at=utc(row[3]),
                updated_at=utc(row[4]),
                detail=json.loads(row[5]),
            )
            for row in rows
        ]

    def fail_interrupted_jobs(self) -> None:
        """Close the records of runs whose process ended without doing so. Only for who holds the store alone."""
        sql = """
            SELECT workspace, job_id, kind, started_at, detail FROM (
                SELECT * FROM jobs ORDER BY workspace, job_id, updated_at DESC LIMIT 1 BY workspace, job_id)
            WHERE state = 'running'"""
        for workspace, job_id, kind, started_at, detail in self.rows(sql, {}):
            error = {"error": "interrupted: the process ended during the run; what it had published stays"}
            now = datetime.now(UTC)
            job = Job(
                job_id=job_id,
                kind=kind,
                state="failed",
                started_at=utc(started_at),
                updated_at=now,
                detail={**json.loads(detail), **error},
            )
            self._write_job(workspace, job)

    def _write_job(self, workspace: str, job: Job) -> None:
        self.insert(
            "jobs",
            ("workspace", "job_id", "kind", "state", "started_at", "updated_at", "detail"),
            [[workspace, job.job_id, job.kind, job.state, job.started_at, job.updated_at, json.dumps(job.detail)]],
        )
