"""After a prune, what nobody can see is on no disk: in no table, no inactive part, no file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evigraph.errors import StoreError
from evigraph.ingest.prune import prune
from evigraph.store import open_store
from evigraph.store.migrations import REVISION_TABLES
from evigraph.store.trees import stage_summaries, stage_tree
from evigraph.testing.store_contract.base import seen
from evigraph.testing.store_contract.communities import paths, publish, summary, told
from evigraph.testing.store_contract.identity import put_named
from evigraph.testing.store_contract.material import Shelf, doc

from .physical import files_with, inactive_parts, marker, places, write_history


def test_pruned_text_is_in_no_table_and_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    replaced, deleted, abandoned, kept = (marker() for _ in range(4))
    store = open_store(str(folder))
    try:
        shelf = Shelf(store, "w")
        write_history(shelf, replaced, deleted, kept)
        shelf.draft("never", f"{abandoned} supplies {abandoned}x", title=abandoned)
        before = {word: places(store, word) for word in (replaced, deleted, abandoned, kept)}
        tables = {table for table, _ in before[replaced]}
        assert tables == {
            "publications", "passages", "document_texts", "terms", "mentions", "assertions", "fact_vectors"
        }  # fmt: skip
        assert before[replaced] == before[deleted] == before[kept]
        for word in before:
            assert list(files_with(folder, word)), "an uncompressed word would be found"
        report = prune(store, "w")
        assert (report.documents, report.revisions) == (3, 3)
        assert {word: places(store, word) for word in before} == {
            replaced: [],
            deleted: [],
            abandoned: [],
            kept: before[kept],
        }
        assert inactive_parts(store) == 0
        for word in (replaced, deleted, abandoned):
            assert list(files_with(folder, word)) == []
        assert list(files_with(folder, kept))
        for table in REVISION_TABLES:
            [[settings]] = store.rows(
                "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = {t:String}",
                {"t": table},
            )
            assert "old_parts_lifetime" not in settings, "what prune sets for its own sake is set back"
    finally:
        store.close()
    for word in (replaced, deleted, abandoned):
        assert list(files_with(folder, word)) == []
    shutil.rmtree(folder)


def test_pruned_names_are_in_no_merge_and_in_no_form(tmp_path: Path) -> None:
    """A merge names entities, and its reason may: when the last passage that mentions one is gone, so are they."""
    folder = tmp_path / "store"
    gone, kept = marker(), marker()
    store = open_store(str(folder))
    try:
        shelf = Shelf(store, "w")
        shelf.fill(doc("kept", f"{kept} supplies Acme"), doc("gone", f"{gone} supplies Acme"))
        put_named(shelf, "trader", f"{gone} Trading Company", "ORGANIZATION")
        ids = [f"organization:{name.lower()}" for name in (gone, kept, "acme")]
        store.merge("w", ids, canonical=ids[0], reason=f"{gone} is {kept}")
        undone = store.merge("w", [ids[0], f"{ids[0]} trading company"], reason=f"{gone} trades")
        store.unmerge("w", undone.merge_id)
        assert {("changes", "detail"), ("name_forms", "key"), ("name_forms", "entity_id")} < set(places(store, gone))
        shelf.delete("gone")
        shelf.delete("trader")
        before = seen(shelf)
        prune(store, "w")
        assert places(store, gone) == []
        assert inactive_parts(store) == 0
        assert list(files_with(folder, gone)) == []
        assert gone.lower() not in repr(store._states), "nor in what is kept in memory"
        assert seen(shelf) == before
        [merge] = store.merges("w")
        assert set(merge.entities) == set(ids[1:])
        assert list(files_with(folder, kept))
    finally:
        store.close()
    assert list(files_with(folder, gone)) == []
    shutil.rmtree(folder)


def test_pruned_names_and_texts_are_in_no_tree(tmp_path: Path) -> None:
    """A tree names entities, and a model's summary tells of them: of what is gone neither is left."""
    folder = tmp_path / "store"
    gone, replaced, abandoned, kept = (marker() for _ in range(4))
    store = open_store(str(folder))
    try:
        shelf = Shelf(store, "w")
        shelf.fill(doc("kept", f"{kept} supplies Acme"), doc("gone", f"{gone} supplies Acme"))
        ids = dict.fromkeys((f"organization:{word.lower()}" for word in (gone, kept, "acme")), (0,))
        publish(shelf, ids, [summary(0, "kept", text=f"First of {replaced}.", model="m")])
        publish(
            shelf,
            ids,
            [summary(0, "gone", text=f"{gone} trades.", model="m"), summary(1, "kept", text=f"{kept}.", model="m")],
        )
        tree = stage_tree(
            store, "w", [f"organization:{gone.lower()}", f"of {abandoned}"], paths([(0,), (0,)]), members={}
        )
        stage_summaries(store, "w", tree, [summary(0, "kept", text=f"Of {abandoned}.", model="m")])
        tables = {("community_members", "entity_id"), ("community_summaries", "text")}
        assert tables < set(places(store, gone))
        assert tables == set(places(store, abandoned))
        assert ("community_summaries", "text") in places(store, replaced)
        shelf.delete("gone")
        before = told(shelf)
        prune(store, "w")
        for word in (gone, replaced, abandoned):
            assert places(store, word) == []
            assert list(files_with(folder, word)) == []
        assert inactive_parts(store) == 0
        assert told(shelf)[0] == before[0]
        assert list(told(shelf)[1]) == [1]
        assert tables < set(places(store, kept))
        assert list(files_with(folder, kept))
        prune(store, "w")
        assert list(told(shelf)[1]) == [1]
    finally:
        store.close()
    for word in (gone, replaced, abandoned):
        assert list(files_with(folder, word)) == []
    shutil.rmtree(folder)


def test_settings_are_set_back_when_a_prune_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(tmp_path / "store"))
    try:
        shelf = Shelf(store, "w")
        shelf.put("a", "Acme")
        shelf.put("a", "Birch")
        monkeypatch.setattr("evigraph.store.retention.VANISH_SECONDS", -1.0)
        with pytest.raises(StoreError, match="old part files"):
            prune(store, "w")
        [[settings]] = store.rows("SELECT create_table_query FROM system.tables WHERE name = 'passages'", {})
        assert "old_parts_lifetime" not in settings
    finally:
        store.close()
