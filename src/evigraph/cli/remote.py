"""The engine in another process: the same methods over the HTTP API of the server that holds the store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx2

from evigraph import errors
from evigraph.cli.backend import Json
from evigraph.cli.bases import BASES, RemoteBases, RemotePipelines, path_of
from evigraph.cli.communities import RemoteCommunities
from evigraph.cli.conversations import RemoteConversations, user_header
from evigraph.cli.exchange import answered, no_answer, receive_graph, send_graph
from evigraph.cli.graph import RemoteGraph
from evigraph.ingest.discover import SIDECAR_SUFFIX, FoundFile, discover
from evigraph.reports import FileError, Progress
from evigraph.workspaces import check_workspace

BATCH_FILES = 32
BATCH_BYTES = 16_000_000
"""Files sent in one request: few enough to show progress, many enough to embed together."""


class RemoteEngine:
    """A `Backend` over HTTP. Problems come back as the errors they were; files are sent by content."""

    def __init__(self, url: str, workspace: str, *, client: httpx2.Client | None = None) -> None:
        self.url = url
        # Indexing takes as long as it takes; a server that is gone is noticed when connecting. No proxy: the
        # address is one of this machine's own.
        timeout = httpx2.Timeout(None, connect=5.0)
        self._client = client or httpx2.Client(base_url=url, timeout=timeout, trust_env=False)
        self._headers = {"X-Workspace-ID": check_workspace(workspace)}

    def index(
        self,
        paths: Sequence[str],
        *,
        root: str | None = None,
        metadata: Mapping[str, str],
        sync: bool = False,
        build_tree: bool = False,
        knowledge_base: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json:
        """Upload the files the engine would read. `sync` is refused: the server does not see this folder."""
        if sync:
            raise errors.NotSupported(
                f"--sync needs the store itself, which the server at {self.url} holds",
                hint="stop the server and run the command again, or delete documents one by one",
            )
        started = monotonic()
        to = f"{'/api/v1/documents' if knowledge_base is None else path_of(BASES, knowledge_base)}/upload"
        found = list(discover(paths, None if root is None else Path(root)))
        failed = [asdict(item) for item in found if isinstance(item, FileError)]
        files = [item for item in found if isinstance(item, FoundFile)]
        total: Json = {
            "documents": [],
            "errors": failed,
            "generation": 0,
            "seconds": 0.0,
            "warnings": [],
            "job_id": "",
            "extraction": None,
            "trees": None,
            "degraded": [],
        }
        sent = 0
        for batch in _batches(files):
            self._upload(batch, metadata, total, build_tree=build_tree, to=to)
            sent += len(batch)
            if progress is not None:
                progress(
                    Progress(
                        documents_done=sent,
                        documents_total=len(files),
                        passages=sum(document["passages"] for document in total["documents"]),
                        source=batch[-1].source,
                        seconds=monotonic() - started,
                    )
                )
        return {**total, "seconds": monotonic() - started}

    def estimate(self, paths: Sequence[str], *, root: str | None = None, metadata: Mapping[str, str]) -> Json:
        """Refused: the server does not see these files before they are indexed."""
        raise errors.NotSupported(
            f"--estimate needs the store itself, which the server at {self.url} holds",
            hint="stop the server and run the command again",
        )

    def import_graph(
        self,
        path: str,
        *,
        format: str | None,
        metadata: Mapping[str, str],
        extract: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Json:
        """Upload what an import would read; the server bounds each file."""
        try:
            return send_graph(self._json, path, format=format, metadata=metadata, extract=extract)
        except _NothingIndexed as error:
            return error.report

    def export(self, format: str, filters: Mapping[str, Any]) -> Iterator[str]:
        """The pieces of an export as they arrive."""
        return receive_graph(self._client, self._headers, format, filters, url=self.url, fail=_error)

    def ask(self, question: str, options: Mapping[str, Any]) -> Json:
        sent = {name: value for name, value in options.items() if name != "user"}
        headers = user_header(options.get("user", ""))
        return self._json("POST", "/api/v1/query", json={"query": question, **sent}, headers=headers)

    def plan(self, plan: Json | str, options: Mapping[str, Any]) -> Json:
        given = {"query": plan} if isinstance(plan, str) else {"plan": plan}
        return self._json("POST", "/api/v1/plan", json={**options, **given})

    def schema(self, *, as_of: str | None = None) -> Json:
        return self._json("GET", "/api/v1/schema", params=_given(as_of=as_of))

    def set_schema(self, schema: Json | None) -> Json:
        if schema is None:
            return self._json("DELETE", "/api/v1/schema")
        return self._json("PUT", "/api/v1/schema", json=schema)

    def documents(self, *, as_of: str | None = None) -> list[Json]:
        return self._list("/api/v1/documents", "documents", as_of)

    def document(self, document_id: str, *, as_of: str | None = None) -> Json:
        return self._json("GET", _path(document_id), params=_given(as_of=as_of))

    def document_text(self, document_id: str, *, revision: int | None = None) -> str:
        found = self._json("GET", f"{_path(document_id)}/text", params=_given(revision=revision))
        return str(found["text"])

    def revisions(self, document_id: str) -> list[Json]:
        return self._list(f"{_path(document_id)}/revisions", "revisions", None)

    def delete(self, document_id: str) -> Json:
        return self._json("DELETE", _path(document_id))

    def prune(self) -> Json:
        return self._json("POST", "/api/v1/prune")

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> Json:
        return self._json("POST", "/api/v1/reembed")

    def jobs(self) -> list[Json]:
        return self._list("/api/v1/jobs", "jobs", None)

    def capabilities(self) -> Json:
        return self._json("GET", "/api/v1/capabilities")

    @property
    def graph(self) -> RemoteGraph:
        return RemoteGraph(self._json)

    @property
    def communities(self) -> RemoteCommunities:
        return RemoteCommunities(self._json)

    @property
    def conversations(self) -> RemoteConversations:
        return RemoteConversations(self._json)

    @property
    def knowledge_bases(self) -> RemoteBases:
        return RemoteBases(self._json)

    @property
    def pipelines(self) -> RemotePipelines:
        return RemotePipelines(self._json)

    def close(self) -> None:
        self._client.close()

    # ---------------------------------------------------------------- requests

    def _list(self, path: str, name: str, as_of: str | None) -> list[Json]:
        found: list[Json] = self._json("GET", path, params=_given(as_of=as_of))[name]
        return found

    def _json(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **request: Any) -> Json:
        try:
            response = self._client.request(method, path, headers={**self._headers, **(headers or {})}, **request)
        except httpx2.HTTPError as error:
            raise no_answer(self.url, error) from error
        body = answered(self.url, response)
        if response.status_code >= 400:
            raise _error(body)
        return body

    def _upload(
        self, batch: Sequence[FoundFile], metadata: Mapping[str, str], total: Json, *, build_tree: bool, to: str
    ) -> None:
        """Send one batch and add what became of it. A file that the server finds too large fails alone."""
        try:
            report = self._send(batch, metadata, build_tree=build_tree, to=to)
        except _NothingIndexed as error:
            report = error.report
        except errors.FileTooLarge as error:
            if len(batch) > 1:
                for one in batch:
                    self._upload([one], metadata, total, build_tree=build_tree, to=to)
                return
            message = f"{batch[0].source}: {error}"
            failed = FileError(source=batch[0].source, code=error.code, message=message, hint=error.hint)
            total["errors"].append(asdict(failed))
            return
        for name in ("documents", "errors", "warnings", "degraded"):
            total[name] += report[name]
        total["generation"] = max(total["generation"], report["generation"])
        total["job_id"] = report["job_id"]
        for name in ("extraction", "trees"):
            total[name] = _together(total[name], report[name])

    def _send(self, batch: Sequence[FoundFile], metadata: Mapping[str, str], *, build_tree: bool, to: str) -> Json:
        import json

        with contextlib.ExitStack() as opened:
            files, sources = [], []
            for path, source in _with_sidecars(batch):
                handle = opened.enter_context(path.open("rb"))
                files.append(("files", (path.name, handle, "application/octet-stream")))
                sources.append(source)
            fields = {"sources": json.dumps(sources), "metadata": json.dumps(dict(metadata))}
            fields["build_tree"] = "true" if build_tree else "false"
            return self._json("POST", to, files=files, data=fields)


def _together(first: Json | None, second: Json | None) -> Json | None:
    """The account of two requests as one: what is counted is added, by reason where there are reasons."""
    if first is None or second is None:
        return second if first is None else first
    return {
        **second,
        **{name: first[name] + second[name] for name in second if type(second[name]) is int and name != "budget"},
        **{
            name: {
                reason: first[name].get(reason, 0) + second[name].get(reason, 0)
                for reason in first[name] | second[name]
            }
            for name in ("dropped", "notes")
            if name in second
        },
        "stopped_at": first["stopped_at"] or second["stopped_at"],
    }


class _NothingIndexed(errors.InputError):
    """Every file of a batch failed: for a command that is a report like any other."""

    def __init__(self, message: str, *, hint: str, report: Json) -> None:
        super().__init__(message, hint=hint)
        self.report = report


def _batches(files: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
    batch: list[FoundFile] = []
    size = 0
    for file in files:
        bytes_ = file.path.stat().st_size
        if batch and (len(batch) >= BATCH_FILES or size + bytes_ > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += bytes_
    if batch:
        yield batch


def _with_sidecars(batch: Sequence[FoundFile]) -> Iterator[tuple[Path, str]]:
    """Each file with its source name, and its `.meta.json` beside it under the same folder name, once."""
    seen = set()
    for file in batch:
        folder = file.source.rpartition("/")[0]
        names = (f"{file.path.name}{SIDECAR_SUFFIX}", f"{file.path.stem}{SIDECAR_SUFFIX}")
        beside = [file.path.with_name(name) for name in names]
        for path in (file.path, *(path for path in beside if path.is_file())):
            source = f"{folder}/{path.name}" if folder else path.name
            if source not in seen:
                seen.add(source)
                yield path, source


def _path(document_id: str) -> str:
    return f"/api/v1/documents/{quote(document_id, safe='')}"


def _given(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _error(body: Json) -> errors.EvigraphError:
    """The error a problem stands for; codes of the HTTP layer itself become the base class."""
    message, hint = str(body.get("detail", "")), str(body.get("hint", ""))
    code = str(body.get("code", ""))
    if code in ("nothing_indexed", "nothing_imported") and isinstance(body.get("report"), dict):
        return _NothingIndexed(message, hint=hint, report=body["report"])
    kind = _by_code(errors.EvigraphError).get(code, errors.EvigraphError)
    error = kind.__new__(kind)
    # The subclasses' own initialisers compose the message that the server already composed.
    errors.EvigraphError.__init__(error, message, hint=hint)
    return error


def _by_code(kind: type[errors.EvigraphError]) -> dict[str, type[errors.EvigraphError]]:
    found = {kind.code: kind}
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            found |= _by_code(child)
    return found
