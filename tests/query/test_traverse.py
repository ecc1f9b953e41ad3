"""`traverse`: paths from seeds, every hop made by a passage in scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.errors import InvalidValue
from evigraph.graph.traverse import Limits
from evigraph.query.retrieve import traverse
from evigraph.types import CO_OCCURS, Evidence
from small import OneStore, item

QUESTION = "How are they connected?"
ADA, BEN, CLEO, DAN = "person:ada marsh", "person:ben nolan", "person:cleo orr", "person:dan pike"
CHAIN = [
    item("ab", "Ada Marsh hired Ben Nolan."),
    item("bc", "Ben Nolan trained Cleo Orr."),
    item("cd", "Cleo Orr replaced Dan Pike."),
    item("ac", "Ada Marsh met then Cleo Orr.", metadata={"kind": "gossip"}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("traverse"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def chain(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(CHAIN)
    return graph


def walk(graph: Evigraph, *seeds: str, **options: Any) -> Evidence:
    options = {"graph_depth": 3, "max_context_tokens": 200_000, **options}
    return graph.retrieve(options.pop("question", QUESTION), mode="traverse", seeds=list(seeds) or None, **options)


def paths(found: Evidence) -> set[tuple[str, ...]]:
    return {tuple(name.split()[0] for name in path.names) for path in found.paths}


# ------------------------------------------------------------------ paths


def test_paths_with_the_passages_that_make_their_hops(chain: Evigraph) -> None:
    found = walk(chain, ADA)
    assert ("Ada", "Ben", "Cleo", "Dan") in paths(found)
    assert ("Ada", "Cleo", "Dan") in paths(found)
    shown = {chunk.document_id for chunk in found.chunks}
    assert shown == {"ab", "bc", "cd", "ac"}
    for path in found.paths:
        assert len(set(path.entities)) == len(path.entities) == len(path.names) == len(path.relationships) + 1
        for here, there, hop in zip(path.entities, path.entities[1:], path.relationships, strict=False):
            assert {hop.source, hop.target} == {here, there}
            assert hop.document_id in shown
    assert [path.score for path in found.paths] == sorted((path.score for path in found.paths), reverse=True)
    assert {end for path in found.paths for end in path.entities} == {entity.id for entity in found.entities}
    assert {hop.id for path in found.paths for hop in path.relationships} == {hop.id for hop in found.relationships}
    assert found.degraded == ()
    assert found.stats["traversal_truncated"] is False


def test_the_question_names_the_seeds_where_none_are_given(chain: Evigraph) -> None:
    found = walk(chain, question="Whom did Ada Marsh hire?")
    assert paths(found) == paths(walk(chain, ADA))
    assert {path.entities[0] for path in found.paths} == {ADA}
    assert [seed["entity"] for seed in found.stats["seeds"]] == [ADA]


def test_the_answer_cites_the_passages_of_the_paths(chain: Evigraph) -> None:
    answer = chain.ask("Whom did Ada Marsh hire?", mode="traverse", graph_depth=1)
    assert "Ben Nolan" in (answer.text or "")
    assert {citation.document_id for citation in answer.citations} <= {"ab", "ac"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"direction": "out"}, {("Ben", "Cleo"), ("Ben", "Cleo", "Dan")}),
        ({"direction": "in"}, {("Ben", "Ada")}),
        ({"predicates": ["HIRED"]}, {("Ben", "Ada")}),
        ({"predicates": ["HIRED", "TRAINED"], "direction": "out"}, {("Ben", "Cleo")}),
        ({"predicates": []}, set()),
        ({"predicates": ["SUED"]}, set()),
        ({"graph_depth": 1}, {("Ben", "Ada"), ("Ben", "Cleo")}),
        ({"graph_depth": 0}, set()),
    ],
)
def test_predicates_direction_and_depth_hold(
    chain: Evigraph, options: dict[str, Any], expected: set[tuple[str, ...]]
) -> None:
    assert paths(walk(chain, BEN, **options)) == expected


def test_the_same_question_gives_the_same_paths(chain: Evigraph) -> None:
    one, again, turned = walk(chain, ADA, BEN), walk(chain, ADA, BEN), walk(chain, BEN, ADA)
    assert (one.paths, one.chunks, one.entities) == (again.paths, again.chunks, again.entities)
    assert (one.paths, one.chunks, one.entities) == (turned.paths, turned.chunks, turned.entities)


# ------------------------------------------------------------------ limits


def test_limits_are_held_and_reported(store: OneStore) -> None:
    graph = store.engine()
    names = [f"Guest{chr(97 + n)} Yard" for n in range(12)]
    graph.index([item(f"g{n:02}", f"Hanna Pole greeted {name}.") for n, name in enumerate(names)])
    found = walk(graph, "person:hanna pole", graph_depth=1, per_node_limit=5)
    assert (len(found.paths), found.stats["hops"][0]["cut_entities"]) == (5, 1)
    assert found.stats["traversal_truncated"] is True
    few = walk(graph, "person:hanna pole", graph_depth=1, limit=3)
    assert (len(few.paths), few.stats["paths_found"], few.stats["paths"]) == (3, 12, 3)
    assert few.stats["traversal_truncated"] is True
    every = walk(graph, "person:hanna pole", graph_depth=1)
    assert (len(every.paths), every.stats["traversal_truncated"]) == (12, False)
    assert few.paths == every.paths[:3]
    assert found.degraded == few.degraded == every.degraded == ()


def test_a_safety_cap_that_bites_degrades(chain: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traverse, "Limits", lambda **given: Limits(**given, rows=2))
    found = walk(chain, ADA)
    assert any("safety cap" in sentence for sentence in found.degraded)


# ------------------------------------------------------------------ seeds


def test_labels_choose_the_entity_whose_name_shares_most_words(chain: Evigraph) -> None:
    found = walk(chain, "Marsh", "nolan ben", "marsh or orr")
    assert [seed["entity"] for seed in found.stats["seeds"]][:2] == [ADA, BEN]
    assert [seed["match"] for seed in found.stats["seeds"]][:2] == [0.5, 1.0]
    assert found.stats["seeds"][2]["others"] == 1


@pytest.mark.parametrize("unknown", ["person:nobody known", "Zorblax", "!!!"])
def test_a_seed_that_nothing_carries_is_reported_and_binds_nothing(chain: Evigraph, unknown: str) -> None:
    found = walk(chain, unknown, BEN)
    assert paths(found) == paths(walk(chain, BEN))
    assert len(found.degraded) == 1
    assert unknown in found.degraded[0]
    assert found.stats["seeds"][0]["entity"] is None


def test_without_any_seed_it_abstains_and_says_so(chain: Evigraph) -> None:
    for options in ({"seeds": ["person:nobody known"]}, {"seeds": []}, {}):
        answer = chain.ask("what happened?", mode="traverse", **options)
        assert (answer.abstain_reason or "").startswith("seeds: ")
        assert answer.evidence.paths == ()


def test_seeds_that_lead_nowhere_abstain_at_the_traversal(chain: Evigraph) -> None:
    answer = chain.ask("what happened?", mode="traverse", seeds=[ADA], predicates=["SUED"])
    assert (answer.abstain_reason or "").startswith("traversal: ")


def test_options_that_another_mode_has_no_use_for_are_reported(chain: Evigraph) -> None:
    found = chain.retrieve(QUESTION, mode="naive", seeds=[ADA], direction="out", predicates=["HIRED"])
    assert [sentence.partition(":")[0] for sentence in found.degraded] == ["predicates", "direction", "seeds"]
    with pytest.raises(InvalidValue):
        chain.retrieve(QUESTION, mode="traverse", direction="sideways")


# ------------------------------------------------------------------ scope


def test_a_deleted_passage_is_no_hop(store: OneStore) -> None:
    graph = store.engine()
    graph.index(CHAIN[:3])
    whole = walk(graph, ADA)
    graph.delete("bc")
    assert paths(walk(graph, ADA)) == {("Ada", "Ben")}
    assert "person:cleo orr" not in str(walk(graph, ADA))
    graph.index(item("bc", "Ben Nolan trained nobody."))
    assert paths(walk(graph, ADA)) == {("Ada", "Ben")}
    assert paths(whole) == {("Ada", "Ben"), ("Ada", "Ben", "Cleo"), ("Ada", "Ben", "Cleo", "Dan")}


def test_as_of_walks_the_graph_of_that_generation(store: OneStore) -> None:
    graph = store.engine()
    graph.index(CHAIN[0])
    graph.index(CHAIN[1])
    newest = graph.index(CHAIN[2]).generation
    assert newest is not None
    graph.delete("ab")
    assert paths(walk(graph, ADA, as_of=newest)) == {
        ("Ada", "Ben"),
        ("Ada", "Ben", "Cleo"),
        ("Ada", "Ben", "Cleo", "Dan"),
    }
    assert paths(walk(graph, ADA, as_of=newest - 1)) == {("Ada", "Ben"), ("Ada", "Ben", "Cleo")}
    assert paths(walk(graph, ADA)) == set()


def test_a_filtered_passage_is_no_hop_and_its_names_no_seeds(chain: Evigraph) -> None:
    only = {"document_filter": {"document_ids": ["ab", "cd"]}}
    assert paths(walk(chain, ADA, **only)) == {("Ada", "Ben")}
    gossip = walk(chain, BEN, "Ben", metadata_filter={"kind": "gossip"})
    assert gossip.paths == ()
    assert [seed["entity"] for seed in gossip.stats["seeds"]] == [None, None]
    assert [seed["others"] for seed in gossip.stats["seeds"]] == [0, 0]


# ------------------------------------------------------------------ merged entities


def test_a_merge_bridges_two_names_and_an_unmerge_parts_them(store: OneStore) -> None:
    graph = store.engine()
    graph.index([item("one", "Ada Marsh hired Ben Nolan."), item("two", "Benny Nolan trained Cleo Orr.")])
    assert paths(walk(graph, ADA)) == {("Ada", "Ben")}
    merge = graph.store.record_change(
        graph.workspace, "merge", {"canonical": BEN, "entities": [BEN, "person:benny nolan"], "reason": ""}
    )
    found = walk(graph, ADA)
    longest = max(found.paths, key=lambda path: len(path.entities))
    assert longest.entities == (ADA, BEN, CLEO)
    assert [(hop.source, hop.source_name) for hop in longest.relationships] == [
        (ADA, "Ada Marsh"),
        (BEN, "Benny Nolan"),
    ]
    assert "person:benny nolan" not in {entity.id for entity in found.entities}
    from_alias = walk(graph, "person:benny nolan", graph_depth=1)
    assert {path.entities for path in from_alias.paths} == {(BEN, ADA), (BEN, CLEO)}
    assert walk(graph, "person:benny nolan", graph_depth=1, per_node_limit=1).stats["hops"][0]["cut_entities"] == 1
    graph.store.record_change(graph.workspace, "unmerge", {"merge_id": merge})
    assert paths(walk(graph, ADA)) == {("Ada", "Ben")}


def test_an_assertion_between_merged_entities_is_no_hop(store: OneStore) -> None:
    graph = store.engine()
    graph.index([item("one", "Ben Nolan called Benny Nolan. Benny Nolan trained Cleo Orr.")])
    graph.store.record_change(
        graph.workspace, "merge", {"canonical": BEN, "entities": [BEN, "person:benny nolan"], "reason": ""}
    )
    found = walk(graph, BEN)
    assert paths(found) == {("Benny", "Cleo")}
    assert all(hop.type != CO_OCCURS for path in found.paths for hop in path.relationships)
