"""Connections: DSN to `clickhouse-connect` clients, one per thread, and the lock on an embedded store's folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from evigraph.errors import InvalidValue, StoreError, StoreLocked, StorePathInUse, StoreUnavailable
from evigraph.store.shared import Shared

LOCK_NAME = "evigraph.lock"


class Connection:
    """Hands out one client per thread. `close` closes them all."""

    def __init__(self, dsn: str | None, *, client: Any = None) -> None:
        self.dsn = dsn
        self._given = client
        self._local = threading.local()
        self._opened: list[Any] = []
        self._guard = threading.Lock()
        self._lock: FolderLock | None = None
        self._closed = False
        self.folder = None if dsn is None else embedded_folder(dsn)
        if self.folder is not None:
            self._lock = FolderLock.acquire(self.folder)
        self.shared = Shared() if self._lock is None else self._lock.shared
        try:
            self.client.query("SELECT 1")
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def opening(self) -> Iterator[bool]:
        """Whether nobody else, here or in another process, has this embedded store open, and nobody will until the end.
        A second engine of this process leaves the first one's running queries their files."""
        with self.shared.opening:
            alone = self.folder is not None and not self.shared.opened
            if alone and self.folder is not None:
                _sweep_temporary(self.folder)
            yield alone
            self.shared.opened = True

    @property
    def client(self) -> Any:
        """The calling thread's client. A client handed in by the caller is used by every thread in turn.

        Raises `StoreError` once closed: a new client would open the folder without its lock.
        """
        self.check_open()
        if self._given is not None:
            return self._given
        client = getattr(self._local, "client", None)
        if client is None:
            with translated():
                client = self._local.client = _open_client(self.dsn)
            with self._guard:
                self._opened.append(client)
        return client

    def check_open(self) -> None:
        """Raises `StoreError` once closed."""
        if self._closed:
            raise StoreError("the store is closed", hint="open it again")

    @property
    def shares_client(self) -> bool:
        """Whether all threads share the caller's client, and so wait for each other."""
        return self._given is not None

    @property
    def serial(self) -> contextlib.AbstractContextManager[Any]:
        """Lock to hold around a statement when all threads share the caller's client; free otherwise."""
        return self._guard if self._given is not None else contextlib.nullcontext()

    def announce(self, **facts: str | int) -> None:
        """Leave a note for other processes beside the lock (a server says its URL)."""
        if self._lock is not None:
            self._lock.announce(**facts)

    def close(self) -> None:
        self._closed = True
        with self._guard:
            opened, self._opened = self._opened, []
        for client in opened:
            client.close()
        self._local = threading.local()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class FolderLock:
    """An advisory lock on the store's folder, shared by all engines of this process."""

    _held: dict[Path, FolderLock] = {}  # noqa: RUF012 - the process's registry, guarded by _registry
    _registry = threading.Lock()

    def __init__(self, folder: Path, handle: int) -> None:
        self.folder = folder
        self._handle = handle
        self.users = 1
        self.shared = Shared()

    @classmethod
    def acquire(cls, folder: Path) -> FolderLock:
        with cls._registry:
            if folder in cls._held:
                cls._held[folder].users += 1
                return cls._held[folder]
            for other in cls._held:
                raise StorePathInUse(
                    f"this process has {other} open; one process can open one embedded store at a time",
                    hint="close the first engine, use another workspace in the same store, or start a second process",
                )
            try:
                folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreUnavailable(
                    f"cannot use {folder} as a store: {error.strerror}",
                    hint="choose a folder you can write to (EVIGRAPH_DATA or --data)",
                ) from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(handle)
                raise _locked(folder) from error
            lock = cls._held[folder] = cls(folder, handle)
            lock.announce()
            return lock

    def announce(self, **facts: str | int) -> None:
        note = json.dumps({"pid": os.getpid(), **facts}).encode()
        os.pwrite(self._handle, note.ljust(os.fstat(self._handle).st_size), 0)

    def release(self) -> None:
        with self._registry:
            self.users -= 1
            if self.users == 0:
                self.shared.cache.clear()
                del self._held[self.folder]
                os.close(self._handle)


def lock_holder(folder: Path) -> dict[str, Any]:
    """What the holder of a store's lock announced: `pid`, and `url` if it is a server. Empty where nobody did."""
    try:
        note = json.loads((folder / LOCK_NAME).read_text())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _locked(folder: Path) -> StoreLocked:
    holder = lock_holder(folder)
    who = f"process {holder['pid']}" if "pid" in holder else "another process"
    if "url" in holder:
        hint = f"it is an evigraph server: use it at {holder['url']}, or stop it"
    else:
        hint = "wait until it ends, or run `evigraph serve` and let every program use that server"
    return StoreLocked(f"{folder} is in use by {who}", hint=hint)


def embedded_folder(dsn: str) -> Path | None:
    """The folder of an embedded store, or None for a server's DSN. A bare path is an embedded store."""
    if "://" not in dsn:
        return _usable(Path(dsn).expanduser())
    scheme = urlsplit(dsn).scheme
    if scheme == "chdb":
        path = unquote(dsn.removeprefix("chdb://"))
        if not path.strip("/"):
            raise InvalidValue("the DSN chdb:// names no folder", hint="write chdb:///path/to/folder")
        return _usable(Path(path))
    if scheme in ("http", "https", "clickhouse", "clickhouses"):
        return None
    raise InvalidValue(
        f"unknown store scheme {scheme!r}",
        hint="give a folder, chdb:///folder, or http(s)://user:password@host:8123/database",
    )


def _usable(folder: Path) -> Path:
    resolved = folder.resolve()
    # The engine reads on from a `?` as options, with no way to escape it, and would use another folder.
    if "?" in str(resolved):
        raise InvalidValue(
            f"the embedded engine cannot use a folder with `?` in its path: {resolved}", hint="choose another folder"
        )
    return resolved


def _open_client(dsn: str | None) -> Any:
    import clickhouse_connect  # 0.2 s, and chdb 0.5 s: only when a store is opened

    assert dsn is not None
    folder = embedded_folder(dsn)
    if folder is not None:
        # As a path, not a URL: `#` or `%` in a folder's name mean themselves.
        return clickhouse_connect.get_client(interface="chdb", path=str(folder))
    # No session: a session would refuse a second statement while one is running.
    return clickhouse_connect.get_client(dsn=dsn, autogenerate_session_id=False)


def _sweep_temporary(folder: Path) -> None:
    """Remove what a killed process left in the engine's temporary folder."""
    opened = time.time()
    temporary = folder / "tmp"
    if not temporary.is_dir():
        return
    for left in sorted(temporary.iterdir()):
        if left.lstat().st_mtime < opened - 1:
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's exceptions into `StoreError`s that say what to do."""
    import clickhouse_connect.driver.exceptions as driver

    try:
        yield
    except (driver.OperationalError, TimeoutError, ConnectionError) as error:  # a caller's client may raise its own
        raise StoreUnavailable(
            f"the ClickHouse server does not answer: {_first_line(error)}",
            hint="check EVIGRAPH_DATA and that the server is up",
        ) from error
    except driver.Error as error:
        if "EmbeddedServer" in str(error) or "Cannot lock file" in str(error):
            raise StoreLocked(
                f"the embedded engine cannot open its folder: {_first_line(error)}",
                hint="another program may hold it; end it, or choose another folder with EVIGRAPH_DATA",
            ) from error
        raise StoreError(f"the store refused a statement: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
