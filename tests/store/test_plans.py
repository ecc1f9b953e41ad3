"""The engine reads a few granules where the schema says so: by primary key, or by a projection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from evigraph.store import Snapshot, Store, open_store
from evigraph.store.keys import PassageKey, revision_key
from evigraph.testing.store_contract.material import Shelf

ROWS = 40_000
NAMES = 5_000
KEYS = [PassageKey(number * 1_000_003, number % 7) for number in (100, 5_000, 33_333)]
UNIT = np.array([1.0, 0.0], dtype=np.float32)
FILLED = {
    "mentions": "key, 'x:' || key, revision, part, 'n', 't', 0, 1, 'text', 1, 1, 'e'",
    "assertions": "toString(number), revision, part, 'd', 'x:' || key, 's', 't', 'P', 'x:' || other, 'o', 't', 'd',"
    " 0, 1, 1, 1, 'e', true",
    "passages": "revision, part, 'd', 1, 0, 0, 1, 'text', '', [], NULL, 1, [], [], [], []",
    "terms": "key, revision, part, 1, 10",
    "passage_vectors": "'m', revision, part, 0, [1, 0]",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("plans") / "store"))
    Shelf(store, "w").put("seed", "Acme supplies Birch")
    for table, columns in FILLED.items():
        store.command(
            f"""
            INSERT INTO {table} SELECT 'w', {columns} FROM (
                SELECT number, if(number < 20, {{seed:UInt128}}, toUInt128(number) * 1000003) AS revision,
                    number % 7 AS part,
                    'name' || toString(number % {NAMES}) AS key, 'name' || toString(number * 7 % {NAMES - 1}) AS other
                FROM numbers({ROWS}))""",
            {"seed": revision_key("seed", 1)},
        )
    yield store
    store.close()


def plan(store: Store, read: Callable[[Snapshot], Any]) -> list[tuple[str, int, int]]:
    """`(what is read, granules chosen, granules there are)` of every read of a growing table by these statements."""
    found = []

    def explained(sql: str, parameters: Any) -> Any:
        lines = [row[0] for row in Store.rows(store, f"EXPLAIN indexes = 1 {sql}", parameters)]
        reading = ""
        for line in lines:
            if started := re.search(r"ReadFromMergeTree \((?:\w+\.)?(\w+)\)", line):
                reading = started[1]
            elif (share := re.search(r"Granules: (\d+)/(\d+)", line)) and reading not in ("publications", "changes"):
                found.append((reading, int(share[1]), int(share[2])))
        return Store.rows(store, sql, parameters)

    store.forget_text()
    with store.snapshot("w") as snapshot:
        snapshot._run = explained
        snapshot.model = "m"
        read(snapshot)
    assert found, "the plan names its tables"
    return found


@pytest.mark.parametrize(
    ("read", "tables"),
    [
        (lambda snapshot: snapshot.mentions_in(KEYS), ["by_passage"]),
        (lambda snapshot: snapshot.ties(KEYS), ["by_passage"]),
        (lambda snapshot: snapshot.assertions_in(KEYS, limit=10), ["by_passage"]),
        (
            lambda snapshot: snapshot.assertions_of(["x:name17"], per_node_limit=5, limit=5),
            ["assertions", "by_object", "assertions"],
        ),
        (lambda snapshot: snapshot.profiles(["x:name17"]), ["by_entity", "assertions", "by_object"]),
        (lambda snapshot: snapshot.names(["name17"]), ["mentions"]),
        (lambda snapshot: snapshot.mentions_of(["name17"], per_name_limit=5, limit=5), ["mentions"]),
        (lambda snapshot: snapshot.term_frequencies(["name17"]), ["terms"]),
        (lambda snapshot: snapshot.lexical(["name17"], snapshot.counts(), 5), ["terms"]),
        (lambda snapshot: snapshot.passage_vectors(KEYS), ["passage_vectors"]),
        (lambda snapshot: snapshot.similarities([UNIT], KEYS), ["passage_vectors"]),
    ],
)
def test_a_read_by_key_touches_a_few_granules(store: Store, read: Callable[[Snapshot], Any], tables: list[str]) -> None:
    found = plan(store, read)
    assert [table for table, _, _ in found] == tables
    for table, chosen, there in found:
        assert chosen <= len(KEYS) < there, table


def test_passages_are_fetched_by_primary_key(store: Store) -> None:
    # These rows belong to no publication, so what `chunks` reads of publications is left out.
    def passages_only(snapshot: Snapshot) -> None:
        run = snapshot._run
        snapshot._run = lambda sql, parameters: [] if "FROM publications\n" in sql else run(sql, parameters)
        with pytest.raises(KeyError):
            snapshot.chunks(KEYS)

    [(table, chosen, there)] = plan(store, passages_only)
    assert table == "passages"
    assert chosen <= len(KEYS) < there
