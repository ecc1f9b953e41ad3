"""The synchronous engine behind an asynchronous server: bounded threads to read, one to write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import Depends, Header, Request

from evigraph.errors import InvalidValue
from evigraph.query.converse.names import check_user
from evigraph.workspaces import check_workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evigraph.config import Settings
    from evigraph.engine import Evigraph

READERS = 8
"""Questions answered at once; more wait. Threads are kept, since each holds a store client of its own."""

T = TypeVar("T")


class Work:
    """The engine and its threads. Writes queue on a thread of their own and never take a reader's place."""

    def __init__(self, engine: Evigraph | Settings) -> None:
        self._source = engine
        self._engine: Evigraph | None = None

    @property
    def engine(self) -> Evigraph:
        assert self._engine is not None, "the application has not started"
        return self._engine

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open what was given as settings, and close what was opened here; running work is waited for."""
        from evigraph.config import Settings
        from evigraph.engine import Evigraph

        given = self._source
        own = Evigraph(settings=given) if isinstance(given, Settings) else None
        self._engine = own or given  # type: ignore[assignment]
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="evigraph-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="evigraph-write")
        try:
            yield
        finally:
            await asyncio.to_thread(self._stop, own)

    def _stop(self, own: Evigraph | None) -> None:
        self._writer.shutdown(wait=True, cancel_futures=True)
        self._readers.shutdown(wait=True, cancel_futures=True)
        if own is not None:
            own.close()

    async def read(self, call: Callable[[Evigraph], T], workspace: str | None = None) -> T:
        """Run `call` with the workspace's engine on a reader thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._call, call, workspace)

    async def write(self, call: Callable[[Evigraph], T], workspace: str) -> T:
        """Run `call` after the writes before it."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._write, call, workspace)

    def _write(self, call: Callable[[Evigraph], T], workspace: str) -> T:
        if workspace != self.engine.workspace:
            # Made on the engine itself, the extractor is shared by its views; a view would load its own.
            _ = self.engine.extractor
        return self._call(call, workspace)

    def _call(self, call: Callable[[Evigraph], T], workspace: str | None) -> T:
        engine = self.engine
        same = workspace is None or workspace == engine.workspace
        return call(engine if same else engine.in_workspace(workspace or ""))


async def _work(request: Request) -> Work:
    work = request.app.state.work
    assert isinstance(work, Work)
    return work


def _once(request: Request, header: str) -> None:
    # One may be set by whoever authenticates, and the other by whoever would like to be somebody, or somewhere, else.
    if len(request.headers.getlist(header)) > 1:
        raise InvalidValue(f"the header {header} is given twice", hint="send one")


async def _workspace(
    request: Request,
    name: Annotated[
        str, Header(alias="X-Workspace-ID", description="Isolation unit; one never used before is empty.")
    ] = "default",
) -> str:
    _once(request, "X-Workspace-ID")
    return check_workspace(name)


async def _user(
    request: Request,
    name: Annotated[
        str,
        Header(
            alias="X-User-ID",
            description="Who asks, for conversations. Trusted: whatever stands before the server must set it.",
        ),
    ] = "",
) -> str:
    _once(request, "X-User-ID")
    return check_user(name)


WorkOf = Annotated[Work, Depends(_work)]
WorkspaceOf = Annotated[str, Depends(_workspace)]
UserOf = Annotated[str, Depends(_user)]
