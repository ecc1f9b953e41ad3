"""Names in questions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from evigraph import Evigraph
from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor
from evigraph.query.request import parse
from evigraph.query.run import Question
from evigraph.query.understand import question_terms, rarity, residual, understand
from evigraph.testing.models import HashEmbedder
from small import PUMPS, OneStore, item


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("understand"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def pumps(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(PUMPS)
    return graph


def understood(graph: Evigraph, question: str, **options: object) -> Question:
    with graph.queries.open(parse({"query": question, **options})) as run:
        understand(run)
        return run.asked


def anchors(graph: Evigraph, question: str, **options: object) -> list[str]:
    return [anchor.text for anchor in understood(graph, question, **options).anchors]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Hana Sefu write about Tarn?", ["Hana Sefu", "Tarn"]),
        ("Did HANA SEFU write?", ["HANA SEFU"]),
        ("Who met Hana Sefu's brother?", ["Hana Sefu"]),
        ("Hana Sefu did what?", ["Hana Sefu"]),
        ("what did hana sefu write about tarn?", ["hana sefu", "tarn"]),
        ("what do the notes say of the lowani committee?", ["the lowani committee"]),
        ("Who wrote the Tarn monthly note?", ["the Tarn monthly note"]),
        ("how many pumps were sold?", []),
        ("???", []),
    ],
)
def test_known_names_become_anchors(pumps: Evigraph, question: str, expected: list[str]) -> None:
    assert anchors(pumps, question) == expected


def test_anchors_stand_where_they_say_and_do_not_overlap(pumps: Evigraph) -> None:
    question = "Did Joseph Amarra of the Lowani committee meet Hana Sefu in Tarn, or in Lowani?"
    found = understood(pumps, question).anchors
    assert [anchor.text for anchor in found] == ["Joseph Amarra", "the Lowani committee", "Hana Sefu", "Tarn", "Lowani"]
    assert all(question[anchor.start : anchor.end] == anchor.text for anchor in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(0 <= anchor.weight <= 1 for anchor in found)


def test_names_that_nothing_carries_are_unknown(pumps: Evigraph) -> None:
    asked = understood(pumps, "What did Zorba Quist tell Hana Sefu about Port-Salut?")
    assert [anchor.text for anchor in asked.anchors] == ["Hana Sefu"]
    assert asked.unknown_names == ("Zorba Quist", "Port-Salut")
    assert understood(pumps, "What did zorba quist tell?").unknown_names == ()


@pytest.mark.parametrize(("title", "weight"), [("Brand", 1.0), ("Brand (play)", 0.9)])
def test_a_passage_is_about_its_title_with_or_without_a_parenthesis(store: OneStore, title: str, weight: float) -> None:
    graph = store.engine(extractor=SpacyExtractor())
    graph.index([item("brand", "It is a work by Henrik Ibsen.", title=title), *PUMPS])
    (found,) = understood(graph, "Who wrote Brand?").anchors
    assert found.alias_weight == weight, "exactly: it is compared with a threshold of the same value"


def test_anchors_are_those_of_the_scope(pumps: Evigraph) -> None:
    assert anchors(pumps, "What did Hana Sefu do in Tarn?", metadata_filter={"region": "south"}) == ["Hana Sefu"]
    asked = understood(pumps, "What did Hana Sefu do in Tarn?", document_filter={"document_ids": []})
    assert asked.anchors == ()


def test_a_common_word_is_no_name_in_lower_case(store: OneStore) -> None:
    graph = store.engine()
    documents = [item("name", "Hope received the rods.")]
    documents += [item(f"d{n}", f"They hope that well {n} will last.") for n in range(5)]
    graph.index(documents)
    assert anchors(graph, "Where did Hope go?") == ["Hope"]
    assert anchors(graph, "where is there hope?") == []


def test_one_foreign_document_does_not_change_what_is_a_name(store: OneStore) -> None:
    """Terms are analysed by each document's language; a word stemmed differently there is still a common word."""
    graph = store.engine()
    documents = [item("name", "Running received the rods of the village.")]
    documents += [item(f"d{n}", f"They are running water to the houses of village number {n}.") for n in range(5)]
    graph.index(documents)
    assert anchors(graph, "where is there running water?") == []
    german = "Die Pumpen wurden im Frühjahr in das Dorf geliefert und von den Mechanikern eingebaut."
    graph.index(item("deutsch", german))
    assert [info.language for info in graph.documents()].count("de") == 1
    assert anchors(graph, "where is there running water?") == []


def test_questions_in_other_scripts_are_understood_without_names(store: OneStore) -> None:
    graph = store.engine()
    graph.index([*PUMPS, item("ja", "田中さんは東京でポンプを届けました。井戸は二つあります。")])
    asked = understood(graph, "田中さんは何を届けましたか。")
    assert asked.anchors == ()
    assert "田中" in asked.terms
    assert graph.retrieve("田中さんは何を届けましたか。", mode="keyword_lookup").chunks[0].document_id == "ja"
    assert anchors(graph, "Tarn に何が届きましたか。") == ["Tarn"]


def test_an_empty_workspace_knows_no_names(store: OneStore) -> None:
    asked = understood(store.engine(), "What did Hana Sefu do?")
    assert asked.anchors == ()
    assert asked.unknown_names == ("Hana Sefu",)
    assert asked.vector.shape == (1,)


def test_the_residual_is_what_is_asked_about_the_names(pumps: Evigraph) -> None:
    assert understood(pumps, "What did Hana Sefu do in Tarn?").residual == "What did do in ?"
    assert understood(pumps, "Hana Sefu?").residual == "Hana Sefu?"
    assert residual("nothing named", ()) == "nothing named"


def test_terms_are_those_of_every_language_once() -> None:
    assert question_terms("the pumps pumped", ["en"]) == ("pump",)
    assert question_terms("Pumpen pumped", ["de", "en"]) == ("pump", "pumped", "pumpen")
    assert question_terms("wells", []) == ("well",)


def test_rarity_falls_with_frequency() -> None:
    assert rarity(1, 100) == pytest.approx(1.0)
    assert rarity(0, 100) == pytest.approx(1.0)
    assert 0 < rarity(100, 100) < rarity(10, 100) < 1
    assert rarity(0, 0) == 0.0
    assert rarity(1, 1) == pytest.approx(1.0)


LONG = "Background matter sets the scene. " * 60 + "Who delivered pumps to Tarn?"
TOLD = "understand: the question is longer than the embedding model reads ({} of 307 tokens)"


@pytest.mark.parametrize("mode", ["naive", "mix", "local", "global", "keyword_lookup"])
def test_a_question_that_the_embedder_does_not_read_whole_is_told(pumps: Evigraph, mode: str) -> None:
    degraded = pumps.retrieve(LONG, mode=mode).degraded
    assert [one for one in degraded if one.startswith(TOLD.format(256))] == list(degraded)[:1]
    assert sum(one.startswith("understand: ") for one in degraded) == 1


def test_one_that_it_reads_to_the_last_token_is_no_deviation(pumps: Evigraph) -> None:
    whole = " ".join(["pumps"] * 253) + " Tarn"
    assert pumps.embedder.count_tokens(whole) == pumps.embedder.max_tokens
    assert pumps.retrieve(whole, mode="naive").degraded == ()
    assert pumps.retrieve(f"{whole} more", mode="naive").degraded != ()


def test_over_nothing_there_is_nothing_to_read(pumps: Evigraph) -> None:
    assert pumps.retrieve(LONG, document_filter={"document_ids": []}).degraded == ()


def test_each_model_of_several_has_its_own_length(store: OneStore) -> None:
    graph = store.engine(embedders={"wide": HashEmbedder(32, 280, name="wide"), "all": HashEmbedder(16, 999, "all")})
    graph.index(PUMPS[:1])
    for name, more in (("wide", PUMPS[1]), ("all", PUMPS[2])):
        base = graph.knowledge_bases.create(name, embedding_model=name).id
        assert not graph.knowledge_bases.index(base, more).errors
    told = [one for one in graph.retrieve(LONG, mode="naive").degraded if one.startswith("understand: ")]
    assert len(told) == 2
    assert told[0].startswith(TOLD.format(256)) and told[1].startswith(TOLD.format(280))
