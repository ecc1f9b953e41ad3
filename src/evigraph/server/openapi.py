"""What FastAPI cannot infer, because bodies are validated by the library: request and error schemas."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evigraph.server import base_schemas, schemas
from evigraph.server.answers import ProblemBody

REF = "#/components/schemas/{model}"
BODIES = (
    schemas.QueryBody,
    schemas.DocumentBody,
    schemas.OneDocumentBody,
    schemas.DocumentsBody,
    schemas.UploadBody,
    schemas.ImportBody,
    schemas.PlanBody,
    schemas.SchemaBody,
    schemas.MergeBody,
    schemas.ShareBody,
    base_schemas.KnowledgeBaseBody,
    base_schemas.KnowledgeBaseChange,
    base_schemas.PipelineBody,
    base_schemas.PipelineChange,
    base_schemas.PipelineQueryBody,
)

_STATUSES = {
    404: "No such document, revision or path.",
    409: "Cannot be done in this state; the hint names the setting.",
    410: "`as_of` lies before the last prune.",
    413: "The body, or a file in it, is too large.",
    415: "Not the content type asked for.",
    422: "The request is malformed or out of range.",
    503: "The store cannot be used.",
}


def body(*models: type[BaseModel], media_type: str = "application/json") -> dict[str, Any]:
    """`openapi_extra` for a route that reads its body itself: one of these models."""
    refs = [{"$ref": REF.format(model=model.__name__)} for model in models]
    schema = refs[0] if len(refs) == 1 else {"oneOf": refs}
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}


def returns(model: type[Any], *statuses: int) -> dict[str, Any]:
    """Route arguments that document the answer and the problems it may be instead; 422 and 503 always can."""
    problems = {
        status: {
            "description": _STATUSES[status],
            "content": {"application/problem+json": {"schema": {"$ref": REF.format(model=ProblemBody.__name__)}}},
        }
        for status in sorted({422, 503, *statuses})
    }
    return {"response_model": None, "responses": {200: {"model": model}, **problems}}


def install(app: FastAPI) -> None:
    """Make `app.openapi` add the schemas that the routes only refer to."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            models = [(model, "validation") for model in (*BODIES, ProblemBody)]
            _, found = models_json_schema(models, ref_template=REF)  # type: ignore[arg-type]
            known = document.setdefault("components", {}).setdefault("schemas", {})
            known.update(found.get("$defs", {}))
            document["components"]["schemas"] = dict(sorted(known.items()))
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
