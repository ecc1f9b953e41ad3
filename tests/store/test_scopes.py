"""Scopes kept as sets: shared by the snapshots of a generation, and gone when nobody needs them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evigraph.store import Snapshot, Store, open_store, scopes
from evigraph.testing.store_contract.material import Shelf, doc
from evigraph.types import DocumentFilter


@pytest.fixture
def store(store: Store) -> Store:
    Shelf(store, "w").fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar owns Dorn"))
    return store


@pytest.fixture
def other(store: Store, tmp_path: Path) -> Iterator[Store]:
    """Another engine of this process on the same store."""
    other = open_store(str(tmp_path / "store"))
    yield other
    other.close()


def sets(store: Store) -> list[str]:
    return [row[0] for row in store.rows("SELECT name FROM system.tables WHERE engine = 'Set' ORDER BY name", {})]


def ask(store: Store, *documents: str) -> str:
    """The set that a snapshot of these documents reads."""
    only = DocumentFilter(document_ids=documents) if documents else None
    with store.snapshot("w", document_filter=only) as snapshot:
        table = set_of(snapshot)
        assert table in sets(store)
        return table


def set_of(snapshot: Snapshot) -> str:
    assert snapshot.scope.kept is not None
    return snapshot.scope.kept.table


def test_snapshots_of_one_scope_share_its_set(store: Store) -> None:
    assert ask(store) == ask(store)
    assert ask(store, "a") == ask(store, "a") != ask(store, "b")
    assert ask(store) not in (ask(store, "a"), ask(store, "b"))


def test_a_new_generation_has_a_set_of_its_own(store: Store) -> None:
    before = ask(store)
    with store.snapshot("w") as pinned:
        assert set_of(pinned) == before
        store.delete("w", "a")
        with store.snapshot("w") as snapshot:
            assert set_of(snapshot) != before
            assert not snapshot.names(["acme"])
        assert pinned.names(["acme"]), "its own generation still shows it"


def test_only_the_sets_used_last_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "KEPT", 2)
    first, second = ask(store), ask(store, "a")
    assert ask(store) == first
    third = ask(store, "b")
    assert sets(store) == sorted([first, third]), second


def test_a_set_stays_while_somebody_reads_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "KEPT", 1)
    with store.snapshot("w") as snapshot:
        mine = set_of(snapshot)
        ask(store, "a")
        ask(store, "b")
        assert mine in sets(store)
        assert snapshot.names(["acme", "cedar"])
    assert len(sets(store)) == 1


def test_nothing_stays_behind(store: Store, tmp_path: Path) -> None:
    ask(store)
    # As a process that was killed leaves it.
    store.command("CREATE TABLE visible_0123456789abcdef (revision_key UInt128) ENGINE = Set SETTINGS persistent = 0")
    store.close()
    reopened = open_store(str(tmp_path / "store"))
    try:
        assert sets(reopened) == []
        assert ask(reopened)
    finally:
        reopened.close()


def test_a_scope_that_cannot_be_worked_out_leaves_no_set(store: Store) -> None:
    with store.snapshot("w") as snapshot, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scopes.Scope, "revisions", "(SELECT no_such_column FROM publications)")
        with pytest.raises(scopes.StoreError):
            _ = snapshot.scope
    assert sets(store) == []


def test_a_snapshot_ends_after_its_store_was_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "KEPT", 1)
    store = open_store(str(tmp_path / "closing"))
    Shelf(store, "w").fill(doc("a", "Acme supplies Birch"))
    with store.snapshot("w") as snapshot, store.snapshot("w", metadata_filter={"source": "a"}) as other:
        assert set_of(snapshot) != set_of(other)
        store.close()
    reopened = open_store(str(tmp_path / "closing"))
    assert sets(reopened) == []
    reopened.close()


def test_engines_of_one_process_share_their_sets(store: Store, other: Store, tmp_path: Path) -> None:
    mine = ask(store)
    assert ask(other) == mine
    with other.snapshot("w") as snapshot:
        assert set_of(snapshot) == mine
        store.close()
        assert snapshot.names(["acme"])
    other.close()
    reopened = open_store(str(tmp_path / "store"))
    assert sets(reopened) == []
    reopened.close()


def test_an_engine_closed_under_its_readers_leaves_no_set_to_the_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "KEPT", 1)
    other = open_store(str(tmp_path / "store"))
    with other.snapshot("w") as one, other.snapshot("w", metadata_filter={"source": "a"}) as two:
        assert set_of(one) != set_of(two)
        other.close()
    ask(store)
    assert len(sets(store)) == 1


def test_a_second_engine_waits_until_the_first_has_tidied_up(store: Store, tmp_path: Path) -> None:
    store.close()
    places = [threading.Barrier(8)]

    def opened(_: int) -> Store:
        places[0].wait()
        one = open_store(str(tmp_path / "store"))
        ask(one)
        return one

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            engines = list(pool.map(opened, range(8)))
        assert {ask(engine) for engine in engines} == set(sets(engines[0]))
        for engine in engines:
            engine.close()


def test_engines_of_one_process_publish_one_after_the_other(store: Store, other: Store) -> None:
    """Two publications of one generation would make two states of it."""
    assert other.writing is store.writing
    with ThreadPoolExecutor(2) as pool:
        writes = [
            pool.submit(Shelf(engine, "w").put, f"{name}{number}", "Acme supplies Birch")
            for number in range(5)
            for name, engine in (("x", store), ("y", other))
        ]
        assert [write.result() for write in writes] != []
    generations = store.rows("SELECT generation FROM publications ORDER BY generation", {})
    assert len(set(generations)) == len(generations) == 12


def test_a_prune_waits_for_the_readers_of_every_engine(store: Store, other: Store) -> None:
    store.delete("w", "a")
    ended = threading.Event()
    with store.snapshot("w"):
        newest = Shelf(store, "w").put("c", "Elm owns Fir")
        waiting = threading.Thread(target=lambda: (other.wait_for_pins("w", newest), ended.set()))
        waiting.start()
        assert not ended.wait(0.3)
    assert ended.wait(10)
    waiting.join()


def test_a_filter_may_hold_a_list(store: Store) -> None:
    only = DocumentFilter(document_ids=["a"])  # type: ignore[arg-type]
    with store.snapshot("w", document_filter=only) as snapshot:
        assert set(snapshot.names(["acme", "cedar"])) == {"acme"}


def test_the_newest_generation_is_known_to_every_engine_after_every_write(store: Store, other: Store) -> None:

    first = store.generation("w")
    assert other.generation("w") == first
    writes = (
        lambda: Shelf(other, "w").put("c", "Elm owns Fir"),
        lambda: store.delete("w", "c"),
        lambda: other.record_change("w", "schema", {}),
    )
    for number, write in enumerate(writes, start=1):
        write()
        assert (store.generation("w"), other.generation("w")) == (first + number, first + number)
    assert store.generation("v") == 0


def test_a_generation_is_read_anew_after_a_write_that_failed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row may have landed all the same."""
    before = store.generation("w")

    def landed(*_: object) -> None:
        raise scopes.StoreError("the connection broke after the insert")

    with monkeypatch.context() as patch, pytest.raises(scopes.StoreError):
        patch.setattr(Store, "_refuse_shared_generations", landed)
        store.record_change("w", "schema", {})
    assert store.generation("w") == before + 1
    assert store.record_change("w", "schema", {}) == before + 2
