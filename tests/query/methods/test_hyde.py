"""What a hypothetical answer is searched with, and when nobody pays for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.models.ports import Message
from evigraph.query.methods.hyde import READ
from evigraph.testing.models import HashEmbedder, ScriptedChat
from evigraph.types import Answer, Method
from small import PUMPS, CountingEmbedder, OneStore

QUESTION = "Who delivered pumps to Tarn?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("hyde"))
    assert not opened.engine("notes").index(PUMPS).errors
    yield opened
    opened.close()


def writing(text: str) -> ScriptedChat:
    def say(messages: Sequence[Message]) -> str:
        return text if "one short paragraph" in messages[0].content else "Corrick Vane delivered pumps [1]."

    return ScriptedChat(say)


def long(characters: int) -> str:
    """A text that lies near some passage, of few tokens."""
    return "Corrick Vane delivered pumps to Tarn ".ljust(characters, "x")


def asked_for_one(chat: ScriptedChat) -> bool:
    return any("one short paragraph" in messages[0].content for messages in chat.calls)


def ask(store: OneStore, text: str, **options: Any) -> Answer:
    return store.engine("notes", chat=writing(text)).ask(QUESTION, method="hyde", **options)


@pytest.mark.parametrize("mode", ["naive", "global", "mix"])
def test_a_long_hypothetical_answer_is_told_in_the_models_tokens(store: OneStore, mode: str) -> None:
    answer = ask(store, "Pumps stand near Tarn. " * 100, mode=mode)
    assert answer.degraded == (
        "hyde: the hypothetical answer is longer than the embedding model reads (256 of 402 tokens); the rest of it"
        " had no part in the search by vector",
    )
    assert answer.method is Method.HYDE


def test_a_very_long_one_is_cut_and_that_is_told_too(store: OneStore) -> None:
    answer = ask(store, long(READ + 1), mode="naive")
    assert answer.degraded == (f"hyde: only the first {READ:,} characters of the hypothetical answer were taken",)
    assert len(answer.details["hyde"]["hypothetical_answer"]) == READ


def test_one_that_is_read_whole_is_no_deviation(store: OneStore) -> None:
    assert ask(store, long(READ), mode="naive").degraded == ()


def test_the_question_is_searched_for_where_nothing_lies_near_the_answer(store: OneStore) -> None:
    """As where a model writes garbage."""
    answer = ask(store, '{"decision": 17, "score": "NaN"}', mode="naive")
    assert answer.degraded == ("hyde: nothing lies near the hypothetical answer; the question itself was searched for",)
    assert answer.method is Method.STANDARD
    assert answer.evidence.chunks == ask(store, "", mode="naive").evidence.chunks != ()


def test_global_searches_assertions_with_the_hypothetical_answer(store: OneStore) -> None:
    question, said = "What of Hana Sefu?", "Joseph Amarra chaired the committee of Lowani."
    graph = store.engine("notes", chat=writing(said))
    plain = graph.ask(question, mode="global", min_score=-1.0, max_context_tokens=20_000).evidence
    found = graph.ask(question, method="hyde", mode="global", min_score=-1.0, max_context_tokens=20_000).evidence
    assert found.relationships[0].description == said
    assert found.relationships[0].score == pytest.approx(1.0, abs=0.2)
    assert [one.id for one in found.relationships] != [one.id for one in plain.relationships]


def blind(store: OneStore) -> tuple[Evigraph, dict[str, Any], ScriptedChat]:
    """Documents of a base whose embedding model is not configured any more, and how to ask of them alone."""
    graph = store.engine(embedder=CountingEmbedder(), embedders={"fast": HashEmbedder(32, name="fast")})
    base = graph.knowledge_bases.create("fast", embedding_model="fast").id
    assert not graph.knowledge_bases.index(base, PUMPS).errors
    chat = writing("Pumps were delivered to Tarn by a trader.")
    return (
        store.engine(graph.workspace, chat=chat),
        {"document_filter": {"knowledge_bases": [base]}},
        chat,
    )


def test_nobody_pays_for_one_where_nothing_is_searched_by_vector(store: OneStore) -> None:
    graph, scope, chat = blind(store)
    answer = graph.ask(QUESTION, method="hyde", **scope)
    assert not asked_for_one(chat)
    assert answer.method is Method.STANDARD
    assert "hyde" not in answer.details
    assert [one for one in answer.degraded if one.startswith("hyde: ")] == [
        "hyde: no document in scope is searched by vector, which is all that a hypothetical answer is for;"
        " the question itself was searched for"
    ]
    assert graph.ask(QUESTION, **scope).evidence.chunks == answer.evidence.chunks


def test_auto_does_not_choose_it_there(store: OneStore) -> None:
    graph, scope, chat = blind(store)
    answer = graph.ask("why did staple foodstuffs become dearer", method="auto", **scope)
    assert not asked_for_one(chat)
    decision = answer.details["decision"]
    assert decision["hyde"] is False
    assert "no document in scope is searched by vector: no hyde" in decision["reasons"]
    assert not [one for one in answer.degraded if one.startswith("hyde: ")]
