"""`auto`: advice that the flags gainsay, and a dense ranking that the decision outgrows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from small import OneStore, item

STRANGE = "what zorbulates the quixotic frobnicator"
PLAIN = "Who delivered pump number to Tarn?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("decide"))
    notes = [item(f"d{n:03}", f"Corrick Vane delivered pump number {n} to Tarn.", title="") for n in range(150)]
    assert not opened.engine("notes").index(notes).errors
    yield opened
    opened.close()


def mismatches(store: OneStore, question: str, **options: Any) -> list[str]:
    answer = store.engine("notes").ask(question, method="auto", mode="naive", min_score=-1.0, **options)
    return [one for one in answer.degraded if one.startswith("auto: ")]


@pytest.mark.parametrize(
    ("question", "flags", "advised", "used"),
    [
        (PLAIN, {}, "hybrid", "dense"),
        (PLAIN, {"parent_context": True}, "hybrid", "parent_context"),
        (PLAIN, {"parent_context": True, "hybrid": True}, "hybrid", "parent_context"),
        (STRANGE, {"hybrid": True}, "dense", "hybrid"),
        (STRANGE, {"parent_context": True}, "dense", "parent_context"),
    ],
)
def test_any_mismatch_is_reported(
    store: OneStore, question: str, flags: dict[str, Any], advised: str, used: str
) -> None:
    assert mismatches(store, question, **flags) == [
        f"auto: the decision suggests {advised} retrieval; the flags ask for {used}, which was used"
    ]


def test_advice_that_is_followed_is_no_mismatch(store: OneStore) -> None:
    assert mismatches(store, PLAIN, hybrid=True) == []
    assert mismatches(store, STRANGE) == []


@pytest.mark.parametrize("flags", [{}, {"parent_context": True}])
def test_other_modes_have_arms_of_their_own(store: OneStore, flags: dict[str, Any]) -> None:
    for question in (PLAIN, STRANGE):
        degraded = store.engine("notes").ask(question, method="auto", mode="mix", **flags).degraded
        assert not [one for one in degraded if one.startswith("auto: ")]


def test_the_ranking_that_the_router_saw_is_searched_again_where_more_is_wanted(store: OneStore) -> None:
    """The decision to re-rank comes after the router's look at the nearest passages."""
    question = "Did Corrick Vane or somebody else deliver pumps to Tarn?"
    answer = store.engine("notes").ask(question, method="auto", mode="auto", max_chunks=48, min_score=-1.0)
    assert answer.details["decision"]["applied"]["rerank"] is True
    assert answer.evidence.mode.value in ("naive", "local", "hybrid")
    assert answer.stats["dense_candidates"] == 3 * 48


class Reversing:
    """A reranker for which the last is best."""

    name = "reversing"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        return [float(place) for place in range(len(texts))]


def test_rules_do_not_rerank_what_mix_found_along_a_chain_and_a_model_may(store: OneStore) -> None:
    question = "Did Corrick Vane deliver pumps to Tarn?"

    def decision(mode: str, **engine: Any) -> dict[str, Any]:
        asked = store.engine("notes", **engine).ask(question, method="auto", mode=mode, min_score=-1.0)
        return dict(asked.details["decision"])

    assert decision("naive")["rerank"] is True
    by_rules = decision("mix")
    assert by_rules["rerank"] is by_rules["applied"]["rerank"] is False
    assert any("no rerank" in reason for reason in by_rules["reasons"])
    assert decision("mix", reranker=Reversing())["applied"]["rerank"] is True


def test_a_rerank_that_was_asked_for_is_done_whatever_the_decision(store: OneStore) -> None:
    asked = store.engine("notes").ask(
        "Did Corrick Vane deliver pumps to Tarn?", method="auto", mode="mix", min_score=-1.0, rerank=True
    )
    assert asked.details["decision"]["rerank"] is False
    assert asked.details["decision"]["applied"]["rerank"] is True
