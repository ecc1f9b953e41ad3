"""What is left of a question once the words that ask for an overview are set aside."""

from __future__ import annotations

import pytest

from evigraph.query.overview.topic import topic_of


@pytest.mark.parametrize(
    "question",
    [
        "What themes recur across all regions over the decade?",
        "Which difficulties come back again and again in the reports, whichever region or programme one looks at?",
        "Summarise the whole collection.",
        "Give me an overview of everything",
    ],
)
def test_a_question_about_everything_has_no_topic(question: str) -> None:
    topic = topic_of(question, ["en"], ["region", "programme"])
    assert (topic.text, topic.terms) == ("", ())


def test_a_topic_is_what_remains() -> None:
    topic = topic_of("Overall, how do the rains affect access in the different regions?", ["en"], ["region"])
    assert "rains" in topic.text
    assert "region" not in topic.text
    assert topic.terms == ("rain", "affect", "access")


def test_names_of_group_keys_are_cues_only_where_documents_have_them() -> None:
    question = "What recurs across all wards?"
    assert topic_of(question, ["en"], ["ward"]).terms == ()
    assert topic_of(question, ["en"], []).terms == ("ward",)


def test_function_words_alone_are_no_topic() -> None:
    assert topic_of("What is it all about?", ["en"], []).text == ""


def test_a_question_in_another_language_keeps_its_words() -> None:
    assert topic_of("故障の原因は何ですか", ["ja"], []).terms
    assert topic_of("Welche Pumpen stehen still?", ["de"], []).terms
