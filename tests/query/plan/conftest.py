"""One store for all tests of plans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph import Evigraph
from small import OneStore
from triples import FAMILY, TripleExtractor


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("plans"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def family(store: OneStore) -> Evigraph:
    graph = store.engine(extractor=TripleExtractor())
    assert graph.index(FAMILY).ok
    return graph
