"""Communities: the graph of a scope, what states its links, and trees that are published over it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from evigraph.communities import Staleness
from evigraph.ingest.prune import prune
from evigraph.store import Snapshot
from evigraph.store.communities import SentenceRef, TreeNode
from evigraph.store.keys import PassageKey, revision_key
from evigraph.store.staging import identify
from evigraph.store.state import TreeRecord
from evigraph.store.trees import StagedSummary, publish_tree, stage_summaries, stage_tree
from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen
from evigraph.testing.store_contract.material import EMBEDDER, Shelf, claims_of, doc, statements_of
from evigraph.types import DocumentFilter

ACME, BIRCH, CEDAR, DORN, ELM = (f"organization:{name}" for name in ("acme", "birch", "cedar", "dorn", "elm"))
STATED, TOGETHER, NEXT = 750, 100, 200
"""Weights of what the contract's extractor makes: a claim, a co-occurrence; and of following each other."""


class GraphOfCommunities(Contract):
    """What is clustered is a function of the scope: two scopes that show the same documents give the same."""

    def test_links_are_assertions_and_neighbours_of_a_passage(self, shelf: Shelf) -> None:
        shelf.fill(
            doc("a", "Acme supplies Birch", "Birch. Cedar. Birch"), doc("b", "Acme supplies Birch", title="Dorn")
        )
        assert links(shelf) == {
            (ACME, BIRCH): 2 * STATED + 2 * NEXT,
            (BIRCH, CEDAR): 2 * TOGETHER + NEXT,
            (ACME, DORN): NEXT,
        }

    def test_an_entity_that_nothing_links_is_there(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Elm"), doc("b", "Cedar. Acme"))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            graph = snapshot.community_graph()
        assert graph.entities == [ACME, CEDAR, ELM]
        assert graph.links == [(0, 1, TOGETHER + NEXT)]

    def test_an_entity_that_only_assertions_name_is_there(self, shelf: Shelf) -> None:
        draft = shelf.draft("a", "word")
        named = shelf.draft("b", "Acme supplies Birch")
        moved = [replace(item, start=0, end=4) for item in named.staged.assertions]
        shelf.store.stage(shelf.workspace, EMBEDDER.name, [replace(draft.staged, assertions=moved, terms=[{}])])
        shelf.publish(draft)
        assert links(shelf) == {(ACME, BIRCH): STATED}
        publish(shelf, {ACME: (0,), BIRCH: (0,), CEDAR: (0,)})
        assert members(shelf) == {ACME: (0,), BIRCH: (0,)}

    def test_what_no_document_of_the_scope_says_links_nothing(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        shelf.fill(doc("a", "Acme supplies Birch. Cedar"), doc("b", "Birch owns Cedar"), doc("c", "Dorn sues Acme"))
        alone = new_shelf()
        alone.put("b", "Birch owns Cedar")
        only = DocumentFilter(document_ids=("b",))
        assert links(shelf, only) == links(alone) == {(BIRCH, CEDAR): STATED + NEXT}
        generation = shelf.store.generation(shelf.workspace)
        shelf.delete("a")
        shelf.delete("c")
        assert seen(shelf, alone) == seen(alone, shelf)
        with shelf.store.snapshot(shelf.workspace, as_of=generation) as snapshot:
            assert len(snapshot.community_graph().entities) == 4
            said = statements_of(snapshot)
            assert len(said) == 4
            assert claims_of(snapshot) == sorted((row[0], row[1], row[3]) for row in said)
            assert snapshot.scope_entities() == snapshot.community_graph().entities

    def test_merged_entities_are_one(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch", "Dorn. Acme. Birch"), doc("b", "Dorn supplies Acme"))
        merge = shelf.store.merge(shelf.workspace, [ACME, DORN], canonical=DORN)
        assert links(shelf) == {(BIRCH, DORN): STATED + TOGETHER + 2 * NEXT}
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            said = [(row[0], row[1]) for row in statements_of(snapshot)]
            assert sorted(said) == [(DORN, BIRCH), (DORN, BIRCH), (DORN, DORN), (DORN, DORN)]
        shelf.store.unmerge(shelf.workspace, merge.merge_id)
        assert links(shelf)[ACME, DORN] == STATED + TOGETHER + 2 * NEXT

    def test_statements_name_the_sentence_that_an_assertion_begins_in(self, shelf: Shelf) -> None:
        text = "# Wells\nAcme supplies Birch. So do Cedar. Dorn"
        draft = shelf.draft("a", "Elm owns Acme", text)
        cut = replace(draft.staged.passages[1], start=0, end=46, sentences=((0, 7), (8, 28), (29, 46)))
        whole = replace(draft.staged.passages[0], index=1, start=50, end=63, sentences=())
        told = [replace(item, passage_index=0, start=item.start - 15) for item in draft.staged.assertions[1:]]
        staged = replace(draft.staged, passages=[replace(cut, index=0), whole], assertions=told)
        again = shelf.draft("b")
        again_passages = [replace(item, document_id="b", revision=1) for item in staged.passages]
        said = replace(staged.assertions[0], passage_index=1, start=60, predicate="OWNS")
        staged = replace(staged, passages=again_passages, assertions=[*staged.assertions, said], facts=(), mentions=())
        shelf.store.stage(shelf.workspace, EMBEDDER.name, [staged])
        shelf.publish(again)
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            found = snapshot.community_statements()
            spans = list(zip(found.passage.tolist(), found.start.tolist(), found.end.tolist(), strict=True))
            assert spans == [(0, 0, 7), (0, 8, 28), (0, 29, 46), (1, 50, 63)]
            assert found.telling.tolist() == [False, True, True, True]
            rows = {row[4]: row for row in statements_of(snapshot)}
            for item in staged.assertions:
                row = rows[number(identify("b", item))]
                assert row[:4] == (
                    item.subject_id, item.object_id, item.predicate != "CO_OCCURS", STATED if item.confidence > 0.6 else
                    TOGETHER,
                )  # fmt: skip
                assert row[6] == item.passage_index
                assert row[7] == max(start for index, start, _ in spans if (index, start) <= (row[6], item.start))
            reference = found.reference(3)
            assert reference == SentenceRef(key=PassageKey(revision_key("b", 1), 1), start=50, end=63)

    def test_pages_do_not_show(self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf.fill(*(doc(f"{place:02}", "Acme supplies Birch", "Cedar. Dorn") for place in range(7)))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            whole = statements_of(snapshot)
            assert [row[5] for row in whole] == sorted(row[5] for row in whole)
            assert len(whole) == 14
            monkeypatch.setattr("evigraph.store.clustering.DOCUMENTS_AT_ONCE", 3)
            assert statements_of(snapshot) == whole
            monkeypatch.setattr("evigraph.store.clustering.PASSAGES_AT_ONCE", 5)
            assert statements_of(snapshot) == whole

    def test_equal_hashes_are_told_apart(self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf.put("a", "Acme supplies Birch. Cedar. Dorn")
        before = seen(shelf)
        hashed = "if({{salt:UInt64}} < 2, toUInt64(length({0}) % 2), cityHash64({{salt:UInt64}}, {0}))"
        monkeypatch.setattr("evigraph.store.clustering._hash", hashed.format)
        assert seen(shelf) == before

    def test_groups_are_metadata_that_half_of_the_documents_share_with_few_values(self, shelf: Shelf) -> None:
        for place in range(4):
            rare = {"rare": "x" if place else "y"} if place < 1 else {}
            known = {"region": "north" if place < 3 else "south", "same": "s", "half": str(place)}
            shelf.put(str(place), "word", metadata=known if place < 2 else {**known, **rare, "half": "2"})
        shelf.put("4", "word", metadata={"odd": "1"})
        shelf.put("5", "word", metadata={"odd": "2"})
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            assert snapshot.group_counts() == {
                "region": {"north": 3, "south": 1},
                "half": {"0": 1, "1": 1, "2": 2},
            }
            found = snapshot.documents_of(["3", "4", "nothing"])
            assert {name: dict(item.metadata) for name, item in found.items()} == {
                "3": {"region": "south", "same": "s", "half": "2"},
                "4": {"odd": "1"},
            }
        only = DocumentFilter(document_ids=("3", "4"))
        with shelf.store.snapshot(shelf.workspace, document_filter=only) as snapshot:
            assert snapshot.group_counts() == {}
            assert list(snapshot.documents_of(["3", "5"])) == ["3"]

    def test_a_key_with_a_value_for_each_document_groups_nothing(self, shelf: Shelf) -> None:
        shelf.fill(*(doc(str(place), "word", metadata={"n": str(place)}) for place in range(51)))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            assert snapshot.group_counts() == {}
        shelf.delete("0")
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            assert len(snapshot.group_counts()["n"]) == 50

    def test_the_first_passage_of_an_entity_is_that_of_the_smallest_document_id(self, shelf: Shelf) -> None:
        for name in "fbdae":
            shelf.put(name, "word", "Acme", "Acme. Birch")
        shelf.put("c", "Cedar")

        def first(only: DocumentFilter | None = None) -> dict[str, PassageKey]:
            with shelf.store.snapshot(shelf.workspace, document_filter=only) as snapshot:
                assert snapshot.first_passages([]) == {}
                return snapshot.first_passages([ACME, BIRCH, CEDAR, DORN])

        def at(name: str, index: int) -> PassageKey:
            return PassageKey(revision_key(name, 1), index)

        assert first() == {ACME: at("a", 1), BIRCH: at("a", 2), CEDAR: at("c", 0)}
        some = DocumentFilter(document_ids=("b", "f"))
        assert first(some) == {ACME: at("b", 1), BIRCH: at("b", 2)}
        shelf.delete("a")
        shelf.store.merge(shelf.workspace, [CEDAR, BIRCH], canonical=CEDAR)
        assert first() == {ACME: at("b", 1), CEDAR: at("b", 2)}

    def test_entities_of_passages(self, shelf: Shelf) -> None:
        shelf.put("a", "Birch. Acme. Birch", "Cedar", title="Acme")
        first, second = (PassageKey(revision_key("a", 1), index) for index in (0, 1))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            assert snapshot.mention_entities([first, second]) == {
                first: [(ACME, 1.0), (BIRCH, 0.5)],
                second: [(CEDAR, 0.5)],
            }
            assert snapshot.mention_entities([]) == {}


class TreesOfCommunities(Contract):
    """A tree is staged under a random name and published by a change, like everything else at a generation."""

    @pytest.fixture
    def trade(self, shelf: Shelf) -> Shelf:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar audits Dorn"), doc("c", "Elm owns Acme"))
        return shelf

    def test_what_is_staged_is_not_seen_before_it_is_published(self, trade: Shelf) -> None:
        before = trade.store.generation(trade.workspace)
        tree = stage_tree(trade.store, trade.workspace, [ACME, BIRCH], paths([(0, 1), (0, 2)]), members={})
        edition = stage_summaries(trade.store, trade.workspace, tree, [StagedSummary(
            number=0, input_hash="h", references=[sentence("a")])])  # fmt: skip
        assert trade.store.generation(trade.workspace) == before
        with trade.store.snapshot(trade.workspace) as snapshot:
            assert (snapshot.state.tree, snapshot.tree_members(), snapshot.tree_nodes()) == (None, {}, [])
            assert snapshot.tree_summaries([0]) == {}
        generation = publish_tree(trade.store, trade.workspace, record(trade, tree, edition))
        assert generation == before + 1
        with trade.store.snapshot(trade.workspace) as snapshot:
            assert snapshot.state.tree is not None
            assert (snapshot.state.tree.generation, snapshot.state.tree.built_at) == (generation, before)
            assert snapshot.state.tree.levels == ({"communities": 1},)
            assert snapshot.tree_members() == {ACME: (0, 1), BIRCH: (0, 2)}
            assert snapshot.tree_nodes() == [
                TreeNode(number=0, level=0, last_level=0, parent=None, size=2),
                TreeNode(number=1, level=1, last_level=1, parent=0, size=1),
                TreeNode(number=2, level=1, last_level=1, parent=0, size=1),
            ]
            assert set(snapshot.tree_summaries([0, 1])) == {0}
        with trade.store.snapshot(trade.workspace, as_of=before) as snapshot:
            assert snapshot.tree_members() == {}

    def test_the_tree_in_force_is_that_of_the_generation(self, trade: Shelf, new_shelf: ShelfMaker) -> None:
        first = publish(trade, {ACME: (0,), BIRCH: (1,)}, [summary(0, "a"), summary(1, "a")])
        again = edit(trade, [summary(0, "a", text="later", model="m")])
        second = publish(trade, {ACME: (3,)}, [summary(3, "a")])
        other = new_shelf()
        other.put("a", "Acme supplies Birch")
        publish(other, {ACME: (7,), BIRCH: (7,)}, [summary(0, "a", text="theirs", model="m")])
        assert members(trade, as_of=first) == members(trade, as_of=again) == {ACME: (0,), BIRCH: (1,)}
        assert members(trade, as_of=second) == members(trade) == {ACME: (3,)}
        for generation, found in ((first, {0: None, 1: None}), (again, {0: "later"}), (second, {3: None})):
            with trade.store.snapshot(trade.workspace, as_of=generation) as snapshot:
                stored = snapshot.tree_summaries([0, 1, 3])
                assert {name: item.text for name, item in stored.items()} == found
                assert set(snapshot.tree_summaries([1, 9])) == found.keys() & {1}

    def test_two_trees_and_editions_do_not_mix(self, trade: Shelf) -> None:
        """Rows of the same numbers and entities lie side by side."""
        store, workspace = trade.store, trade.workspace
        publish(trade, {ACME: (0,), CEDAR: (0,)}, [summary(0, "a", text="one", model="m"), summary(1, "b")])
        publish(trade, {ACME: (1,)}, [summary(0, "b", text="two", model="m")])
        with store.snapshot(workspace) as snapshot:
            assert snapshot.tree_members() == {ACME: (1,)}
            found = snapshot.tree_summaries([0, 1])
            assert [(item.number, item.text, item.references) for item in found.values()] == [
                (0, "two", (sentence("b"),))
            ]

    def test_a_scope_finds_its_own_entities_in_the_tree(self, trade: Shelf) -> None:
        everybody = {ACME: (0, 1), BIRCH: (0, 1), CEDAR: (2, 2), DORN: (2, 2), ELM: (0, 3)}
        publish(trade, everybody)
        trade.put("d", "Elm. Newco")
        assert members(trade) == everybody, "what the tree does not know is in no community"
        only = DocumentFilter(document_ids=("c",))
        with trade.store.snapshot(trade.workspace, document_filter=only) as snapshot:
            assert snapshot.tree_members() == {ACME: (0, 1), ELM: (0, 3)}
            assert nodes(snapshot) == [(0, 0, 0, None, 2), (1, 1, 1, 0, 1), (3, 1, 1, 0, 1)]
        trade.delete("b")
        assert members(trade) == {key: path for key, path in everybody.items() if key not in {CEDAR, DORN}}
        trade.put("a", "Acme. Dorn")
        assert set(members(trade)) == {ACME, DORN, ELM}

    def test_a_community_that_is_not_split_goes_on(self, trade: Shelf) -> None:
        publish(trade, {CEDAR: (0, 2, 5), DORN: (0, 2, 6), ACME: (0, 3, 3), BIRCH: (1, 1, 1), ELM: (0, 3, 3)})
        with trade.store.snapshot(trade.workspace) as snapshot:
            found = [
                (item.number, item.level, item.last_level, item.parent, item.size) for item in snapshot.tree_nodes()
            ]
        assert found == [
            (0, 0, 0, None, 4), (1, 0, 2, None, 1), (2, 1, 1, 0, 2), (3, 1, 2, 0, 2), (5, 2, 2, 2, 1), (6, 2, 2, 2, 1)
        ]  # fmt: skip

    def test_members_of_a_merge_are_found_whichever_the_scope_shows(self, trade: Shelf) -> None:
        merge = trade.store.merge(trade.workspace, [ACME, DORN], canonical=DORN)
        publish(trade, {DORN: (0,), BIRCH: (0,), CEDAR: (1,), ELM: (2,)})
        assert members(trade) == {DORN: (0,), BIRCH: (0,), CEDAR: (1,), ELM: (2,)}
        only = DocumentFilter(document_ids=("a",))
        with trade.store.snapshot(trade.workspace, document_filter=only) as snapshot:
            assert snapshot.tree_members() == {ACME: (0,), BIRCH: (0,)}
        trade.store.unmerge(trade.workspace, merge.merge_id)
        assert members(trade) == {ACME: (0,), DORN: (0,), BIRCH: (0,), CEDAR: (1,), ELM: (2,)}
        trade.store.merge(trade.workspace, [BIRCH, CEDAR, ELM], canonical=ELM)
        assert members(trade) == {ACME: (0,), DORN: (0,), ELM: (2,)}
        publish(trade, {BIRCH: (4,), CEDAR: (5,)}, joined=False)
        assert members(trade) == {ELM: (4,)}, "its representative is not in this tree"

    def test_references_out_of_scope_drop_out_and_with_them_the_text(self, trade: Shelf) -> None:
        both = [sentence("b"), sentence("a")]
        publish(
            trade,
            {ACME: (0,)},
            [
                StagedSummary(number=0, input_hash="h0", references=both, text="Acme and Cedar.", model="m"),
                StagedSummary(number=1, input_hash="h1", references=both),
                StagedSummary(number=2, input_hash="h2", references=[]),
            ],
        )
        with trade.store.snapshot(trade.workspace) as snapshot:
            found = snapshot.tree_summaries([2, 1, 0])
            assert list(found) == [0, 1, 2]
            assert (found[0].text, found[0].model, found[0].input_hash) == ("Acme and Cedar.", "m", "h0")
            assert (found[0].references, found[0].dropped) == (tuple(both), 0)
            assert (found[1].text, found[1].references) == (None, tuple(both))
            assert (found[2].references, found[2].dropped, found[2].text) == ((), 0, None)
        only = DocumentFilter(document_ids=("a",))
        with trade.store.snapshot(trade.workspace, document_filter=only) as snapshot:
            found = snapshot.tree_summaries([0, 1])
            for item in found.values():
                assert (item.references, item.dropped, item.text) == ((sentence("a"),), 1, None)
        trade.put("b", "Cedar audits Dorn again")
        with trade.store.snapshot(trade.workspace) as snapshot:
            assert snapshot.tree_summaries([0])[0].dropped == 1
            assert snapshot.tree_summaries([]) == {}

    def test_a_text_without_references_is_refused(self, trade: Shelf) -> None:
        with pytest.raises(ValueError, match="without references"):
            publish(
                trade,
                {ACME: (0,)},
                [StagedSummary(number=0, input_hash="h", references=[], text="Something", model="m")],
            )

    def test_a_scope_that_is_not_kept_reads_the_same(self, trade: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        """As on a server, where it stays a subquery."""
        publish(trade, {ACME: (0,), DORN: (1,)}, [summary(0, "a"), summary(1, "b")])
        trade.delete("b")

        def read() -> tuple[object, ...]:
            with trade.store.snapshot(trade.workspace) as snapshot:
                graph = snapshot.community_graph()
                return graph, statements_of(snapshot), snapshot.tree_members(), snapshot.tree_summaries([0, 1])

        before = read()
        monkeypatch.setattr("evigraph.store.scopes.KEPT", 0)
        assert read() == before


class StalenessOfTrees(Contract):
    """What is newer and what is gone since a generation, of documents and of assertions."""

    def test_it_counts_what_a_comparison_of_both_generations_finds(self, shelf: Shelf) -> None:
        draw = random.Random(3)
        texts = ("Acme supplies Birch", "Cedar. Dorn. Elm", "Elm owns Acme", "word")
        shelf.fill(*(doc(str(place), draw.choice(texts)) for place in range(8)))
        for _ in range(6):
            tree = publish(shelf, {ACME: (0,)})
            _change(shelf, draw, texts)
            built = tree - 1
            edit(shelf, [])
            summarised = shelf.store.generation(shelf.workspace) - 1
            _change(shelf, draw, texts)
            with shelf.store.snapshot(shelf.workspace) as snapshot:
                assert snapshot.state.tree is not None
                found = snapshot.tree_staleness(snapshot.state.tree)
            assert found == (compared(shelf, built), compared(shelf, summarised))
            one = DocumentFilter(document_ids=("0",))
            with shelf.store.snapshot(shelf.workspace, document_filter=one) as snapshot:
                assert snapshot.state.tree is not None
                assert snapshot.tree_staleness(snapshot.state.tree) == found, "of the whole workspace"

    def test_nothing_changes_by_itself_or_by_a_prune(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar. Dorn"))
        shelf.put("b", "Cedar. Elm")
        publish(shelf, {ACME: (0,)})
        shelf.draft("a", "Dorn owns Elm")
        new_shelf().put("a", "Dorn owns Elm")
        for _ in range(2):
            with shelf.store.snapshot(shelf.workspace) as snapshot:
                assert snapshot.state.tree is not None
                found = snapshot.tree_staleness(snapshot.state.tree)
                assert not any(item.stale or item.documents or item.assertions for item in found)
            prune(shelf.store, shelf.workspace)

    def test_merges_that_stand_differ(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar. Dorn"), doc("c", "Acme"))
        first = shelf.store.merge(shelf.workspace, [ACME, BIRCH])
        publish(shelf, {ACME: (0,)})
        assert not merges_changed(shelf)
        second = shelf.store.merge(shelf.workspace, [CEDAR, DORN])
        assert merges_changed(shelf)
        shelf.store.unmerge(shelf.workspace, second.merge_id)
        assert not merges_changed(shelf)
        shelf.store.unmerge(shelf.workspace, first.merge_id)
        assert merges_changed(shelf)
        shelf.delete("a")
        prune(shelf.store, shelf.workspace)
        assert merges_changed(shelf), "the record of the merge is gone, but the tree was built with it"
        publish(shelf, {ACME: (0,)})
        assert not merges_changed(shelf)


class PruningOfTrees(Contract):
    """Trees and editions that nobody can ask for go; so do names and texts of what is removed."""

    def test_what_is_not_in_force_at_the_horizon_goes(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        shelf.put("a", "Acme supplies Birch")
        other = new_shelf()
        other.put("a", "Acme supplies Birch")
        publish(other, {ACME: (0,)}, [summary(0, "a")])
        theirs = publish(other, {ACME: (1,)}, [summary(1, "a")])
        publish(shelf, {ACME: (0,)}, [summary(0, "a")])
        publish(shelf, {ACME: (1,), BIRCH: (1,)}, [summary(1, "a")])
        edit(shelf, [summary(1, "a"), summary(2, "a")])
        before = told(shelf)
        assert stored(shelf) == (2, 3, 3, 4)
        prune(shelf.store, shelf.workspace)
        assert stored(shelf) == (1, 2, 1, 2)
        assert told(shelf) == before
        assert stored(other) == (2, 2, 2, 2)
        assert members(other, as_of=theirs - 1) == {ACME: (0,)}
        prune(shelf.store, shelf.workspace)
        assert stored(shelf) == (1, 2, 1, 2)

    def test_a_tree_published_after_the_horizon_stays_with_the_one_before(self, shelf: Shelf) -> None:
        from evigraph.store.retention import remove_communities

        shelf.put("a", "Acme supplies Birch")
        publish(shelf, {ACME: (9,)})
        first = publish(shelf, {ACME: (0,)}, [summary(0, "a")])
        publish(shelf, {ACME: (1,)}, [summary(1, "a")])
        remove_communities(shelf.store, shelf.workspace, first)
        assert stored(shelf)[0] == 2
        assert members(shelf, as_of=first) == {ACME: (0,)}
        assert members(shelf) == {ACME: (1,)}

    def test_an_abandoned_staging_goes(self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a server, where another process may yet publish it, only after a day."""
        shelf.put("a", "Acme supplies Birch")
        publish(shelf, {ACME: (0,)}, [summary(0, "a")])
        tree = stage_tree(shelf.store, shelf.workspace, [ACME], paths([(4,)]), members={})
        edition = stage_summaries(shelf.store, shelf.workspace, tree, [summary(4, "a", text="Told.", model="m")])
        assert stored(shelf) == (2, 2, 2, 2)
        prune(shelf.store, shelf.workspace)
        if shelf.store.connection.folder is None:
            assert stored(shelf) == (2, 2, 2, 2)
            publish_tree(shelf.store, shelf.workspace, record(shelf, tree, edition))
            assert members(shelf) == {ACME: (4,)}
            monkeypatch.setattr("evigraph.store.retention.ABANDONED_AFTER", timedelta(0))
            stage_tree(shelf.store, shelf.workspace, [ACME], paths([(5,)]), members={})
            prune(shelf.store, shelf.workspace)
        assert stored(shelf) == (1, 1, 1, 1)

    def test_names_and_texts_of_removed_documents_go(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar audits Acme"), doc("c", "Dorn"))
        draft = shelf.draft("d", "word")
        only = [replace(item, start=0, end=4) for item in shelf.draft("e", "Elm owns Oak").staged.assertions]
        shelf.store.stage(shelf.workspace, EMBEDDER.name, [replace(draft.staged, assertions=only, terms=[{}])])
        shelf.publish(draft)
        everybody = {ACME: (0,), BIRCH: (0,), CEDAR: (0,), DORN: (1,), ELM: (2,), "organization:oak": (2,)}
        publish(
            shelf,
            everybody,
            [
                summary(0, "b", text="Cedar audits Acme.", model="m"),
                summary(1, "a", text="Acme supplies Birch.", model="m"),
                summary(2, "b"),
                StagedSummary(
                    number=3, input_hash="h", references=[sentence("a"), sentence("b")], text="Both.", model="m"
                ),
            ],
        )
        shelf.delete("b")
        before = told(shelf)
        prune(shelf.store, shelf.workspace)
        sql = "SELECT entity_id FROM community_members WHERE workspace = {w:String} ORDER BY entity_id"
        assert [row[0] for row in shelf.store.rows(sql, {"w": shelf.workspace})] == sorted(everybody.keys() - {CEDAR})
        sql = "SELECT number, text FROM community_summaries WHERE workspace = {w:String} ORDER BY number"
        assert shelf.store.rows(sql, {"w": shelf.workspace}) == [(1, "Acme supplies Birch."), (2, "")]
        after = told(shelf)
        assert after[0] == before[0]
        assert after[1] == {number: item for number, item in before[1].items() if number in {1, 2}}

    def test_a_prune_that_was_cut_short_is_completed_by_the_next(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Cedar audits Acme"))
        publish(shelf, {ACME: (0,), CEDAR: (0,)}, [summary(0, "b", text="Cedar audits Acme.", model="m")])
        shelf.delete("b")

        def fail(*_: object) -> None:
            raise RuntimeError("killed")

        with monkeypatch.context() as patch:
            patch.setattr("evigraph.ingest.prune.remove_communities", fail)
            with pytest.raises(RuntimeError, match="killed"):
                prune(shelf.store, shelf.workspace)
        assert stored(shelf) == (1, 2, 1, 1)
        prune(shelf.store, shelf.workspace)
        assert stored(shelf) == (1, 1, 0, 0)


class CommunityContract(GraphOfCommunities, TreesOfCommunities, StalenessOfTrees, PruningOfTrees):
    """All about communities."""


# --------------------------------------------------------------------------- writing


def paths(rows: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.asarray(rows, dtype=np.int32).reshape(len(rows), -1)


def sentence(document_id: str, revision: int = 1) -> SentenceRef:
    """The first sentence of a document."""
    return SentenceRef(key=PassageKey(revision_key(document_id, revision), 0), start=0, end=4)


def summary(number: int, document_id: str, *, text: str | None = None, model: str = "") -> StagedSummary:
    return StagedSummary(
        number=number, input_hash=f"hash of {number}", references=[sentence(document_id)], text=text, model=model
    )


def record(shelf: Shelf, tree: str, edition: str) -> TreeRecord:
    """Of what is visible now."""
    with shelf.store.snapshot(shelf.workspace) as snapshot:
        documents, assertions = snapshot.counts().documents, len(snapshot.community_statements().subject)
    return TreeRecord(
        tree=tree,
        edition=edition,
        built_at=snapshot.generation,
        built_documents=documents,
        built_assertions=assertions,
        summarised_at=snapshot.generation,
        summarised_documents=documents,
        summarised_assertions=assertions,
        summarised_by="extractive",
        entities=2,
        levels=({"communities": 1},),
    )


def publish(
    shelf: Shelf, members: Mapping[str, Sequence[int]], told: Sequence[StagedSummary] = (), *, joined: bool = True
) -> int:
    """Stage and publish a tree with an edition; return its generation."""
    store, workspace = shelf.store, shelf.workspace
    with store.snapshot(workspace) as snapshot:
        merged = snapshot.identities.members if joined else {}
    tree = stage_tree(
        store, workspace, sorted(members), paths([members[name] for name in sorted(members)]), members=merged
    )
    edition = stage_summaries(store, workspace, tree, told)
    return publish_tree(store, workspace, record(shelf, tree, edition))


def edit(shelf: Shelf, told: Sequence[StagedSummary]) -> int:
    """Publish a new edition of the tree in force."""
    store, workspace = shelf.store, shelf.workspace
    standing = store.state_at(workspace, store.generation(workspace)).tree
    assert standing is not None
    now = record(shelf, standing.tree, stage_summaries(store, workspace, standing.tree, told))
    kept = replace(
        now,
        built_at=standing.built_at,
        built_documents=standing.built_documents,
        built_assertions=standing.built_assertions,
    )
    return publish_tree(store, workspace, kept)


def _change(shelf: Shelf, draw: random.Random, texts: Sequence[str]) -> None:
    """Replace, add and delete a few documents."""
    for _ in range(draw.randint(0, 3)):
        document_id = str(draw.randint(0, 11))
        shown = {info.document_id for info in shelf.store.documents(shelf.workspace)}
        if document_id in shown and draw.random() < 0.5:
            shelf.delete(document_id)
        else:
            shelf.put(document_id, *draw.sample(texts, draw.randint(1, 3)))


# --------------------------------------------------------------------------- reading


def links(shelf: Shelf, document_filter: DocumentFilter | None = None) -> dict[tuple[str, str], int]:
    with shelf.store.snapshot(shelf.workspace, document_filter=document_filter) as snapshot:
        graph = snapshot.community_graph()
    assert graph.entities == sorted(set(graph.entities))
    assert graph.links == sorted(graph.links)
    return {(graph.entities[one], graph.entities[other]): weight for one, other, weight in graph.links}


def members(shelf: Shelf, as_of: int | None = None) -> dict[str, tuple[int, ...]]:
    with shelf.store.snapshot(shelf.workspace, as_of=as_of) as snapshot:
        return dict(snapshot.tree_members())


def nodes(snapshot: Snapshot) -> list[tuple[int, int, int, int | None, int]]:
    return [(item.number, item.level, item.last_level, item.parent, item.size) for item in snapshot.tree_nodes()]


def told(shelf: Shelf) -> tuple[object, dict[int, object]]:
    """What reads show of the tree in force."""
    with shelf.store.snapshot(shelf.workspace) as snapshot:
        return snapshot.tree_members(), dict(snapshot.tree_summaries(range(10)))


def stored(shelf: Shelf) -> tuple[int, int, int, int]:
    """Trees and their rows, editions and their rows, in the store's tables."""
    sql = """
        SELECT uniqExactIf(tree, name = 'm'), countIf(name = 'm'), uniqExactIf(tree, name = 's'), countIf(name = 's')
        FROM (
            SELECT 'm' AS name, tree FROM community_members WHERE workspace = {w:String}
            UNION ALL SELECT 's' AS name, edition AS tree FROM community_summaries WHERE workspace = {w:String})"""
    [(trees, entities, editions, summaries)] = shelf.store.rows(sql, {"w": shelf.workspace})
    return trees, entities, editions, summaries


def merges_changed(shelf: Shelf) -> bool:
    with shelf.store.snapshot(shelf.workspace) as snapshot:
        assert snapshot.state.tree is not None
        first, second = snapshot.tree_staleness(snapshot.state.tree)
    assert first.merges_changed == second.merges_changed
    return first.merges_changed


def compared(shelf: Shelf, since: int) -> Staleness:
    """By comparing what is visible now with what was."""
    with shelf.store.snapshot(shelf.workspace, as_of=since) as snapshot:
        documents, assertions = _visible(snapshot)
    with shelf.store.snapshot(shelf.workspace) as snapshot:
        now, said = _visible(snapshot)
    return Staleness(
        generation=since,
        documents_then=len(documents),
        documents_newer=len(now - documents),
        documents_gone=len(documents - now),
        assertions_then=len(assertions),
        assertions_newer=len(said - assertions),
        assertions_gone=len(assertions - said),
    )


def _visible(snapshot: Snapshot) -> tuple[set[tuple[str, int]], set[tuple[str, int, int]]]:
    """Document revisions, and assertions with theirs."""
    found = snapshot.community_statements()
    documents = [(item.document_id, item.revision) for item in found.documents]
    said = {
        (*documents[found.document[at]], int(name))
        for name, at in zip(found.assertion.tolist(), found.sentence.tolist(), strict=True)
    }
    return set(documents), said


def number(assertion_id: str) -> int:
    """An assertion's id as `Statements` tells it."""
    return int.from_bytes(bytes.fromhex(assertion_id), "little")
