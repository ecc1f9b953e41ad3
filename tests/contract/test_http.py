"""The contract over HTTP: the driver that production uses, against the test server's engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph.ingest.prune import prune
from evigraph.store import Store, open_store
from evigraph.testing.clickhouse_http import serve_clickhouse
from evigraph.testing.store_contract import StoreContract
from evigraph.testing.store_contract.base import unused_workspace
from evigraph.testing.store_contract.conversations import ConversationContract
from evigraph.testing.store_contract.documents import DocumentContract
from evigraph.testing.store_contract.filters import FilterContract
from evigraph.testing.store_contract.material import Shelf
from evigraph.testing.store_contract.values import ValueContract

from .physical import marker, places, write_history


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("contract-http") / "store"
    with serve_clickhouse(folder, password="it's & secret") as dsn:
        store = open_store(dsn)
        yield store
        store.close()


class TestHttpInShort(DocumentContract, FilterContract, ValueContract, ConversationContract):
    """What the wire could break: every kind of parameter and row. Its statements are the embedded store's."""


@pytest.mark.verify
class TestHttp(StoreContract):
    """A server's database."""


def test_on_a_server_fresh_unpublished_rows_are_left_to_their_writer(store: Store) -> None:
    """Replaced and deleted text goes at once; what was never published may be another process's, still indexing."""
    shelf = Shelf(store, unused_workspace())
    replaced, deleted, staged, kept = (marker() for _ in range(4))
    write_history(shelf, replaced, deleted, kept)
    draft = shelf.draft("b", f"{staged} supplies Birch")
    report = prune(store, shelf.workspace)
    assert (report.documents, report.revisions) == (2, 2)
    assert places(store, replaced) == places(store, deleted) == []
    shelf.publish(draft)
    assert store.document_text(shelf.workspace, "b", 1) == f"{staged} supplies Birch"
