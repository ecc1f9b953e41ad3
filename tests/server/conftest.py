"""A store with a few documents, served over a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.testing.models import HashEmbedder

from .serving import DOCUMENTS, running


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    store: Path = tmp_path_factory.mktemp("served") / "store"
    settings = Settings(data=str(store), max_file_bytes=100_000)
    with Evigraph(settings=settings, embedder=HashEmbedder()) as engine:
        report = engine.index(DOCUMENTS)
        assert not report.errors
        yield engine


@pytest.fixture(scope="module")
def client(engine: Evigraph) -> Iterator[httpx2.Client]:
    with running(engine) as client:
        yield client
