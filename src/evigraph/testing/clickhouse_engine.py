"""Behind the wire of `clickhouse_http`: statements cut from requests, and the chDB sessions that run them."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

NOT_SETTINGS = frozenset({
    "query", "database", "default_format", "user", "password", "query_id", "session_id",
    "session_timeout", "session_check", "close_session", "quota_key", "compress", "decompress",
    "buffer_size", "wait_end_of_query", "client_protocol_version", "role", "stacktrace",
    "send_progress_in_http_headers", "http_headers_progress_interval_ms", "enable_http_compression",
    "http_zlib_compression_level", "cancel_http_readonly_queries_on_client_close", "add_http_cors_header"
})  # fmt: skip
"""URL parameters that speak to the HTTP layer; every other one is a setting of the query."""

READING = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "VALUES", "FROM", "CHECK"})
"""First words of statements that return rows."""

TOKEN = re.compile(
    rb"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/|[(){}\[\]]|\w+",
    re.DOTALL,
)
DATA_START = re.compile(rb"[ \t\f]*\r?\n?")
TRAILING_FORMAT = re.compile(rb"\bFORMAT\s+(\w+)[\s;]*$", re.IGNORECASE)


class ServerError(Exception):
    """An error as ClickHouse reports it: `Code: N. DB::Exception: message (NAME)`."""

    def __init__(self, code: int, message: str, name: str) -> None:
        super().__init__(f"Code: {code}. DB::Exception: {message} ({name})")
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One request's SQL, cut into the statement and, for an insert with a FORMAT clause, its data."""

    sql: bytes
    keyword: str
    insert_format: str | None = None
    data: bytes = b""

    @property
    def returns_rows(self) -> bool:
        return self.keyword in READING


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    body: bytes = b""
    format: str | None = None
    summary: Mapping[str, int] = field(default_factory=dict)


def split_statement(text: bytes) -> Statement:
    """Cuts `INSERT … FORMAT X <data>` before its FORMAT clause; any other statement stays whole.

    Only words outside quotes, comments and brackets count, so a column named `format` does not cut.
    """
    depth = 0
    words: list[bytes] = []
    for token in TOKEN.finditer(text):
        word = token.group().upper()
        if word in (b"(", b"[", b"{"):
            depth += 1
        elif word in (b")", b"]", b"}"):
            depth -= 1
        elif depth == 0 and (word[:1].isalpha() or word[:1] == b"_"):
            words.append(word)
            if words[0] != b"INSERT" or word in (b"SELECT", b"WITH", b"VALUES", b"INFILE"):
                break
            if word == b"FORMAT" and len(words) > 2 and (name := TOKEN.search(text, token.end())):
                gap = DATA_START.match(text, name.end())
                start = gap.end() if gap else name.end()
                return Statement(
                    sql=text[: token.start()],
                    keyword="INSERT",
                    insert_format=name.group().decode(),
                    data=text[start:],
                )
    return Statement(sql=text, keyword=words[0].decode() if words else "SELECT")


def quoted(value: str, mark: str = "'") -> str:
    return mark + value.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


class Session:
    """One chDB connection: its temporary tables, current database and `SET` values are private to it."""

    def __init__(self, path: str) -> None:
        import chdb

        self.connection = chdb.connect(path)
        self.lock = threading.Lock()
        self.expires = 0.0
        self._database = ""
        self._applied: dict[str, str] | None = {}
        self._before: dict[str, str] = {}

    def close(self) -> None:
        self.connection.close()

    def run(self, statement: Statement, request: Mapping[str, str]) -> Result:
        """Runs one statement with the settings and parameters of its request.

        Settings hold for that request alone. They stay applied until other ones come, as drivers send the
        same each time; `SET` and `USE` run without them, as they are meant for the whole session.
        """
        lasting = statement.keyword in ("SET", "USE")
        names = [] if lasting else [n for n in request if n not in NOT_SETTINGS and not n.startswith("param_")]
        self._apply({name: request[name] for name in names})
        database = request.get("database", "")
        if database and database != self._database:
            self.connection.query(f"USE {quoted(database, '`')}", "TSV")
        self._database = "" if lasting else database
        return self._run(statement, request)

    def _apply(self, settings: dict[str, str]) -> None:
        if settings == self._applied:
            return
        self._applied = None  # so that a failure on the way makes the next request start afresh
        for name, literal in self._before.items():
            self._set(name, literal)
        self._before = self._current(settings)
        for name, value in settings.items():
            self._set(name, quoted(value))
        self._applied = settings

    def _current(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Literals that bring back the settings about to be changed."""
        for name in settings:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ServerError(115, f"Unknown setting {name!r}", "UNKNOWN_SETTING")
        if not settings:
            return {}
        names = ", ".join(quoted(name) for name in settings)
        rows = self.connection.query(
            f"SELECT name, value FROM system.settings WHERE changed AND name IN ({names})",  # noqa: S608
            "JSONEachRow",
        ).bytes()
        changed = {row["name"]: quoted(row["value"]) for row in map(json.loads, rows.splitlines())}
        return {name: changed.get(name, "DEFAULT") for name in settings}

    def _set(self, name: str, literal: str) -> None:
        self.connection.query(f"SET {name} = {literal}", "TSV")

    def _run(self, statement: Statement, request: Mapping[str, str]) -> Result:
        parameters = {k.removeprefix("param_"): v for k, v in request.items() if k.startswith("param_")}
        if statement.insert_format is not None:
            # A streaming insert takes no parameters of its own, but sees those of the connection.
            for name, value in parameters.items():
                self._set(f"param_{name}", quoted(value))
            return self._insert(statement.sql, statement.insert_format, statement.data)
        default = request.get("default_format", "TabSeparated")
        # The stubs ask for str; bytes keep statements that are not UTF-8.
        result = self.connection.query(statement.sql, default, params=parameters)  # type: ignore[arg-type]
        trailing = TRAILING_FORMAT.search(statement.sql)
        summary = {
            "read_rows": result.storage_rows_read(),
            "read_bytes": result.storage_bytes_read(),
            "written_rows": result.rows_written(),
            "written_bytes": result.bytes_written(),
            "result_rows": result.rows_read(),
            "result_bytes": result.bytes_read(),
        }
        if not statement.returns_rows:
            return Result(summary=summary, body=result.bytes() or b"")
        shown = trailing.group(1).decode() if trailing else default
        return Result(body=result.bytes() or b"", format=shown, summary=summary)

    def _insert(self, sql: bytes, input_format: str, data: bytes) -> Result:
        with self.connection.send_insert(sql.decode(), input_format) as insert:
            if data:
                insert.append(data)
            written = insert.finish()
        counts = {"written_rows": written.rows_written, "written_bytes": written.bytes_written}
        return Result(summary={"read_rows": written.rows_written, **counts})


class Sessions:
    """The engine's sessions. A request without `session_id` gets a connection of its own (about 1 ms)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.root = Session(path)  # keeps the engine open while no request runs
        self.version = self.root.connection.query("SELECT version()", "TSV").bytes().decode().strip()
        self.timezone = self.root.connection.query("SELECT timezone()", "TSV").bytes().decode().strip()
        self._named: dict[str, Session] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, request: Mapping[str, str]) -> Iterator[Session]:
        name = request.get("session_id")
        if not name:
            session = Session(self.path)
            try:
                yield session
            finally:
                session.close()
            return
        session = self._acquire(name, must_exist=request.get("session_check") == "1")
        try:
            yield session
        finally:
            session.expires = time.monotonic() + float(request.get("session_timeout", "60"))
            if request.get("close_session") == "1":
                with self._lock:
                    self._named.pop(name).close()
            session.lock.release()

    def _acquire(self, name: str, *, must_exist: bool) -> Session:
        with self._lock:
            now = time.monotonic()
            for other, idle in list(self._named.items()):
                if idle.expires < now and idle.lock.acquire(blocking=False):
                    self._named.pop(other).close()
            if name not in self._named:
                if must_exist:
                    raise ServerError(372, f"Session {name} not found", "SESSION_NOT_FOUND")
                self._named[name] = Session(self.path)
            session = self._named[name]
            if not session.lock.acquire(blocking=False):
                raise ServerError(373, f"Session {name} is locked by a concurrent client", "SESSION_IS_LOCKED")
            return session
