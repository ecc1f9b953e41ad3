"""Which claims do not go together."""

from __future__ import annotations

from random import Random

import pytest

from evigraph.domain import DomainSchema, PredicateType
from evigraph.graph.contradictions import Claim, Conflict, contradictions, read_predicate

SCHEMA = DomainSchema(
    predicates=(
        PredicateType(name="CHAIRED_BY", functional=True, synonyms=("led by",)),
        PredicateType(name="SUPPLIES"),
        PredicateType(name="NOT_FOR_PROFIT"),
    )
)


def claim(document: str, predicate: str, target: str, *, subject: str = "s", kind: str = "PERSON") -> Claim:
    read = read_predicate(predicate, SCHEMA)
    return Claim(
        assertion_id=f"{document}/{predicate}/{target}",
        document=document,
        subject=subject,
        predicate=read.predicate,
        negated=read.negated,
        object=target,
        object_type=kind,
    )


def sides(conflict: Conflict) -> list[list[str]]:
    return [[one.document for one in side] for side in conflict.sides]


@pytest.mark.parametrize(
    ("written", "predicate", "negated", "functional"),
    [
        ("SUPPLIES", "SUPPLIES", False, False),
        ("NOT_SUPPLIES", "SUPPLIES", True, False),
        ("Led_By", "CHAIRED_BY", False, True),
        ("NOT_LED_BY", "CHAIRED_BY", True, True),
        ("NOT_FOR_PROFIT", "NOT_FOR_PROFIT", False, False),
        ("NOT_NOT_FOR_PROFIT", "NOT_FOR_PROFIT", True, False),
        ("MAY_NOT_SUPPLY", "MAY_NOT_SUPPLY", False, False),
    ],
)
def test_predicates_are_read(written: str, predicate: str, negated: bool, functional: bool) -> None:
    found = read_predicate(written, SCHEMA)
    assert (found.predicate, found.negated, found.functional) == (predicate, negated, functional)


def test_a_claim_and_its_denial() -> None:
    claims = [claim("a", "SUPPLIES", "x"), claim("b", "NOT_SUPPLIES", "x"), claim("c", "SUPPLIES", "x")]
    (found,) = contradictions([*claims, claim("d", "NOT_SUPPLIES", "y")], SCHEMA)
    assert (found.kind, found.subject, found.predicate) == ("negation", "s", "SUPPLIES")
    assert sides(found) == [["a", "c"], ["b"]]


def test_a_functional_predicate_has_one_object() -> None:
    claims = [claim("a", "CHAIRED_BY", "x"), claim("b", "led_by", "y"), claim("b", "CHAIRED_BY", "x")]
    (found,) = contradictions(claims, SCHEMA)
    assert (found.kind, found.predicate, sides(found)) == ("functional", "CHAIRED_BY", [["a", "b"], ["b"]])
    assert contradictions(claims[::2], SCHEMA) == []
    assert contradictions([claim("a", "SUPPLIES", "x"), claim("b", "SUPPLIES", "y")], SCHEMA) == []


def test_without_a_schema_it_is_only_possible() -> None:
    (found,) = contradictions([claim("a", "SUPPLIES", "x"), claim("b", "SUPPLIES", "y")], None)
    assert (found.kind, sides(found)) == ("possible", [["a"], ["b"]])


@pytest.mark.parametrize(
    "claims",
    [
        [claim("a", "SUPPLIES", "x"), claim("a", "SUPPLIES", "y")],
        [claim("a", "SUPPLIES", "x"), claim("b", "SUPPLIES", "x"), claim("b", "SUPPLIES", "y")],
        [claim("a", "SUPPLIES", "x"), claim("b", "SUPPLIES", "y", kind="LOCATION")],
        [claim("a", "SUPPLIES", "x"), claim("b", "SUPPLIES", "y", subject="t")],
        [claim("a", "CO_OCCURS", "x"), claim("b", "CO_OCCURS", "y")],
        [claim("a", "NOT_SUPPLIES", "x"), claim("b", "NOT_SUPPLIES", "y")],
    ],
    ids=["one document", "they share one", "other types", "other subjects", "co-occurrence", "denials"],
)
def test_what_is_no_contradiction(claims: list[Claim]) -> None:
    assert contradictions(claims, None) == []


def test_the_order_is_total() -> None:
    claims = [
        claim(document, predicate, target, subject=subject)
        for document in "ab"
        for predicate in ("CHAIRED_BY", "SUPPLIES", "NOT_SUPPLIES")
        for target in "xy"
        for subject in "st"
    ]
    expected = contradictions(claims, SCHEMA)
    assert [one.kind for one in expected] == ["negation"] * 4 + ["functional"] * 2
    for seed in range(5):
        shuffled = claims.copy()
        Random(seed).shuffle(shuffled)
        assert contradictions(shuffled, SCHEMA) == expected


@pytest.mark.parametrize("written", ["bornIn", "born in", "BORN_IN", "born-in"])
def test_spellings_of_a_predicate_are_one(written: str) -> None:
    schema = DomainSchema(predicates=(PredicateType(name="BORN_IN", functional=True),))
    for given in (schema, None):
        found = read_predicate(written, given)
        assert (found.predicate, found.negated, found.functional) == ("BORN_IN", False, given is not None)
        assert read_predicate(f"not {written}", given).negated


def test_a_predicate_without_letters_stays_as_it_is() -> None:
    assert read_predicate("=>", None).predicate == "=>"


def test_what_something_is_may_be_many_things() -> None:
    claims = [claim("a", "IS", "chair"), claim("b", "IS", "teacher")]
    assert contradictions(claims, None) == []
    assert [one.kind for one in contradictions([*claims, claim("c", "NOT_IS", "chair")], None)] == ["negation"]
