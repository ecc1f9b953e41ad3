"""`entity_connections`: what the top passages assert, and what others assert of the same entities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.types import Evidence
from evigraph.wire import answer_to_wire
from small import OneStore, item

NOTES = [
    item("rubin", "Nadia Roth announced Rubin. The Rubin chip was praised by Omar Kent.", metadata={"year": "2025"}),
    item("nebius", "Nadia Roth financed Nebius in the north.", metadata={"year": "2025"}),
    item("micro", "Nebius supplied Macro with halls.", metadata={"year": "2024"}),
    item("apart", "Tilda Fenn planted Oaks."),
]
QUESTION = "Nadia Roth announced Rubin"
FIELDS = {"id", "source", "target", "type", "description", "weight", "sourceName", "sourceType", "targetName"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("connections"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def notes(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(NOTES)
    return graph


def connect(graph: Evigraph, **options: Any) -> Evidence:
    options = {"max_chunks": 1, "max_context_tokens": 200_000, **options}
    return graph.retrieve(options.pop("question", QUESTION), mode="entity_connections", **options)


def claims(items: Any) -> set[tuple[str, str, str]]:
    return {(claim.source_name, claim.type, claim.target_name) for claim in items}


def test_direct_are_those_of_the_top_passages_and_extended_the_others(notes: Evigraph) -> None:
    found = connect(notes)
    assert [chunk.document_id for chunk in found.chunks] == ["rubin"]
    assert found.connections is not None
    assert {claim.chunk_id for claim in found.connections.direct} == {found.chunks[0].id}
    assert ("Nadia Roth", "ANNOUNCED", "Rubin") in claims(found.connections.direct)
    assert claims(found.connections.extended) == {("Nadia Roth", "FINANCED", "Nebius")}
    assert found.relationships == (*found.connections.direct, *found.connections.extended)
    assert found.connections.total == len(found.relationships)
    entities = {entity.id for entity in found.entities}
    assert all({claim.source, claim.target} & entities for claim in found.relationships)
    assert all("Oaks" not in claim.description for claim in found.relationships)


def test_more_passages_make_more_of_the_relationships_direct(notes: Evigraph) -> None:
    found = connect(notes, max_chunks=4)
    assert found.connections is not None
    assert found.connections.extended == ()
    ids = [claim.id for claim in found.connections.direct]
    assert len(ids) == len(set(ids)) == found.connections.total


def test_counts_before_and_after_each_cut(notes: Evigraph) -> None:
    every, capped = connect(notes), connect(notes, max_relationships=2)
    assert every.connections is not None
    assert capped.connections is not None
    assert len(capped.relationships) == 2
    assert capped.relationships == every.relationships[:2]
    assert capped.connections.total == every.connections.total == capped.stats["relationships_found"]
    assert capped.stats["relationships"] == 2
    assert capped.stats["direct_relationships_found"] == len(every.connections.direct)
    assert capped.stats["direct_relationships"] == len(capped.connections.direct)
    assert capped.stats["extended_relationships_found"] == len(every.connections.extended)
    assert capped.degraded == ()
    none = connect(notes, max_relationships=0)
    assert (none.relationships, none.stats["relationships_found"]) == ((), every.connections.total)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"predicates": ["FINANCED"]}, {("Nadia Roth", "FINANCED", "Nebius")}),
        ({"predicates": ["SUED"]}, set()),
        ({"predicates": []}, set()),
        ({"question": "Nebius supplied Macro", "direction": "out"}, {("Nebius", "SUPPLIED", "Macro")}),
        (
            {"question": "Nebius supplied Macro", "direction": "in"},
            {("Nadia Roth", "FINANCED", "Nebius"), ("Nebius", "SUPPLIED", "Macro")},
        ),
    ],
)
def test_predicates_and_direction_hold(
    notes: Evigraph, options: dict[str, Any], expected: set[tuple[str, str, str]]
) -> None:
    found = connect(notes, **options)
    assert claims(found.relationships) == expected
    assert found.connections is not None
    assert found.connections.total == len(expected)
    unknown = "SUED" in (options.get("predicates") or ())
    assert [sentence.split(" near it")[0] for sentence in found.degraded] == (
        ["predicates: no assertion in scope has 'SUED'; left out;"] if unknown else []
    )


def test_a_predicate_may_be_written_in_any_case(notes: Evigraph) -> None:
    for spelling in ("financed", "Financed"):
        found = connect(notes, predicates=[spelling])
        assert claims(found.relationships) == {("Nadia Roth", "FINANCED", "Nebius")}
        assert found.degraded == ()


def test_only_what_is_in_scope_is_connected(store: OneStore) -> None:
    graph = store.engine()
    graph.index(NOTES)
    filtered = connect(graph, document_filter={"document_ids": ["rubin", "micro"]})
    assert filtered.connections is not None
    assert filtered.connections.extended == ()
    assert filtered.connections.total == len(filtered.connections.direct)
    graph.delete("nebius")
    assert connect(graph).connections == filtered.connections


def test_merged_entities_are_connected_as_one(store: OneStore) -> None:
    graph = store.engine()
    graph.index([item("a", "Nadia Roth announced Rubin."), item("b", "Nadja Roth financed Nebius.")])
    ids = ["person:nadia roth", "person:nadja roth"]
    alone = connect(graph)
    assert claims(alone.relationships) == {("Nadia Roth", "ANNOUNCED", "Rubin")}
    graph.store.record_change(graph.workspace, "merge", {"canonical": ids[0], "entities": ids, "reason": ""})
    found = connect(graph)
    assert claims(found.relationships) == {("Nadia Roth", "ANNOUNCED", "Rubin"), ("Nadja Roth", "FINANCED", "Nebius")}
    assert {claim.source for claim in found.relationships} == {ids[0]}


def test_the_response_has_every_field_of_the_reference(notes: Evigraph) -> None:
    shown = answer_to_wire(notes.ask(QUESTION, mode="entity_connections", max_chunks=1))
    assert set(shown["evidence"]) >= {"directRelationships", "extendedRelationships"}
    for part in ("directRelationships", "extendedRelationships"):
        assert shown["evidence"][part]
        for claim in shown["evidence"][part]:
            assert set(claim) >= FIELDS | {"targetType"}
    for chunk in shown["chunks"]:
        assert set(chunk) >= {"text", "vectorScore", "bm25Score", "fusedScore", "vectorRank", "bm25Rank"}
        assert chunk["fusedScore"] == chunk["score"]
    for entity in shown["entities"]:
        assert set(entity) >= {"id", "name", "type", "description", "sourceChunks"}
    assert answer_to_wire(notes.ask(QUESTION, mode="naive"))["evidence"] is None
