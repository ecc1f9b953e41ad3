"""Communities: the themes that corpus-wide questions are answered from; how they are built, and how stale they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from evigraph.communities import BuildReport, Community
from evigraph.query.checks import check_text
from evigraph.query.entities import BOUNDS
from evigraph.server.communities_shapes import CommunitiesAnswer, TreeStatusAnswer
from evigraph.server.openapi import returns
from evigraph.server.parameters import ScopeOf
from evigraph.server.problems import Json
from evigraph.server.routes.documents import AsOf
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.wire import plain

PREFIX = "/api/v1/communities"

router = APIRouter(tags=["communities"])


def _bounded(name: str, description: str) -> Any:
    low, high = BOUNDS[name]
    return Query(ge=low, le=high, description=description)


async def _community_id(
    community_id: Annotated[str, Path(description="A community's id, such as `c3`.", examples=["c3"])],
) -> str:
    return check_text("the community id", community_id)


@router.get(PREFIX, **returns(CommunitiesAnswer, 410))
async def communities(
    *,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    level: Annotated[int, Query(description="0 is the broadest; a larger one is finer.")] = 0,
    limit: Annotated[int, _bounded("limit", "How many are returned at most.")] = 50,
    offset: Annotated[int, _bounded("offset", "How many are skipped.")] = 0,
) -> Response:
    """The communities of a level, largest first, each with its summary. Under filters they are those of the documents
    in scope, and their ids hold within that scope."""
    found = await work.read(
        lambda engine: engine.communities.show(level, limit=limit, offset=offset, **scope.fields()), workspace
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/status", **returns(TreeStatusAnswer, 410))
async def status(work: WorkOf, workspace: WorkspaceOf, as_of: AsOf) -> Response:
    """What is built, how much has changed since, and what a build would ask of the chat model."""
    return Json(plain(await work.read(lambda engine: engine.communities.status(as_of=as_of), workspace)))


@router.get(f"{PREFIX}/{{community_id}}", **returns(Community, 404, 410))
async def community(
    *,
    community_id: Annotated[str, Depends(_community_id)],
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
) -> Response:
    """One community: its most connected entities, its summary, and the sentences that this rests on."""
    found = await work.read(lambda engine: engine.communities.community(community_id, **scope.fields()), workspace)
    return Json(plain(found))


@router.post(f"{PREFIX}/build", **returns(BuildReport))
async def build(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Cluster the graph anew and summarise its communities; summaries whose inputs are the same are kept. `status` says
    beforehand what that asks of the chat model."""
    return Json(plain(await work.write(lambda engine: engine.communities.build(), workspace)))


@router.post(f"{PREFIX}/refresh", **returns(BuildReport, 404))
async def refresh(work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Keep the communities and renew the summaries whose inputs changed. 404 where none are built."""
    return Json(plain(await work.write(lambda engine: engine.communities.refresh(), workspace)))
