"""The sentences of a summary: what each adds, from as many documents and groups as there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from statements import Said, statements

from evigraph.community.cluster import Tree
from evigraph.community.compose import compose
from evigraph.community.summarise import PARAMETERS, material, summarise
from evigraph.store.communities import nodes_of


def tree_of(entities: Sequence[str], paths: Mapping[str, tuple[int, ...]]) -> Tree:
    rows = [paths[entity] for entity in entities]
    return Tree(entities=tuple(entities), paths=np.array(rows, dtype=np.int32), nodes=tuple(nodes_of(rows)))


def whole(said: Sequence[Sequence[Said]], *, limit: int = 5, **given: object) -> list[int]:
    """Sentences of the one community of all entities."""
    made = statements(said, **given)  # type: ignore[arg-type]
    tree = tree_of(made.entities, dict.fromkeys(made.entities, (0,)))
    return list(summarise(tree, material(made), replace(PARAMETERS, sentences=limit))[0])


def test_the_best_connected_members_come_first() -> None:
    said = [[("a", "x", "y", 0.9)], [("b", "hub", "one", 0.9)], [("c", "hub", "two", 0.9)], [("d", "hub", "six", 0.9)]]
    assert whole(said, limit=1) == [1]


def test_what_was_spoken_of_gives_way_to_what_was_not() -> None:
    said = [[("a", "hub", "one", 0.9)], [("b", "hub", "one", 0.8)], [("c", "x", "y", 0.8)]]
    assert whole(said, limit=2) == [0, 2]


def test_a_stated_assertion_comes_before_a_co_occurrence() -> None:
    assert whole([[("a", "x", "y", -0.9)], [("b", "x", "y", 0.5)]], limit=1) == [1]


def test_another_document_comes_before_more_of_the_same() -> None:
    said = [[("a", "p", "q", 1.0)], [("a", "r", "s", 0.9)], [("b", "t", "u", 0.8)]]
    assert whole(said, limit=2) == [0, 2]


def test_another_region_comes_before_more_of_the_same() -> None:
    said = [[("a", "p", "q", 1.0)], [("b", "r", "s", 0.9)], [("c", "t", "u", 0.8)]]
    regions = {"a": {"region": "north"}, "b": {"region": "north"}, "c": {"region": "south"}}
    assert whole(said, limit=2) == [0, 1]
    assert whole(said, limit=2, metadata=regions) == [0, 2]
    assert whole(said, limit=2, metadata={"a": {}, "b": {}, "c": {"region": "south"}}) == [0, 1], "no value is no group"


def test_a_key_that_one_document_in_many_has_counts_as_any() -> None:
    said = [[("a", "p", "q", 1.0)], [("b", "r", "s", 0.9)], [("c", "t", "u", 0.8)]]
    said += [[(f"z{at}", f"v{at}", f"w{at}", 0.1)] for at in range(60)]
    authors = {f"z{at}": {"author": f"author {at}"} for at in range(60)}
    assert whole(said, limit=2, metadata=authors) == [0, 1]
    assert whole(said, limit=2, metadata={**authors, "a": {"kind": "x"}, "b": {"kind": "x"}}) == [0, 2]


def test_many_keys_do_not_make_all_sentences_alike() -> None:
    """Each sentence taken reduces the rest by every shared key: what is left still has its order."""
    said = [[(f"d{at}", f"p{at}", f"q{at}", 0.3 + at / 10)] for at in range(7)]
    shared = {f"key{at}": "same" for at in range(40)}
    assert whole(said) == whole(said, metadata={f"d{at}": shared for at in range(7)}) == [6, 5, 4, 3, 2]


def test_headings_only_stand_in_for_nothing() -> None:
    assert whole([[("a#", "x", "y", 1.0)], [("b", "x", "y", 0.3)]]) == [1]
    assert whole([[("a#", "x", "y", 1.0)], [("b#", "x", "y", 0.3)]]) == [0]


def test_ties_go_to_the_earlier_sentence_of_the_smaller_document_id() -> None:
    assert whole([[("b", "x", "y", 0.5)], [("a", "x", "y", 0.5)], [("a", "x", "y", 0.5)]], limit=2) == [0, 2]


def test_a_community_without_assertions_of_its_own_quotes_those_about_its_members() -> None:
    made = statements([[("a", "x", "y", 0.9)], [("b", "y", "z", 0.9)]])
    tree = tree_of(made.entities, {"x": (0,), "y": (1,), "z": (1,)})
    assert summarise(tree, material(made)) == {0: (0,), 1: (1,)}


def test_a_community_that_nothing_speaks_of_has_no_sentence() -> None:
    made = statements([[("a", "x", "y", 0.9)]])
    tree = Tree(entities=("w", "x", "y"), paths=np.array([[0], [1], [1]], np.int32), nodes=())
    shifted = replace(made, entities=["w", "x", "y"], subject=made.subject + 1, object=made.object + 1)
    assert summarise(tree, material(shifted)) == {0: (), 1: (0,)}


def test_entities_in_no_community_do_not_count() -> None:
    made = statements([[("a", "x", "y", 0.9)], [("b", "new", "y", 1.0)], [("c", "new", "old", 1.0)]])
    tree = tree_of(made.entities, {"new": (-1,), "old": (-1,), "x": (0,), "y": (0,)})
    assert summarise(tree, material(made)) == {0: (0,)}


def test_the_broader_is_made_of_sentences_of_its_parts() -> None:
    said = [[("a", f"x{at}", f"x{at + 1}", 0.5 + at / 50)] for at in range(12)]
    said += [[("b", f"y{at}", f"y{at + 1}", 0.5)] for at in range(3)]
    made = statements(said)
    tree = tree_of(made.entities, {name: (0, 1 if name[0] == "x" else 2) for name in made.entities})
    found = material(made)
    leaves = summarise(tree, found)
    all_of = compose(tree, leaves, found)
    assert {number: all_of[number] for number in leaves} == leaves
    assert len(all_of[0]) == 5
    assert set(all_of[0]) <= set(leaves[1]) | set(leaves[2])
    assert set(all_of[0]) & set(leaves[2]), "the second document is heard"


def test_only_so_many_sentences_are_weighed_and_the_best_is_among_them() -> None:
    said = [[(f"d{at:03}", f"m{at}", f"m{at + 1}", 0.5)] for at in range(400)] + [[("e", "m0", "m1", 1.0)]]
    assert whole(said, limit=1) == [400]


def test_statements_of_nothing() -> None:
    made = statements([])
    tree = Tree(entities=(), paths=np.zeros((0, 0), np.int32), nodes=())
    assert summarise(tree, material(made)) == {}
