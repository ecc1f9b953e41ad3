"""Import and export: a graph made elsewhere in, the visible graph out."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from evigraph.engine import Evigraph
from evigraph.reports import ImportReport
from evigraph.server.bodies import UploadForm, upload_form
from evigraph.server.openapi import body, returns
from evigraph.server.parameters import ScopeOf
from evigraph.server.problems import InvalidForm, Json, NothingImported
from evigraph.server.schemas import ImportBody
from evigraph.server.upload import bare_name, flag, json_field
from evigraph.server.work import Work, WorkOf, WorkspaceOf
from evigraph.wire import plain

PREFIX = "/api/v1/graph"
PIECES = 500
"""Lines that are made in one turn on a reader's thread."""

_MEDIA = {"jsonl": "application/x-ndjson", "graphml": "application/graphml+xml"}
_EXPORTED: dict[str, Any] = returns(ImportReport, 410)
_EXPORTED["responses"] = {
    **_EXPORTED["responses"],
    200: {
        "description": "The graph, as it is made.",
        "content": {media: {"schema": {"type": "string"}} for media in _MEDIA.values()},
    },
}

router = APIRouter(tags=["graph"])
_closing: set[asyncio.Task[None]] = set()


@router.get(f"{PREFIX}/export", **_EXPORTED)
async def export(
    *,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    format: Annotated[
        Literal["jsonl", "graphml"],
        Query(description="JSON Lines, which import reads, or GraphML for graph programs."),
    ] = "jsonl",
) -> Response:
    """The visible, filtered graph, streamed: one generation, however long it takes."""
    pieces = await work.read(lambda engine: _Pieces(engine.export(format, **scope.fields())), workspace)
    return StreamingResponse(
        _streamed(work, pieces),
        media_type=_MEDIA[format],
        headers={"Content-Disposition": f'attachment; filename="graph.{format}"'},
    )


@router.post(
    f"{PREFIX}/import",
    openapi_extra=body(ImportBody, media_type="multipart/form-data"),
    **returns(ImportReport, 409, 413, 415),
)
async def import_graph(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Import a graph: the tables of a GraphRAG output folder, a corpus with OpenIE triples, or JSON Lines as export
    writes them. Rows that cannot be used are in the report; 422 when nothing could be imported."""
    limit = work.engine.settings.max_file_bytes
    form = await upload_form(request, max_file_bytes=limit, known=("metadata", "format", "extract"))
    try:
        names = _names(form)
        options = {
            "metadata": json_field(form, "metadata", dict) or {},
            "format": _format(form),
            "extract": flag(form, "extract"),
        }
        report = await work.write(lambda engine: _import(engine, form, names, options), workspace)
    finally:
        await form.form.close()
    if report.documents:
        return Json(plain(report))
    reasons = ", ".join(f"{problem.reason} ({problem.count})" for problem in report.problems)
    raise NothingImported(
        f"nothing could be imported as {report.format}: {reasons or 'there are no rows'}",
        hint="`report` lists what is wrong, row by row",
        report=plain(report),
    )


def _names(form: UploadForm) -> list[str]:
    if not form.files:
        raise InvalidForm("the form holds no file", hint="for example curl -F files=@graph.jsonl")
    names = [bare_name(file.filename or "") for file in form.files]
    if len({name.casefold() for name in names}) != len(names):
        raise InvalidForm("two files have the same name", hint="a table is told by its file's name; send each once")
    return names


def _format(form: UploadForm) -> str | None:
    given = form.fields.get("format", [])
    return given[-1] or None if given else None


def _import(engine: Evigraph, form: UploadForm, names: list[str], options: dict[str, Any]) -> ImportReport:
    """Write the files into a fresh temporary folder, import that folder, remove it."""
    with tempfile.TemporaryDirectory(prefix="evigraph-import-") as folder:
        root = Path(folder).resolve()
        for file, name in zip(form.files, names, strict=True):
            with root.joinpath(name).open("xb") as target:
                shutil.copyfileobj(file.file, target)
        return engine.import_graph(root if len(names) > 1 else root / names[0], root=root, **options)


class _Pieces:
    """An export that turns of several threads draw from, one at a time."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._turn = threading.Lock()

    def take(self) -> bytes:
        """The next pieces; nothing at the end."""
        with self._turn:
            return "".join(islice(self._source, PIECES)).encode("utf-8", "replace")

    def close(self) -> None:
        with self._turn:
            self._source.close()  # type: ignore[attr-defined]


async def _streamed(work: Work, pieces: _Pieces) -> AsyncIterator[bytes]:
    try:
        while block := await work.read(lambda engine: pieces.take()):
            yield block
    finally:
        # Also where the client went away in the middle, when nothing may be awaited here any more.
        task = asyncio.ensure_future(work.read(lambda engine: pieces.close()))
        _closing.add(task)
        task.add_done_callback(_closing.discard)
