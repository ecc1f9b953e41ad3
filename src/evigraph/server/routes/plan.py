"""Typed plans and the domain schema: `POST /api/v1/plan`, `/api/v1/schema`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from evigraph.engine import Evigraph
from evigraph.errors import InvalidPlan, UnknownField
from evigraph.query.plan.parse import parse_plan
from evigraph.query.request import parse
from evigraph.server.answers import QueryAnswer, SchemaAnswer, SchemaChanged
from evigraph.server.bodies import json_object
from evigraph.server.openapi import body, returns
from evigraph.server.problems import Json
from evigraph.server.routes.documents import AsOf
from evigraph.server.schemas import PlanBody, SchemaBody
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.wire import answer_to_wire, plain

router = APIRouter(tags=["plans"])


@router.post("/api/v1/plan", openapi_extra=body(PlanBody), **returns(QueryAnswer, 409, 410, 413, 415))
async def plan(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Execute a typed plan, or one that the chat model proposes for `query`; or abstain, naming the step, the reason
    and what would have been valid."""
    fields = await json_object(request)
    return Json(await work.read(lambda engine: _plan(engine, fields), workspace))


@router.get("/api/v1/schema", **returns(SchemaAnswer, 410))
async def schema(work: WorkOf, workspace: WorkspaceOf, as_of: AsOf) -> Response:
    """The domain schema given, else one inferred from the visible assertions."""
    return Json(plain(await work.read(lambda engine: engine.schema(as_of=as_of), workspace)))


@router.put("/api/v1/schema", openapi_extra=body(SchemaBody), **returns(SchemaChanged, 413, 415))
async def set_schema(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Give the workspace a domain schema; plans and extraction go by it."""
    given = await json_object(request)
    return Json({"generation": await work.read(lambda engine: engine.set_schema(given), workspace)})


@router.delete("/api/v1/schema", **returns(SchemaChanged))
async def remove_schema(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Take the given schema back; it is inferred again."""
    return Json({"generation": await work.read(lambda engine: engine.set_schema(None), workspace)})


def _plan(engine: Evigraph, fields: dict[str, Any]) -> dict[str, Any]:
    valid = tuple(PlanBody.model_fields)
    for name in sorted(fields):
        if name not in valid:
            raise UnknownField(name, valid)
    given = fields.get("plan")
    options = {name: value for name, value in fields.items() if name != "plan"}
    if given is not None:
        return answer_to_wire(engine.plan(parse_plan(given), **options))
    if fields.get("query") is None:
        raise InvalidPlan("neither a plan nor a question is given", hint="send `plan`, or `query`")
    parse(options, max_query_chars=engine.settings.max_query_chars)
    return answer_to_wire(engine.plan(options.pop("query"), **options))
