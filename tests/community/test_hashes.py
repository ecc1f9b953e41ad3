"""A summary's hash changes with what the summary is a function of, and with nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from statements import statements

from evigraph.community.cluster import Tree
from evigraph.community.hashes import by_writer, input_hashes
from evigraph.store.clustering import Statements
from evigraph.store.communities import nodes_of

SAID = [
    [("a", "p", "q", 0.9)],
    [("a", "q", "r", 0.9)],
    [("b", "x", "y", 0.9)],
    [("b", "r", "x", 0.9)],
]
PATHS = {"p": (0, 1), "q": (0, 1), "r": (0, 1), "x": (0, 2), "y": (0, 2)}


def hashes(
    made: Statements, paths: Mapping[str, tuple[int, ...]] = PATHS, settings: Sequence[str] = ("s",)
) -> dict[int, str]:
    rows = [paths[entity] for entity in made.entities]
    tree = Tree(
        entities=tuple(made.entities),
        paths=np.array(rows, np.int32),
        nodes=tuple(node for node in nodes_of(rows) if node.number >= 0),
    )
    return input_hashes(tree, made, settings)


def changed(made: Statements, **given: object) -> set[int]:
    before, after = hashes(statements(SAID)), hashes(made, **given)  # type: ignore[arg-type]
    return {number for number in before if before[number] != after[number]}


def test_equal_inputs_have_equal_hashes_and_different_ones_do_not() -> None:
    assert not changed(statements(SAID))
    assert len(set(hashes(statements(SAID)).values())) == 3


def test_the_order_of_rows_and_the_numbers_do_not_matter() -> None:
    made = statements(SAID)
    turned = replace(
        made,
        **{
            name: getattr(made, name)[::-1]
            for name in ("subject", "object", "stated", "weight", "sentence", "assertion")
        },
    )
    assert not changed(turned)
    renumbered = {entity: tuple(7 + number for number in path) for entity, path in PATHS.items()}
    assert list(hashes(made, renumbered).values()) == list(hashes(made).values())


def test_an_assertion_between_parts_concerns_the_whole_alone() -> None:
    assert changed(statements(SAID[:3])) == {0}


def test_another_assertion_concerns_its_community_and_what_is_above() -> None:
    assert changed(statements([*SAID, [("b", "y", "x", 0.5)]])) == {0, 2}


def test_another_revision_concerns_what_it_speaks_of() -> None:
    made = statements(SAID)
    second = [replace(made.documents[0]), replace(made.documents[1], revision=2)]
    assert changed(replace(made, documents=second)) == {0, 2}


def test_what_an_assertion_joins_matters() -> None:
    made = statements(SAID)
    other = made.object.copy()
    other[0] = made.entities.index("r")
    assert changed(replace(made, object=other)) == {0, 1}


def test_settings_concern_everything() -> None:
    assert changed(statements(SAID), settings=("t",)) == {0, 1, 2}
    assert changed(statements(SAID), settings=("s", "more")) == {0, 1, 2}


def test_each_writer_has_a_hash_of_its_own() -> None:
    made = [by_writer(inputs, writer) for inputs in ("a", "b") for writer in ([], ["one"], ["two"], ["two", "1"])]
    assert len(set(made)) == len(made)


def test_members_matter_even_without_assertions() -> None:
    made = statements([*SAID, [("c", "z", "z", 0.5)]])
    alone, together = {**PATHS, "z": (-1, -1)}, {**PATHS, "z": (0, 2)}
    before, after = hashes(made, alone), hashes(made, together)
    assert {number for number in (0, 1, 2) if before[number] != after[number]} == {0, 2}
