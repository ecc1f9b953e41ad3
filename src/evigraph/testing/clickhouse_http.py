"""ClickHouse's HTTP interface in front of chDB, for tests of the `http://` store without a server installed.

    with serve_clickhouse(tmp_path / "store") as dsn:
        client = clickhouse_connect.get_client(dsn=dsn)

The engine is ClickHouse's own and the driver is the real one over real sockets; only the layer between
is ours. It follows https://clickhouse.com/docs/interfaces/http for what drivers send: `/ping`, queries
in the `query` parameter and the body, bound parameters (URL or form), settings, sessions, compression
both ways, inserts in any input format, and errors with their code. Differences from a server: a result
is computed whole before its first byte is sent, `client_protocol_version` is ignored (drivers notice and
use revision 0), external data is refused.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
import zlib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from evigraph.errors import StoreLocked, StoreUnavailable
from evigraph.testing.clickhouse_engine import Result, ServerError, Sessions, split_statement

START_SECONDS = 60.0
STOP_SECONDS = 20.0

CONTENT_TYPES = {
    "Native": "application/octet-stream",
    "RowBinary": "application/octet-stream",
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
}

STATUS = (
    (400, (6, 25, 26, 27, 33, 34, 35, 36, 38, 41, 42, 43, 44, 53, 62, 69, 70, 72, 117, 184, 271)),
    (403, (192, 193, 497, 516)),
    (404, (16, 46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 336)),
    (501, (48,)),
)
"""HTTP status by error code, where it is not 500."""

ERROR_CODE = re.compile(r"Code: (\d+)\. DB::Exception")


def decompress(body: bytes, encoding: str) -> bytes:
    try:
        if encoding in ("", "identity"):
            return body
        if encoding in ("gzip", "x-gzip"):
            return gzip.decompress(body)
        if encoding == "deflate":
            return zlib.decompress(body)
        if encoding == "lz4":
            import lz4.frame  # type: ignore[import-untyped]

            return bytes(lz4.frame.decompress(body)) if body else b""
        if encoding == "zstd":
            from backports import zstd

            return zstd.decompress(body) if body else b""
    except Exception as error:
        raise ServerError(271, f"Cannot decompress {encoding} body: {error}", "CANNOT_DECOMPRESS") from error
    raise ServerError(48, f"Content-Encoding {encoding!r} is not supported here", "NOT_IMPLEMENTED")


def compress(body: bytes, accepted: str) -> tuple[bytes, str]:
    """The body in the first accepted encoding known here, and that encoding's name (empty: as it was)."""
    for name in (part.split(";")[0].strip().lower() for part in accepted.split(",")):
        if name == "gzip":
            return gzip.compress(body, compresslevel=1, mtime=0), name
        if name == "deflate":
            return zlib.compress(body, 1), name
        if name == "lz4":
            import lz4.frame

            return bytes(lz4.frame.compress(body)), name
        if name == "zstd":
            from backports import zstd

            return zstd.compress(body), name
    return body, ""


def parse_form(content_type: str, body: bytes) -> dict[str, str]:
    """Fields of a multipart form: the query and its parameters."""
    import python_multipart

    fields: dict[str, str] = {}

    def on_field(item: Any) -> None:
        fields[item.field_name.decode()] = (item.value or b"").decode()

    def on_file(_: Any) -> None:
        raise ServerError(48, "external data is not supported here", "NOT_IMPLEMENTED")

    python_multipart.parse_form({"Content-Type": content_type.encode()}, BytesIO(body), on_field, on_file)
    return fields


class Handler(BaseHTTPRequestHandler):
    """One connection. `server` carries the sessions and the credentials asked for."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def log_message(self, *_: object) -> None:
        """Quiet: a test's own output is what matters."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self._read_body()  # always, or its bytes would be taken for the next request on this connection
        url = urlsplit(self.path)
        request = dict(parse_qsl(url.query, keep_blank_values=True))
        request.setdefault("query_id", str(uuid.uuid4()))
        if url.path in ("/ping", "/replicas_status"):
            self._send(200, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
            return
        if url.path != "/":
            self._send(404, f"There is no handle {url.path}\n".encode(), {})
            return
        started = time.perf_counter()
        try:
            self._authenticate(request)
            result = self._execute(request, body)
        except Exception as error:
            self._send_error(error, request)
            return
        summary = {name: str(count) for name, count in result.summary.items()}
        summary["elapsed_ns"] = str(int((time.perf_counter() - started) * 1e9))
        self._send_result(result, summary, request)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _authenticate(self, request: Mapping[str, str]) -> None:
        user = self.headers.get("X-ClickHouse-User") or request.get("user", "default")
        password = self.headers.get("X-ClickHouse-Key") or request.get("password", "")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            with contextlib.suppress(binascii.Error, UnicodeDecodeError):
                user, _, password = base64.b64decode(token).decode().partition(":")
        if (user, password) != self.server.credentials:
            reason = f"{user}: Authentication failed: password is incorrect, or there is no user with such name."
            raise ServerError(516, reason, "AUTHENTICATION_FAILED")

    def _execute(self, request: dict[str, str], body: bytes) -> Result:
        body = decompress(body, self.headers.get("Content-Encoding", "").strip().lower())
        if "1" in (request.get("compress"), request.get("decompress")):
            raise ServerError(48, "ClickHouse's own block compression is not supported here", "NOT_IMPLEMENTED")
        if self.headers.get("Content-Type", "").startswith("multipart/form-data"):
            request.update(parse_form(self.headers["Content-Type"], body))
            body = b""
        # A server reads the parameter and the body as one text, which is how data follows its INSERT.
        parts = [part for part in (request.get("query", "").encode(), body) if part]
        text = b"\n".join(parts)
        if not text.strip():
            return Result(body=b"Ok.\n")
        statement = split_statement(text)
        if self.command != "POST" and not statement.returns_rows:
            raise ServerError(164, "Cannot execute query in readonly mode: use POST", "READONLY")
        with self.server.sessions.of(request) as session:
            return session.run(statement, request)

    def _send_result(self, result: Result, summary: Mapping[str, str], request: Mapping[str, str]) -> None:
        headers = self._headers(request)
        headers["X-ClickHouse-Summary"] = json.dumps(summary)
        headers["Content-Type"] = CONTENT_TYPES.get(result.format or "", "text/plain; charset=UTF-8")
        if result.format:
            headers["X-ClickHouse-Format"] = result.format
        body = result.body
        if request.get("enable_http_compression") == "1" and body:
            body, encoding = compress(body, self.headers.get("Accept-Encoding", ""))
            if encoding:
                headers["Content-Encoding"] = encoding
        self._send(200, body, headers)

    def _send_error(self, error: Exception, request: Mapping[str, str]) -> None:
        text = str(error)
        found = ERROR_CODE.search(text)
        code = int(found.group(1)) if found else 1002
        shown = text[found.start() :].strip() if found else f"Code: 1002. DB::Exception: {error!r}. (UNKNOWN_EXCEPTION)"
        status = next((status for status, codes in STATUS if code in codes), 500)
        headers = self._headers(request) | {
            "X-ClickHouse-Exception-Code": str(code),
            "Content-Type": "text/plain; charset=UTF-8",
        }
        self._send(status, f"{shown} (version {self.server.sessions.version})\n".encode(), headers)

    def _headers(self, request: Mapping[str, str]) -> dict[str, str]:
        return {
            "X-ClickHouse-Server-Display-Name": "evigraph-testing",
            "X-ClickHouse-Query-Id": request["query_id"],
            "X-ClickHouse-Timezone": self.server.sessions.timezone,
        }

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], path: str, credentials: tuple[str, str]) -> None:
        self.sessions = Sessions(path)
        self.credentials = credentials
        super().__init__(address, Handler)


# --------------------------------------------------------------------------- process


@contextlib.contextmanager
def serve_clickhouse(
    path: str | Path, host: str = "127.0.0.1", port: int = 0, *, user: str = "default", password: str = ""
) -> Iterator[str]:
    """Serves the chDB store at `path` from a process of its own and yields its DSN,
    `http://user:password@127.0.0.1:PORT/default`.

    The process ends with the block, or with this process however it ends. Raises `StoreLocked` when another
    process holds the folder, `StoreUnavailable` when the server does not start.
    """
    command = [sys.executable, "-m", __name__, "--path", str(path), "--host", host, "--port", str(port)]
    environment = {**os.environ, "CLICKHOUSE_USER": user, "CLICKHOUSE_PASSWORD": password}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*command, "--until-stdin-ends"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        with process:
            try:
                assert process.stdout is not None
                announced = process.stdout.readline().decode().strip()
                if not announced.isdigit():
                    process.wait(STOP_SECONDS)
                    errors.seek(0)
                    raise _not_started(str(path), errors.read().decode(errors="replace"))
                _wait_for_ping(f"http://{host}:{announced}/ping")
                yield f"http://{quote(user, safe='')}:{quote(password, safe='')}@{host}:{announced}/default"
            finally:
                _stop(process)


def _not_started(path: str, output: str) -> StoreLocked | StoreUnavailable:
    if "Cannot lock file" in output:
        return StoreLocked(f"another process holds the store {path}", hint="close it, or serve another folder")
    last = output.strip().splitlines()[-1:] or ["no output"]
    return StoreUnavailable(f"the test server for {path} did not start: {last[0]}", hint="see the message")


def _wait_for_ping(url: str) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with direct.open(url, timeout=START_SECONDS) as response:
                response.read()
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > deadline:
                raise StoreUnavailable(f"no answer from {url}: {error}", hint="look for a full machine") from error
            time.sleep(0.02)


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _shut_down_when_stdin_ends(server: Server) -> None:
    sys.stdin.buffer.read()
    server.shutdown()


def main() -> None:
    """`python -m evigraph.testing.clickhouse_http --path FOLDER [--port 8123]`: serves until interrupted."""
    parser = argparse.ArgumentParser(description="ClickHouse's HTTP interface in front of a chDB folder.")
    parser.add_argument("--path", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8123, help="0 picks a free one and prints it")
    parser.add_argument("--until-stdin-ends", action="store_true")
    arguments = parser.parse_args()
    credentials = (os.environ.get("CLICKHOUSE_USER", "default"), os.environ.get("CLICKHOUSE_PASSWORD", ""))
    server = Server((arguments.host, arguments.port), os.path.realpath(arguments.path), credentials)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    if arguments.until_stdin_ends:
        # The pipe closes when the parent ends in whatever way, SIGKILL included.
        threading.Thread(target=_shut_down_when_stdin_ends, args=(server,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(poll_interval=0.05)
    server.server_close()
    server.sessions.root.close()
    # Idle sessions hold the engine open; leaving at once is what a killed server does, and loses nothing.
    os._exit(0)


if __name__ == "__main__":
    main()
