"""The contract with a client the caller made: one connection, which all threads use in turn."""

from __future__ import annotations

from collections.abc import Iterator

import clickhouse_connect
import pytest

from evigraph.store import Store, open_store
from evigraph.testing.store_contract import StoreContract
from evigraph.testing.store_contract.documents import DocumentContract
from evigraph.testing.store_contract.visibility import VisibilityContract


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("contract-client") / "store"
    client = clickhouse_connect.get_client(interface="chdb", path=str(folder))
    store = open_store(client=client)
    yield store
    store.close()
    assert client.query("SELECT 1").result_rows == [(1,)], "closing the store leaves the caller's client open"
    client.close()


class TestGivenClientInShort(DocumentContract, VisibilityContract):
    """What a shared connection could break: writes, generations, threads. Its statements are the embedded store's."""


@pytest.mark.verify
class TestGivenClient(StoreContract):
    """A store around the caller's own client."""
