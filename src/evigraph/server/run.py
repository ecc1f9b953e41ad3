"""Running the server: bind, open the store, announce the address beside the store's lock, stop gracefully."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from evigraph.config import Settings
from evigraph.engine import Evigraph
from evigraph.errors import InvalidValue
from evigraph.server.app import create_app

SHUTDOWN_SECONDS = 30
"""How long running requests may take after a signal to stop."""


def serve(source: Evigraph | Settings, *, on_started: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 takes a free one; `on_started` is told the URL.

    While it runs, `lock_holder(folder)["url"]` tells other processes where to go. Raises `InvalidValue` when
    the address cannot be used, and `StoreLocked` and the other `StoreError`s before it listens.
    """
    if isinstance(source, Settings):
        with Evigraph(settings=source) as engine:
            serve(engine, on_started=on_started)
        return
    settings = source.settings
    listener = _listen(settings.host, settings.port)
    config = uvicorn.Config(
        create_app(source),
        log_level="warning",
        ws="none",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        server_header=False,
    )

    def started() -> None:
        url = _url(settings.host, listener.getsockname()[1])
        source.store.connection.announce(url=url)
        if on_started is not None:
            on_started(url)

    with _signals_end_quietly():
        _Server(config, on_started=started, on_stopping=source.store.connection.announce).run([listener])


class _Server(uvicorn.Server):
    """Says when it accepts connections, and when it stops doing so."""

    def __init__(
        self, config: uvicorn.Config, *, on_started: Callable[[], None], on_stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stopping()
        await super().shutdown(sockets)


@contextlib.contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """uvicorn raises the signal that stopped it once more when it is done; by then it has been obeyed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidValue(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            hint="choose another with --host and --port (EVIGRAPH_HOST, EVIGRAPH_PORT); 0 takes a free port",
        ) from error


def _url(host: str, port: int) -> str:
    """Where this machine reaches the server; a wildcard address is reached over the loopback."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
