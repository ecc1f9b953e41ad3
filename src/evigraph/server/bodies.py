"""Reading request bodies: JSON and multipart forms, bounded while they stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, NoReturn

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from evigraph.query.checks import check_text
from evigraph.server.problems import (
    BodyTooLarge,
    InvalidForm,
    InvalidJson,
    UnsupportedMediaType,
    UploadTooLarge,
)

MAX_JSON_BYTES = 10_000_000
MAX_UPLOAD_FILES = 1_000


async def json_body(request: Request) -> Any:
    """The decoded body. Raises `UnsupportedMediaType`, `BodyTooLarge` or `InvalidJson`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType(
            f"the body's type is {kind[:80] or 'not given'}",
            hint="send JSON with Content-Type: application/json",
        )
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > MAX_JSON_BYTES:
            raise BodyTooLarge(
                f"the JSON body has more than {MAX_JSON_BYTES:,} bytes",
                hint="send fewer documents at a time, or files to /api/v1/documents/upload",
            )
    return decode(bytes(received))


async def json_object(request: Request) -> dict[str, Any]:
    """The decoded body, which must be an object."""
    body = await json_body(request)
    if not isinstance(body, dict):
        raise InvalidJson("the body must be a JSON object", hint='for example {"query": "..."}')
    return body


def decode(text: bytes | str) -> Any:
    """Strict JSON: no NaN or Infinity. Raises `InvalidJson`."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidJson("the JSON is nested too deeply", hint="send flat objects") from None
    except ValueError as error:  # malformed, not UTF-8, or a number of thousands of digits
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        where = f" at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidJson(f"the body is not valid JSON: {reason}{where}", hint="send UTF-8 JSON") from None


def _no_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON", hint="send a finite number or null")


def check_texts(name: str, value: Any) -> None:
    """Refuse NUL and lone surrogates anywhere in a decoded JSON value."""
    if isinstance(value, str):
        check_text(name, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_text(f"a key of {name}", key)
            check_texts(f"{name}.{key[:40]}", item)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            check_texts(f"{name}[{position}]", item)


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadForm:
    """A parsed form. Files are spooled to disk; close the form when done."""

    files: tuple[UploadFile, ...]
    fields: dict[str, list[str]]
    form: FormData


async def upload_form(request: Request, *, max_file_bytes: int, known: tuple[str, ...]) -> UploadForm:
    """Read `multipart/form-data` whose files, in any field, have at most `max_file_bytes` each.

    Raises `UnsupportedMediaType`, `UploadTooLarge` or `InvalidForm` (also for text fields not in `known`).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise UnsupportedMediaType(
            f"the body's type is {kind[:80] or 'not given'}",
            hint="send multipart/form-data with one or more files, for example curl -F files=@report.pdf",
        )
    parser = _BoundedParser(request, max_file_bytes)
    try:
        form = await parser.parse()
    except _TooLarge:
        raise UploadTooLarge(
            f"an uploaded file has more than {max_file_bytes:,} bytes",
            hint="split the file, or raise EVIGRAPH_MAX_FILE_BYTES on the server",
        ) from None
    except MultiPartException as error:
        raise InvalidForm(f"malformed form: {error.message}", hint="send multipart/form-data") from None
    files = tuple(item for _, item in form.multi_items() if isinstance(item, UploadFile))
    fields: dict[str, list[str]] = {}
    for name, item in form.multi_items():
        if isinstance(item, str):
            fields.setdefault(name, []).append(check_text(f"form field {name[:40]!r}", item))
    unknown = sorted(set(fields) - set(known))
    if unknown:
        await form.close()
        raise InvalidForm(f"unknown form field {unknown[0][:80]!r}", hint=f"valid: files, {', '.join(known)}")
    return UploadForm(files=files, fields=fields, form=form)


class _TooLarge(MultiPartException):
    pass


class _BoundedParser(MultiPartParser):
    """Counts the bytes of each part, so that an endless file is cut off and not spooled."""

    def __init__(self, request: Request, max_part_bytes: int) -> None:
        stream: AsyncGenerator[bytes, None] = request.stream()
        super().__init__(request.headers, stream, max_files=MAX_UPLOAD_FILES)
        self._limit = max_part_bytes
        self._size = 0

    def on_part_begin(self) -> None:
        self._size = 0
        super().on_part_begin()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._size += end - start
        if self._size > self._limit:
            raise _TooLarge("file too large")
        super().on_part_data(data, start, end)
