"""Replies as models send them: JSON, tuples, both, and what is left of either."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.ingest.extractors.llm import parse as module
from evigraph.ingest.extractors.llm.parse import REPLY_CHARS, parse, unit
from evigraph.ingest.extractors.llm.records import NAME_CHARS, TEXT_CHARS, ClaimRecord, EntityRecord, Parsed
from evigraph.testing.replies import damage, marks
from evigraph.types import RELATED_TO

RECORDS = [
    EntityRecord(name="Hana Sefu", type="PERSON", description="A trainer (from {Tolland})."),
    EntityRecord(name="Tarn", type="LOCATION", description='A town, "the dry one".'),
    EntityRecord(name="Corrick Vane", type="PERSON", description="A trader"),
    ClaimRecord(subject="Hana Sefu", predicate="TRAINED", object="Corrick Vane", description="She did.", quote="q"),
    ClaimRecord(subject="Corrick Vane", predicate="SUPPLIED", object="Tarn", description="Pumps.", quote="r"),
]


def names(parsed: Parsed) -> list[str]:
    return [entity.name for entity in parsed.entities]


def accounted(parsed: Parsed) -> bool:
    return parsed.seen == len(parsed.entities) + len(parsed.claims) + sum(parsed.dropped.values())


def test_json_as_asked_for() -> None:
    parsed = parse(
        '{"entities": [{"name": " Hana  Sefu ", "type": "PERSON", "description": "A trainer."}],'
        ' "assertions": [{"subject": "Hana Sefu", "predicate": "trained", "object": "Tarn", "quote": "q",'
        ' "confidence": "0.5"}]}'
    )
    assert parsed.entities == [EntityRecord(name="Hana Sefu", type="PERSON", description="A trainer.")]
    [claim] = parsed.claims
    assert (claim.subject, claim.predicate, claim.object, claim.quote) == ("Hana Sefu", "trained", "Tarn", "q")
    assert claim.confidence == 0.5
    assert parsed.usable and not parsed.dropped


def test_tuples_with_the_faults_that_recorded_answers_have() -> None:
    parsed = parse(
        '**Entities:**\n\n1. ("entity"<|>"Scrooge"<|>"person"<|>"A (miserly) man.")##\n'
        '## ("entity"<|>"The \'Change"<|>"geo"<|>"A place.")\n'
        '(relationship<|>Scrooge<|>The \'Change<|>He "goes" there.<|>8)##\n'
        '("relationship"<|>"Scrooge"<|>"Marley"<|>"Partners."|>9)<|COMPLETE|>\n```'
    )
    assert parsed.entities[0] == EntityRecord(name="Scrooge", type="person", description="A (miserly) man.")
    assert names(parsed) == ["Scrooge", "The 'Change"]
    assert [(c.object, c.predicate, c.strength) for c in parsed.claims] == [
        ("The 'Change", RELATED_TO, 0.8),
        ("Marley", RELATED_TO, 0.9),
    ]
    assert parsed.claims[1].description == "Partners."
    assert not parsed.dropped


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"entities": [{"name": 7}]}', "wrong_type"),
        ('{"entities": [42, {"name": "A"}]}', "wrong_type"),
        ('{"entities": 3}', "wrong_type"),
        ('{"entities": [{"type": "PERSON"}]}', "no_name"),
        ('{"entities": [{"name": "…!"}]}', "no_name"),
        (json.dumps({"entities": [{"name": "x" * (NAME_CHARS + 1)}]}), "too_long"),
        ('{"assertions": [{"subject": "A", "predicate": "P"}]}', "no_endpoint"),
        ('{"assertions": [{"subject": "A", "object": "B"}]}', "no_predicate"),
        ('{"assertions": [{"subject": ["A"], "predicate": "P", "object": "B"}]}', "wrong_type"),
        ('{"title": "A report", "findings": []}', "unknown_record"),
        ('{"entities": [{"name": "A"}, {"name": "B", "ty', "truncated"),
        ('("entity"<|>"A"<|>"person"<|>"x")##("entity"<|>"B"<|>"per', "truncated"),
        ('("entity"<|>"A")', "too_few_fields"),
        ('("relationship"<|>"A"<|>"B")', "too_few_fields"),
        ('("thing"<|>"A"<|>"B")', "malformed"),
        ('{"entities": [{"name": "A"}, {"name": "A"}]}', "duplicate"),
    ],
)
def test_a_record_that_is_dropped_is_counted_with_its_reason(reply: str, reason: str) -> None:
    parsed = parse(reply)
    assert parsed.dropped == Counter({reason: 1})
    assert accounted(parsed)


def test_repeated_keys_lose_nothing() -> None:
    parsed = parse('{"entities": [{"name": "A", "name": "B"}], "entities": [{"name": "C"}], "Entities": null}')
    assert names(parsed) == ["A", "C"]
    assert parsed.notes["duplicate_key"] == 3


@pytest.mark.parametrize(
    "reply",
    [
        "Of course {really}: ```json\n%s\n``` Anything {else}?",
        '{"result": {"data": %s}}',
        "[%s]",
        "\ufeff%s\0",
    ],
)
def test_what_stands_around_the_answer_makes_no_difference(reply: str) -> None:
    inner = '{"entities": [{"name": "Ärzte 東京"}], "assertions": []}'
    assert names(parse(reply % inner)) == ["Ärzte 東京"]


def test_other_shapes_of_the_same_answer() -> None:
    assert names(parse('{"entities": ["A", "B"], "triples": [["A", "likes", "B"]]}')) == ["A", "B"]
    assert names(parse('{"entities": {"A": {"type": "PERSON"}, "B": "a town"}}')) == ["A", "B"]
    assert names(parse("{'entities': [{'name': 'A'}]}")) == ["A"]
    assert names(parse('[{"name": "A"}, {"name": "B"}]')) == ["A", "B"]
    [claim] = parse('{"relationships": [{"source": {"name": "A"}, "target": "B", "type": "LIKES"}]}').claims
    assert (claim.subject, claim.predicate, claim.object) == ("A", "LIKES", "B")


def test_usable_means_that_the_question_was_answered() -> None:
    assert parse('{"entities": [], "assertions": []}').usable
    assert parse("<|COMPLETE|>").usable
    for reply in ("", "null", "I cannot.", "<html>{a: 1}</html>", '{"title": "x"}', '{"a":' * 9_000):
        parsed = parse(reply)
        assert not parsed.usable and parsed.problem


def test_long_texts_are_cut_and_the_rest_is_kept() -> None:
    parsed = parse(json.dumps({"entities": [{"name": "A", "description": "x" * 9_000}, {"name": "B"}]}))
    assert [len(entity.description) for entity in parsed.entities] == [TEXT_CHARS, 0]
    assert parsed.notes["text_cut"] == 1
    cut = parse('{"entities": [{"name": "A"}, {"name": "B", "description": "' + "x" * REPLY_CHARS + '"}]}')
    assert names(cut) == ["A"]
    assert cut.notes["reply_cut"] == 1 and cut.dropped == Counter({"truncated": 1})


@pytest.mark.parametrize(
    "unit_of", ['{"a":', "[", "{", '("entity"<|>', '{"name": "', "<|>", '{"entities": [', "(", '"', "}"]
)
def test_hostile_replies_are_read_in_bounded_time(unit_of: str) -> None:
    started = time.process_time()
    assert accounted(parse(unit_of * (REPLY_CHARS // len(unit_of))))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, 0.5),
        (7, 1.0),
        (-1, 0.0),
        ("0.25", 0.25),
        ("high", None),
        (True, None),
        (None, None),
        (10**400, 1.0),
        (-(10**400), 0.0),
        ("1" + "0" * 400, None),
        ([], None),
        ({}, None),
        (1e-320, 1e-320),
    ],
)
def test_confidence_is_a_number_between_0_and_1(value: object, expected: float | None) -> None:
    assert unit(value) == expected
    for odd in ("nan", "inf", "-inf"):
        assert unit(float(odd)) is None and unit(odd) is None


@pytest.mark.parametrize("seed", range(40))
def test_what_damage_leaves_whole_is_kept_and_the_rest_is_counted(seed: int) -> None:
    for damaged in damage(RECORDS, seed):
        parsed = parse(damaged.text)
        assert not damaged.intact - marks(parsed), damaged.kind
        assert accounted(parsed)
        if damaged.kind.startswith(
            (
                "broken delimiter",
                "wrong type",
                "duplicated keys",
                "interleaved",
                "wrapped",
                "odd number",
                "escaped",
                "bad escape",
            )
        ):
            assert parsed.seen >= len(RECORDS), damaged


_PARTS = (
    '{"name": "A"', "}", "{", "[", "]", '"', ",", '("entity"<|>', "<|>", ")", "##", "\ud800", "\0", '"entities": [',
    '{"subject": "A", "object": "B"', "<|COMPLETE|>", "\n", "A",
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.lists(st.sampled_from(_PARTS)).map("".join))
def test_nothing_breaks_it(reply: str) -> None:
    assert accounted(parse(reply))


def storable(text: str) -> bool:
    return not any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in text) and text == text.strip()


@pytest.mark.parametrize("escape", ["\\ud800", "\\udfff\\ud800", "\\u0000", "\\u001b", "\\u0000 "])
def test_escapes_that_stand_for_no_text_are_removed_and_noted(escape: str) -> None:
    fields = {key: f"{key}@" for key in ("subject", "predicate", "object", "description", "quote")}
    texts = {"entities": [{"name": "Tarn@", "type": "GEO@", "description": "dry@"}], "assertions": [fields]}
    for reply in (json.dumps(texts), str(texts)):  # as asked for, and as what must be repaired
        parsed = parse(reply.replace("@", escape))
        assert parsed.entities == [EntityRecord(name="Tarn", type="GEO", description="dry")]
        assert parsed.claims == [
            ClaimRecord(
                subject="subject", predicate="predicate", object="object", description="description", quote="quote"
            )
        ]
        assert parsed.notes["not_text"] == 8 * escape.count("\\u")


def test_two_halves_of_a_character_are_that_character() -> None:
    assert names(parse('{"entities": ["A\\ud83d\\ude00", "B\ud83d\ude00"]}')) == ["A😀", "B😀"]


def test_a_reply_that_cannot_be_read_for_any_reason_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise OverflowError

    monkeypatch.setattr(module, "_read_value", broken)
    parsed = parse('("entity"<|>"A"<|>"person"<|>"x"){"entities": []}')
    assert not parsed.usable and parsed.dropped == Counter(unreadable=1) and "unreadable" in parsed.problem


_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "Cc", "Lu"]), max_size=5)
    | st.sampled_from([10**401, -(10**401), 10**4_000, 10**309, "1" + "0" * 400, "NaN", "-inf", "A"])
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
_FIELDS = (
    "name", "entity", "label", "type", "subject", "source", "object", "target", "predicate", "relation", "description",
    "quote", "text", "confidence", "weight", "entities", "assertions",
)  # fmt: skip
_RECORDS = st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=7)


def _filled(odd: dict[str, object]) -> dict[str, object]:
    return {"subject": "A", "predicate": "P", "object": "B", **odd}


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["entities", "assertions", "relationships", "x"]),
        st.lists(_RECORDS | _RECORDS.map(_filled) | _VALUES, max_size=4) | _VALUES,
    )
    | _VALUES
)
def test_any_value_in_any_field_is_read_or_counted(value: object) -> None:
    for reply in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value)[:-1], repr(value)):
        parsed = parse(reply)
        assert accounted(parsed) and not parsed.dropped["unreadable"], "the fence is for what nobody thought of"
        for record in (*parsed.entities, *parsed.claims):
            assert all(storable(part) for part in astuple(record) if isinstance(part, str)), record
        assert all(claim.confidence is None or 0 <= claim.confidence <= 1 for claim in parsed.claims)
