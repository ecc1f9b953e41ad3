"""Operations: what runs here, is it up, jobs, prune, reembed."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from evigraph.engine import Evigraph
from evigraph.errors import EvigraphError
from evigraph.server.answers import JobsAnswer, PrunedAnswer, ReembeddedAnswer
from evigraph.server.openapi import returns
from evigraph.server.problems import Json, NotReady
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.store.knowledge_bases import of_own_models
from evigraph.wire import plain

router = APIRouter(tags=["operations"])


class HealthAnswer(BaseModel):
    status: str


class ReadyAnswer(BaseModel):
    """`embedder` and `extractor` name the models that were loaded."""

    status: str
    embedder: str
    extractor: str


class CapabilitiesAnswer(BaseModel):
    """What is active. `modes`, `methods` and `enhancers` say of each entry whether it is available."""

    model_config = ConfigDict(extra="allow")

    embedder: dict[str, Any]
    modes: dict[str, Any]


@router.get("/health", response_model=HealthAnswer)
async def health() -> Response:
    """The process is up."""
    return Json({"status": "ok"})


@router.get("/ready", **returns(ReadyAnswer))
async def ready(work: WorkOf) -> Response:
    """The store answers and the models load; 503 with the cause otherwise."""
    return Json(await work.read(_ready))


@router.get("/capabilities", **returns(CapabilitiesAnswer))
@router.get("/api/v1/capabilities", **returns(CapabilitiesAnswer))
async def capabilities(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """What runs here: models, and each mode, method and enhancer with its limits."""
    return Json(plain(await work.read(lambda engine: engine.capabilities(), workspace)))


@router.get("/api/v1/jobs", **returns(JobsAnswer))
async def jobs(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Records of index, prune, reembed and communities runs, newest first."""
    return Json({"jobs": plain(await work.read(lambda engine: engine.jobs(), workspace))})


@router.post("/api/v1/prune", **returns(PrunedAnswer))
async def prune(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Remove superseded and unpublished rows for good; earlier states cannot be asked for afterwards."""
    return Json(plain(await work.write(lambda engine: engine.prune(), workspace)))


@router.post("/api/v1/reembed", **returns(ReembeddedAnswer))
async def reembed(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Embed the workspace with the server's model, then switch to it. Documents of knowledge bases with a model of
    their own are left alone, and counted."""
    generation = await work.write(lambda engine: engine.reembed(), workspace)
    left_alone = await work.read(lambda engine: of_own_models(engine.store, engine.workspace), workspace)
    return Json({"generation": generation, "left_alone": left_alone})


def _ready(engine: Evigraph) -> dict[str, str]:
    try:
        engine.store.generation(engine.workspace)
        return {"status": "ready", "embedder": engine.embedder.name, "extractor": engine.extractor.name}
    except EvigraphError as error:
        raise NotReady(f"{error.code}: {error}", hint=error.hint) from error
