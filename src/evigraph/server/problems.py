"""Every failure as RFC 9457 problem JSON: `type`, `title`, `status`, `detail`, `code`, `hint` and extras."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evigraph.errors import EvigraphError, FileTooLarge, InputError, NotFound, StoreError
from evigraph.server.routing import allowed_methods

log = logging.getLogger("evigraph.server")


class InvalidJson(InputError):
    """The body is not JSON, or not the JSON value asked for."""

    code = "invalid_json"


class InvalidForm(InputError):
    """The multipart form is malformed, or a field of it is."""

    code = "invalid_form"


class UnsupportedMediaType(EvigraphError):
    code = "unsupported_media_type"
    status = 415


class BodyTooLarge(EvigraphError):
    code = "body_too_large"
    status = 413


class UploadTooLarge(FileTooLarge):
    """An uploaded file over the limit: refused while it streams, so nothing of the request is indexed."""

    status = 413


class UnknownPath(NotFound):
    code = "unknown_path"


class NotReady(StoreError):
    """The process is up, but cannot answer questions yet."""

    code = "not_ready"


class NothingIndexed(InputError):
    """Every document of the request failed; `report` says why, document by document."""

    code = "nothing_indexed"

    def __init__(self, message: str, *, hint: str, report: Mapping[str, Any]) -> None:
        super().__init__(message, hint=hint)
        self.report = report


class NothingImported(NothingIndexed):
    """Nothing of an import could be used; `report` says why, row by row."""

    code = "nothing_imported"


class Json(Response):
    """JSON that is always valid UTF-8: half of a surrogate pair, which no encoder accepts, becomes `?`."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", errors="replace")


class Problem(Json):
    media_type = "application/problem+json"


def problem(error: EvigraphError, *, headers: Mapping[str, str] | None = None) -> Problem:
    """An error as a response; its status is the class's."""
    extras = {name: getattr(error, name) for name in ("valid", "report") if hasattr(error, name)}
    return _problem(error.status, error.code, str(error), error.hint, headers=headers, extras=extras)


def _problem(
    status: int,
    code: str,
    detail: str,
    hint: str,
    *,
    headers: Mapping[str, str] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> Problem:
    body = {
        "type": f"urn:evigraph:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
        **(extras or {}),
    }
    return Problem(body, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Turn the errors of routes and of routing into problems; `CatchAll` sees to the rest."""
    app.add_exception_handler(EvigraphError, _on_evigraph_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_validation_error)


async def _on_evigraph_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, EvigraphError)
    if error.status >= 500:
        log.warning("%s %s: %s: %s", request.method, request.url.path, error.code, error)
    return problem(error)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem(UnknownPath(f"there is no {request.url.path}", hint="GET /docs lists what there is"))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(allowed_methods(request))
        detail = f"{request.method} is not allowed on {request.url.path}"
        return _problem(405, "method_not_allowed", detail, f"allowed: {allowed}", headers={"Allow": allowed})
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_")
    return _problem(error.status_code, code, str(error.detail), "", headers=error.headers)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    """A parameter of the wrong type. Its value is not repeated: it may be a secret in the wrong place."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
    return _problem(422, "invalid_value", "; ".join(found), "GET /docs describes every parameter")


class CatchAll:
    """Outermost middleware: what nobody foresaw is logged with its trace and answered without it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            log.info("%s %s: the client went away", scope["method"], scope["path"])
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                detail = "the server failed to carry out the request"
                hint = "the server's log holds the cause"
                await _problem(500, "internal_error", detail, hint)(scope, receive, send)
