"""Follow-ups made to stand alone by rules: what is put in, what is taken over, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evigraph.query.converse.history import Named, Past
from evigraph.query.converse.rules import rewrite
from evigraph.text.names import name_key

TYPES = {
    "Corrick & Vane": "ORGANIZATION",
    "Tolland": "ORGANIZATION",
    "Hana Sefu": "PERSON",
    "Joseph Amarra": "PERSON",
    "Tarn": "LOCATION",
    "Lowani": "LOCATION",
    "Spring Flood": "EVENT",
    "Zorbix": "",
    "2014": "TIME",
    "2016": "TIME",
}


class Earlier(list[Past]):
    @property
    def last(self) -> Past:
        return self[0]


def names(text: str, rests_on: Sequence[int] = ()) -> tuple[Named, ...]:
    found = []
    for name, kind in TYPES.items():
        at = text.find(name)
        if at >= 0:
            end = at + len(name)
            found.append(Named(text=name, key=name_key(name), type=kind, start=at, end=end, rests_on=tuple(rests_on)))
    return tuple(sorted(found, key=lambda name: name.start))


def turn(question: str, answer: str = "", rests_on: Sequence[int] = (7,)) -> Past:
    return Past(question=question, rests_on=(), named=names(question), answered=names(answer, rests_on))


PUMPS = turn(
    "Who supplied the pumps at Tarn in 2014?", "Corrick & Vane delivered four pumps to Tarn. Hana Sefu trained them."
)


def meant(question: str, *earlier: Past) -> str:
    return rewrite(question, names(question), Earlier(earlier or (PUMPS,))).text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is that company based?", "Where is Corrick & Vane based?"),
        ("Did the same firm sell rods?", "Did Corrick & Vane sell rods?"),
        ("Did the supplier sell rods?", "Did Corrick & Vane sell rods?"),
        ("When was it founded?", "When was Corrick & Vane founded?"),
        ("Where are its depots?", "Where are Corrick & Vane's depots?"),
        ("Who paid them?", "Who paid Corrick & Vane?"),
        ("What did she say about the rods?", "What did Hana Sefu say about the rods?"),
        ("Was her report late?", "Was Hana Sefu's report late?"),
        ("Who met her in the office?", "Who met Hana Sefu in the office?"),
        ("Who sold it to her?", "Who sold Corrick & Vane to Hana Sefu?"),
        ("What happened there?", "What happened in Tarn?"),
        ("Who came from there?", "Who came from Tarn?"),
        ("Who chaired the committee of that district?", "Who chaired the committee of Tarn?"),
        ("Who was the manager then?", "Who was the manager in 2014?"),
        ("What was built in that year?", "What was built in 2014?"),
        ("Who has run it since then?", "Who has run Corrick & Vane since 2014?"),
        ("What did the report say about him?", "What did the report say about Hana Sefu?"),
    ],
)
def test_words_that_point_back_are_replaced_by_names_of_their_type(question: str, expected: str) -> None:
    assert meant(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("And in Lowani?", "Who supplied the pumps in Lowani in 2014?"),
        ("And Lowani?", "Who supplied the pumps at Lowani in 2014?"),
        ("What about Lowani?", "Who supplied the pumps at Lowani in 2014?"),
        ("Lowani?", "Who supplied the pumps at Lowani in 2014?"),
        ("What about 2016?", "Who supplied the pumps at Tarn in 2016?"),
        ("And in 2016?", "Who supplied the pumps at Tarn in 2016?"),
        ("How about Joseph Amarra?", "Who supplied the pumps at Tarn in 2014 regarding Joseph Amarra?"),
        ("Who else?", "Who else supplied the pumps at Tarn in 2014?"),
        ("Why?", "Why? Who supplied the pumps at Tarn in 2014?"),
        ("Tell me more.", "Who supplied the pumps at Tarn in 2014?"),
        ("And the wells?", "Who supplied the pumps at Tarn in 2014? And the wells?"),
        ("And the pumps at Lowani?", "Who supplied the pumps at Lowani in 2014?"),
        ("And the wells of Lowani?", "Who supplied the pumps at Lowani in 2014? And the wells of Lowani?"),
    ],
)
def test_what_is_left_out_is_taken_over_from_the_last_question(question: str, expected: str) -> None:
    assert meant(question) == expected


def test_a_question_word_takes_the_place_of_the_last_one_where_the_sentence_stays_one() -> None:
    assert meant("Why?", turn("When did the depot of Tarn close?")) == "Why did the depot of Tarn close?"
    assert meant("By whom?", turn("Was the depot of Tarn closed?")) == "By whom? Was the depot of Tarn closed?"


@pytest.mark.parametrize(
    "question",
    [
        "Who repaired the wells in Lowani?",
        "Did Hana Sefu leave when she was ill?",
        "What do farmers say they need?",
        "What did the manager say when he left?",
        "When did the government close its depot?",
        "What do poor farmers do with their crops?",
        "How many wells are there?",
        "Is there a well in Lowani?",
        "Is it true that Lowani was flooded?",
        "How far is it from Lowani to the lake?",
        "Where did Lowani get its pumps?",
        "Who is the manager of the company that sold rods?",
        "Did the company of Joseph Amarra pay?",
        "What recurs across all reports?",
        "thanks",
        "Which rods were tested, and by whom were the wells repaired in the year of the flood?",
    ],
)
def test_a_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    found = rewrite(question, names(question), Earlier((PUMPS,)))
    assert (found.text, found.rests_on, found.unresolved) == (question, (), ())


def test_the_nearest_turn_comes_first_and_types_before_nearness() -> None:
    people = turn("Who is Joseph Amarra?", "Joseph Amarra tested the rods.")
    flood = turn("When was the Spring Flood?", "The Spring Flood was in 2016.")
    assert meant("What did he say?", people, PUMPS) == "What did Joseph Amarra say?"
    assert meant("Where is that company based?", people, PUMPS) == "Where is Corrick & Vane based?"
    assert meant("How did it end?", flood, PUMPS) == "How did Spring Flood end?"
    assert meant("What did he say?", flood, people) == "What did Joseph Amarra say?"


def test_after_where_it_is_still_the_thing_and_there_the_place() -> None:
    where = turn("Where is the seat of Tolland?", "The seat of Tolland is in Lowani.")
    assert meant("Who manages its depot?", where) == "Who manages Tolland's depot?"
    assert meant("Who lives there?", where) == "Who lives in Lowani?"


def test_a_name_in_the_question_is_not_what_its_pronoun_stands_for() -> None:
    both = turn("Did Corrick & Vane supply Tolland?")
    assert meant("Did Corrick & Vane pay them?", both) == "Did Corrick & Vane pay Tolland?"


def test_a_name_that_nothing_knows_is_carried_over_too() -> None:
    unknown = turn("Who founded Zorbix?")
    assert meant("Where is it based?", unknown) == "Where is Zorbix based?"


def test_without_an_antecedent_the_word_stays_and_is_told() -> None:
    found = rewrite("What did she say in 2016?", (), Earlier((turn("Who supplied Tarn?"),)))
    assert found.text == "What did she say in 2016?"
    assert found.unresolved == ("she",)


def test_what_was_put_in_says_where_it_is_known_from() -> None:
    typed = turn("Who runs Tolland?", "Hana Sefu runs Tolland.", rests_on=(3, 5))
    assert rewrite("Where is that company based?", (), Earlier((typed,))).rests_on == ()
    assert rewrite("Where does she live?", (), Earlier((typed,))).rests_on == (3, 5)
    made = Past(question="Who pays Tolland?", rests_on=(9,), named=names("Who pays Tolland?", (9,)), answered=())
    assert rewrite("Since when?", (), Earlier((made,))).rests_on == (9,)
    assert rewrite("And in Tarn?", names("And in Tarn?"), Earlier((made,))).rests_on == (9,)


def test_a_long_question_is_read_in_no_time() -> None:
    question = "and " * 2_000 + "what about " * 500 + "that company the the the " * 500 + "?"
    assert "Corrick & Vane" in meant(question)


@pytest.mark.parametrize(
    ("before", "answer", "question", "expected"),
    [
        ("Who is Hana Sefu?", "Joseph Amarra hired Hana Sefu.", "What did she do?", "What did Hana Sefu do?"),
        ("Who exactly was Hana Sefu?", "Joseph Amarra hired her.", "Where did she live?", "Where did Hana Sefu live?"),
        ("What is the Spring Flood?", "Tolland named it.", "When did it end?", "When did Spring Flood end?"),
        ("Tell me about Lowani.", "Tolland sold it pumps.", "Who runs it?", "Who runs Lowani?"),
        ("Please tell us more about Tolland", "See Corrick & Vane.", "Is that firm big?", "Is Tolland big?"),
        ("What do you know about Tolland?", "Hana Sefu owns it.", "When did it open?", "When did Tolland open?"),
        # What a question asks for, not what it mentions, is spoken of next.
        ("Who is the manager of Tolland?", "Joseph Amarra.", "What did he do?", "What did Joseph Amarra do?"),
        ("Who is Hana Sefu's brother?", "Joseph Amarra.", "What did he do?", "What did Joseph Amarra do?"),
        ("Tell me about Tolland.", "Hana Sefu owns it.", "Where does she live?", "Where does Hana Sefu live?"),
    ],
)
def test_what_a_question_is_about_as_such_is_spoken_of_next(
    before: str, answer: str, question: str, expected: str
) -> None:
    assert meant(question, turn(before, answer)) == expected
