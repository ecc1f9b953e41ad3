"""One store for all tests of corpus-wide answers, and a corpus with its communities built."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph import Evigraph
from small import OneStore
from wide import CORPUS


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("overview"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wide(store: OneStore) -> Evigraph:
    graph = store.engine()
    assert graph.index(CORPUS).ok
    graph.communities.build()
    return graph
