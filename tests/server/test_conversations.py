"""`/api/v1/conversations`, and questions that are turns: who may do what, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from evigraph import Evigraph
from evigraph.conversations import Conversation, ConversationList
from evigraph.server.answers import QueryAnswer
from evigraph.server.conversations_shapes import ConversationDeleted, ConversationShared
from small import OneStore
from typed_names import FIRMS, TypedExtractor

from .serving import problem_of, running

PATH = "/api/v1/conversations"
ANN, BOB = {"X-User-ID": "ann"}, {"X-User-ID": "bob"}
FIRST = "Who delivered four pumps to Tarn?"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Evigraph, httpx2.Client]]:
    store = OneStore(tmp_path_factory.mktemp("conversed"))
    engine = store.engine("default", extractor=TypedExtractor())
    engine.index(FIRMS)
    with running(engine) as client:
        yield engine, client
    store.close()


@pytest.fixture
def http(served: tuple[Evigraph, httpx2.Client]) -> Iterator[httpx2.Client]:
    """A client of a server without conversations."""
    engine, client = served
    yield client
    for user in ("", "ann", "bob"):
        for info in engine.conversations.list(user=user, limit=1_000).conversations:
            if info.owner == user:
                engine.conversations.delete(info.id, user=user)


def ask(client: httpx2.Client, question: str, headers: dict[str, str], **fields: Any) -> httpx2.Response:
    return client.post("/api/v1/query", json={"query": question, **fields}, headers=headers)


def described(kind: Any, body: str) -> None:
    TypeAdapter(kind).validate_json(body, strict=True)


def test_a_follow_up_is_a_turn_of_the_user_s_conversation(http: httpx2.Client) -> None:
    assert ask(http, FIRST, ANN, conversation_id="c").status_code == 200
    answer = ask(http, "Where is the seat of that company?", ANN, conversation_id="c")
    QueryAnswer.model_validate_json(answer.text, strict=True)
    body = answer.json()
    assert body["chunks"][0]["document_id"] == "seat"
    assert body["method_details"]["conversation"] == {
        "id": "c",
        "owner": "ann",
        "turn": 2,
        "turns_used": 1,
        "standalone_question": "Where is the seat of Corrick Vane?",
        "condensed_by": "rules",
    }
    listed = http.get(PATH, headers=ANN)
    described(ConversationList, listed.text)
    assert [(one["id"], one["turns"]) for one in listed.json()["conversations"]] == [("c", 2)]
    shown = http.get(f"{PATH}/c", headers=ANN, params={"limit": 1})
    described(Conversation, shown.text)
    assert shown.json()["total"] == 2
    (turn,) = shown.json()["turns"]
    assert (turn["asked_by"], turn["question"]) == ("ann", "Where is the seat of that company?")


def test_another_user_cannot_tell_that_there_is_one(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    for headers in (BOB, {}):
        assert http.get(PATH, headers=headers).json() == {"total": 0, "conversations": []}
        refused = [
            http.get(f"{PATH}/c", headers=headers),
            http.get(f"{PATH}/c", headers=headers, params={"owner": "ann"}),
            http.delete(f"{PATH}/c", headers=headers),
            http.post(f"{PATH}/c/share", headers=headers, json={"shared": True}),
            ask(http, "Where is its seat?", headers, conversation_id="c", conversation_owner="ann"),
        ]
        details = {problem_of(response, 404, "not_found")["detail"] for response in refused}
        assert details == {"no conversation 'c'"}
    fresh = ask(http, "Where is its seat?", BOB, conversation_id="c").json()["method_details"]["conversation"]
    assert (fresh["owner"], fresh["turns_used"]) == ("bob", 0)
    assert http.get(f"{PATH}/c", headers=ANN).json()["total"] == 1


def test_who_asks_is_for_the_header_alone(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    named = ask(http, "Where is its seat?", BOB, conversation_id="c", user="ann")
    assert "X-User-ID" in problem_of(named, 422, "unknown_field")["hint"]
    assert problem_of(http.get(PATH, params={"user": "ann"}), 422, "unknown_field")
    for header in ("X-User-ID", "X-Workspace-ID"):
        for second in ("default", "ann"):
            twice = http.get(PATH, headers=[(header, "default"), (header, second)])
            assert header in problem_of(twice, 422, "invalid_value")["detail"]
    for bad in ("a b", "x" * 129):
        assert problem_of(http.get(PATH, headers={"X-User-ID": bad}), 422, "invalid_value")["hint"]
    assert problem_of(http.get(PATH, headers=[(b"X-User-ID", "é".encode())]), 422, "invalid_value")


def test_sharing_and_its_end(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    done = http.post(f"{PATH}/c/share", headers=ANN, json={"shared": True})
    described(ConversationShared, done.text)
    assert done.json() == {"id": "c", "owner": "ann", "shared": True}
    answer = ask(http, "Where is its seat?", BOB, conversation_id="c", conversation_owner="ann").json()
    assert answer["chunks"][0]["document_id"] == "seat"
    shown = http.get(f"{PATH}/c", headers=BOB, params={"owner": "ann"}).json()
    assert [turn["asked_by"] for turn in shown["turns"]] == ["ann", "bob"]
    assert http.delete(f"{PATH}/c", headers=BOB).status_code == 404
    assert http.post(f"{PATH}/c/share", headers=ANN, json={"shared": False}).json()["shared"] is False
    assert http.get(f"{PATH}/c", headers=BOB, params={"owner": "ann"}).status_code == 404


def test_deleting(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    done = http.delete(f"{PATH}/c", headers=ANN)
    described(ConversationDeleted, done.text)
    assert done.json() == {"id": "c", "owner": "ann", "deleted": True}
    assert problem_of(http.get(f"{PATH}/c", headers=ANN), 404, "not_found")["hint"]
    assert problem_of(http.delete(f"{PATH}/c", headers=ANN), 404, "not_found")


def test_problems_have_a_remedy(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    assert problem_of(http.get(f"{PATH}/a%20b", headers=ANN), 422, "invalid_value")["hint"]
    for body in ({}, {"shared": "yes"}, {"shared": None}, {"shared": 1}):
        assert problem_of(http.post(f"{PATH}/c/share", headers=ANN, json=body), 422, "invalid_value")
    extra = http.post(f"{PATH}/c/share", headers=ANN, json={"shared": True, "with": "bob"})
    assert problem_of(extra, 422, "unknown_field")
    for params in ({"limit": 0}, {"limit": 1_001}, {"offset": -1}):
        assert http.get(PATH, params=params).status_code == 422
    assert ask(http, FIRST, ANN, conversation_id="a b").status_code == 422
    assert ask(http, FIRST, ANN, conversation_owner="bob").status_code == 422
    assert http.post(PATH).status_code == 405


def test_a_workspace_is_a_border(http: httpx2.Client) -> None:
    ask(http, FIRST, ANN, conversation_id="c")
    other = {**ANN, "X-Workspace-ID": "other"}
    assert http.get(PATH, headers=other).json()["total"] == 0
    assert http.get(f"{PATH}/c", headers=other).status_code == 404
