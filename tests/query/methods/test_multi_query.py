"""Which of the texts that a model writes are searched for, and what is said of the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evigraph.models.ports import Message
from evigraph.query.methods.multi_query import LOOKED_AT
from evigraph.testing.models import ScriptedChat
from evigraph.types import Answer, Method
from small import PUMPS, CountingEmbedder, OneStore

QUESTION = "Who delivered pumps to Tarn?"
NOTHING = "it has nothing in common with the question"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("multi_query"))
    assert not opened.engine("notes").index(PUMPS).errors
    yield opened
    opened.close()


def ask(store: OneStore, reply: Any, question: str = QUESTION, **options: Any) -> Answer:
    """With a model that writes this for rephrasings."""

    def say(messages: Sequence[Message]) -> str:
        if "JSON list of texts" in messages[0].content:
            return reply if isinstance(reply, str) else json.dumps(reply)
        return "Corrick Vane delivered four pumps to Tarn [1]."

    return store.engine("notes", chat=ScriptedChat(say), **options).ask(question, method="multi_query", mode="naive")


def told(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = answer.details["multi_query"]
    return found


def left_out(answer: Answer) -> list[tuple[str, str]]:
    return [(one["text"], one["reason"]) for one in told(answer)["left_out"]]


@pytest.mark.parametrize(
    "reply",
    [
        "Here are two rephrasings of it:\n1. Which man brought Tarn its pumps?\n2. By whom were pumps sent?",
        '[{"question": "Which man brought Tarn its pumps?"}, {"question": "By whom were pumps sent?"}]',
    ],
)
def test_rephrasings_are_read_whatever_form_they_come_in(store: OneStore, reply: str) -> None:
    answer = ask(store, reply)
    assert told(answer)["rephrasings"] == ["Which man brought Tarn its pumps?", "By whom were pumps sent?"]
    assert told(answer)["left_out"] == []
    assert answer.method is Method.MULTI_QUERY
    assert answer.degraded == ()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I am sorry, I cannot help with that.", "it declines"),
        ("I'm sorry, but I can't rephrase a question about pumps in Tarn.", "it declines"),
        ("Unfortunately, I am unable to rephrase this.", "it declines"),
        ("As an AI language model I know no pumps.", "it declines"),
        ([QUESTION], "it is the question itself"),
        (["who delivered pumps to tarn"], "it is the question itself"),
        (["Sheep graze along northern hills."], NOTHING),
        (["x" * 501], "it is longer than 500 characters"),
        ('["Which man brought Tarn its', "JSON that is broken, or holds no list of texts"),
        ("Here are the rephrasings:", "it is a heading"),
    ],
)
def test_where_none_is_usable_the_question_is_asked_as_standard(store: OneStore, reply: Any, reason: str) -> None:
    answer = ask(store, reply)
    assert answer.method is Method.STANDARD
    assert answer.degraded == (
        "multi_query: the chat model's reply held no usable rephrasing; only the question was searched for",
    )
    assert told(answer)["rephrasings"] == []
    assert [why for _, why in left_out(answer)] == [reason]
    plain = store.engine("notes").ask(QUESTION, mode="naive").evidence
    assert answer.evidence.chunks == plain.chunks


def test_an_empty_reply_is_told_once(store: OneStore) -> None:
    answer = ask(store, "")
    assert answer.method is Method.STANDARD
    assert len(answer.degraded) == 1 and answer.degraded[0].startswith("multi_query: ")


def test_what_is_beside_the_point_is_left_out_and_the_rest_searched_for(store: OneStore) -> None:
    answer = ask(store, ["Sheep graze along northern hills.", "Which man brought Tarn its pumps?", "y" * 600])
    assert told(answer)["rephrasings"] == ["Which man brought Tarn its pumps?"]
    assert sorted(reason for _, reason in left_out(answer)) == sorted([NOTHING, "it is longer than 500 characters"])
    assert max(len(text) for text, _ in left_out(answer)) <= 200
    assert answer.degraded == ()


def test_no_more_than_three_are_searched_for(store: OneStore) -> None:
    answer = ask(store, [f"Pumps of Tarn, wording {n}" for n in range(5)])
    assert told(answer)["rephrasings"] == [f"Pumps of Tarn, wording {n}" for n in range(3)]
    assert [reason for _, reason in left_out(answer)] == ["beyond the first 3"] * 2


def test_a_name_in_common_is_enough(store: OneStore) -> None:
    """Though it is spelt otherwise: the scope knows whom it stands for."""
    answer = ask(store, ["C. Vane: what merchandise?"], question="What did Corrick deliver?")
    assert told(answer)["rephrasings"] == ["C. Vane: what merchandise?"]


def test_nearness_is_enough_where_no_word_is_in_common(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only beyond what a refusal has, since some models find any two texts alike."""
    text = "Sheep graze along northern hills."

    class Leaning(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            return super().embed([QUESTION if one in self.alike else one for one in texts])

        alike: tuple[str, ...] = ()

    embedder = Leaning()
    embedder.alike = (text,)
    assert told(ask(store, [text], embedder=embedder))["rephrasings"] == [text]
    embedder.alike = (text, "I am sorry, I cannot help with that.")
    assert left_out(ask(store, [text], embedder=embedder)) == [(text, NOTHING)]


def test_only_so_many_are_compared_with_the_question(store: OneStore) -> None:
    answer = ask(store, [f"Sheep graze along hill {'abcdefghijklmnopq'[n]}." for n in range(LOOKED_AT + 2)])
    assert [reason for _, reason in left_out(answer)][-2:] == [f"beyond the {LOOKED_AT} that are looked at"] * 2


def test_a_question_that_rules_cannot_put_otherwise_is_asked_as_standard(store: OneStore) -> None:
    answer = store.engine("notes").ask("Zorbulon?", method="multi_query", mode="naive")
    assert answer.method is Method.STANDARD
    assert answer.degraded == (
        "multi_query: no rule has another wording for the question; only the question was searched for",
    )


def test_a_question_about_what_one_cannot_do_is_rephrased_as_one(store: OneStore) -> None:
    answer = ask(store, ["I can't mend the pumps, who can?"], question="I cannot repair the pumps of Tarn, who can?")
    assert told(answer)["rephrasings"] == ["I can't mend the pumps, who can?"]


def test_a_rephrasing_that_the_embedder_does_not_read_whole_is_told(store: OneStore) -> None:
    embedder = CountingEmbedder(max_tokens=12)
    long = "Which man from the northern trading company brought Tarn its four new pumps in May?"
    answer = ask(store, [long], embedder=embedder)
    assert [one for one in answer.degraded if one.startswith("multi_query: a rephrasing is longer than")]
