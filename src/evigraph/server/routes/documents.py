"""Documents: index, list, show, history, text, delete."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from evigraph.engine import Evigraph
from evigraph.errors import InvalidItem, InvalidQuery, InvalidValue
from evigraph.query.checks import check_text
from evigraph.query.request import parse
from evigraph.reports import IndexReport
from evigraph.server.answers import (
    DeletedAnswer,
    DocumentsAnswer,
    DocumentShape,
    IndexAnswer,
    RevisionsAnswer,
    TextAnswer,
)
from evigraph.server.bodies import check_texts, json_body
from evigraph.server.openapi import body, returns
from evigraph.server.problems import InvalidJson, Json, NothingIndexed
from evigraph.server.schemas import DocumentsBody, OneDocumentBody, UploadBody
from evigraph.server.upload import index_upload, receive_upload
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.wire import plain

PREFIX = "/api/v1/documents"

ENCODED = (f"{PREFIX}/", "/api/v1/graph/entities/", "/knowledge-bases/")
"""What paths that end in an id begin with."""

router = APIRouter(tags=["documents"])


class EncodedIds:
    """Middleware: route paths of documents and entities as they were sent, since an id may hold slashes (`%2F`) that
    decoding would turn into separators. The route's own dependency decodes what it then captures."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and raw.startswith(tuple(path.encode() for path in ENCODED)):
            scope = {**scope, "path": raw.decode("ascii", errors="replace")}
        await self.app(scope, receive, send)


async def _document_id(document_id: str) -> str:
    try:
        return check_text("the document id", unquote_to_bytes(document_id).decode())
    except UnicodeDecodeError:
        raise InvalidValue("the document id is not UTF-8", hint="percent-encode its UTF-8 bytes") from None


async def _as_of(
    as_of: Annotated[
        str | None,
        Query(
            description="An earlier state: a generation, or a time in ISO 8601. Later than the newest generation "
            "means the newest."
        ),
    ] = None,
) -> Any:
    if as_of is None:
        return None
    moment = int(as_of) if as_of.isascii() and as_of.isdigit() and len(as_of) < 20 else as_of
    return parse({"query": "as_of", "as_of": moment}).as_of


async def _revision(revision: Annotated[int | None, Query(ge=1, lt=2**31)] = None) -> int | None:
    return revision


IdOf = Annotated[str, Depends(_document_id)]
AsOf = Annotated[Any, Depends(_as_of)]
RevisionOf = Annotated[int | None, Depends(_revision)]


@router.post(PREFIX, openapi_extra=body(OneDocumentBody, DocumentsBody), **returns(IndexAnswer, 409, 413, 415))
async def index(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Index one document, or `{"documents": [...]}`. What fails is listed; 422 when everything failed."""
    given, build_tree = _build_tree(await json_body(request))
    items = _items(given)
    report = await work.write(lambda engine: engine.index(items, build_tree=build_tree), workspace)
    return indexed(report)


@router.post(
    f"{PREFIX}/upload",
    openapi_extra=body(UploadBody, media_type="multipart/form-data"),
    **returns(IndexAnswer, 409, 413, 415),
)
async def upload(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Index files. A file over the server's limit refuses the whole request (413)."""
    received = await receive_upload(request, max_file_bytes=work.engine.settings.max_file_bytes)
    try:
        report = await work.write(lambda engine: index_upload(engine, received), workspace)
    finally:
        await received.close()
    return indexed(report)


@router.get(PREFIX, **returns(DocumentsAnswer, 410))
async def documents(work: WorkOf, workspace: WorkspaceOf, as_of: AsOf) -> Response:
    """Visible documents, by source, and the generation they were read at."""
    return Json(await work.read(lambda engine: _documents(engine, as_of), workspace))


@router.get(f"{PREFIX}/{{document_id:path}}/revisions", **returns(RevisionsAnswer, 404))
async def revisions(document_id: IdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """A document's history, deletions included, oldest first."""
    found = await work.read(lambda engine: engine.revisions(document_id), workspace)
    return Json({"revisions": plain(found)})


@router.get(f"{PREFIX}/{{document_id:path}}/text", **returns(TextAnswer, 404))
async def text(document_id: IdOf, work: WorkOf, workspace: WorkspaceOf, revision: RevisionOf) -> Response:
    """Extracted text (Markdown) of a revision, by default the visible one."""
    return Json(await work.read(lambda engine: _text(engine, document_id, revision), workspace))


@router.get(f"{PREFIX}/{{document_id:path}}", **returns(DocumentShape, 404, 410))
async def show(document_id: IdOf, work: WorkOf, workspace: WorkspaceOf, as_of: AsOf) -> Response:
    """One visible document. Percent-encode the id."""
    return Json(plain(await work.read(lambda engine: engine.document(document_id, as_of=as_of), workspace)))


@router.delete(f"{PREFIX}/{{document_id:path}}", **returns(DeletedAnswer, 404))
async def delete(document_id: IdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Publish a revision without passages. `POST /api/v1/prune` removes the text for good."""
    # On a reader's thread: a deletion does not wait for an index run.
    generation = await work.read(lambda engine: engine.delete(document_id), workspace)
    return Json({"document_id": document_id, "generation": generation})


def _documents(engine: Evigraph, as_of: Any) -> dict[str, Any]:
    with engine.store.snapshot(engine.workspace, as_of=as_of) as snapshot:
        return {"generation": snapshot.generation, "documents": plain(snapshot.documents())}


def _build_tree(given: Any) -> tuple[Any, bool]:
    """A JSON body without its field `build_tree`, and the value of that."""
    if not isinstance(given, dict) or "build_tree" not in given:
        return given, False
    if not isinstance(given["build_tree"], bool):
        raise InvalidJson("build_tree must be true or false", hint='for example {"text": "...", "build_tree": true}')
    return {name: value for name, value in given.items() if name != "build_tree"}, given["build_tree"]


def _items(given: Any) -> list[dict[str, Any]]:
    """The documents of a JSON body, checked to be text throughout; `index` validates the rest by item."""
    if isinstance(given, dict) and "documents" in given:
        if set(given) != {"documents"} or not isinstance(given["documents"], list):
            raise InvalidJson(
                "with `documents`, the body must hold that list and nothing else but `build_tree`",
                hint='send {"documents": [{"text": "..."}]}, or one document',
            )
        given = given["documents"]
    items = given if isinstance(given, list) else [given]
    if not items:
        raise InvalidItem("the list of documents is empty", hint="send at least one")
    if not all(isinstance(item, dict) for item in items):
        raise InvalidJson("a document must be a JSON object", hint='for example {"text": "..."}')
    try:
        check_texts("document", items)
    except InvalidQuery as error:
        raise InvalidItem(str(error), hint=error.hint) from None
    return items


def _text(engine: Evigraph, document_id: str, revision: int | None) -> dict[str, Any]:
    number = engine.document(document_id).revision if revision is None else revision
    return {
        "document_id": document_id,
        "revision": number,
        "text": engine.document_text(document_id, revision=number),
    }


def indexed(report: IndexReport) -> Response:
    """A report as the answer to an upload. Raises `NothingIndexed` where every document failed."""
    shown = {**plain(report), "degraded": []}
    if report.documents:
        return Json(shown)
    first = report.errors[0].message if report.errors else "there was nothing in the request"
    raise NothingIndexed(
        f"none of {len(report.errors)} documents could be indexed; the first: {first}",
        hint=report.errors[0].hint if report.errors else "send documents with text",
        report=shown,
    )
