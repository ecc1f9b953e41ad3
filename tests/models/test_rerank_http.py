"""The rerank endpoint over a real socket, and every way in which it can fail."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from evigraph.errors import InvalidValue, ModelBadResponse, ModelError, ModelTimeout, ModelUnavailable
from evigraph.models.http import ModelServer
from evigraph.models.rerank import HttpReranker
from evigraph.testing.models import Fault, ScriptedOpenAIServer

KEY = "rk-very-secret-0123456789"
QUESTION = "who repaired the pump"
TEXTS = ["the ferry", "who repaired the pump", "", "the pump"]


@pytest.fixture(autouse=True)
def _no_leaked_connections() -> Iterator[None]:
    yield
    gc.collect()  # an unclosed socket becomes a warning here, in the test that left it


def rerank(server: ScriptedOpenAIServer, **options: Any) -> list[float]:
    port = ModelServer(
        server.url, setting="EVIGRAPH_RERANK", api_key=KEY, **{"timeout": 5.0, "first_wait": 0.01, **options}
    )
    try:
        return HttpReranker(server.url, "tiny", server=port).score(QUESTION, TEXTS)
    finally:
        port.close()


def failure(fault: Fault, **options: Any) -> tuple[ModelError, int]:
    """The error of one call, and how many requests it took."""
    with ScriptedOpenAIServer(faults=[fault] * 3) as server:
        with pytest.raises(ModelError) as caught:
            rerank(server, **options)
        return caught.value, len(server.requests)


def test_scores_come_in_the_order_of_the_texts() -> None:
    with ScriptedOpenAIServer() as server:
        assert rerank(server) == [0.25, 1.0, 0.0, 0.5]
        (request,) = server.requests
    assert request.path == "/v1/rerank"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "tiny",
        "query": QUESTION,
        "documents": ["the ferry", "who repaired the pump", " ", "the pump"],
        "top_n": 4,
    }


def test_no_texts_ask_nothing() -> None:
    reranker = HttpReranker("http://127.0.0.1:9/v1", "tiny")
    assert reranker.score(QUESTION, []) == []
    reranker.close()


def test_what_passes_by_itself_is_tried_again() -> None:
    with ScriptedOpenAIServer(faults=[Fault(status=503), Fault(drop=True)]) as server:
        assert len(rerank(server)) == len(TEXTS)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "options", "kind", "requests"),
    [
        (Fault(status=500), {}, ModelUnavailable, 3),
        (Fault(status=401), {}, ModelUnavailable, 1),
        (Fault(status=404), {}, ModelUnavailable, 1),
        (Fault(delay=30), {"timeout": 0.2, "retries": 1}, ModelTimeout, 1),
        (Fault(trickle=0.05), {"timeout": 0.2, "retries": 1}, ModelTimeout, 1),
        (Fault(body="<html>"), {}, ModelBadResponse, 1),
    ],
)
def test_a_failing_server_is_a_typed_error(
    fault: Fault, options: dict[str, Any], kind: type[ModelError], requests: int
) -> None:
    error, asked = failure(fault, **options)
    assert type(error) is kind
    assert asked == requests
    assert "EVIGRAPH_RERANK" in error.hint or kind is ModelTimeout
    assert KEY not in f"{error} {error.hint}"


def results(*pairs: tuple[Any, Any]) -> str:
    return json.dumps({"results": [{"index": at, "relevance_score": score} for at, score in pairs]})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}", "results"),
        ('{"results": {}}', "results"),
        ('{"results": [{"index": 0}]}', "relevance_score"),
        (results((0, 1), (1, 1), (2, 1)), "3 scores for 4 texts"),
        (results((0, 1), (1, 1), (2, 1), (3, 1), (4, 1)), "5 scores for 4 texts"),
        (results((0, 1), (1, 1), (1, 1), (3, 1)), "index"),
        (results((0, 1), (1, 1), (2, 1), (4, 1)), "index"),
        (results((-1, 1), (0, 1), (1, 1), (2, 1)), "index"),
        (results((0, "high"), (1, 1), (2, 1), (3, 1)), "relevance_score"),
        (results((0, True), (1, 1), (2, 1), (3, 1)), "relevance_score"),
        (results((0, None), (1, 1), (2, 1), (3, 1)), "relevance_score"),
        (results((0, float("nan")), (1, 1), (2, 1), (3, 1)), "not finite"),
        (results((0, float("inf")), (1, 1), (2, 1), (3, 1)), "not finite"),
    ],
)
def test_a_malformed_reply_is_refused(body: str, said: str) -> None:
    error, asked = failure(Fault(body=body))
    assert type(error) is ModelBadResponse
    assert said in str(error)
    assert asked == 1


def test_a_malformed_address_names_its_setting() -> None:
    with pytest.raises(InvalidValue, match="EVIGRAPH_RERANK_URL"):
        HttpReranker("not an address", "tiny")
    assert KEY not in repr(HttpReranker("http://127.0.0.1:9/v1", "tiny", KEY))
