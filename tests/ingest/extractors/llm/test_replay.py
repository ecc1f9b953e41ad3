"""Recorded answers of a large model, and thousands of damaged variants of them, through the extractor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evigraph.ingest.extractors.llm import LLMExtractor
from evigraph.ingest.extractors.llm.parse import parse
from evigraph.reports import ExtractionAccount
from evigraph.testing.models import ScriptedChat
from evigraph.testing.replies import Damaged, damage, marks

from .talk import Replies, passage

pytestmark = pytest.mark.shared

LOCAL = ("broken delimiter", "wrong type", "duplicated keys", "interleaved", "single quotes", "prose around", "wrapped",
         "other language", "control characters", "given twice", "odd number", "escaped", "bad escape")  # fmt: skip
"""Damage after which each record is either kept or counted."""


@pytest.fixture
def recorded(shared_data: Path) -> list[str]:
    cache = shared_data / "christmas_carol_graphrag" / "nano_graphrag_gpt-4o_cache.json"
    return [entry["return"] for entry in json.loads(cache.read_text()).values()]


def replayed(replies: list[str]) -> tuple[ExtractionAccount, int, int]:
    """The account of extracting one passage per reply, and how many entities and assertions came of it."""
    numbers = {f"passage number {number}.": reply for number, reply in enumerate(replies)}
    chat = ScriptedChat(lambda messages: numbers[messages[1].content.split("\n")[-2]])
    run = LLMExtractor(chat).for_run(None)
    entities = assertions = 0
    for first in range(0, len(replies), 50):
        window = [
            passage(f"passage number {number}.", number) for number in range(first, min(first + 50, len(replies)))
        ]
        found = run.extract(window, title="", language="en", replies=Replies())
        entities += len({(m.passage_index, m.entity_id) for m in found.mentions})
        assertions += len(found.assertions)
    return run.account, entities, assertions


def variants(recorded: list[str]) -> Iterator[tuple[int, Damaged]]:
    for number, reply in enumerate(recorded):
        original = parse(reply)
        records = [*original.entities, *original.claims]
        if len(records) > 1:
            for damaged in damage(records, seed=number):
                yield len(records), damaged


def test_all_recorded_answers_are_read_without_loss(recorded: list[str]) -> None:
    assert len(recorded) == 187
    totals: Counter[str] = Counter()
    for reply in recorded:
        parsed = parse(reply)
        totals.update(entities=len(parsed.entities), claims=len(parsed.claims), usable=parsed.usable)
        assert (len(parsed.entities), parsed.dropped) == (reply.count('"entity"<'), {}) or "<|>" not in reply
    assert totals == {"entities": 654, "claims": 520, "usable": 84}


def test_recorded_answers_replayed_through_the_extractor(recorded: list[str]) -> None:
    account, entities, assertions = replayed(recorded)
    assert account.passages == 187
    assert account.retried == account.unusable == 103, "the other answers are reports, which say nothing here"
    assert account.calls == 187 + 103
    assert assertions == account.assertions > 490
    assert assertions + sum(account.dropped.get(reason, 0) for reason in ("same_ends", "duplicate")) == 520
    assert entities > 600
    assert account.unverified == assertions, "the passages of this test say nothing of the kind"
    assert account.dropped["unknown_record"] > 0


def test_damaged_variants_lose_nothing_in_silence(recorded: list[str]) -> None:
    count: Counter[str] = Counter()
    for whole, damaged in variants(recorded):
        parsed = parse(damaged.text)
        assert not damaged.intact - marks(parsed), damaged.kind
        assert parsed.seen == len(parsed.entities) + len(parsed.claims) + sum(parsed.dropped.values())
        if damaged.kind.startswith(LOCAL):
            assert parsed.seen >= whole, (damaged.kind, damaged.text)
        count[damaged.kind] += 1
    assert count.total() >= 2_000 and len(count) >= 20


def test_damaged_variants_go_through_the_extractor(recorded: list[str]) -> None:
    texts = [damaged.text for _, damaged in variants(recorded[:40])]
    assert len(texts) >= 200
    account, _, assertions = replayed(texts)
    assert account.passages == len(texts) and account.failed == 0
    assert assertions > 0 and account.dropped and account.notes["repaired"] > 0
