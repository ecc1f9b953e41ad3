"""Pipelines, and `POST /pipeline/{id}/query`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from evigraph.engine import Evigraph
from evigraph.query.bases.pipelines import FIELDS, check_fields
from evigraph.server.base_schemas import PipelineBody, PipelineChange, PipelineQueryBody
from evigraph.server.bases_shapes import PipelineAnswer, PipelineDeleted, PipelinesAnswer, PipelineShape
from evigraph.server.bodies import json_object
from evigraph.server.openapi import body, returns
from evigraph.server.problems import Json
from evigraph.server.routes.knowledge_bases import fields_of, without_nulls
from evigraph.server.work import UserOf, WorkOf, WorkspaceOf
from evigraph.wire import answer_to_wire, plain

PREFIX = "/pipeline"

router = APIRouter(tags=["pipelines"])

PipelineIdOf = Annotated[str, Path(description="As it was made.", examples=["pipe-0123456789ab"])]


@router.post(PREFIX, openapi_extra=body(PipelineBody), **returns(PipelineShape, 404, 409, 413, 415))
async def create(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Make a pipeline over one knowledge base or more."""
    given = await json_object(request)
    fields = without_nulls(fields_of(given, PipelineBody, required=("name", "knowledge_bases")))
    return Json(plain(await work.read(lambda engine: engine.pipelines.create(**fields), workspace)))


@router.get(PREFIX, **returns(PipelinesAnswer))
async def list_(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """All pipelines, by name."""
    return Json({"pipelines": plain(await work.read(lambda engine: engine.pipelines.list(), workspace))})


@router.get(f"{PREFIX}/{{pipeline_id}}", **returns(PipelineShape, 404))
async def show(pipeline_id: PipelineIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """One pipeline."""
    return Json(plain(await work.read(lambda engine: engine.pipelines.show(pipeline_id), workspace)))


@router.patch(
    f"{PREFIX}/{{pipeline_id}}", openapi_extra=body(PipelineChange), **returns(PipelineShape, 404, 409, 413, 415)
)
async def update(request: Request, pipeline_id: PipelineIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Change name, knowledge bases, chat model or defaults."""
    fields = fields_of(await json_object(request), PipelineChange)
    return Json(plain(await work.read(lambda engine: engine.pipelines.update(pipeline_id, **fields), workspace)))


@router.delete(f"{PREFIX}/{{pipeline_id}}", **returns(PipelineDeleted, 404))
async def delete(pipeline_id: PipelineIdOf, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Delete a pipeline; its knowledge bases stay as they are."""
    await work.read(lambda engine: engine.pipelines.delete(pipeline_id), workspace)
    return Json({"id": pipeline_id, "deleted": True})


@router.post(
    f"{PREFIX}/{{pipeline_id}}/query",
    openapi_extra=body(PipelineQueryBody),
    **returns(PipelineAnswer, 404, 409, 413, 415),
)
async def query(
    request: Request, pipeline_id: PipelineIdOf, work: WorkOf, workspace: WorkspaceOf, user: UserOf
) -> Response:
    """Answer from the documents of the pipeline's knowledge bases, with checked citations; or abstain and say why."""
    fields = await json_object(request)
    return Json(await work.read(lambda engine: _ask(engine, pipeline_id, fields, user), workspace))


def _ask(engine: Evigraph, pipeline_id: str, fields: dict[str, Any], user: str) -> dict[str, Any]:
    # First, because a field named like a parameter of `query` would otherwise never reach the validation.
    check_fields(fields)
    known: dict[str, Any] = {name: fields.get(name) for name in FIELDS}
    answer = engine.pipelines.query(pipeline_id, known.pop("question"), user=user, **known)
    return {**answer_to_wire(answer), "pipeline_id": pipeline_id}
