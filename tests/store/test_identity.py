"""Which entities count as one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from evigraph.store.identity import Identities, groups, identities, narrowed, without
from evigraph.store.state import fold
from evigraph.views import Merge

NAMES = tuple("abcdefg")
WHEN = datetime(2024, 1, 1, tzinfo=UTC)
KINDS = {name: (name, "CONCEPT") for name in NAMES}


def merge(number: int, *entities: str, canonical: str = "") -> Merge:
    return Merge(
        merge_id=number,
        canonical=canonical or entities[0],
        entities=tuple(sorted(entities)),
        reason="because",
        merged_at=WHEN,
    )


@st.composite
def some_merges(draw: st.DrawFn) -> list[Merge]:
    lists = st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True)
    return [merge(number, *entities) for number, entities in enumerate(draw(st.lists(lists, max_size=6)))]


subsets = st.sets(st.sampled_from(NAMES))


def seen(names: set[str]) -> dict[str, tuple[str, str]]:
    return {name: KINDS[name] for name in names}


def classes(found: Identities, names: Sequence[str]) -> set[frozenset[str]]:
    return {frozenset(other for other in names if found.of(other) == found.of(name)) for name in names}


@given(merges=some_merges(), visible=subsets)
def test_identity_is_an_equivalence_relation(merges: list[Merge], visible: set[str]) -> None:
    found = identities(merges, seen(visible))
    for name in NAMES:
        assert found.of(found.of(name)) == found.of(name)
        assert name in found.expand([name])
        assert found.of(name) in {*visible, name}, "what is not visible stands for nothing else"
    for one, other in product(NAMES, NAMES):
        assert (found.of(one) == found.of(other)) == (other in found.expand([one]))
        assert found.expand([one, other]) == sorted({*found.expand([one]), *found.expand([other])})
    for representative, members in found.members.items():
        assert representative in members
        assert len(members) > 1
        assert list(members) == sorted(members)
        assert {found.canonical[member] for member in members} == {representative}
    assert set(found.canonical) == set(found.names) <= visible


@given(merges=some_merges(), visible=subsets, seed=st.integers(0, 99))
def test_what_is_one_does_not_depend_on_the_order_of_merges(merges: list[Merge], visible: set[str], seed: int) -> None:
    shuffled = random.Random(seed).sample(merges, len(merges))
    one, other = identities(merges, seen(visible)), identities(shuffled, seen(visible))
    assert classes(one, NAMES) == classes(other, NAMES)
    assert groups(merges) == groups(shuffled)


@given(merges=some_merges(), visible=subsets)
def test_a_scope_never_joins_more_than_the_whole(merges: list[Merge], visible: set[str]) -> None:
    whole = groups(merges)
    found = identities(merges, seen(visible))
    for one, other in product(sorted(visible), sorted(visible)):
        joined = other in whole.get(one, {one})
        assert (found.of(one) == found.of(other)) == joined


@given(merges=some_merges(), undone=st.sets(st.integers(0, 5)), visible=subsets)
def test_an_undone_merge_leaves_no_trace(merges: list[Merge], undone: set[int], visible: set[str]) -> None:
    undone &= {item.merge_id for item in merges}
    rows = [("merge", item.merge_id, WHEN, _detail(item)) for item in merges]
    rows += [("unmerge", 100 + number, WHEN, json.dumps({"merge_id": number})) for number in sorted(undone)]
    left = [item for item in merges if item.merge_id not in undone]
    assert identities(fold(rows).merges, seen(visible)) == identities(left, seen(visible))


@given(merges=some_merges(), kept=subsets, visible=subsets)
def test_forgetting_names_changes_nothing_for_those_left(
    merges: list[Merge], kept: set[str], visible: set[str]
) -> None:
    reduced = without(merges, set(NAMES) - kept)
    left = [item for item in reduced if item is not None]
    assert len(reduced) == len(merges)
    assert all({*item.entities} <= kept and item.canonical in {*item.entities, ""} for item in left)
    assert all(one is not None and one.merge_id == merges[place].merge_id for place, one in enumerate(reduced) if one)
    assert identities(merges, seen(visible & kept)) == identities(left, seen(visible & kept))
    assert [item for item in without(left, set(NAMES) - kept) if item is not None] == left


@given(merges=some_merges(), visible=subsets)
def test_a_scope_shows_no_member_it_does_not_mention(merges: list[Merge], visible: set[str]) -> None:
    for shown in narrowed(merges, visible):
        assert {shown.canonical, *shown.entities} <= visible
        whole = next(item for item in merges if item.merge_id == shown.merge_id)
        assert shown == whole or (set(whole.entities) - visible and shown.reason == "")
        assert len(shown.entities) > 1, "one alone would tell that there is another"


def test_the_latest_merge_names_its_group_where_the_scope_mentions_it() -> None:
    merges = [merge(1, "c", "b", canonical="c"), merge(2, "d", "b", canonical="d")]
    assert identities(merges, seen({"b", "c", "d"})).of("b") == "d"
    assert identities(merges, seen({"b", "c"})).of("c") == "b", "else the first by id"
    assert identities(merges, seen({"c", "d"})).of("c") == "d", "joined by one that is not mentioned"
    assert identities(merges, seen({"d"})) == Identities()


def test_names_lead_to_representatives_and_back() -> None:
    visible = {"org:ibm": ("ibm", "ORG"), "org:big": ("big", "ORG"), "place:ibm": ("ibm", "PLACE")}
    found = identities([merge(1, "org:big", "org:ibm")], visible)
    assert found.keys_of("ibm") == ("big", "ibm")
    assert found.keys_of("big") == ("big",)
    assert found.keys_of("other") == ("other",)
    assert found.behind(["big"]) == ["big", "ibm"]
    assert found.behind(["ibm"]) == ["ibm"]
    assert Identities().behind(["b", "a"]) == ["a", "b"]


def _detail(item: Merge) -> str:
    return json.dumps({"canonical": item.canonical, "entities": list(item.entities), "reason": item.reason})
