"""Names, mentions, entities and assertions: all derived from the passages in scope."""

from __future__ import annotations

import numpy as np
import pytest

from evigraph.store import Snapshot, Store
from evigraph.store.keys import PassageKey, revision_key
from evigraph.testing.store_contract.base import Contract, unused_workspace
from evigraph.testing.store_contract.material import ALL, EMBEDDER, Shelf, doc
from evigraph.types import CO_OCCURS

ACME, BIRCH, CEDAR, DORN = (f"organization:{name}" for name in ("acme", "birch", "cedar", "dorn"))


class GraphContract(Contract):
    """Nothing is stored about an entity as a whole: name, description and degree follow from visible rows."""

    @pytest.fixture(scope="class")
    @classmethod
    def claims(cls, store: Store) -> Shelf:
        """Acme: stated ties to Birch (twice) and Cedar, a co-occurrence with Dorn; titled in `a`."""
        shelf = Shelf(store, unused_workspace())
        shelf.fill(
            doc("a", "Acme supplies Birch", "Cedar audits Acme", title="Acme"),
            doc("b", "Acme supplies Birch", "Dorn. Acme"),
            doc("c", "Acme sues Zorro"),
        )
        shelf.delete("c")
        return shelf

    def test_names_count_passages_and_tell_the_weight_of_aliases(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            found = snapshot.names(["acme", "birch", "zorro", "nobody", "acme"])
            assert snapshot.names([]) == {}
        assert {key: (info.passages, info.alias_weight) for key, info in found.items()} == {
            "acme": (4, 1.0),
            "birch": (2, 0.0),
        }

    def test_mentions_of_a_name_come_strongest_first_up_to_the_limits(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            rows = snapshot.mentions_of(["birch", "acme"], per_name_limit=ALL, limit=ALL)
            few = snapshot.mentions_of(["acme", "birch"], per_name_limit=1, limit=ALL)
            capped = snapshot.mentions_of(["acme", "birch"], per_name_limit=ALL, limit=3)
            assert snapshot.mentions_of([], per_name_limit=1, limit=1) == []
            ids = snapshot.chunk_ids([row.passage for row in rows])
        assert [row.key for row in rows] == ["acme"] * 4 + ["birch"] * 2
        assert (ids[rows[0].passage], rows[0].weight, rows[0].entity_id) == ("a#0", 1.0, ACME)
        assert [row.key for row in few] == ["acme", "birch"]
        assert capped == rows[:3]

    def test_mentions_in_passages_name_each_entity_once_a_passage(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            keys = _passages(snapshot)
            rows = snapshot.mentions_in(keys)
            assert snapshot.mentions_in([]) == []
            ids = snapshot.chunk_ids(keys)
        assert sorted((ids[row.passage], row.entity_id) for row in rows) == [
            ("a#0", ACME),
            ("a#0", BIRCH),
            ("a#1", ACME),
            ("a#1", CEDAR),
            ("b#0", ACME),
            ("b#0", BIRCH),
            ("b#1", ACME),
            ("b#1", DORN),
        ]
        assert [(row.passage, row.entity_id) for row in rows] == sorted((row.passage, row.entity_id) for row in rows)
        titled = next(row for row in rows if ids[row.passage] == "a#0" and row.entity_id == ACME)
        assert (titled.role, titled.name, titled.weight) == ("text", "Acme", 1.0)

    def test_what_passages_are_tied_to(self, claims: Shelf) -> None:
        """What the text says adds up apart from what the title says, which counts at any weight."""
        with claims.store.snapshot(claims.workspace) as snapshot:
            keys = _passages(snapshot)
            everything = snapshot.ties(keys)
            heavy = snapshot.ties(keys, least=0.6)
            ids = snapshot.chunk_ids(keys)
            assert everything == snapshot.ties(keys, least=0.5)
            assert snapshot.ties([]) == {}
        said = {ids[key]: held for key, held in everything.items()}
        assert [len(held) for held in said.values()] == [2, 2, 2, 2]
        assert said["a#0"] == (("acme", 0.5, 1.0), ("birch", 0.5, 0.0))
        assert {ids[key]: held for key, held in heavy.items() if held} == {"a#0": (("acme", 0.0, 1.0),)}

    def test_entities_behind_a_name(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            assert snapshot.entity_ids(["acme", "cedar", "zorro"]) == {"acme": [(ACME, 4)], "cedar": [(CEDAR, 1)]}
            assert snapshot.entity_ids([]) == {}

    def test_profiles_are_derived_from_visible_rows(self, claims: Shelf) -> None:
        """Description: the best stated assertion, as subject before as object; degree: distinct neighbours."""
        with claims.store.snapshot(claims.workspace) as snapshot:
            found = snapshot.profiles([ACME, DORN, "organization:zorro", CEDAR])
            assert snapshot.profiles([]) == {}
            keys = _passages(snapshot)
        assert set(found) == {ACME, DORN, CEDAR}
        acme = found[ACME]
        assert (acme.name, acme.type, acme.degree, acme.passage_count) == ("Acme", "ORGANIZATION", 3, 4)
        assert acme.passages == tuple(keys)
        assert acme.description == "Acme supplies Birch"
        assert found[CEDAR].description == "Cedar audits Acme"
        assert (found[DORN].description, found[DORN].degree) == ("Dorn. Acme", 1)
        assert found[DORN].confidence == pytest.approx(0.5)

    def test_most_connected_entities_by_distinct_neighbours(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            assert snapshot.most_connected(ALL) == [ACME, BIRCH, CEDAR, DORN]
            assert snapshot.most_connected(2) == [ACME, BIRCH]

    def test_a_frontier_lists_assertions_of_each_entity_strongest_first(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            rows = snapshot.assertions_of([ACME], per_node_limit=ALL, limit=ALL)
            assert [(item.type, item.source, item.target) for _, item in rows[-1:]] == [(CO_OCCURS, DORN, ACME)]
            assert sorted((item.source, item.type, item.target) for _, item in rows[:-1]) == [
                (ACME, "SUPPLIES", BIRCH),
                (ACME, "SUPPLIES", BIRCH),
                (CEDAR, "AUDITS", ACME),
            ]
            assert snapshot.assertions_of([ACME], per_node_limit=2, limit=ALL) == rows[:2]
            assert snapshot.assertions_of([ACME], per_node_limit=ALL, limit=1) == rows[:1]
            outward = snapshot.assertions_of([ACME], per_node_limit=ALL, limit=ALL, direction="out")
            inward = snapshot.assertions_of([ACME], per_node_limit=ALL, limit=ALL, direction="in")
            assert sorted(item.id for _, item in outward + inward) == sorted(item.id for _, item in rows)
            assert {item.source for _, item in outward} == {item.target for _, item in inward} == {ACME}
            only = snapshot.assertions_of([ACME], per_node_limit=ALL, limit=ALL, predicates=["AUDITS", "SUES"])
            assert [item.type for _, item in only] == ["AUDITS"]
            assert snapshot.assertions_of([ACME], per_node_limit=ALL, limit=ALL, predicates=[]) == []
            assert snapshot.assertions_of([], per_node_limit=ALL, limit=ALL) == []
            both = snapshot.assertions_of([CEDAR, BIRCH], per_node_limit=1, limit=ALL)
            assert [origin for origin, _ in both] == [BIRCH, CEDAR]

    def test_edges_are_the_narrow_side_of_a_frontier(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            for direction in ("both", "out", "in"):
                rows = snapshot.assertions_of([ACME, CEDAR], per_node_limit=ALL, limit=ALL, direction=direction)
                edges = snapshot.edges_of([CEDAR, ACME], per_node_limit=ALL, limit=ALL, direction=direction)
                assert [(edge.origin, edge.id) for edge in edges] == [(origin, item.id) for origin, item in rows]
                for edge, (_, item) in zip(edges, rows, strict=True):
                    ends = (edge.origin, edge.other) if edge.forward else (edge.other, edge.origin)
                    assert (*ends, edge.predicate, edge.confidence) == (
                        item.source,
                        item.target,
                        item.type,
                        item.confidence,
                    )
                assert snapshot.assertions_at(edges) == {item.id: item for _, item in rows}
                strength = [(edge.origin, edge.predicate == CO_OCCURS, -edge.confidence) for edge in edges]
                assert strength == sorted(strength)
            assert snapshot.edges_of(["organization:zorro"], per_node_limit=ALL, limit=ALL) == []
            assert snapshot.edges_of([], per_node_limit=ALL, limit=ALL) == []
            assert snapshot.assertions_at([]) == {}

    def test_connections_are_counted_once_and_told_apart_by_passage(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            keys = _passages(snapshot)
            ids = snapshot.chunk_ids(keys)
            top = [key for key in keys if ids[key] in ("a#0", "a#1")]
            found = snapshot.connections_of([ACME, BIRCH], top, limit=ALL)
            assert (found.total, found.total_direct) == (4, 2)
            assert [ids[edge.passage] for edge in (*found.direct, *found.extended)][2:] == ["b#0", "b#1"]
            assert {edge.passage for edge in found.direct} == set(top)
            capped = snapshot.connections_of([ACME, BIRCH], top, limit=3)
            assert (capped.direct, capped.extended) == (found.direct, found.extended[:1])
            assert (capped.total, capped.total_direct) == (4, 2)
            none = snapshot.connections_of([ACME], top, limit=0)
            assert (none.direct, none.extended, none.total) == ((), (), 4)
            only = snapshot.connections_of([ACME], top, limit=ALL, predicates=["SUPPLIES", "SUES"], direction="out")
            assert [edge.predicate for edge in (*only.direct, *only.extended)] == ["SUPPLIES"] * 2
            assert snapshot.connections_of([], top, limit=ALL).total == 0
            assert snapshot.connections_of(["organization:zorro"], top, limit=ALL).total == 0
            assert snapshot.connections_of([ACME], [], limit=ALL).total_direct == 0

    def test_a_frontier_of_merged_entities_is_that_of_their_representative(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch", "Acmee audits Acme"), doc("b", "Cedar sues Acmee"))
        shelf.store.record_change(
            shelf.workspace, "merge", {"canonical": ACME, "entities": [ACME, "organization:acmee"], "reason": ""}
        )
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            for asked in (ACME, "organization:acmee"):
                edges = snapshot.edges_of([asked], per_node_limit=ALL, limit=ALL)
                assert {(edge.origin, edge.predicate, edge.other) for edge in edges} == {
                    (ACME, "SUPPLIES", BIRCH),
                    (ACME, "SUES", CEDAR),
                    (ACME, "AUDITS", ACME),
                }
                assert len(edges) == 3
                assert len(snapshot.edges_of([asked], per_node_limit=1, limit=ALL)) == 1
                assert snapshot.connections_of([asked], [], limit=ALL).total == 3
            items = snapshot.assertions_at(edges).values()
            assert {(item.source, item.source_name, item.target) for item in items if item.type != "SUPPLIES"} == {
                (CEDAR, "Cedar", ACME),
                (ACME, "Acmee", ACME),
            }

    def test_an_assertion_says_where_it_stands(self, claims: Shelf) -> None:
        with claims.store.snapshot(claims.workspace) as snapshot:
            rows = snapshot.assertions_in(_passages(snapshot), limit=ALL)
            capped = snapshot.assertions_in(_passages(snapshot), limit=2)
            named = snapshot.assertions_named([item.id for item in rows])
            assert snapshot.assertions_in([], limit=1) == []
            assert snapshot.assertions_named([]) == {}
        assert capped == rows[:2]
        assert named == {item.id: item for item in rows}
        audit = next(item for item in rows if item.type == "AUDITS")
        assert (audit.chunk_id, audit.document_id, audit.revision) == ("a#1", "a", 1)
        text = claims.store.document_text(claims.workspace, "a", 1)
        assert text[audit.start : audit.end] == audit.description == "Cedar audits Acme"
        assert (audit.source_name, audit.target_name, audit.source_type) == ("Cedar", "Acme", "ORGANIZATION")
        assert (audit.confidence, audit.weight, audit.extractor) == (0.75, 1.0, "capitals/1")
        assert rows[-1].type == CO_OCCURS

    def test_the_same_claim_keeps_its_id_from_revision_to_revision(self, shelf: Shelf) -> None:
        found = []
        for _ in range(2):
            generation = shelf.put("a", "Acme supplies Birch", "Cedar audits Acme")
            with shelf.store.snapshot(shelf.workspace) as snapshot:
                found.append(snapshot.assertions_in(_passages(snapshot), limit=ALL))
        assert [item.id for item in found[0]] == [item.id for item in found[1]]
        for as_of, rows in ((generation - 1, found[0]), (generation, found[1])):
            with shelf.store.snapshot(shelf.workspace, as_of=as_of) as snapshot:
                assert list(snapshot.assertions_named([item.id for item in rows]).values()) == rows

    def test_names_side_by_side_are_no_rival_claims(self, store: Store) -> None:
        """Two documents that claim different things do rival; two that only name different things beside Acme do not,
        and take no place among the pairs that are compared."""
        shelf = Shelf(store, unused_workspace())
        shelf.fill(doc("a", "Acme supplies Birch", "Acme. Dorn"), doc("b", "Acme supplies Cedar", "Acme. Elm"))
        with store.snapshot(shelf.workspace) as snapshot:
            readings = {predicate: (predicate, False) for predicate in snapshot.predicates()}
            rows, more = snapshot.rival_claims(readings, functional=(), any_predicate=True, entity_ids=None, limit=1)
        assert set(readings) == {CO_OCCURS, "SUPPLIES"}
        assert {(row.subject, row.predicate, row.object) for row in rows} == {
            (ACME, "SUPPLIES", BIRCH),
            (ACME, "SUPPLIES", CEDAR),
        }
        assert not more

    def test_facts_are_ranked_by_cosine_and_only_stated_ones(self, claims: Shelf) -> None:
        question = EMBEDDER.embed(["Cedar audits Acme"])[0]
        with claims.store.snapshot(claims.workspace) as snapshot:
            assertions = snapshot.nearest_assertions(question, ALL)
            entities = snapshot.nearest_entities(question, ALL)
            named = snapshot.assertions_named([name for name, _ in assertions])
            assert snapshot.nearest_assertions(question, 1) == assertions[:1]
            supplies = snapshot.nearest_assertions(question, ALL, predicates=["SUPPLIES", "SUES"])
            assert snapshot.nearest_assertions(question, ALL, predicates=[]) == []
        assert named[assertions[0][0]].type == "AUDITS"
        assert assertions[0][1] == pytest.approx(1.0, abs=1e-5)
        assert CO_OCCURS not in {item.type for item in named.values()}
        assert len(assertions) == 3
        assert supplies == [pair for pair in assertions if named[pair[0]].type == "SUPPLIES"]
        assert len(supplies) == 2
        assert {name for name, _ in entities} == {ACME, BIRCH, CEDAR, DORN}
        for found in (assertions, entities):
            assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        texts = {BIRCH: "Birch", CEDAR: "Cedar: Cedar audits Acme", DORN: "Dorn"}
        for name, text in texts.items():
            expected = float(np.dot(EMBEDDER.embed([text])[0], question))
            assert dict(entities)[name] == pytest.approx(expected, abs=1e-6)


def _passages(snapshot: Snapshot) -> list[PassageKey]:
    return sorted(
        PassageKey(revision_key(info.document_id, info.revision), index)
        for info in snapshot.documents()
        for index in range(info.passages)
    )
