"""One store for all tests of routing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph import Evigraph
from small import PUMPS, OneStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("routes"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def pumps(store: OneStore) -> Evigraph:
    graph = store.engine()
    assert graph.index(PUMPS).ok
    return graph
