"""One JSON POST to a model server, or one like it, with everything that can go wrong turned into a typed error.

Timeouts and retries follow one rule: what may pass by itself (no connection, timeout, 429, 5xx, a broken
body) is tried again, what will not (any other 4xx, a redirect, a reply that is not JSON) is reported at once.
The key goes into the `Authorization` header and nowhere else: not into messages, logs or `repr`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from evigraph.errors import InvalidValue, ModelBadResponse, ModelError, ModelTimeout, ModelUnavailable
from evigraph.models.advice import Advice, model_advice

if TYPE_CHECKING:
    import httpx2

# A library does not print: without a handler Python shows the retries that stamina logs on standard error.
logging.getLogger("stamina").addHandler(logging.NullHandler())

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""64 vectors of 8,192 numbers fit; more than this is not an answer."""

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 8.0

Body = TypeVar("Body", bound=BaseModel)


class _Transient(Exception):
    """Internal: this attempt failed with `error`, another may succeed, after `wait` seconds if the server
    said so."""

    def __init__(self, error: ModelError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


class ModelServer:
    """An OpenAI-compatible server as seen by one adapter; safe to share between threads.

    `setting` is the stem of the settings named in hints (`EVIGRAPH_CHAT` gives `EVIGRAPH_CHAT_URL`); `advice` gives the
    hints where it is no model server.
    `timeout` is in seconds for one attempt as a whole; `retries` the number of attempts.
    """

    def __init__(
        self,
        url: str,
        *,
        setting: str,
        advice: Advice | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        concurrency: int = 4,
        first_wait: float = _FIRST_WAIT,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self.advice = advice or model_advice(setting)
        self.url, self.shown_url = _checked_url(url, self.advice)
        self.timeout = timeout
        self.retries = retries
        self.first_wait = first_wait
        self.max_response_bytes = max_response_bytes
        self._api_key = _checked_key(api_key, self.advice)
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def __repr__(self) -> str:
        return f"ModelServer({self.shown_url!r})"

    def close(self) -> None:
        """Closes open connections; a later call opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def ask(self, path: str, payload: dict[str, Any], shape: type[Body], *, otherwise: str) -> Body:
        """Sends `payload` as `post` does and returns the reply as a `shape`. `otherwise` is the remedy in the
        `ModelBadResponse` raised where it is none."""
        reply = self.post(path, payload)
        try:
            return shape.model_validate(reply)
        except ValidationError as error:
            # The places suffice; pydantic's own text would quote the reply.
            places = sorted({".".join(str(step) for step in issue["loc"]) for issue in error.errors()})
        raise self.unusable(f"missing or malformed: {', '.join(places[:3])}", otherwise)

    def unusable(self, what: str, remedy: str) -> ModelBadResponse:
        """The error for a reply that cannot be used, and why."""
        return ModelBadResponse(f"{self.shown_url} sent an unusable reply: {what}", hint=remedy)

    def post(self, path: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Sends `payload` to `{url}{path}` and returns the JSON object of the reply.

        Raises `ModelTimeout`, `ModelUnavailable` or `ModelBadResponse` once the attempts are used up.
        """
        import stamina

        try:
            for attempt in stamina.retry_context(
                on=_backoff,
                attempts=self.retries,
                timeout=None,
                wait_initial=self.first_wait,
                wait_max=_LONGEST_WAIT,
                wait_jitter=self.first_wait,
            ):
                with attempt, self._slots:
                    return self._attempt(path, payload)
        except _Transient as failed:
            raise _with_attempts(failed.error, self.retries) from None
        raise AssertionError("unreachable: at least one attempt returns or raises")

    def _attempt(self, path: str, payload: dict[str, Any]) -> dict[str, Any]:
        with self._failures():
            headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
            until = time.monotonic() + self.timeout
            with self._open().stream("POST", self.url + path, json=payload, headers=headers) as response:
                body = self._read(response, until)
                self._check_status(response, body)
        return self._parse(body)

    def _open(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                # A redirect could carry the key to another host, so none is followed.
                self._client = httpx2.Client(timeout=self.timeout, follow_redirects=False)
                weakref.finalize(self, self._client.close)
            return self._client

    def _read(self, response: httpx2.Response, until: float) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > self.max_response_bytes:
                raise ModelBadResponse(
                    f"{self.shown_url} sent more than {self.max_response_bytes:,} bytes",
                    hint=f"check that {self.advice.url} is the address of {self.advice.server}",
                )
            # The client's own timeout starts anew with each piece; a trickle would never end.
            if time.monotonic() > until:
                raise _Transient(self._timed_out())
        return bytes(body)

    def _check_status(self, response: httpx2.Response, body: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        said = self._excerpt(body) if status not in (401, 403) else ""
        wait = _retry_after(response.headers.get("retry-after"))
        if status in _TRANSIENT and wait is not None and wait > self.timeout:
            raise ModelUnavailable(
                f"{self.shown_url} answered {status} and asks to wait {wait:.0f} s",
                hint=f"try again later, or raise {self.advice.timeout} to {wait:.0f} or more",
            )
        error = ModelUnavailable(f"{self.shown_url} answered {status}{said}", hint=self.advice.for_status(status))
        if status in _TRANSIENT:
            raise _Transient(error, wait)
        raise error

    def _excerpt(self, body: bytes) -> str:
        text = " ".join(body[:2000].decode("utf-8", "replace").split())
        if self._api_key:
            text = text.replace(self._api_key, "***")
        return f": {text[:200]}" if text else ""

    def _parse(self, body: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise ModelBadResponse(
                f"{self.shown_url} sent a reply that is not a JSON object{self._excerpt(body)}",
                hint=self.advice.wrong_shape,
            )
        return reply

    def _timed_out(self) -> ModelTimeout:
        return ModelTimeout(
            f"{self.shown_url} did not answer within {self.timeout:g} s",
            hint=f"raise {self.advice.timeout}, or check the server at {self.advice.url}",
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turns the client's exceptions into ours; only the kind is quoted, since some quote header
        values."""
        import httpx2

        try:
            yield
        except httpx2.TimeoutException:
            raise _Transient(self._timed_out()) from None
        except httpx2.UnsupportedProtocol as error:
            raise ModelUnavailable(f"{self.shown_url}: {type(error).__name__}", hint=self._url_hint()) from None
        except httpx2.DecodingError:
            raise ModelBadResponse(f"{self.shown_url} sent a body that cannot be decompressed") from None
        except httpx2.ConnectError:
            raise _Transient(ModelUnavailable(f"no connection to {self.shown_url}", hint=self._url_hint())) from None
        except httpx2.RequestError as error:
            cause = f"the connection to {self.shown_url} broke off ({type(error).__name__})"
            raise _Transient(ModelUnavailable(cause, hint=self._url_hint())) from None

    def _url_hint(self) -> str:
        return f"start the server, or correct {self.advice.url}"


def _backoff(error: Exception) -> bool | float:
    """Whether to try again: never, after the usual growing pause, or after the seconds the server asked
    for."""
    if not isinstance(error, _Transient):
        return False
    return True if error.wait is None else error.wait


def _with_attempts(error: ModelError, attempts: int) -> ModelError:
    return type(error)(f"{error} ({attempts} attempts)", hint=error.hint) if attempts > 1 else error


def _retry_after(value: str | None) -> float | None:
    """Seconds of a `Retry-After` header (RFC 9110, 10.2.3: a number or a date); None when absent or
    unreadable."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _checked_url(url: str, advice: Advice) -> tuple[str, str]:
    """The base URL without a final slash, and a form of it without user, password and query, fit for
    messages."""
    import httpx2

    try:
        parsed = httpx2.URL(url.strip())
    except (httpx2.InvalidURL, ValueError):
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidValue(f"{advice.url} is not an http(s) address", hint="write it as in `http://127.0.0.1:11434/v1`")
    shown = str(parsed.copy_with(username=None, password=None, query=None, fragment=None))
    return str(parsed).rstrip("/"), shown.rstrip("/")


def _checked_key(api_key: str | None, advice: Advice) -> str | None:
    key = (api_key or "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise InvalidValue(
            f"{advice.key} holds characters that an HTTP header cannot carry",
            hint="copy the key again; it is printable ASCII without spaces",
        )
    return key or None
