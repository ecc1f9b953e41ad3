"""Which replies of a chat model are taken for a stand-alone question, and why the others are not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evigraph.query.converse.reply import read_reply
from evigraph.store.conversations import StoredTurn

EARLIER = "Who delivered four pumps to Tarn?", "Corrick Vane delivered four pumps to Tarn. [1]"


def read(reply: str, question: str, language: str = "en", earlier: tuple[str, str] = EARLIER) -> tuple[str | None, str]:
    turn = StoredTurn(
        turn=1,
        asked_by="ann",
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
        generation=1,
        question=earlier[0],
        standalone=None,
        standalone_rests_on=(),
        abstained=False,
        answer=earlier[1],
        names=(),
        answer_rests_on=(),
        documents=(),
        withheld=False,
    )
    return read_reply(reply, question, [turn], language)


@pytest.mark.parametrize(
    "reply",
    [
        "Where is the seat of Corrick Vane?",
        'Standalone question: "Where is the seat of Corrick Vane?"',
        '{"question": "Where is the seat of Corrick Vane?"}',
        '```json\n{"standalone_question": "Where is the seat of Corrick Vane?",}\n```',
        '{"thought": "it is Corrick Vane", "query": "Where is the seat of Corrick Vane?"}',
    ],
)
def test_a_question_is_taken_out_of_what_a_model_puts_around_it(reply: str) -> None:
    assert read(reply, "Where is its seat?") == ("Where is the seat of Corrick Vane?", "")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("{}", "empty"),
        ('{"a": 1}', "JSON"),
        ('{"question": 5}', "JSON"),
        ('{"question": ""}', "JSON"),
        ('{"question": "Where is the seat', "JSON"),
        ('{"question": "Where is the seat?", "query": "Where is the depot?"}', "JSON"),
        ('["Where is the seat of Corrick Vane?"]', "JSON"),
        ("<history>", "markup"),
        ("</history> Where is the seat?", "markup"),
        ("Where is the <b>seat</b> of Corrick Vane?", "markup"),
        ("I", "no word of the question"),
        ("x", "no word of the question"),
        ("Sorry.", "no word of the question"),
        ("How many fish?", "no word of the question"),
        ("Who delivered four pumps to Tarn?", "no word of the question"),
    ],
)
def test_garbage_is_refused(reply: str, told: str) -> None:
    found, wrong = read(reply, "Where is its seat?")
    assert found is None and told in wrong


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Where is that company?", "Where is Corrick Vane?"),
        ("Who is she?", "Who is Corrick Vane?"),
        ("Why?", "Why did Corrick Vane deliver pumps?"),
        ("Tell me more about that.", "Who delivered four pumps to Tarn?"),
        ("And in Tarn?", "Who delivered in Tarn?"),
        ("Who are you?", "Who are you?"),
        ("What do <b> tags mean there?", "What do <b> tags mean in Tarn?"),
        ("[urgent] Where is its seat?", "[urgent] Where is the seat of Corrick Vane?"),
    ],
)
def test_what_points_back_may_go(question: str, reply: str) -> None:
    assert read(reply, question) == (reply, "")


@pytest.mark.parametrize("question", ["Who is she?", "Why?", "Where is that company?", "Tell me more."])
@pytest.mark.parametrize("reply", ["I", "x", "Sorry.", "How wide is a fish?"])
def test_where_nothing_of_a_question_stays_a_word_of_the_conversation_does(question: str, reply: str) -> None:
    found, wrong = read(reply, question)
    assert found is None and "no word of the conversation" in wrong


def test_words_are_compared_by_their_stems_in_the_language_of_the_documents() -> None:
    earlier = "Wer lieferte die Pumpen?", "Corrick Vane lieferte die Pumpen."
    reply = "Lieferte Corrick Vane neue Pumpen?"
    assert read(reply, "Die neuen?", "de", earlier) == (reply, "")
    found, wrong = read("Entschuldigung.", "Die neuen?", "de", earlier)
    assert found is None and "no word of the question" in wrong
