"""The application: routes, problems and the engine's threads, composed on one screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

import evigraph
from evigraph.config import Settings
from evigraph.engine import Evigraph
from evigraph.server import openapi, problems, routing
from evigraph.server.routes import (
    communities,
    conversations,
    documents,
    exchange,
    graph,
    knowledge_bases,
    operations,
    page,
    pipeline_queries,
    plan,
    query,
)
from evigraph.server.work import Work


def create_app(source: Evigraph | Settings) -> FastAPI:
    """The HTTP API over an engine, or over one opened from settings at start and closed at the end.

    An engine handed in stays the caller's to close. `X-Workspace-ID` chooses the workspace of each request.
    """
    work = Work(source)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with work.running():
            yield

    app = FastAPI(
        title="evigraph",
        version=evigraph.__version__,
        description="Index documents into an evidence graph; ask questions; get checked citations.",
        lifespan=lifespan,
        redirect_slashes=False,
        dependencies=[Depends(routing.known_parameters)],
        openapi_url=None,  # `page` serves it, and a page that loads nothing from elsewhere
    )
    app.state.work = work
    app.state.routers = [
        routes.router
        for routes in (
            query,
            plan,
            documents,
            exchange,
            graph,
            communities,
            conversations,
            knowledge_bases,
            pipeline_queries,
            operations,
            page,
        )
    ]
    for router in app.state.routers:
        app.include_router(router)
    problems.install(app)
    openapi.install(app)
    app.add_middleware(documents.EncodedIds)
    app.add_middleware(routing.HeadAsGet)
    app.add_middleware(problems.CatchAll)
    return app
