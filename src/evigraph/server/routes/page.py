"""The description of the API as JSON, and `/docs`: a page of our own, which needs no network."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from evigraph.server.problems import Json, UnknownPath

router = APIRouter(include_in_schema=False)

STATIC = Path(__file__).resolve().parents[1] / "static"
MEDIA_TYPES = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The page runs its own script, talks to its own origin, and cannot be framed."""


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The API as OpenAPI 3.1."""
    return Json(request.app.openapi())


@router.get("/docs")
async def docs() -> Response:
    """Operations with their parameters and schemas, each with a form to try it."""
    return _static("page.html")


@router.get("/docs/{name}")
async def part(name: str) -> Response:
    """The page's script and style."""
    if name not in MEDIA_TYPES:
        raise UnknownPath(f"there is no /docs/{name[:80]}", hint="GET /docs is the page")
    return _static(name)


def _static(name: str) -> Response:
    return Response((STATIC / name).read_bytes(), media_type=MEDIA_TYPES[name], headers=HEADERS)
