"""The domain schema: given and validated, or inferred; and what plans make of it."""

from __future__ import annotations

from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.domain import DomainSchema, predicate_key
from evigraph.errors import InvalidSchema
from evigraph.query.plan.schema import parse_schema
from evigraph.types import PlanOutcome
from small import OneStore
from triples import FAMILY, TripleExtractor, hop, match, steps

GIVEN = {
    "types": [{"name": "person", "description": "Somebody."}, {"name": "LOCATION"}, {"name": "ORGANIZATION"}],
    "predicates": [
        {"name": "friend", "domain": ["Person"], "range": ["PERSON"], "synonyms": ["friends", "is friend of"]},
        {"name": "lives in", "domain": ["PERSON"], "range": ["LOCATION"], "functional": True},
        {"name": "LocatedIn", "domain": ["ORGANIZATION"], "range": ["LOCATION"]},
    ],
}


@pytest.fixture
def graph(store: OneStore) -> Evigraph:
    opened = store.engine(extractor=TripleExtractor())
    opened.index(FAMILY)
    return opened


def outcome(graph: Evigraph, *given: dict[str, Any]) -> PlanOutcome:
    found = graph.plan(steps(*given)).evidence.plan
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("written", "key"),
    [("bornIn", "BORN_IN"), ("born in", "BORN_IN"), ("BORN-IN", "BORN_IN"), ("é", "É"), ("is_a", "IS_A"), ("--", "")],
)
def test_predicates_compare_in_upper_snake_case(written: str, key: str) -> None:
    assert predicate_key(written) == key == predicate_key(key)


def test_a_schema_is_inferred_from_what_is_visible(graph: Evigraph) -> None:
    found = graph.schema()
    assert found.inferred and found.omitted == 0
    assert {item.name: item.count for item in found.types} == {
        "PERSON": 7,
        "LOCATION": 2,
        "ORGANIZATION": 1,
        "PRODUCT": 1,
    }
    lives = next(item for item in found.predicates if item.name == "LIVES_IN")
    assert (lives.count, lives.domain, lives.range) == (3, ("PERSON",), ("LOCATION",))
    graph.delete("places")
    assert "LIVES_IN" not in {item.name for item in graph.schema().predicates}
    assert "ORGANIZATION" not in {item.name for item in graph.schema().types}


def test_a_given_schema_is_recorded_and_taken_back(graph: Evigraph) -> None:
    inferred = graph.schema()
    generation = graph.set_schema(GIVEN)
    found = graph.schema()
    assert not found.inferred
    assert [item.name for item in found.types] == ["PERSON", "LOCATION", "ORGANIZATION"]
    assert [item.name for item in found.predicates] == ["FRIEND", "LIVES_IN", "LOCATED_IN"]
    assert found.predicates[0].synonyms == ("FRIENDS", "IS_FRIEND_OF")
    assert found.predicates[1].functional
    assert graph.set_schema(found) == generation, "the same schema changes nothing"
    assert graph.set_schema(None) == generation + 1 == graph.set_schema(None)
    assert graph.schema() == inferred
    assert graph.schema(as_of=generation) == found
    assert graph.schema(as_of=generation - 1).inferred


def test_synonyms_stand_for_their_predicate(graph: Evigraph) -> None:
    assert [b.name for b in outcome(graph, match("Ada"), hop("b", "a", "FRIEND")).steps[-1].bindings] == ["Dee"]
    graph.set_schema(GIVEN)
    for written in ("FRIEND", "friends", "Is Friend Of"):
        found = outcome(graph, match("Ada"), hop("b", "a", written))
        assert [binding.name for binding in found.steps[-1].bindings] == ["Dee", "Eve"]


def test_a_predicate_must_fit_the_bound_types(graph: Evigraph) -> None:
    graph.set_schema(GIVEN)
    found = outcome(graph, match("Ada"), hop("b", "a", "LOCATED_IN"))
    assert found.failed_step == "b"
    assert "unusable predicate: by the schema's domain, LOCATED_IN cannot start from PERSON" in str(found.reason)
    assert found.alternatives == ("FRIEND", "LIVES_IN")
    inward = outcome(graph, match("Ada"), hop("b", "a", "LIVES_IN", direction="in"))
    assert "by the schema's range" in str(inward.reason)
    assert inward.alternatives == ("FRIEND",)
    assert outcome(graph, match("Tarn"), hop("b", "a", "LIVES_IN", direction="in")).reason is None
    assert outcome(graph, match("Tarn"), hop("b", "a", "LIVES_IN", direction="both")).reason is None


def test_what_is_declared_but_not_stated_is_known_and_empty(graph: Evigraph) -> None:
    graph.set_schema(GIVEN)
    assert "empty step" in str(outcome(graph, match("Acme"), hop("b", "a", "LOCATED_IN")).reason)
    assert outcome(graph, match("Ada"), hop("b", "a", "mother")).reason is None, "stated, though not declared"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "must be an object"),
        ({}, "the schema is empty"),
        ({"typs": []}, "unknown field 'typs'"),
        ({"types": "PERSON"}, "types must be a list"),
        ({"types": [{"name": "A"}] * 201}, "at most 200"),
        ({"types": ["PERSON"]}, "types[0] must be an object"),
        ({"types": [{"name": ""}]}, "types[0].name"),
        ({"types": [{"name": "x" * 101}]}, "types[0].name"),
        ({"types": [{"name": "{evil}"}]}, "is no type name"),
        ({"types": [{"name": "A"}, {"name": "a"}]}, "'A' is named twice"),
        ({"types": [{"name": "A", "description": "x" * 2_001}]}, "types[0].description"),
        ({"types": [{"name": "A", "colour": 1}]}, "unknown field 'colour'"),
        ({"predicates": [{"name": "P", "domain": ["PERSN"]}]}, "unknown type 'PERSN'"),
        ({"types": [{"name": "A"}], "predicates": [{"name": "P", "range": ["PERSON"]}]}, "unknown type 'PERSON'"),
        ({"predicates": [{"name": "..."}]}, "no letters or digits"),
        ({"predicates": [{"name": "P"}, {"name": "p"}]}, "'P' is named twice"),
        ({"predicates": [{"name": "P", "synonyms": ["q"]}, {"name": "Q"}]}, "'Q' is named twice"),
        ({"predicates": [{"name": "P", "functional": 1}]}, "true or false"),
        ({"predicates": [{"name": "P", "synonyms": ["s"] * 51}]}, "at most 50"),
        ({"predicates": [{"name": "P\x00"}]}, "NUL"),
    ],
)
def test_a_wrong_schema_is_a_typed_error(schema: Any, said: str) -> None:
    with pytest.raises(InvalidSchema) as raised:
        parse_schema(schema)
    assert said in str(raised.value)


def test_default_types_stand_where_none_are_given() -> None:
    found = parse_schema({"predicates": [{"name": "P", "domain": ["person"]}]})
    assert found == parse_schema(found)
    assert isinstance(found, DomainSchema) and found.predicates[0].domain == ("PERSON",)
