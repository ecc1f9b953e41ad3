"""The engine's threads: bounded, and writing never blocks reading; unforeseen errors stay inside."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.errors import ModelTimeout
from evigraph.server.work import READERS

from .serving import problem_of, running


class Doorkeeper:
    """An engine whose calls wait until the test lets them go."""

    workspace = "default"

    def __init__(self) -> None:
        self.settings = Settings()
        self.open = threading.Event()
        self.inside = threading.Semaphore(0)
        self.most = 0
        self.now = 0
        self.guard = threading.Lock()

    def index(self, items: Any, **options: Any) -> Any:
        self.inside.release()
        assert self.open.wait(30)
        raise ModelTimeout("too slow", hint="wait")

    @property
    def store(self) -> Doorkeeper:
        return self

    @contextmanager
    def snapshot(self, workspace: str, *, as_of: Any = None) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(generation=0, documents=lambda: self.documents(as_of))

    def documents(self, as_of: Any) -> list[Any]:
        with self.guard:
            self.now += 1
            self.most = max(self.most, self.now)
        if as_of == 1:
            self.inside.release()
            assert self.open.wait(30)
        with self.guard:
            self.now -= 1
        return []

    def jobs(self) -> list[Any]:
        raise RuntimeError("the password is hunter2")


@pytest.fixture
def doorkeeper() -> Doorkeeper:
    return Doorkeeper()


@pytest.fixture
def client(doorkeeper: Doorkeeper) -> Iterator[httpx2.Client]:
    with running(doorkeeper) as client:  # type: ignore[arg-type]
        yield client


def test_indexing_does_not_block_reading(doorkeeper: Doorkeeper, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(4) as callers:
        writes = [
            callers.submit(client.post, "/api/v1/documents", json={"text": "x", "document_id": str(n)})
            for n in range(3)
        ]
        assert doorkeeper.inside.acquire(timeout=30)
        assert client.get("/api/v1/documents").json()["documents"] == []
        # The other two wait their turn.
        assert not doorkeeper.inside.acquire(timeout=0.2)
        doorkeeper.open.set()
        for write in writes:
            problem_of(write.result(), 504, "model_timeout")


def test_reading_is_bounded(doorkeeper: Doorkeeper, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(READERS + 4) as callers:
        reads = [callers.submit(client.get, "/api/v1/documents", params={"as_of": 1}) for _ in range(READERS + 4)]
        for _ in range(READERS):
            assert doorkeeper.inside.acquire(timeout=30)
        assert client.get("/health").status_code == 200
        doorkeeper.open.set()
        assert all(read.result().status_code == 200 for read in reads)
    assert doorkeeper.most == READERS


def test_an_unforeseen_error_is_logged_and_not_told(client: httpx2.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="evigraph.server"):
        response = client.get("/api/v1/jobs")
    problem_of(response, 500, "internal_error")
    assert "hunter2" not in response.text and "Traceback" not in response.text
    assert any(record.exc_info for record in caplog.records)
    assert client.get("/health").status_code == 200


def test_an_engine_opened_from_settings_is_closed(tmp_path: Any) -> None:
    settings = Settings(data=str(tmp_path / "own"))
    with running(settings) as client:
        assert client.get("/api/v1/documents").json()["documents"] == []
    with Evigraph(settings=settings) as reopened:
        assert reopened.documents() == []
