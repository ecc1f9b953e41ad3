"""An older store is migrated when it is opened, a newer one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest

from evigraph.errors import StoreTooNew
from evigraph.store import open_store
from evigraph.store.migrations import MIGRATIONS, REVISION_TABLES, TABLES, migrate
from evigraph.testing.store_contract.base import seen
from evigraph.testing.store_contract.identity import put_named
from evigraph.testing.store_contract.material import Shelf


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    client = clickhouse_connect.get_client(interface="chdb", path=str(tmp_path / "store"))
    yield client
    client.close()


def build(client: Any, version: int) -> None:
    """A database as the evigraph that knew so many migrations left it."""
    for migration in MIGRATIONS[:version]:
        migration(client)
    client.command("CREATE TABLE migrations (version UInt32, name String, applied_at DateTime64(6, 'UTC')"
                   " DEFAULT now64(6)) ENGINE = MergeTree ORDER BY version")  # fmt: skip
    rows = [[number, migration.__name__] for number, migration in enumerate(MIGRATIONS[:version], start=1)]
    client.insert("migrations", rows, column_names=["version", "name"])


def tables(client: Any) -> set[str]:
    return {row[0] for row in client.query("SHOW TABLES").result_rows}


def versions(client: Any) -> list[int]:
    return [row[0] for row in client.query("SELECT version FROM migrations ORDER BY version").result_rows]


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_older_store_is_migrated_and_keeps_what_it_holds(client: Any, version: int) -> None:
    build(client, version)
    published = {
        "workspace": "w", "document_id": "old", "revision": 1, "revision_key": 1, "generation": 1, "source": "old.txt",
        "title": "Kept", "metadata": {"k": "v"},
    }  # fmt: skip
    client.insert("publications", [list(published.values())], column_names=list(published))
    assert set(TABLES) >= tables(client) - {"migrations"}
    store = open_store(client=client)
    assert versions(client) == list(range(1, len(MIGRATIONS) + 1))
    assert tables(client) == {*TABLES, "migrations"}
    assert store.document("w", "old").title == "Kept"
    shelf = Shelf(store, "w")
    shelf.put("new", "Acme supplies Birch")
    assert seen(shelf)["profiles"]


def test_a_store_is_not_migrated_twice(client: Any) -> None:
    store = open_store(client=client)
    shelf = Shelf(store, "w")
    shelf.put("a", "Acme supplies Birch")
    before = seen(shelf)
    assert migrate(client) == migrate(client) == len(MIGRATIONS)
    assert versions(client) == list(range(1, len(MIGRATIONS) + 1))
    again = Shelf(open_store(client=client), "w")
    assert seen(again, shelf) == before


def test_a_migration_that_was_cut_short_is_done_again(client: Any) -> None:
    """The version is recorded after the statements; a crash between them repeats the statements."""
    build(client, 1)
    MIGRATIONS[1](client, False)
    assert migrate(client) == len(MIGRATIONS)
    assert tables(client) == {*TABLES, "migrations"}


def test_forms_of_what_is_indexed_already_are_made(client: Any) -> None:
    store = open_store(client=client)
    put_named(Shelf(store, "w"), "a", "Northwind Trading Company", "ORGANIZATION")
    put_named(Shelf(store, "v"), "a", "Hana Sefu", "PERSON")
    sql = "SELECT * FROM name_forms ORDER BY ALL"
    before = client.query(sql).result_rows
    assert {row[1] for row in before} == {"nt", "ntc", "northwind trading", "h sefu", "sefu"}
    version = [migration.__name__.endswith("name_forms") for migration in MIGRATIONS].index(True)
    client.command("DROP TABLE name_forms")
    for _ in range(2):
        MIGRATIONS[version](client, False)
        assert client.query(sql).result_rows == before


@pytest.mark.parametrize("alone", [True, False])
def test_a_table_of_an_old_layout_is_rebuilt_only_where_nobody_else_can_write(client: Any, alone: bool) -> None:
    old = " SETTINGS cleanup_delay_period = 1, max_cleanup_delay_period = 2"
    client.command(
        "CREATE TABLE stagings (workspace LowCardinality(String), document_id String, revision UInt32,"
        " revision_key UInt128, staged_at DateTime64(6, 'UTC')) ENGINE = MergeTree"
        f" ORDER BY (workspace, document_id, revision){old}"
    )
    client.command("INSERT INTO stagings SELECT 'w', toString(number), 1, number, now64(6) FROM numbers(1000)")
    before = client.query("SELECT * FROM stagings ORDER BY ALL").result_rows
    for _ in range(2):
        migrate(client, alone=alone)
        assert client.query("SELECT * FROM stagings ORDER BY ALL").result_rows == before
    layout = client.query("SELECT create_table_query FROM system.tables WHERE name = 'stagings'").result_rows[0][0]
    assert ("index_granularity = 256" in layout) is alone
    assert tables(client) == {*TABLES, "migrations"}


@pytest.mark.parametrize("table", ["mentions", "assertions"])
def test_what_is_stored_survives_a_new_layout(client: Any, table: str) -> None:
    store = open_store(client=client)
    shelf = Shelf(store, "w")
    shelf.put("a", "Acme supplies Birch")
    before = seen(shelf)
    sql = f"SELECT create_table_query FROM system.tables WHERE name = '{table}'"
    layout = str(client.query(sql).result_rows[0][0])
    client.command(layout.replace(table, f"{table}_old", 1).replace("granularity = 256", "granularity = 8192"))
    client.command(f"INSERT INTO {table}_old SELECT * FROM {table}")
    client.command(f"EXCHANGE TABLES {table}_old AND {table}")
    client.command(f"DROP TABLE {table}_old SYNC")
    client.command("TRUNCATE TABLE migrations")
    client.insert("migrations", [[5, "an old one"]], column_names=["version", "name"])
    migrate(client, alone=True)
    assert "granularity = 256" in client.query(sql).result_rows[0][0]
    assert seen(Shelf(open_store(client=client), "w"), shelf) == before


def test_a_newer_store_is_refused_and_left_as_it_is(client: Any) -> None:
    build(client, 1)
    client.insert("migrations", [[len(MIGRATIONS) + 1, "from the future"]], column_names=["version", "name"])
    before = tables(client)
    with pytest.raises(StoreTooNew, match=str(len(MIGRATIONS) + 1)) as caught:
        open_store(client=client)
    assert "upgrade" in caught.value.hint
    assert tables(client) == before


def test_every_table_with_a_revision_key_is_pruned(client: Any) -> None:
    migrate(client)
    sql = "SELECT DISTINCT table FROM system.columns WHERE database = currentDatabase() AND name = 'revision_key'"
    keyed = {row[0] for row in client.query(sql).result_rows}
    assert keyed == {*REVISION_TABLES, "publications"}
    assert {*REVISION_TABLES, "publications"} < set(TABLES)


def test_tables_are_insert_only_and_their_parts_are_cleared_soon(client: Any) -> None:
    migrate(client)
    sql = """
        SELECT name, engine, create_table_query FROM system.tables
        WHERE database = currentDatabase() AND name != 'migrations'"""
    for name, engine, statement in client.query(sql).result_rows:
        assert engine == "MergeTree", name
        assert "max_cleanup_delay_period" in statement, name


def test_passages_of_before_trees_rest_on_nothing(client: Any) -> None:
    """Version 9 gives passages the leaves that they rest on: none, of what was indexed before."""
    version = [migration.__name__.endswith("summary_nodes") for migration in MIGRATIONS].index(True)
    build(client, version)
    old = {"workspace": "w", "revision_key": 7, "passage_index": 0, "document_id": "old", "revision": 1, "text": "Kept"}
    client.insert("passages", [list(old.values())], column_names=list(old))
    for _ in range(2):
        MIGRATIONS[version](client, False)
        assert client.query("SELECT text, level, supports FROM passages").result_rows == [("Kept", 0, [])]


def test_bases_of_before_have_the_model_of_their_workspace(client: Any) -> None:
    version = [migration.__name__.endswith("embedding_models") for migration in MIGRATIONS].index(True)
    build(client, version)
    made = "workspace, base_id, version, name, description, llm_model, deleted, created_at, at"
    client.command(f"INSERT INTO knowledge_bases ({made}) VALUES ('w', 'kb', 1, 'n', '', '', false, now(), now())")
    held = "workspace, revision_key, base_id, document_id"
    client.command(f"INSERT INTO knowledge_base_documents ({held}) VALUES ('w', 7, 'kb', 'd')")
    migrate(client)
    bases = client.query("SELECT embedding_model, embedding_dimension FROM knowledge_bases").result_rows
    documents = client.query("SELECT revision_key, embedding_model FROM knowledge_base_documents").result_rows
    assert (list(bases), list(documents)) == ([("", 0)], [(7, "")])


def test_what_a_rebuilding_left_goes_when_the_store_is_opened(tmp_path: Path) -> None:
    """Killed after the new table took the old one's place: no prune would find what that one holds."""
    path = str(tmp_path / "store")
    store = open_store(path)
    shelf = Shelf(store, "w")
    shelf.put("a", "Acme supplies Birch")
    before = seen(shelf)
    store.command("CREATE TABLE mentions_rebuilt AS mentions")
    store.command("INSERT INTO mentions_rebuilt SELECT * FROM mentions")
    store.close()
    store = open_store(path)
    assert not store.rows("SELECT name FROM system.tables WHERE name LIKE '%rebuilt'", {})
    assert seen(Shelf(store, "w"), shelf) == before
    store.close()
