"""After a prune, what a deleted conversation or document said is on no disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evigraph.errors import StoreError
from evigraph.ingest.prune import prune
from evigraph.store import Store, open_store
from evigraph.store.conversations import NewTurn, Thread, append_turn, delete_thread, find_thread, set_shared, threads
from evigraph.store.keys import revision_key
from evigraph.testing.store_contract.material import Shelf

from .physical import files_with, inactive_parts, marker, places


def turn(question: str, answer: str, *documents: str, standalone: str = "", known_from: str = "") -> NewTurn:
    return NewTurn(
        asked_by="ann",
        generation=1,
        question=question,
        standalone=standalone or question,
        standalone_rests_on=[revision_key(known_from, 1)] if known_from else [],
        abstained=False,
        answer=answer,
        names=[(answer, "ORGANIZATION")],
        answer_rests_on=[revision_key(document, 1) for document in documents],
    )


def begun(store: Store, name: str, first: NewTurn) -> Thread:
    append_turn(store, "w", "ann", name, thread=None, turn=first)
    found = find_thread(store, "w", "ann", name, user="ann")
    assert found is not None
    return found


def test_pruned_turns_are_in_no_table_and_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    asked, answered, named, gone, kept, elsewhere = (marker() for _ in range(6))
    store = open_store(str(folder))
    try:
        shelf = Shelf(store, "w")
        for document in ("gone", "kept"):
            shelf.put(document, "Acme supplies Birch")
        deleted = begun(store, f"c{gone}", turn(gone, gone, "kept"))
        set_shared(store, "w", "ann", f"c{gone}", True)
        thread = begun(store, "stays", turn(asked, answered, "gone", "kept"))
        append_turn(store, "w", "ann", "stays", thread=thread, turn=turn("q", kept, "kept"))
        later = turn("q", kept, "kept", standalone=named, known_from="gone")
        append_turn(store, "w", "ann", "stays", thread=thread, turn=later)
        append_turn(store, "other", "ann", "c", thread=None, turn=turn(elsewhere, elsewhere, "gone"))
        assert {table for table, _ in places(store, gone)} == {"conversations", "conversation_turns"}
        assert {column for _, column in places(store, answered)} == {"answer", "names"}
        for word in (asked, answered, named, gone, kept):
            assert list(files_with(folder, word)), "an uncompressed word would be found"

        assert delete_thread(store, "w", "ann", f"c{gone}")
        assert places(store, gone), "the text itself stays until a prune"
        shelf.delete("gone")
        prune(store, "w")
        for word in (answered, named, gone):
            assert places(store, word) == []
            assert list(files_with(folder, word)) == []
        assert inactive_parts(store) == 0
        for word in (asked, kept):
            assert places(store, word)
        with store.snapshot("w") as snapshot:
            assert [(one.question, one.answer, one.withheld) for one in snapshot.turns(thread.name, limit=9)] == [
                (asked, None, True),
                ("q", kept, False),
                ("q", kept, True),
            ]
            assert snapshot.turns(deleted.name, limit=9) == []
        assert [info.id for info in threads(store, "w", "ann", limit=9)[0]] == ["stays"]
        assert places(store, elsewhere), "another workspace has its own prune"
        prune(store, "w")
        assert [info.turns for info in threads(store, "w", "ann", limit=9)[0]] == [3]
        again = begun(store, f"c{gone}", turn("new", "new", "kept"))
        assert again.name != deleted.name
    finally:
        store.close()
    for word in (answered, named):
        assert list(files_with(folder, word)) == []
    shutil.rmtree(folder)


def test_a_prune_that_was_cut_short_is_completed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "store"))
    try:
        Shelf(store, "w").put("a", "Acme")
        word = marker()
        begun(store, "c", turn(word, word, "a"))
        delete_thread(store, "w", "ann", "c")
        with monkeypatch.context() as patch:
            patch.setattr("evigraph.store.retention.VANISH_SECONDS", -1.0)
            with pytest.raises(StoreError, match="old part files"):
                prune(store, "w")
        assert find_thread(store, "w", "ann", "c", user="ann") is None
        prune(store, "w")
        assert places(store, word) == []
    finally:
        store.close()


def test_what_hides_a_deleted_conversation_is_removed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prune that ends between two removals must not bring a conversation back."""
    store = open_store(str(tmp_path / "store"))
    try:
        Shelf(store, "w").put("a", "Acme")
        begun(store, "c", turn("q", "x", "a"))
        set_shared(store, "w", "ann", "c", True)
        delete_thread(store, "w", "ann", "c")
        run = store.command
        done: list[str] = []

        def watched(sql: str, *arguments: object) -> None:
            run(sql, *arguments)  # type: ignore[arg-type]
            if "conversation" in sql and "SETTINGS mutations_sync" in sql:
                done.append(sql)
                assert threads(store, "w", "bob", limit=9) == ([], 0)

        monkeypatch.setattr(store, "command", watched)
        prune(store, "w")
        assert len(done) == 5
        assert store.rows("SELECT count() FROM conversations", {}) == [(0,)]
    finally:
        store.close()
