"""Knowledge bases: named sets of documents, filled by uploads."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel
from starlette.responses import Response

from evigraph.bases import BaseDeleted, KnowledgeBase
from evigraph.errors import InvalidValue, UnknownField
from evigraph.server.answers import DeletedAnswer, IndexAnswer
from evigraph.server.base_schemas import KnowledgeBaseBody, KnowledgeBaseChange
from evigraph.server.bases_shapes import BaseDocumentsAnswer, KnowledgeBasesAnswer
from evigraph.server.bodies import json_object
from evigraph.server.openapi import body, returns
from evigraph.server.problems import Json
from evigraph.server.routes.documents import IdOf as DocumentIdOf
from evigraph.server.routes.documents import indexed
from evigraph.server.schemas import UploadBody
from evigraph.server.upload import index_upload, receive_upload
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.wire import plain

PREFIX = "/knowledge-bases"

router = APIRouter(tags=["knowledge bases"])

BaseIdOf = Annotated[str, Path(description="As it was made.", examples=["kb-0123456789ab"])]


def fields_of(given: dict[str, Any], model: type[BaseModel], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """A body's fields, checked to be those of the model; their values are for the library to check."""
    valid = tuple(model.model_fields)
    for name in sorted(given):
        if name not in valid:
            raise UnknownField(name, valid)
    for name in required:
        if given.get(name) is None:
            raise InvalidValue(f"{name} is missing", hint="GET /docs describes the body")
    return given


def without_nulls(given: dict[str, Any]) -> dict[str, Any]:
    """Fields that say something: in what is made anew, null is no value."""
    return {name: value for name, value in given.items() if value is not None}


@router.post(PREFIX, openapi_extra=body(KnowledgeBaseBody), **returns(KnowledgeBase, 409, 413, 415))
async def create(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Make an empty knowledge base, with the workspace's embedding model or one that is configured for bases."""
    fields = without_nulls(fields_of(await json_object(request), KnowledgeBaseBody, required=("name",)))
    made = await work.read(lambda engine: engine.knowledge_bases.create(**fields), workspace)
    return Json(plain(made))


@router.get(PREFIX, **returns(KnowledgeBasesAnswer))
async def list_(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """All knowledge bases, by name."""
    found = await work.read(lambda engine: engine.knowledge_bases.list(), workspace)
    return Json({"knowledge_bases": plain(found)})


@router.get(f"{PREFIX}/{{base_id}}", **returns(KnowledgeBase, 404))
async def show(base_id: BaseIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """One knowledge base, with what it holds."""
    return Json(plain(await work.read(lambda engine: engine.knowledge_bases.show(base_id), workspace)))


@router.patch(
    f"{PREFIX}/{{base_id}}", openapi_extra=body(KnowledgeBaseChange), **returns(KnowledgeBase, 404, 409, 413, 415)
)
async def update(request: Request, base_id: BaseIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Change name, description or chat model."""
    fields = fields_of(await json_object(request), KnowledgeBaseChange)
    changed = await work.read(lambda engine: engine.knowledge_bases.update(base_id, **fields), workspace)
    return Json(plain(changed))


@router.delete(f"{PREFIX}/{{base_id}}", **returns(BaseDeleted, 404))
async def delete(base_id: BaseIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Delete a knowledge base and its documents; the answer says how many. Nothing else is touched."""
    # On a reader's thread: a deletion does not wait for an index run.
    return Json(plain(await work.read(lambda engine: engine.knowledge_bases.delete(base_id), workspace)))


@router.post(
    f"{PREFIX}/{{base_id}}/upload",
    openapi_extra=body(UploadBody, media_type="multipart/form-data"),
    **returns(IndexAnswer, 404, 409, 413, 415),
)
async def upload(request: Request, base_id: BaseIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Index files into a knowledge base; `build_tree` also makes the trees that method `raptor` searches. A file over
    the server's limit refuses the whole request (413)."""
    received = await receive_upload(request, max_file_bytes=work.engine.settings.max_file_bytes)
    try:
        report = await work.write(lambda engine: index_upload(engine, received, knowledge_base=base_id), workspace)
    finally:
        await received.close()
    return indexed(report)


@router.get(f"{PREFIX}/{{base_id}}/documents", **returns(BaseDocumentsAnswer, 404))
async def documents(base_id: BaseIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Visible documents of a knowledge base, by source."""
    found = await work.read(lambda engine: engine.knowledge_bases.documents(base_id), workspace)
    return Json({"documents": plain(found)})


@router.delete(f"{PREFIX}/{{base_id}}/documents/{{document_id:path}}", **returns(DeletedAnswer, 404))
async def remove(base_id: BaseIdOf, document_id: DocumentIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Delete one document of a knowledge base. Percent-encode the id."""
    generation = await work.read(lambda engine: engine.knowledge_bases.remove(base_id, document_id), workspace)
    return Json({"document_id": document_id, "generation": generation})
