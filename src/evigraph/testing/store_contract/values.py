"""Values are data: whatever a text, a name, an id or a filter holds, it is stored and compared as it is."""

from __future__ import annotations

from dataclasses import replace

from evigraph.store import Store
from evigraph.testing.store_contract.base import Contract, shown
from evigraph.testing.store_contract.material import ALL, EMBEDDER, Doc, Shelf, doc
from evigraph.types import DocumentFilter

VALUES = (
    "it's", 'say "so"', "back\\slash", "\\'", "\\N", "NULL", "", " padded ", "tab\tline\nreturn\r", "{braces:String}",
    "{workspace:String}", "%(a)s %s", "$1 ?", "'; DROP TABLE publications; --", "') OR 1=1 --", "*/ comment /*",
    "日本語 한국어 ελληνικά", "🜁👩‍👩‍👧", "e\u0301 \u200b \ufeff", "a" * 5_000, "[1,2]", "(1,'a')", "nan", "`tick`",
    "\x01\x7f",
)  # fmt: skip


class ValueContract(Contract):
    """NUL and lone surrogates are refused before they come here; everything else survives."""

    def test_a_value_survives_everywhere(self, store: Store, shelf: Shelf) -> None:
        shelf.fill(*(_document(value) for value in VALUES), doc("other", "Birch"))
        listed = {info.document_id: info for info in store.documents(shelf.workspace)}
        assert len(listed) == len(VALUES) + 1
        for value in VALUES:
            info = listed[_id(value)]
            assert (info.source, info.title, info.origin) == (value, value, value)
            assert info.metadata == {f"k{value}": value}
            assert store.document_text(shelf.workspace, info.document_id, 1) == f"{value} Acme"
            assert store.revisions(shelf.workspace, info.document_id)[0].title == value
        with store.snapshot(shelf.workspace) as snapshot:
            hits = snapshot.nearest_passages(EMBEDDER.embed(["Acme"])[0], ALL)
            chunks = {chunk.id: chunk for chunk in snapshot.chunks([hit.key for hit in hits]).values()}
        for value in VALUES:
            chunk = chunks[f"{_id(value)}#0"]
            assert (chunk.text, chunk.source, chunk.title) == (f"{value} Acme", value, value)

    def test_a_filter_value_is_compared_as_it_is(self, shelf: Shelf) -> None:
        shelf.fill(*(_document(value) for value in VALUES), doc("other", "Birch"))
        for value in VALUES:
            only = DocumentFilter(document_ids=(_id(value),))
            everything = {f"k{value}": value, "document_id": _id(value), "source": value}
            assert shown(shelf, document_filter=only, metadata_filter=everything) == [_id(value)]
        assert shown(shelf, metadata_filter={"kit's": "it's!"}) == []
        assert shown(shelf, document_filter=DocumentFilter(document_ids=VALUES)) == sorted({*VALUES} - {""})

    def test_a_job_detail_survives(self, store: Store, workspace: str) -> None:
        detail = {f"k{value}": value for value in VALUES}
        store.start_job(workspace, "index", detail)
        assert store.jobs(workspace)[0].detail == detail

    def test_a_name_a_term_and_a_predicate_are_data(self, store: Store, shelf: Shelf) -> None:
        draft = shelf.draft("a", "Acme supplies Birch")
        [claim], mention = draft.staged.assertions, draft.staged.mentions[0]
        odd = replace(
            draft.staged,
            mentions=[replace(mention, key=value, entity_id=f"x:{value}", name=value) for value in VALUES],
            assertions=[
                replace(claim, subject_id=f"x:{value}", predicate=value, description=value) for value in VALUES
            ],
            terms=[dict.fromkeys(VALUES, 2)],
            facts=[replace(draft.staged.facts[0], ref=f"x:{value}", text=value) for value in VALUES],
        )
        store.stage(shelf.workspace, EMBEDDER.name, [odd])
        shelf.publish(draft)
        entities = [f"x:{value}" for value in VALUES]
        with store.snapshot(shelf.workspace) as snapshot:
            assert set(snapshot.names(VALUES)) == set(VALUES)
            rows = snapshot.mentions_of(VALUES, per_name_limit=ALL, limit=ALL)
            assert {(row.key, row.entity_id, row.name) for row in rows} == {(v, f"x:{v}", v) for v in VALUES}
            assert snapshot.entity_ids(VALUES) == {value: [(f"x:{value}", 1)] for value in VALUES}
            assert snapshot.term_frequencies(VALUES) == dict.fromkeys(VALUES, 1)
            assert {name: profile.name for name, profile in snapshot.profiles(entities).items()} == {
                f"x:{value}": value for value in VALUES
            }
            assert set(entities) <= set(snapshot.most_connected(ALL))
            assert set(entities) <= {name for name, _ in snapshot.nearest_entities(EMBEDDER.embed(["Acme"])[0], ALL)}
            told = snapshot.assertions_of(entities, per_node_limit=ALL, limit=ALL)
            assert {(item.source, item.type, item.description) for _, item in told} == {
                (f"x:{value}", value, value) for value in VALUES
            }
            for value in VALUES:
                assert snapshot.names([value])[value].passages == 1
                assert len(snapshot.lexical([value], snapshot.counts(), ALL)) == 1
                only = snapshot.assertions_of([f"x:{value}"], per_node_limit=ALL, limit=ALL, predicates=[value])
                assert [item.type for _, item in only] == [value]
        odd_ids = [entity_id for entity_id in entities if len(entity_id) < 2_000]
        reason = "".join(value for value in VALUES if len(value) < 100)
        merge = store.merge(shelf.workspace, odd_ids, canonical="x:it's", reason=reason)
        assert (set(merge.entities), merge.reason) == (set(odd_ids), reason)
        with store.snapshot(shelf.workspace) as snapshot:
            assert set(snapshot.profiles(odd_ids)) == {"x:it's"}
            assert set(snapshot.names(VALUES)) == {"it's", "a" * 5_000}

    def test_a_workspace_name_is_data(self, store: Store) -> None:
        """The engine allows fewer letters in a workspace's name; the store does not rely on that."""
        workspace = "') OR 1=1 -- {x:String} ü"
        shelf = Shelf(store, workspace)
        shelf.put("a", "Acme")
        shelf.put("a", "Birch")
        assert shown(shelf) == ["a"]
        assert store.revisions(workspace, "a")[-1].revision == store.document(workspace, "a").revision
        assert workspace in store.workspaces()


def _id(value: str) -> str:
    """A document's id is never empty."""
    return value or "empty"


def _document(value: str) -> Doc:
    return doc(_id(value), f"{value} Acme", source=value, title=value, metadata={f"k{value}": value}, origin=value)
