"""`mix`: how far the graph is trusted, and where its walk leads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor
from evigraph.types import Extraction, Passage
from small import PUMPS, OneStore, RuleExtractor, item

WORKS = [
    item("brand", "It is a work in five acts by Henrik Ibsen.", title="Brand (play)"),
    item("ibsen", "Henrik Ibsen was a citizen of Norway. The committee praised him.", title="Henrik Ibsen"),
    item("prize", "The committee met at Solvang and praised Zadie Quist.", title="Notes of a meeting"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("mix"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def works(store: OneStore) -> Evigraph:
    graph = store.engine(extractor=SpacyExtractor())
    assert not graph.index([*WORKS, *PUMPS]).errors
    return graph


def stats(graph: Evigraph, question: str) -> dict[str, Any]:
    return dict(graph.retrieve(question, mode="mix").stats)


@pytest.mark.parametrize(
    ("question", "gate"),
    [
        ("What country was the author of Brand a citizen of?", "graph"),
        ("What did Zadie Quist do at Solvang?", "both"),
        ("how many acts are there?", "plain"),
    ],
)
def test_the_gate_opens_as_far_as_the_names_of_the_question_lead(works: Evigraph, question: str, gate: str) -> None:
    """Some passage is about a name; names are only mentioned; no name at all."""
    assert stats(works, question)["gate"] == gate


class Missing(RuleExtractor):
    """Overlooks one name in texts, as a tagger may."""

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        found = super().extract(passages, title=title, language=language)
        kept = [one for one in found.mentions if one.role == "title" or one.name not in ("Bureau", "Works")]
        return replace(found, mentions=tuple(kept), assertions=())


def test_a_name_that_the_extractor_missed_leads_to_the_document_about_it(store: OneStore) -> None:
    graph = store.engine(extractor=Missing())
    graph.index(
        [
            item("pump", "Tirra 50 was made for the Bureau of Works.", title="Tirra 50"),
            item("bureau", "Its head was Zadie Quist for ten years.", title="Bureau of Works"),
            item("ferry", "It crossed the lake to a town.", title="Halima"),
        ]
    )
    assert stats(graph, "Who led those for whom Tirra 50 was made?")["bridges"] == ["bureau of works"]


def test_a_common_noun_is_no_bridge(works: Evigraph) -> None:
    """`The committee` stands in two passages, as Henrik Ibsen does; only a name leads on."""
    bridges = stats(works, "What country was the author of Brand a citizen of?")["bridges"]
    assert "henrik ibsen" in bridges
    assert "committee" not in bridges


def test_a_name_whose_words_the_question_holds_is_no_bridge(store: OneStore) -> None:
    """`Kingston Falls` names one place; that other passages mention Kingston alone leads nowhere new."""
    graph = store.engine(extractor=RuleExtractor())
    graph.index(
        [
            item("falls", "Zadie Quist built Kingston Falls while Kingston slept.", title="Kingston Falls"),
            item("quist", "Zadie Quist came from Norway.", title="Zadie Quist"),
            item("town", "It is a town by Kingston.", title="Lowani"),
        ]
    )
    with graph.store.snapshot(graph.workspace) as snapshot:
        known = snapshot.names(["kingston", "zadie quist"])
    assert {name: found.passages >= 2 for name, found in known.items()} == {"kingston": True, "zadie quist": True}
    asked = stats(graph, "Where did the builder of Kingston Falls come from?")
    assert asked["bridges"] == ["zadie quist"]


def test_a_title_of_several_words_is_a_name_in_lower_case(store: OneStore) -> None:
    """Though each of its words stands in other passages, too."""
    graph = store.engine(extractor=RuleExtractor())
    graph.index(
        [
            item("magazine", "It was first printed at Tarn.", title="Guitar World"),
            item("museum", "A guitar stood there. The world knew it.", title="Halima"),
            item("shop", "They sold a guitar a week to the world.", title="Lowani"),
        ]
    )
    asked = stats(graph, "where was guitar world printed?")
    assert (asked["anchors"], asked["gate"]) == (["guitar world"], "graph")
