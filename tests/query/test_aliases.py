"""Names typed otherwise than passages have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.query.request import parse
from evigraph.query.run import Question
from evigraph.query.understand import understand
from small import PUMPS, OneStore, item

FIRMS = [
    item("ibm", "International Business Machines delivered four pumps to Tarn."),
    item("doctor", "Bettina Orlando trained the mechanics. Then Dunstan Orlando tested the rods."),
    item("trade", "The Northwind Trading Company repaired two wells in Lowani."),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("aliases"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def firms(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index([*PUMPS, *FIRMS])
    return graph


def understood(graph: Evigraph, question: str, **options: object) -> tuple[Question, list[dict[str, Any]]]:
    with graph.queries.open(parse({"query": question, **options})) as run:
        understand(run)
        return run.asked, run.ledger.counts.get("aliases", [])


def keys(graph: Evigraph, question: str, **options: object) -> list[str]:
    return [anchor.key for anchor in understood(graph, question, **options)[0].anchors]


@pytest.mark.parametrize(
    ("question", "expected", "kind"),
    [
        ("What did IBM deliver?", "international business machines", "acronym"),
        ("What did I.B.M. deliver?", "international business machines", "acronym"),
        ("what did ibm deliver?", "international business machines", "acronym"),
        ("What did J. Amarra test?", "joseph amarra", "initials"),
        ("J. Amarra tested what?", "joseph amarra", "initials"),
        ("What did Amarra test?", "joseph amarra", "surname"),
        ("What did Dr. Amarra test?", "joseph amarra", "surname"),
        ("what did amarra test?", "joseph amarra", "surname"),
        ("What did Dr. Hana Sefu write?", "hana sefu", "title"),
        ("What did Northwind Trading repair?", "northwind trading company", "suffix"),
    ],
)
def test_a_form_stands_for_the_name(firms: Evigraph, question: str, expected: str, kind: str) -> None:
    asked, reported = understood(firms, question)
    [anchor] = asked.anchors
    assert (anchor.key, anchor.keys) == (expected, (expected,))
    assert asked.unknown_names == ()
    if kind == "title":  # the words that are a known name are taken as they are
        assert (anchor.via, reported) == ("name", [])
        return
    assert anchor.via == "form"
    assert question[anchor.start : anchor.end] == anchor.text
    assert reported == [{"name": anchor.text, "via": "form", "kind": kind, "taken": [expected]}]
    assert anchor.text not in asked.residual


def test_a_form_of_several_names_stands_for_each_and_weighs_less(firms: Evigraph) -> None:
    asked, reported = understood(firms, "What did Orlando test?")
    assert [anchor.key for anchor in asked.anchors] == ["bettina orlando", "dunstan orlando"]
    assert len({(anchor.start, anchor.end, anchor.keys) for anchor in asked.anchors}) == 1
    [entry] = reported
    assert sorted(entry["taken"]) == ["bettina orlando", "dunstan orlando"]
    alone = understood(firms, "What did Bettina Orlando test?")[0].anchors[0]
    assert all(anchor.weight == pytest.approx(alone.weight * 0.3) for anchor in asked.anchors)
    assert asked.residual == "What did test?"
    assert firms.retrieve("What did Orlando test?").stats["anchors"] == ["Orlando"]


def test_a_form_of_too_many_names_stands_for_none(store: OneStore) -> None:
    graph = store.engine()
    first = ("Anna", "Bela", "Cleo", "Dora", "Edda")
    graph.index([item(name, f"{name} Quist received the rods.") for name in first])
    asked, reported = understood(graph, "What did Quist receive?")
    assert asked.anchors == ()
    assert asked.unknown_names == ("Quist",)
    assert reported == [{"name": "Quist", "via": "form", "kind": "surname", "taken": [], "meanings": 5}]


def test_the_long_name_finds_the_short_one(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("b", "The rods of LWT came late. There LWT answered. FBI answered too."))
    asked, _ = understood(graph, "What did Lowani Water Trust answer?")
    assert [(anchor.key, anchor.via, anchor.text) for anchor in asked.anchors] == [
        ("lwt", "form", "Lowani Water Trust")
    ]
    assert keys(graph, "What did the Federal Bureau of Investigation answer?") == ["fbi"], "small words may lie inside"


def test_two_letters_are_an_acronym_only_in_capitals(firms: Evigraph) -> None:
    assert keys(firms, "What did NT repair?") == ["northwind trading company"]
    assert keys(firms, "What did Nt repair?") == []
    assert keys(firms, "what did nt repair?") == []


@pytest.mark.parametrize("typed", ["Corick Vane", "Corrick Vane", "Joseph Amara", "Joesph Amarra"])
def test_a_misspelt_name_is_found_by_its_letters(firms: Evigraph, typed: str) -> None:
    asked, reported = understood(firms, f"What did {typed} do?")
    expected = {"C": "corrick vane", "J": "joseph amarra"}[typed[0]]
    [anchor] = asked.anchors
    assert anchor.key == expected
    if typed == "Corrick Vane":
        assert (anchor.via, reported) == ("name", [])
    else:
        assert anchor.via == "similar"
        assert reported == [{"name": typed, "via": "similar", "kind": "spelling", "taken": [expected]}]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("the Siege of Csasel", "siege of cassel"),
        ("Jump for Golry", "jump for glory"),
        ("Dogde City Regional Airport", "dodge city regional airport"),
        ("Judtih Viorst", "judith viorst"),
    ],
)
def test_a_misspelt_word_of_a_long_name_is_read_with_the_rest_of_it(store: OneStore, typed: str, expected: str) -> None:
    """Though the other words of it are names of their own."""
    graph = store.engine()
    graph.index(
        [
            item("cassel", "It lasted for ten weeks.", title="Siege of Cassel"),
            item("film", "It was shown at Tarn.", title="Jump for Glory"),
            item("airport", "It has one runway.", title="Dodge City Regional Airport"),
            item("author", "She wrote for children.", title="Judith Viorst"),
            item("others", "The Siege ended. Dodge left. Viorst came. Then Jump and City and Airport came, too."),
        ]
    )
    asked, reported = understood(graph, f"What is known of {typed}?")
    assert [(anchor.key, anchor.via) for anchor in asked.anchors] == [(expected, "similar")]
    assert [one["taken"] for one in reported] == [[expected]]
    assert dict(graph.retrieve(f"What is known of {typed}?", mode="mix").stats)["gate"] == "graph"


@pytest.mark.parametrize(
    "question",
    [
        "What did Zorba Quist say?",
        "What did Zorba Sefu say?",  # the surname of another
        "What did Hans Sefu say?",
        "What did Corrick Vine say?",
        "What happened in October?",
        "What did zorba quist say?",
    ],
)
def test_another_name_stays_unknown(firms: Evigraph, question: str) -> None:
    asked, reported = understood(firms, question)
    assert asked.anchors == ()
    assert reported == []
    assert len(asked.unknown_names) == (0 if question.endswith("zorba quist say?") else 1)


def test_a_lower_case_word_of_the_text_is_no_form(store: OneStore) -> None:
    graph = store.engine()
    graph.index([
        item("name", "Carl Hope received the rods."),
        *(item(f"d{n}", f"They hope that well {n} will last.") for n in range(5)),
    ])  # fmt: skip
    assert keys(graph, "Where did Hope go?") == ["carl hope"]
    assert keys(graph, "where is there hope?") == []


def test_forms_are_those_of_the_scope(firms: Evigraph) -> None:
    question = "What did IBM deliver?"
    assert keys(firms, question, document_filter={"document_ids": ["ibm"]}) == ["international business machines"]
    asked, reported = understood(firms, question, document_filter={"document_ids": ["tarn", "memo"]})
    assert (asked.anchors, asked.unknown_names, reported) == ((), ("IBM",), [])
    asked, reported = understood(firms, "What did Corick Vane do?", document_filter={"document_ids": ["lowani"]})
    assert (asked.anchors, reported) == ((), [])


def test_a_merged_name_is_known_by_its_representative(store: OneStore) -> None:
    graph = store.engine()
    graph.index([*PUMPS, item("alias", "The Tall Man tested the rods. Big Joe chaired the meeting.")])
    before = {mode: _shown(graph, mode) for mode in ("mix", "local")}
    merge = graph.store.merge(graph.workspace, ["person:joseph amarra", "person:big joe"])
    asked, reported = understood(graph, "What did Big Joe chair?")
    assert [(anchor.key, anchor.via) for anchor in asked.anchors] == [("joseph amarra", "name")]
    assert reported == []
    assert graph.retrieve("What did Joseph Amarra do?").chunks
    found = {chunk.document_id for chunk in graph.retrieve("What did Big Joe test in Lowani?", max_chunks=3).chunks}
    assert found >= {"alias", "memo"}
    graph.store.unmerge(graph.workspace, merge.merge_id)
    assert {mode: _shown(graph, mode) for mode in before} == before


def _shown(graph: Evigraph, mode: str) -> tuple[object, ...]:
    evidence = graph.retrieve("What did Big Joe chair?", mode=mode)
    return evidence.chunks, evidence.entities, evidence.relationships, evidence.degraded


def test_an_answer_says_what_was_taken(firms: Evigraph) -> None:
    answer = firms.ask("What did IBM deliver to Tarn?")
    assert not answer.abstained
    assert answer.stats["aliases"][0]["taken"] == ["international business machines"]
    assert "aliases" not in firms.ask("What did Hana Sefu do?").stats
