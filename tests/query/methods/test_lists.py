"""What is read of a chat model's list, and what is left out with which reason."""

from __future__ import annotations

import json

import pytest

from evigraph.query.methods.lists import READ, listed


def reasons(reply: str) -> list[str]:
    return [reason for _, reason in listed(reply, longest=100).left_out]


@pytest.mark.parametrize(
    "reply",
    [
        '["Who sold it?", "Who bought it?"]',
        '```json\n["Who sold it?", "Who bought it?"]\n```',
        'Here they are: ["Who sold it?", "Who bought it?"] I hope this helps.',
        '[\n  "Who sold it?",\n  "Who bought it?",\n]',
        '[{"question": "Who sold it?"}, {"question": "Who bought it?"}]',
        '[{"id": "a", "text": "Who sold it?"}, {"id": "b", "text": "Who bought it?"}]',
        '[{"anything": "Who sold it?"}, {"n": 2, "anything": "Who bought it?"}]',
        '{"rephrasings": ["Who sold it?", "Who bought it?"]}',
        '{"rephrasings": [{"text": "Who sold it?"}, {"text": "Who bought it?"}]}',
        '{"question": "Who sold it?"}\n{"question": "Who bought it?"}',
        "1. Who sold it?\n2. Who bought it?",
        "Sure, here are two rephrasings of it\n1) Who sold it?\n2) Who bought it?\nLet me know if you need more.",
        "- Who sold it?\n* Who bought it?",
        "[1] Who sold it?\n[2] Who bought it?",
        '1. **"Who sold it?"**\n\n2. *Who bought it?*',
        "Who sold it?\nWho bought it?",
    ],
)
def test_the_items_of_a_reply_are_its_texts(reply: str) -> None:
    found = listed(reply, longest=100)
    assert found.items == ["Who sold it?", "Who bought it?"]
    assert found.left_out == []


def test_a_number_in_brackets_begins_no_list() -> None:
    assert listed("Note [1]: fine\n- Who sold it?", longest=100).items == ["Who sold it?"]


def test_a_number_is_no_bullet() -> None:
    assert listed("3.5 pumps were sold to whom?", longest=100).items == ["3.5 pumps were sold to whom?"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Here are three rephrasings:\n", "it is a heading"),
        ('["…"]', "it has no words"),
        (json.dumps(["x" * 101]), "it is longer than 100 characters"),
        ('["Who sold it?", "Who bought it', "JSON that is broken, or holds no list of texts"),
        ("[1, 2, 3]", "JSON that is broken, or holds no list of texts"),
        ("[" * 5_000, "JSON that is broken, or holds no list of texts"),
        ('{"a": "Who?", "b": "What?"}', "neither a text nor an object with one"),
    ],
)
def test_what_is_no_item_is_left_out_with_its_reason(reply: str, reason: str) -> None:
    assert listed(reply, longest=100).items == []
    assert reasons(reply) == [reason]


def test_a_repetition_counts_once_whatever_its_case_and_punctuation() -> None:
    found = listed('["Who sold it?", "who sold it"]', longest=100)
    assert found.items == ["Who sold it?"]
    assert found.left_out == [("who sold it", "it repeats another")]


def test_objects_that_are_whole_are_read_where_the_list_is_cut_off() -> None:
    found = listed('[{"question": "Who sold it?"}, {"question": "Who bou', longest=100)
    assert found.items == ["Who sold it?"]


def test_items_that_are_no_texts_are_told_beside_those_that_are() -> None:
    found = listed('["Who sold it?", 7, {"a": 1}]', longest=100)
    assert found.items == ["Who sold it?"]
    assert [text for text, _ in found.left_out] == ["7", '{"a": 1}']


def test_a_reply_is_read_up_to_a_bound_and_that_is_told() -> None:
    long = "\n".join(f"- Who sold thing {n}?" for n in range(READ // 10))
    assert reasons(long) == [f"beyond the {READ:,} characters that are read of a reply"]
