"""What is measured of a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evigraph import Evigraph
from evigraph.query.request import parse
from evigraph.query.route.examples import EXAMPLES
from evigraph.query.route.likeness import STAND_INS, reader, with_stand_ins
from evigraph.query.route.names import Thing, apart, things
from evigraph.query.route.signals import Signals, lexical, retrieved
from evigraph.query.route.weights import CENTRES, PRIOR, WEIGHTS
from evigraph.query.run import Run
from evigraph.query.understand import understand
from small import OneStore, item


@contextmanager
def asked(graph: Evigraph, question: str) -> Iterator[Run]:
    with graph.queries.open(parse({"query": question})) as run:
        understand(run)
        yield run


def words(graph: Evigraph, question: str) -> Signals:
    with asked(graph, question) as run:
        return lexical(run)


def test_every_signal_has_a_weight(pumps: Evigraph) -> None:
    with asked(pumps, "What did Hana Sefu do?") as run:
        names = [*lexical(run), *retrieved(run)]
    assert names == list(WEIGHTS) == list(CENTRES)
    assert set(PRIOR) == {"lookup", "local", "linked", "global"}


def test_named_things_are_counted_once_and_say_which(pumps: Evigraph) -> None:
    found = words(pumps, "How did Hana Sefu get on with Joseph Amarra?")
    assert (found["named"].value, found["several_named"].value) == (1.0, 1.0)
    assert found["named"].detail == "Hana Sefu, Joseph Amarra"
    assert words(pumps, "Where is Hana Sefu?")["several_named"].value == 0.0
    assert words(pumps, "why do pumps break")["named"].value == 0.0


def test_lower_case_names_and_unknown_ones_are_things(pumps: Evigraph) -> None:
    with asked(pumps, "corrick vane and the hospital at Merrow Heights") as run:
        found = things(run)
    assert [(thing.text, thing.known) for thing in found] == [("corrick vane", True), ("Merrow Heights", False)]


def thing(text: str, name: str, **given: bool) -> Thing:
    start = text.index(name)
    return Thing(text=name, start=start, end=start + len(name), weight=1.0, known=True, **given)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("the well at Kessu", 1),
        ("Ann at Kessu", 1),
        ("Ann's shop in Kessu", 1),
        ("Ann and Kessu", 2),
        ("Ann with the mill at Kessu", 2),
        ("how did Ann come to Kessu", 2),
    ],
)
def test_a_place_that_something_is_in_is_no_second_thing(text: str, counted: int) -> None:
    named = [thing(text, name) for name in ("Ann", "Kessu") if name in text]
    assert len(apart(text, named)) == counted


def test_an_article_before_a_common_noun_makes_no_name(store: OneStore) -> None:
    graph = store.engine()
    graph.index([item("a", "The School taught Mary Ann."), item("b", "a school"), item("c", "that school")])
    with asked(graph, "what helped the school") as run:
        assert things(run) == []


def test_an_unknown_name_is_found_wherever_it_stands(pumps: Evigraph) -> None:
    found = words(pumps, "in Merrow before, and in Merrow after the war")
    assert (found["several_named"].value, found["repeated"].detail) == (0.0, "merrow")
    with asked(pumps, "in Merrow before, and in Merrow after the war") as run:
        assert len(things(run)) == 2


def test_months_are_no_things(pumps: Evigraph) -> None:
    with asked(pumps, "What did the ferry carry in August 2014?") as run:
        assert things(run) == []


def test_a_name_that_is_everywhere_restricts_nothing(store: OneStore) -> None:
    graph = store.engine()
    regions = ("north", "south", "east", "west")
    graph.index(
        [
            item(f"{region}{n}", f"Brack paid Town{region} for {n} wells.", metadata={"region": region})
            for region in regions
            for n in range(2)
        ]
    )
    found = words(graph, "Has Brack become any better at paying?")
    assert (found["named"].value, found["everywhere"].value, found["everywhere"].detail) == (0.0, 1.0, "Brack")
    found = words(graph, "Has Townnorth become any better at paying?")
    assert (found["named"].value, found["everywhere"].value) == (1.0, 0.0)


def test_words_of_names_are_no_cues(store: OneStore) -> None:
    graph = store.engine()
    graph.index([item("a", "The ship All Trends carried salt. All Trends sank.")])
    found = words(graph, "When was All Trends built?")
    assert (found["themes"].value, found["scope"].value) == (0.0, 0.0)


def test_stand_ins_replace_names_and_keep_what_is_asked() -> None:
    text = "Did Ann write to Zed of Corp, or Zed to Ann?"
    first, second = STAND_INS[:2]
    at = text.rindex("Zed")
    named = [
        thing(text, "Ann"),
        thing(text, "Zed"),
        thing(text, "Corp", everywhere=True),
        Thing(text="Zed", start=at, end=at + 3, weight=1.0, known=True),
    ]
    assert with_stand_ins(text, named) == f"Did {first} write to {second} of the organisation, or {second} to Ann?"


def test_a_question_reads_like_its_own_example(pumps: Evigraph) -> None:
    with asked(pumps, "x") as run:
        read = reader(run.embedder())
        assert read is reader(run.embedder())
        for route, examples in EXAMPLES.items():
            found = read.read(run.embedder().embed([examples[0]])[0])
            assert max(found, key=lambda one: found[one][0]) == route
            assert found[route][1] == examples[0]
    assert read.unseen.shape == (sum(map(len, EXAMPLES.values())), len(EXAMPLES))


def test_no_example_is_there_twice() -> None:
    texts = [text for examples in EXAMPLES.values() for text in examples]
    assert len(set(texts)) == len(texts) <= 400


@pytest.mark.parametrize("question", ["?", "...", "x", "什么时候", "a" * 3000, "who " * 500])
def test_any_text_is_measured(pumps: Evigraph, question: str) -> None:
    with asked(pumps, question) as run:
        values = [found.value for found in {**lexical(run), **retrieved(run)}.values()]
    assert all(-10 <= value <= 10 for value in values)


def test_an_empty_scope_has_no_nearness(store: OneStore) -> None:
    with asked(store.engine(), "What recurs?") as run:
        assert retrieved(run) == {}
