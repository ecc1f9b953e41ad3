"""The contract on the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph.store import Store, open_store
from evigraph.testing.store_contract import StoreContract


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("contract") / "store"))
    yield store
    store.close()


class TestChdb(StoreContract):
    """An embedded store in a folder."""
