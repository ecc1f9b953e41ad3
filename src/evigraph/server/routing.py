"""What holds for every route: query parameters are known ones, HEAD is answered, 405 names all methods."""

from __future__ import annotations

from fastapi import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evigraph.errors import InvalidValue, UnknownField


async def known_parameters(request: Request) -> None:
    """Dependency of every route: raises `UnknownField` for a query parameter that OpenAPI does not list, and
    `InvalidValue` for a body where it describes none."""
    operations = request.app.openapi()["paths"].get(request.scope["route"].path_format, {})
    operation = operations.get(request.method.lower(), {})
    valid = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in valid:
            hint = "" if valid else "this operation has no query parameters"
            raise UnknownField(name.encode(errors="replace").decode(), valid, hint=hint)
        if given.count(name) > 1:
            raise InvalidValue(f"the query parameter {name} is given twice", hint="give it once")
    if operation and "requestBody" not in operation and await _has_body(request):
        raise InvalidValue("this operation takes no body", hint="leave it out; nothing in it would be read")


async def _has_body(request: Request) -> bool:
    """Whether anything was sent; an empty JSON object says nothing."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > 2:
        return True
    if "transfer-encoding" not in request.headers and not declared:
        return False
    return (await request.body()).strip() not in (b"", b"{}")


def allowed_methods(request: Request) -> list[str]:
    """The methods that some route of this path answers; a path may have a route for each."""
    found: set[str] = set()
    for router in request.app.state.routers:
        for route in router.routes:
            if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
                found |= route.methods or set()
    return sorted(found | {"HEAD"} if "GET" in found else found)


class HeadAsGet:
    """Middleware: HEAD is GET without the body (RFC 9110, section 9.3.2), for every path."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.app({**scope, "method": "GET"}, receive, without_body)
