"""How much the modes look at: as much as is asked for, and without asking no more than before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.query.request import parse
from evigraph.query.retrieve.arms import ARM_LIMIT, arm_limit
from evigraph.query.retrieve.facts import ASSERTIONS, assertion_limit
from small import OneStore, item

QUESTION = "Who delivered pump number to Tarn?"
ALL = {"min_score": -1.0, "max_context_tokens": 200_000}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("arms"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def notes(store: OneStore) -> Evigraph:
    graph = store.engine()
    assert not graph.index(
        [item(f"d{n:03}", f"Corrick Vane delivered pump{n} to Town{n} and Tarn.", title="") for n in range(150)]
    ).errors
    return graph


def limits(graph: Evigraph, **options: Any) -> tuple[int, int]:
    with graph.queries.open(parse({"query": QUESTION, **options})) as run:
        return arm_limit(run), assertion_limit(run)


@pytest.mark.parametrize("mode", ["naive", "mix", "local", "hybrid"])
def test_as_many_are_reranked_as_the_caller_asks_for(notes: Evigraph, mode: str) -> None:
    found = notes.retrieve(QUESTION, mode=mode, rerank=True, rerank_top_k=150, **ALL)
    assert found.stats["rerank"]["candidates"] == 150
    assert found.degraded == ()


def test_global_looks_at_enough_assertions_for_that(notes: Evigraph) -> None:
    found = notes.retrieve(QUESTION, mode="global", rerank=True, rerank_top_k=150, **ALL)
    assert found.stats["rerank"]["candidates"] == 150


def test_global_follows_the_passages_and_relationships_asked_for(notes: Evigraph) -> None:
    found = notes.retrieve(QUESTION, mode="global", max_chunks=100, max_relationships=500, **ALL)
    assert len(found.chunks) == 100
    assert found.stats["relationships_found"] == 150
    assert found.degraded == ()
    assert len(notes.retrieve(QUESTION, mode="global", max_chunks=100, **ALL).chunks) == 100
    assert notes.retrieve(QUESTION, mode="global", **ALL).stats["relationships_found"] == ASSERTIONS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (ARM_LIMIT, ASSERTIONS)),
        ({"rerank": True}, (ARM_LIMIT, ASSERTIONS)),
        ({"max_chunks": 30}, (ARM_LIMIT, ASSERTIONS)),
        ({"max_relationships": 10}, (ARM_LIMIT, ASSERTIONS)),
        ({"max_chunks": 60}, (120, ASSERTIONS + 6 * 30)),
        ({"max_relationships": 500}, (ARM_LIMIT, 500)),
        ({"rerank_top_k": 150}, (ARM_LIMIT, ASSERTIONS)),
        ({"rerank": True, "rerank_top_k": 150}, (150, ASSERTIONS + 6 * 120)),
        ({"rerank": True, "rerank_top_k": 150, "mode": "keyword_lookup"}, (ARM_LIMIT, ASSERTIONS)),
    ],
)
def test_limits_follow_what_was_asked_and_nothing_else(
    notes: Evigraph, options: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert limits(notes, **options) == expected
