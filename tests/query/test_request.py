"""From plain fields to a validated request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.errors import (
    InputError,
    InvalidQuery,
    InvalidValue,
    UnknownField,
    UnknownFilter,
    UnknownMethod,
    UnknownMode,
)
from evigraph.query import request as module
from evigraph.query.request import LIMITS, parse
from evigraph.types import DocumentFilter, Method, Mode, QueryRequest

HUGE = 10**5000
"""Python refuses to write out numbers of this length."""


def kind_of(value: object) -> str:
    """A test's name, where values are too long or strange for one."""
    return type(value).__name__


def parsed(**given: Any) -> QueryRequest:
    return parse({"query": "Who?", **given})


def refused(error: type[InputError], **given: Any) -> InputError:
    with pytest.raises(error) as caught:
        parsed(**given)
    assert caught.value.hint
    assert caught.value.status == 422
    str(caught.value).encode()
    caught.value.hint.encode()
    assert len(str(caught.value)) < 300
    return caught.value


def test_the_defaults_are_those_of_the_request() -> None:
    assert parsed() == QueryRequest(query="Who?")
    assert (parsed().mode, parsed().method, parsed().fusion) == (Mode.MIX, Method.STANDARD, "gate")


def test_every_field_of_a_request_can_be_given() -> None:
    given = {
        "mode": "PLAN",
        "method": "Standard",
        "max_chunks": 3,
        "max_entities": 0,
        "max_relationships": 7,
        "max_context_tokens": 128,
        "graph_depth": 0,
        "per_node_limit": 5,
        "predicates": ["DELIVERED"],
        "direction": "out",
        "seeds": ["person:ada"],
        "limit": 3,
        "plan": {"steps": [{"id": "a", "op": "match", "entity": "Ada"}]},
        "min_score": -0.5,
        "include_sources": False,
        "fusion": "rrf",
        "vector_weight": 2,
        "graph_weight": 0.5,
        "hybrid": True,
        "parent_context": True,
        "rerank": True,
        "rerank_top_k": 4,
        "compress": True,
        "community_level": 3,
        "context_only": True,
        "prompt_only": True,
        "document_filter": {
            "document_ids": ["a"],
            "pattern": "*.md",
            "date_from": "2014-01-01",
            "date_to": "2015-01-01",
        },
        "metadata_filter": {"region": "north"},
        "llm_model": "small",
        "web_search": False,
        "as_of": 3,
        "user": "ann",
        "conversation_id": "wells-2019",
        "conversation_owner": "bob",
    }
    request = parsed(**given)
    known = {field.name for field in fields(QueryRequest)}
    assert known == {"query", "mix_weights", "given", *given}
    assert request.given == tuple(sorted(["query", *given]))
    default = QueryRequest(query="Who?")
    assert all(getattr(request, name) != getattr(default, name) for name in given if name != "method")
    assert request.document_filter == DocumentFilter(
        document_ids=("a",), pattern="*.md", date_from=date(2014, 1, 1), date_to=date(2015, 1, 1)
    )
    assert parsed(mix_weights={"local": 1}).mix_weights == {"local": 1.0, "global": 0.0, "naive": 0.0}


def test_nothing_given_counts_as_absent() -> None:
    absent = dict.fromkeys((*module._FIELDS[1:],))
    assert parsed(**absent) == parsed()
    assert parsed(document_filter={"pattern": None}).document_filter == DocumentFilter()
    assert parsed(params={"fusion": None}) == parsed()


# ------------------------------------------------------------------ names


@pytest.mark.parametrize("name", ["mod", "top_k", "model", "Mode", "query ", "\ud800", "x" * 5000, 5], ids=kind_of)
def test_unknown_fields_are_refused_with_the_valid_ones(name: Any) -> None:
    with pytest.raises(UnknownField) as caught:
        parse({"query": "Who?", name: 1})
    assert "max_chunks" in caught.value.hint


@pytest.mark.parametrize(
    "mode", ["fast", "", " mix", "MIX!", "\ud800", 5, True, ["mix"], HUGE, "x" * 100_000], ids=kind_of
)
def test_unknown_modes_and_methods_are_refused_with_the_valid_ones(mode: Any) -> None:
    assert "keyword_lookup" in refused(UnknownMode, mode=mode).hint
    assert "standard" in refused(UnknownMethod, method=mode).hint


@pytest.mark.parametrize("mode", [*Mode, *(mode.value.upper() for mode in Mode)])
def test_modes_are_read_in_any_case(mode: str) -> None:
    assert parsed(mode=mode).mode == Mode(mode.lower())


def test_unknown_filter_fields_are_refused() -> None:
    assert "document_ids" in refused(UnknownFilter, document_filter={"ids": ["a"]}).hint
    refused(UnknownField, mix_weights={"vector": 1})
    refused(UnknownField, params={"top_k": 1})


# ------------------------------------------------------------------ the question


@pytest.mark.parametrize("query", [None, "", "  \n\t", 5, ["Who?"], b"Who?"], ids=kind_of)
def test_an_empty_question_is_refused(query: Any) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse({"query": query})
    assert caught.value.hint


def test_a_question_is_bounded_in_characters() -> None:
    assert parse({"query": "é" * 8_000}).query == "é" * 8_000
    with pytest.raises(InvalidQuery) as caught:
        parse({"query": "é" * 8_001})
    assert "EVIGRAPH_MAX_QUERY_CHARS" in caught.value.hint
    assert parse({"query": "é" * 9_000}, max_query_chars=9_000)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800", "\udc00"], ids=kind_of)
def test_what_is_no_text_is_refused_everywhere(text: str) -> None:
    for wrong in (
        {"query": text},
        {"llm_model": text},
        {"predicates": [text]},
        {"document_filter": {"document_ids": [text]}},
        {"document_filter": {"pattern": text}},
        {"metadata_filter": {"region": text}},
        {"metadata_filter": {text: "north"}},
    ):
        refused(InvalidQuery, **wrong)


# ------------------------------------------------------------------ numbers and flags


@pytest.mark.parametrize("name", LIMITS)
def test_whole_numbers_are_bounded(name: str) -> None:
    low, high = LIMITS[name]
    assert getattr(parsed(**{name: low}), name) == low
    assert getattr(parsed(**{name: high}), name) == high
    for wrong in (low - 1, high + 1, True, 1.0, "1", [1], HUGE, -HUGE, float("nan")):
        assert str(low) in str(refused(InvalidValue, **{name: wrong}))


@pytest.mark.parametrize(
    ("name", "low", "high"), [("min_score", -1, 1), ("vector_weight", 0, 1000), ("graph_weight", 0, 1000)]
)
def test_numbers_are_bounded(name: str, low: float, high: float) -> None:
    assert getattr(parsed(**{name: low}), name) == low
    assert getattr(parsed(**{name: high}), name) == high
    for wrong in (low - 0.01, high + 0.01, True, "0.5", float("nan"), float("inf"), HUGE, None, {}):
        if wrong is not None:
            refused(InvalidValue, **{name: wrong})


@pytest.mark.parametrize("name", [*module._FLAGS, "enable_rerank"])
def test_flags_are_true_or_false(name: str) -> None:
    field = "rerank" if name == "enable_rerank" else name
    assert getattr(parsed(**{name: True}), field) is True
    assert getattr(parsed(**{name: False}), field) is False
    for wrong in (0, 1, "true", "", [], "\ud800", HUGE):
        refused(InvalidValue, **{name: wrong})


def test_both_spellings_of_rerank() -> None:
    assert parsed(enable_rerank=True, rerank=False).rerank
    assert parsed(enable_rerank=False, rerank=True).rerank
    assert not parsed(enable_rerank=False).rerank
    refused(InvalidValue, enable_rerank=True, rerank="yes")


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    "given",
    [{"vector_weight": 0.5}, {"graph_weight": 0.5}, {"mix_weights": {"naive": 1}}, {"params": {"vector_weight": 0.5}}],
)
def test_weights_switch_to_reciprocal_rank_fusion(given: Mapping[str, Any]) -> None:
    assert parsed(**given).fusion == "rrf"
    refused(InvalidValue, fusion="gate", **given)


def test_weights_inside_params_are_the_same_fields() -> None:
    inside = parsed(params={"vector_weight": 0.7, "graph_weight": 0.3})
    assert inside == parsed(vector_weight=0.7, graph_weight=0.3)
    assert parsed(params={"mix_weights": {"local": 2}}) == parsed(mix_weights={"local": 2})
    assert parsed(params={"fusion": "rrf"}) == parsed(fusion="rrf")
    assert parsed(params={}) == parsed()
    refused(InvalidValue, params=[1])


def test_weights_that_weigh_nothing_are_refused() -> None:
    refused(InvalidValue, vector_weight=0, graph_weight=0)
    refused(InvalidValue, mix_weights={"local": 0, "global": 0})
    refused(InvalidValue, mix_weights={})
    refused(InvalidValue, mix_weights=[1, 2])
    refused(InvalidValue, mix_weights={"local": -1})
    refused(InvalidValue, mix_weights={"local": 1}, vector_weight=0.5)
    assert parsed(vector_weight=0).vector_weight == 0


@pytest.mark.parametrize("fusion", ["RRF", "sum", "", 5, ["rrf"], "\ud800"], ids=kind_of)
def test_unknown_fusions_are_refused(fusion: Any) -> None:
    assert refused(InvalidValue, fusion=fusion).hint == "valid: gate, rrf"


# ------------------------------------------------------------------ filters


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2014-05-02", date(2014, 5, 2)),
        ("2014-05-02T23:59:59Z", date(2014, 5, 2)),
        ("2014-05-02T10:00:00.123456+02:00", date(2014, 5, 2)),
        (date(2014, 5, 2), date(2014, 5, 2)),
        (datetime(2014, 5, 2, 10, tzinfo=UTC), date(2014, 5, 2)),
        ("0001-01-01", date(1, 1, 1)),
    ],
)
def test_dates_of_a_filter(given: Any, expected: date) -> None:
    found = parsed(document_filter={"date_from": given}).document_filter
    assert found is not None
    assert found.date_from == expected


@pytest.mark.parametrize(
    "wrong",
    ["2014-13-01", "2014-05-02garbage", "2014-05-02 and more", "May", "", "\ud800", True, 1.5, [], HUGE, "9" * 99],
    ids=kind_of,
)
def test_what_is_no_date_is_refused(wrong: Any) -> None:
    assert "YYYY-MM-DD" in refused(InvalidValue, document_filter={"date_to": wrong}).hint


def test_ids_and_patterns_of_a_filter() -> None:
    empty = parsed(document_filter={"document_ids": []}).document_filter
    assert empty == DocumentFilter(document_ids=())
    for wrong in ("a", {"a": 1}, [1], [None], ["a"] * 10_001, {"a"}):
        refused(InvalidValue, document_filter={"document_ids": wrong})
    refused(InvalidValue, document_filter={"pattern": ["*"]})
    refused(InvalidValue, document_filter="a")
    refused(InvalidValue, document_filter=["a"])


def test_a_filter_object_is_checked_like_plain_fields() -> None:
    given = DocumentFilter(document_ids=("a",), date_from=date(2014, 1, 1))
    assert parsed(document_filter=given).document_filter == given
    careless = DocumentFilter(document_ids=["a"], date_from="2014-01-01")  # type: ignore[arg-type]
    assert parsed(document_filter=careless).document_filter == given
    refused(InvalidQuery, document_filter=DocumentFilter(document_ids=("a\x00",)))


def test_metadata_values_are_read_as_they_are_stored() -> None:
    given = {"n": 7, "x": 1.5, "on": True, "day": date(2014, 5, 2), "region": "north"}
    assert parsed(metadata_filter=given).metadata_filter == {
        "n": "7",
        "x": "1.5",
        "on": "true",
        "day": "2014-05-02",
        "region": "north",
    }
    assert parsed(metadata_filter={}).metadata_filter == {}
    for wrong in ({"a": ["b"]}, {"a": None}, {5: "a"}, {"a": {"b": "c"}}, {"a": HUGE}):
        refused(InvalidValue, metadata_filter=wrong)
    refused(InvalidValue, metadata_filter=[("a", "b")])
    refused(InvalidValue, metadata_filter={str(n): "a" for n in range(51)})


# ------------------------------------------------------------------ as_of and the model


def test_as_of_is_a_generation_or_a_time() -> None:
    assert parsed(as_of=0).as_of == 0
    assert parsed(as_of=2**63 - 1).as_of == 2**63 - 1
    assert parsed(as_of="2026-01-31T12:00:00+02:00").as_of == datetime.fromisoformat("2026-01-31T12:00:00+02:00")
    assert parsed(as_of="2026-01-31").as_of == datetime(2026, 1, 31, tzinfo=UTC)
    assert parsed(as_of=datetime(2026, 1, 31)).as_of == datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    "wrong",
    [-1, 2**63, HUGE, True, 1.0, "3", "", "yesterday", [], "0001-01-01T00:00:00+14:00", datetime.max, "\ud800"],
    ids=kind_of,
)
def test_as_of_of_another_kind_is_refused(wrong: Any) -> None:
    refused(InvalidValue, as_of=wrong)


@pytest.mark.parametrize("wrong", ["", "  ", 5, ["small"], "x" * 201], ids=kind_of)
def test_a_model_is_named_by_text(wrong: Any) -> None:
    refused(InvalidValue, llm_model=wrong)


# ------------------------------------------------------------------ anything at all

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(module._FIELDS) | st.text(max_size=5), ANYTHING, max_size=4))
def test_any_fields_give_a_request_or_an_input_error(given: dict[str, Any]) -> None:
    try:
        request = parse({"query": "Who?", **given})
    except InputError as error:
        assert error.hint
        str(error).encode()
        error.hint.encode()
    else:
        assert isinstance(request, QueryRequest)
        assert parse(
            {
                field.name: getattr(request, field.name)
                for field in fields(request)
                if field.compare and field.name != "fusion"
            }
        )
