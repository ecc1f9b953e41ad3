"""Merged entities: a layer over what passages say that is folded in when rows are read, and can be taken off again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evigraph.errors import InvalidValue, NotFound
from evigraph.ingest.prune import prune
from evigraph.store import Snapshot, Store
from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen
from evigraph.testing.store_contract.material import ALL, EMBEDDER, Shelf, doc
from evigraph.types import DocumentFilter, Mention

ACME, ACMECO, BIRCH, CEDAR, DORN = (f"organization:{name}" for name in ("acme", "acmeco", "birch", "cedar", "dorn"))


class IdentityContract(Contract):
    """`merge` and `unmerge` are one generation each and rewrite nothing. Reads show the representative: the canonical
    entity of the latest merge where the scope mentions it, else the first by id that it does mention."""

    @pytest.fixture
    def firms(self, shelf: Shelf) -> Shelf:
        """Acme and Acmeco are one firm: both supply Birch, and one passage names both."""
        shelf.fill(
            doc("a", "Acme supplies Birch", "Cedar audits Acme", title="Acme"),
            doc("b", "Acmeco supplies Birch", "Acmeco owns Dorn"),
            doc("c", "Acme. Acmeco"),
        )
        return shelf

    def test_a_merge_is_recorded_as_one_generation(self, firms: Shelf) -> None:
        before = firms.store.generation(firms.workspace)
        merge = firms.store.merge(firms.workspace, [ACMECO, ACME, ACME], reason="one firm")
        assert firms.store.generation(firms.workspace) == merge.merge_id == before + 1
        assert (merge.canonical, merge.entities, merge.reason) == (ACME, (ACME, ACMECO), "one firm")
        assert firms.store.merges(firms.workspace) == [merge]
        assert firms.store.merges(firms.workspace, as_of=before) == []
        again = firms.store.merge(firms.workspace, [BIRCH], canonical=CEDAR)
        assert (again.canonical, again.entities) == (CEDAR, (BIRCH, CEDAR))
        assert [item.merge_id for item in firms.store.merges(firms.workspace)] == [before + 1, before + 2]

    def test_the_entity_of_most_passages_is_canonical_where_none_is_named(self, firms: Shelf) -> None:
        firms.put("d", "Birch owns Dorn")
        assert firms.store.merge(firms.workspace, [DORN, BIRCH, CEDAR]).canonical == BIRCH

    def test_reads_show_the_representative(self, firms: Shelf) -> None:
        with firms.store.snapshot(firms.workspace) as snapshot:
            names = snapshot.names(["acme", "acmeco"])
            assert (names["acme"].passages, names["acmeco"].passages) == (3, 3)
        firms.store.merge(firms.workspace, [ACME, ACMECO])
        with firms.store.snapshot(firms.workspace) as snapshot:
            assert set(snapshot.names(["acme", "acmeco"])) == {"acme"}
            assert snapshot.names(["acme"])["acme"].passages == 5
            assert snapshot.identities.keys_of("acmeco") == ("acme", "acmeco")
            assert snapshot.entity_ids(["acme", "acmeco"]) == {"acme": [(ACME, 5)], "acmeco": [(ACME, 5)]}
            rows = snapshot.mentions_of(["acme"], per_name_limit=ALL, limit=ALL)
            assert {(row.key, row.entity_id) for row in rows} == {("acme", ACME)}
            assert len(rows) == 5
            assert snapshot.mentions_of(["acmeco"], per_name_limit=ALL, limit=ALL) == []
            here = snapshot.mentions_in([row.passage for row in rows])
            assert {row.entity_id for row in here} == {ACME, BIRCH, CEDAR, DORN}
            assert len([row for row in here if row.entity_id == ACME]) == 5, "once a passage, though c names both"
            near = snapshot.nearest_entities(EMBEDDER.embed(["Acmeco"])[0], ALL)
            assert {entity_id for entity_id, _ in near} == {ACME, BIRCH, CEDAR, DORN}
            assert snapshot.most_connected(1) == [ACME]
            assert snapshot.mentioned([ACME, ACMECO]) == {ACME: 3, ACMECO: 3}

    def test_a_profile_is_that_of_all_members_and_no_neighbour_of_itself(self, firms: Shelf) -> None:
        with firms.store.snapshot(firms.workspace) as snapshot:
            assert {name: item.degree for name, item in snapshot.profiles([ACME, ACMECO, BIRCH]).items()} == {
                ACME: 3, ACMECO: 3, BIRCH: 2
            }  # fmt: skip
        firms.store.merge(firms.workspace, [ACME, ACMECO], canonical=ACMECO)
        with firms.store.snapshot(firms.workspace) as snapshot:
            found = snapshot.profiles([ACME, BIRCH])
            assert set(found) == {ACMECO, BIRCH}
            both = found[ACMECO]
            assert (both.name, both.type, both.degree, both.passage_count) == ("Acmeco", "ORGANIZATION", 3, 5)
            assert found[BIRCH].degree == 1
            assert snapshot.profiles([ACMECO]) == {ACMECO: both}

    def test_unmerge_restores_what_was_before(self, firms: Shelf) -> None:
        before = seen(firms)
        merge = firms.store.merge(firms.workspace, [ACME, ACMECO])
        assert seen(firms) != before
        generation = firms.store.unmerge(firms.workspace, merge.merge_id)
        assert generation == merge.merge_id + 1
        assert seen(firms) == before
        assert seen(firms, as_of=merge.merge_id - 1) == before
        assert seen(firms, as_of=merge.merge_id) != before
        assert firms.store.merges(firms.workspace) == []

    def test_the_order_of_merges_does_not_decide_what_is_one(self, firms: Shelf, new_shelf: ShelfMaker) -> None:
        other = new_shelf()
        other.fill(
            doc("a", "Acme supplies Birch", "Cedar audits Acme", title="Acme"),
            doc("b", "Acmeco supplies Birch", "Acmeco owns Dorn"),
            doc("c", "Acme. Acmeco"),
        )
        for shelf, pairs in ((firms, [(ACME, ACMECO), (ACMECO, DORN)]), (other, [(ACMECO, DORN), (ACME, ACMECO)])):
            for pair in pairs:
                shelf.store.merge(shelf.workspace, pair, canonical=ACMECO)
        assert seen(firms) == seen(other)

    def test_what_cannot_be_merged_is_refused(self, firms: Shelf) -> None:
        store, workspace = firms.store, firms.workspace
        firms.put("gone", "Zorro. Quist")
        firms.delete("gone")
        before = store.generation(workspace)
        for entities in ([], [ACME], [ACME, ACME], [ACME, "a\0b"], [ACME, "\ud800"], [ACME, "x" * 5_000], ACME):
            with pytest.raises(InvalidValue) as refused:
                store.merge(workspace, entities)
            assert refused.value.hint
        for reason in ("\0", "x" * 5_000):
            with pytest.raises(InvalidValue):
                store.merge(workspace, [ACME, ACMECO], reason=reason)
        for missing in ("organization:nobody", "organization:zorro", "nonsense"):
            with pytest.raises(NotFound):
                store.merge(workspace, [ACME, missing])
        with pytest.raises(NotFound):
            store.merge(workspace, [ACME, ACMECO], canonical="organization:zorro")
        assert store.generation(workspace) == before
        first = store.merge(workspace, [ACME, ACMECO])
        store.merge(workspace, [ACMECO, DORN])
        with pytest.raises(InvalidValue, match="one already"):
            store.merge(workspace, [ACME, DORN])
        store.unmerge(workspace, first.merge_id)
        for merge_id in (first.merge_id, 0, 10**9):
            with pytest.raises(NotFound):
                store.unmerge(workspace, merge_id)
        assert store.merge(workspace, [ACME, DORN]).entities == (ACME, DORN)

    def test_a_scope_sees_of_a_merge_what_its_passages_mention(self, firms: Shelf, new_shelf: ShelfMaker) -> None:
        """Under a filter the workspace is as if the other documents, and the merges with their entities, were never."""
        firms.store.merge(firms.workspace, [ACME, ACMECO], reason="Acme is Acmeco")
        only = DocumentFilter(document_ids=("b",))
        alone = new_shelf()
        alone.put("b", "Acmeco supplies Birch", "Acmeco owns Dorn")
        assert seen(firms, document_filter=only) == seen(alone, firms)
        with firms.store.snapshot(firms.workspace, document_filter=only) as snapshot:
            assert snapshot.identities.of(ACMECO) == ACMECO
            assert snapshot.merges() == [], "one with a single member would tell that there is another"
        with firms.store.snapshot(firms.workspace, document_filter=DocumentFilter(document_ids=())) as snapshot:
            assert snapshot.merges() == []

    def test_a_form_is_the_name_of_what_the_scope_mentions(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        put_named(shelf, "a", "Dr Corrick Vane", "PERSON")
        put_named(shelf, "b", "Corrick Vane", "PERSON")
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            pairs = snapshot.forms_that_are_names(10)
            assert [(kind, entity, other) for kind, entity, other in pairs] == [
                ("title", "person:dr corrick vane", "person:corrick vane")
            ]
        for document_id in ("a", "b"):
            only = DocumentFilter(document_ids=(document_id,))
            with shelf.store.snapshot(shelf.workspace, document_filter=only) as snapshot:
                assert snapshot.forms_that_are_names(10) == [], "the other document is not in scope"
        # Document `a` has the same key in every workspace.
        one, other = new_shelf(), new_shelf()
        put_named(one, "a", "Dr Corrick Vane", "PERSON")
        put_named(other, "a", "Corrick Vane", "PERSON")
        for shown in (one, other):
            with shown.store.snapshot(shown.workspace) as snapshot:
                assert snapshot.forms_that_are_names(10) == [], "the other workspace is another"

    def test_merges_stay_in_their_workspace(self, firms: Shelf, new_shelf: ShelfMaker) -> None:
        other = new_shelf()
        other.fill(doc("a", "Acme supplies Birch"), doc("b", "Acmeco supplies Birch"))
        before = seen(other)
        firms.store.merge(firms.workspace, [ACME, ACMECO])
        assert seen(other) == before
        assert other.store.merges(other.workspace) == []

    def test_homographs_that_are_not_merged_stay_apart(self, store: Store, shelf: Shelf) -> None:
        _place_too(store, shelf)
        shelf.store.merge(shelf.workspace, [ACME, ACMECO], canonical=ACMECO)
        with store.snapshot(shelf.workspace) as snapshot:
            assert snapshot.identities.keys_of("acme") == ("acmeco", "acme")
            known = snapshot.names(["acme", "acmeco"])
            assert {key: info.passages for key, info in known.items()} == {"acme": 1, "acmeco": 2}
            assert snapshot.entity_ids(["acme"]) == {"acme": [(ACMECO, 2), ("location:acme", 1)]}
            rows = snapshot.mentions_of(["acme"], per_name_limit=ALL, limit=ALL)
            assert [(row.key, row.entity_id, row.type) for row in rows] == [("acme", "location:acme", "LOCATION")]

    def test_a_merge_across_types_shows_the_type_of_its_representative(self, store: Store, shelf: Shelf) -> None:
        _place_too(store, shelf)
        shelf.store.merge(shelf.workspace, [ACME, "location:acme"], canonical="location:acme")
        with store.snapshot(shelf.workspace) as snapshot:
            rows = snapshot.mentions_of(["acme"], per_name_limit=ALL, limit=ALL)
            assert {(row.entity_id, row.type) for row in rows} == {("location:acme", "LOCATION")}
            assert {row.type for row in snapshot.mentions_in([rows[0].passage])} <= {"LOCATION", "ORGANIZATION"}
            assert snapshot.profiles([ACME])["location:acme"].type == "LOCATION"

    def test_forms_are_those_of_the_scope_and_of_representatives(self, store: Store, shelf: Shelf) -> None:
        put_named(shelf, "a", "Northwind Trading Company", "ORGANIZATION")
        put_named(shelf, "b", "North Wood Timber Company", "ORGANIZATION")
        put_named(shelf, "gone", "New West Train Co", "ORGANIZATION")
        shelf.delete("gone")
        with store.snapshot(shelf.workspace) as snapshot:
            assert _meanings(snapshot, "nt") == ["northwind trading company"]
            assert _meanings(snapshot, "nwt") == ["north wood timber company"]
            assert _meanings(snapshot, "northwind trading") == ["northwind trading company"]
            assert snapshot.forms([]) == {}
        only = DocumentFilter(document_ids=("a",))
        with store.snapshot(shelf.workspace, document_filter=only) as snapshot:
            assert snapshot.forms(["nwt"]) == {}
        ids = ["organization:northwind trading company", "organization:north wood timber company"]
        store.merge(shelf.workspace, ids, canonical=ids[0])
        with store.snapshot(shelf.workspace) as snapshot:
            assert _meanings(snapshot, "nwt") == ["northwind trading company"]

    def test_names_like_another_are_those_of_the_scope_and_shown_as_merged(self, store: Store, shelf: Shelf) -> None:
        for document, name in (("a", "Northwind"), ("b", "Nortwind"), ("gone", "Norhtwind"), ("far", "Southwind")):
            put_named(shelf, document, name, "ORGANIZATION")
        shelf.delete("gone")
        with store.snapshot(shelf.workspace) as snapshot:
            like = snapshot.names_like({"northwind": 1, "northwnid": 1, "southwing": 0}, limit=ALL)
            assert like == {
                "northwind": [("northwind", "northwind"), ("nortwind", "nortwind")],
                "northwnid": [("northwind", "northwind")],
            }
            assert snapshot.names_like({"northwind": 3}, limit=1) == {"northwind": [("northwind", "northwind")]}
            assert snapshot.names_like({}, limit=ALL) == {}
        only = DocumentFilter(document_ids=("b",))
        with store.snapshot(shelf.workspace, document_filter=only) as snapshot:
            assert snapshot.names_like({"northwind": 1}, limit=ALL) == {"northwind": [("nortwind", "nortwind")]}
        ids = ["organization:northwind", "organization:nortwind"]
        store.merge(shelf.workspace, ids, canonical=ids[0])
        with store.snapshot(shelf.workspace) as snapshot:
            like = snapshot.names_like({"nortwind": 0}, limit=ALL)
            assert like == {"nortwind": [("nortwind", "northwind")]}

    def test_prune_keeps_no_name_that_only_removed_rows_held(self, firms: Shelf) -> None:
        store, workspace = firms.store, firms.workspace
        firms.put("d", "Zorro owns Dorn")
        firms.put("e", "Quist owns Dorn")
        kept = store.merge(workspace, [ACME, ACMECO], reason="one firm")
        chain = store.merge(workspace, [ACME, "organization:zorro"], canonical="organization:zorro", reason="Zorro")
        linked = store.merge(workspace, ["organization:zorro", CEDAR], reason="Zorro again")
        dropped = store.merge(workspace, [DORN, "organization:quist"])
        undone = store.merge(workspace, [BIRCH, "organization:quist"])
        store.unmerge(workspace, undone.merge_id)
        firms.delete("d")
        firms.delete("e")
        before = seen(firms)
        report = prune(store, workspace)
        assert seen(firms) == before, "what is one stays one, though what joined it is gone"
        assert seen(firms, as_of=report.horizon) == before
        sql = (
            "SELECT generation, detail FROM changes WHERE workspace = {w:String} AND kind = 'merge' ORDER BY generation"
        )
        recorded = store.rows(sql, {"w": workspace})
        assert [row[0] for row in recorded] == [kept.merge_id, chain.merge_id, linked.merge_id]
        assert not any(word in detail.casefold() for _, detail in recorded for word in ("zorro", "quist"))
        assert store.merges(workspace)[0] == kept
        with pytest.raises(NotFound):
            store.unmerge(workspace, dropped.merge_id)
        prune(store, workspace)
        assert seen(firms) == before


def _place_too(store: Store, shelf: Shelf) -> None:
    """Two firms, and a place with the name of one."""
    shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Acmeco supplies Birch"))
    put_named(shelf, "place", "Acme", "LOCATION")


def put_named(shelf: Shelf, document_id: str, name: str, type: str) -> None:
    """Publish a document that mentions one entity, of any name and type."""
    draft = shelf.draft(document_id, "word")
    key = name.lower()
    mention = Mention(passage_index=0, entity_id=f"{type.lower()}:{key}", key=key, name=name, type=type, start=0, end=4)
    shelf.store.stage(shelf.workspace, EMBEDDER.name, [replace(draft.staged, mentions=[mention], terms=[{}])])
    shelf.publish(draft)


def _meanings(snapshot: Snapshot, form: str) -> list[str]:
    return [row.key for row in snapshot.forms([form]).get(form, [])]
