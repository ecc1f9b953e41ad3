"""Over HTTP a chat model that says nothing is an abstention, and a request of the wrong kind is told what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from evigraph.testing.models import ScriptedChat
from small import PUMPS, OneStore

from .serving import problem_of, running

QUESTION = "Who delivered four pumps to Tarn?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("odd"))
    opened.engine("default").index(PUMPS)
    yield opened
    opened.close()


@pytest.mark.parametrize("reply", ["", "[]", "{}", '""', "[1]"])
def test_a_reply_without_a_word_is_an_abstention(store: OneStore, reply: str) -> None:
    with running(store.engine("default", chat=ScriptedChat([reply]))) as client:
        response = client.post("/api/v1/query", json={"query": QUESTION})
    assert response.status_code == 200, response.text
    body = response.json()
    assert (body["abstained"], body["answer"], body["degraded"]) == (True, None, True)
    assert body["abstain_reason"] == "generation: the model said nothing that is text"


@pytest.mark.parametrize(("question", "told"), [("", "empty"), (None, "empty"), (5, "text"), (["a"], "text")])
def test_a_question_that_is_none_is_told_why(store: OneStore, question: object, told: str) -> None:
    with running(store.engine("default")) as client:
        refused: httpx2.Response = client.post("/api/v1/query", json={"query": question})
    problem = problem_of(refused, 422, "invalid_query")
    assert told in problem["detail"] and "`query`" in problem["hint"]
