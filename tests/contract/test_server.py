"""The contract on a real server, where one is named: EVIGRAPH_TEST_CLICKHOUSE_URL=http://user:password@host:8123."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import clickhouse_connect
import pytest

from evigraph.store import Store, open_store
from evigraph.testing.store_contract import StoreContract

URL = os.environ.get("EVIGRAPH_TEST_CLICKHOUSE_URL", "")

pytestmark = [
    pytest.mark.skipif(not URL, reason="EVIGRAPH_TEST_CLICKHOUSE_URL names no ClickHouse server"),
    pytest.mark.enable_socket,
]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A database of its own, dropped afterwards."""
    database = f"evigraph_test_{uuid.uuid4().hex[:12]}"
    admin = clickhouse_connect.get_client(dsn=URL, autogenerate_session_id=False)
    admin.command(f"CREATE DATABASE {database}")
    try:
        store = open_store(urlsplit(URL)._replace(path=f"/{database}").geturl())
        yield store
        store.close()
    finally:
        admin.command(f"DROP DATABASE {database} SYNC")
        admin.close()


class TestServer(StoreContract):
    """A real server's database."""
