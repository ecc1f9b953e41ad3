"""Which strategy and enhancers act under a mode, and how the rest is reported."""

from __future__ import annotations

from typing import Any

import pytest

from evigraph.query import strategy as rules
from evigraph.query.request import parse
from evigraph.types import Method, Mode

FLAGS = ("rerank", "parent_context", "compress", "hybrid")


def said(**options: Any) -> list[str]:
    return list(rules.ignored(parse({"query": "Who?", **options})))


@pytest.mark.parametrize(
    ("flags", "chosen", "ignored"),
    [
        ({}, "dense", []),
        ({"hybrid": True}, "hybrid", []),
        ({"parent_context": True}, "parent_context", []),
        ({"method": "raptor"}, "raptor", []),
        ({"hybrid": True, "parent_context": True}, "parent_context", ["hybrid"]),
        ({"hybrid": True, "method": "raptor"}, "hybrid", ["raptor"]),
        ({"parent_context": True, "method": "raptor"}, "parent_context", ["raptor"]),
        ({"hybrid": True, "parent_context": True, "method": "raptor"}, "parent_context", ["hybrid", "raptor"]),
    ],
)
def test_one_strategy_comes_first_under_naive(flags: dict[str, Any], chosen: str, ignored: list[str]) -> None:
    request = parse({"query": "Who?", "mode": "naive", **flags})
    assert rules.strategy(request) == chosen
    assert said(mode="naive", **flags) == [
        f"{name}: {chosen} was asked for as well and comes first; ignored" for name in ignored
    ]


def test_every_mode_stands_in_the_table() -> None:
    assert {*rules.ENHANCED, Mode.PLAN, Mode.THEMATIC_OVERVIEW, Mode.BYPASS, Mode.AUTO} == set(Mode)
    assert "raptor" in rules.PRECEDENCE and Method.RAPTOR.value == "raptor"


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.AUTO])
def test_what_does_not_act_is_said(mode: Mode) -> None:
    for flag in FLAGS:
        found = said(mode=mode.value, **{flag: True})
        acts = mode is Mode.NAIVE if flag == "hybrid" else mode in rules.ENHANCED
        assert bool(found) is not acts
        assert all(
            sentence.startswith(f"{flag}: ") and sentence.endswith((f"`{mode.value}`", "ignored")) for sentence in found
        )


def test_rerank_top_k_alone_means_nothing() -> None:
    assert said(rerank_top_k=5) == ["rerank_top_k: rerank was not asked for; ignored"]
    assert said(rerank_top_k=5, rerank=True) == []


@pytest.mark.parametrize(
    ("options", "fetched", "judged"),
    [
        ({}, 10, 30),
        ({"rerank": True}, 30, 30),
        ({"rerank": True, "max_chunks": 20}, 60, 60),
        ({"rerank": True, "max_chunks": 200}, 200, 200),
        ({"rerank": True, "rerank_top_k": 4}, 10, 4),
        ({"rerank": True, "rerank_top_k": 50, "max_chunks": 2}, 50, 50),
        ({"rerank": True, "mode": "keyword_lookup"}, 10, 10),
        ({"rerank": True, "mode": "traverse", "rerank_top_k": 50}, 10, 10),
        ({"rerank": True, "mode": "thematic_overview"}, 10, 30),
    ],
)
def test_more_is_looked_at_than_is_kept(options: dict[str, Any], fetched: int, judged: int) -> None:
    request = parse({"query": "Who?", **options})
    assert rules.candidates(request) == fetched
    assert rules.reranked(request) == judged
