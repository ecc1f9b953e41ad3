"""Values are data: whatever a text, a name, an id or a filter holds, it is stored and compared as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evigraph.store import Store
from evigraph.testing.store_contract.base import Contract, shown
from evigraph.testing.store_contract.material import ALL, EMBEDDER, Shelf
from evigraph.types import DocumentFilter

VALUES = (
    "it's", 'say "so"', "back\\slash", "\\'", "\\N", "NULL", "", " padded ", "tab\tline\nreturn\r", "{braces:String}",
    "{workspace:String}", "%(a)s %s", "$1 ?", "'; DROP TABLE publications; --", "') OR 1=1 --", "*/ comment /*",
    "日本語 한국어 ελληνικά", "🜁👩‍👩‍👧", "e\u0301 \u200b \ufeff", "a" * 5_000, "[1,2]", "(1,'a')", "nan", "`tick`",
    "\x01\x7f",
)  # fmt: skip


class ValueContract(Contract):
    """NUL and lone surrogates are refused before they come here; everything else survives."""

    @pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
    def test_a_value_survives_everywhere(self, store: Store, shelf: Shelf, value: str) -> None:
        document_id = value or "empty"
        draft = shelf.draft(
            document_id, f"{value} Acme", source=value, title=value, metadata={f"k{value}": value}, origin=value
        )
        shelf.publish(draft)
        shelf.put("other", "Birch")
        [info] = [info for info in store.documents(shelf.workspace) if info.document_id == document_id]
        assert (info.source, info.title, info.origin) == (value, value, value)
        assert info.metadata == {f"k{value}": value}
        assert store.document(shelf.workspace, document_id) == info
        assert store.document_text(shelf.workspace, document_id, 1) == f"{value} Acme"
        assert store.revisions(shelf.workspace, document_id)[0].title == value
        assert shown(shelf, metadata_filter={f"k{value}": value}) == [document_id]
        assert shown(shelf, metadata_filter={f"k{value}": value + "!"}) == []
        assert shown(shelf, metadata_filter={"document_id": document_id}) == [document_id]
        assert shown(shelf, document_filter=DocumentFilter(document_ids=(document_id,))) == [document_id]
        with store.snapshot(shelf.workspace, metadata_filter={"source": value}) as snapshot:
            [hit] = snapshot.nearest_passages(EMBEDDER.embed(["Acme"])[0], ALL)
            [chunk] = snapshot.chunks([hit.key]).values()
        assert (chunk.id, chunk.text, chunk.source, chunk.title) == (
            f"{document_id}#0",
            f"{value} Acme",
            value,
            value,
        )
        job = store.start_job(shelf.workspace, "index", {"source": value})
        assert store.jobs(shelf.workspace)[0].detail == job.detail == {"source": value}

    @pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
    def test_a_name_a_term_and_a_predicate_are_data(self, store: Store, shelf: Shelf, value: str) -> None:
        draft = shelf.draft("a", "Acme supplies Birch")
        mention = replace(draft.staged.mentions[0], key=value, entity_id=f"x:{value}", name=value, extractor=value)
        claim = replace(
            draft.staged.assertions[0], subject_id=f"x:{value}", predicate=value, description=value, extractor=value
        )
        odd = replace(draft.staged, mentions=[mention], assertions=[claim], terms=[{value: 2}], facts=[])
        store.stage(shelf.workspace, EMBEDDER.name, [odd])
        shelf.publish(draft)
        with store.snapshot(shelf.workspace) as snapshot:
            assert snapshot.names([value])[value].passages == 1
            [row] = snapshot.mentions_of([value], per_name_limit=ALL, limit=ALL)
            assert (row.key, row.entity_id, row.name) == (value, f"x:{value}", value)
            assert snapshot.entity_ids([value]) == {value: [(f"x:{value}", 1)]}
            assert snapshot.term_frequencies([value]) == {value: 1}
            assert len(snapshot.lexical([value], snapshot.counts(), ALL)) == 1
            found = snapshot.assertions_of([f"x:{value}"], per_node_limit=ALL, limit=ALL, predicates=[value])
            assert [(origin, item.type, item.description) for origin, item in found] == [(f"x:{value}", value, value)]
            assert snapshot.profiles([f"x:{value}"])[f"x:{value}"].name == value
            assert [item.type for item in snapshot.assertions_in([row.passage], limit=ALL)].count(value) == 1
            assert f"x:{value}" in snapshot.most_connected(ALL)

    @pytest.mark.parametrize("workspace", ["it's", "a b", "ü", "{x:String}", "') OR 1=1 --"])
    def test_a_workspace_name_is_data(self, store: Store, workspace: str) -> None:
        """The engine allows fewer letters in a workspace's name; the store does not rely on that."""
        shelf = Shelf(store, workspace)
        shelf.put("a", "Acme")
        shelf.put("a", "Birch")
        assert shown(shelf) == ["a"]
        assert store.revisions(workspace, "a")[-1].revision == store.document(workspace, "a").revision
        assert workspace in store.workspaces()
