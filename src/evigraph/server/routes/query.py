"""Asking: `POST /api/v1/query`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from evigraph.engine import Evigraph
from evigraph.errors import UnknownField
from evigraph.query.request import parse
from evigraph.server.answers import QueryAnswer
from evigraph.server.bodies import json_object
from evigraph.server.openapi import body, returns
from evigraph.server.problems import Json
from evigraph.server.schemas import QueryBody
from evigraph.server.work import UserOf, WorkOf, WorkspaceOf
from evigraph.wire import answer_to_wire

router = APIRouter(tags=["questions"])


@router.post("/api/v1/query", openapi_extra=body(QueryBody), **returns(QueryAnswer, 409, 410, 413, 415))
async def query(request: Request, work: WorkOf, workspace: WorkspaceOf, user: UserOf) -> Response:
    """Answer a question from evidence, with checked citations; or abstain and say why."""
    fields = await json_object(request)
    return Json(await work.read(lambda engine: _ask(engine, fields, user), workspace))


def _ask(engine: Evigraph, fields: dict[str, Any], user: str) -> dict[str, Any]:
    if "user" in fields:
        # Who asks is for the header to say, which a proxy can set.
        raise UnknownField("user", tuple(QueryBody.model_fields), hint="send it in the header X-User-ID")
    # First, because a field named like a parameter of `ask` would otherwise never reach the validation.
    parse(fields, max_query_chars=engine.settings.max_query_chars)
    options = {name: value for name, value in fields.items() if name != "query"}
    return answer_to_wire(engine.ask(fields["query"], user=user, **options))
