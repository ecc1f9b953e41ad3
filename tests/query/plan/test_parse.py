"""Plans are read strictly: each fault is a typed error that names the step and the field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import InvalidPlan, InvalidValue
from evigraph.plans import Count, Filter, Hop, Intersect, Match, Plan, as_data
from evigraph.query.plan.parse import MAX_PREDICATES, MAX_STEPS, describe, parse_plan
from evigraph.query.request import parse

A = {"id": "a", "op": "match", "entity": "Ada"}
B = {"id": "b", "op": "hop", "source": "a", "predicates": ["FRIEND"]}
COUNT = {"id": "n", "op": "count", "source": "b", "by": "a"}


def steps(*given: Any) -> dict[str, Any]:
    return {"steps": list(given)}


def test_every_operation_is_read() -> None:
    plan = parse_plan(
        steps(
            {"id": "a", "op": "match", "entities": ["person:ada", "person:ada byron"], "type": "PERSON"},
            {**B, "direction": "both"},
            {"id": "c", "op": "intersect", "sources": ["a", "b"]},
            {"id": "d", "op": "filter", "source": "b", "type": "PERSON", "predicates": ["KNOWS"], "to": "a"},
            {"id": "e", "op": "count", "source": "d", "by": "a"},
        )
    )
    assert plan == Plan(
        steps=(
            Match(id="a", entities=("person:ada", "person:ada byron"), type="PERSON"),
            Hop(id="b", source="a", predicates=("FRIEND",), direction="both"),
            Intersect(id="c", sources=("a", "b")),
            Filter(id="d", source="b", type="PERSON", predicates=("KNOWS",), to="a"),
            Count(id="e", source="d", by="a"),
        )
    )
    assert parse_plan(as_data(plan)) == plan == parse_plan(plan)
    assert describe(plan).startswith("a = match person:ada, person:ada byron; b = hop FRIEND both from a")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (None, "must be an object"),
        ([A], "must be an object"),
        ("DROP TABLE passages", "must be an object"),
        ({"steps": [A], "sql": "x"}, "unknown field 'sql'"),
        ({"steps": []}, "field steps: it must be a list of 1 to 20"),
        ({"steps": {"a": A}}, "field steps"),
        (steps(*[{**A, "id": f"a{n}"} for n in range(MAX_STEPS + 1)]), "field steps"),
        (steps("a"), "step 1: it must be an object"),
        (steps({"op": "match", "entity": "Ada"}), "step 1: field id"),
        (steps({**A, "id": "a b"}), "step 1: field id"),
        (steps({**A, "id": 7}), "step 1: field id"),
        (steps({**A, "id": "x" * 10_000}), "step 1: field id"),
        (steps(A, A), "step 2: field id: a is the id of an earlier step"),
        (steps({**A, "op": "sql"}), "step a: field op: unknown operation"),
        (steps({**A, "op": ["match"]}), "step a: field op"),
        (steps({**A, "limit": 5}), "`match` has no field 'limit'"),
        (steps({"id": "a", "op": "match"}), "step a: field entity"),
        (steps({**A, "entities": ["Bea"]}), "step a: field entity"),
        (steps({**A, "entity": ""}), "step a: field entity"),
        (steps({**A, "entity": "x" * 1_000_000}), "step a: field entity: it must be text of 1 to 500"),
        (steps({**A, "entity": "a\x00b"}), "NUL"),
        (steps({**A, "entity": "\ud800"}), "surrogate"),
        (steps({**A, "entity": {"$ne": 1}}), "step a: field entity"),
        (steps({"id": "a", "op": "match", "entities": ["x"] * 101}), "step a: field entities"),
        (steps({"id": "b", "op": "hop", "predicates": ["X"]}), "step b: field source"),
        (steps({**B, "source": "b"}), "step b: field source: it refers to itself"),
        (steps(A, {**B, "source": "z"}), "step b: field source: it refers to 'z', which is no earlier step"),
        (steps({**B, "source": "c"}, {**B, "id": "c", "source": "b"}), "step b: field source"),
        (steps(A, {**B, "predicates": []}), "step b: field predicates"),
        (steps(A, {**B, "predicates": "FRIEND"}), "step b: field predicates"),
        (steps(A, {**B, "predicates": ["X"] * (MAX_PREDICATES + 1)}), "step b: field predicates"),
        (steps(A, {**B, "predicates": [None]}), "step b: field predicates"),
        (steps(A, {**B, "predicates": ["--"]}), "step b: field predicates: '--' has no letters"),
        (steps(A, {**B, "direction": "sideways"}), "step b: field direction"),
        (steps(A, {"id": "c", "op": "intersect", "sources": ["a", "a"]}), "step c: field sources"),
        (steps(A, {"id": "c", "op": "filter", "source": "a"}), "step c: field type"),
        (steps(A, {"id": "c", "op": "filter", "source": "a", "type": "PERSON", "to": "a"}), "step c: field predicates"),
        (steps(A, B, COUNT, {**B, "id": "c", "source": "n"}), "step c: field source: n counts"),
        (steps(A, B, {**A, "id": "z"}, {**COUNT, "by": "z"}), "step n: field by: b does not start from z"),
    ],
)
def test_a_fault_names_its_step_and_field(plan: Any, said: str) -> None:
    with pytest.raises(InvalidPlan) as raised:
        parse_plan(plan)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 400


def test_what_a_filter_compares_with_is_no_group() -> None:
    joined = {"id": "d", "op": "filter", "source": "a", "predicates": ["KNOWS"], "to": "z"}
    with pytest.raises(InvalidPlan, match="does not start from z"):
        parse_plan(steps(A, {**A, "id": "z"}, joined, {"id": "n", "op": "count", "source": "d", "by": "z"}))


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a", "b", "match"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_STEP = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "c"]) | _VALUES,
        "op": st.sampled_from(["match", "hop", "intersect", "filter", "count"]) | _VALUES,
        **{
            name: st.sampled_from(["a", "b"]) | st.just(["a", "b"]) | _VALUES
            for name in ("entity", "source", "sources", "predicates", "direction", "type", "to", "by")
        },
    },
)


@given(st.fixed_dictionaries({"steps": st.lists(_STEP, max_size=5)}) | _VALUES)
def test_anything_is_a_plan_or_a_typed_error(value: Any) -> None:
    try:
        plan = parse_plan(value)
    except InvalidPlan:
        return
    assert parse_plan(as_data(plan)) == plan


def test_a_plan_needs_its_mode() -> None:
    with pytest.raises(InvalidValue, match="no meaning under mode `mix`"):
        parse({"query": "q", "plan": steps(A)})
    assert parse({"query": "q", "mode": "plan", "plan": steps(A)}).plan == parse_plan(steps(A))
