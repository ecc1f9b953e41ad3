"""A question that takes two hops, over four documents and over eight, with a known embedding and a known extractor.

Nothing here knows a question or a document by heart. `TopicEmbedder` is a bag of words, each word an axis; two tables
say all that it does beyond counting: names weigh a little more than other words, as rare words do in embedding models,
and three words lie partly on the axes of others (`mended` is a kind of `restored`). `PhraseExtractor` reads `Name
phrase Name` with four known phrases, and titles name what a document is about, as in a catalogue.

What misleads search by words is a homograph: Larkspur is an instrument and larkspur a flower. Passages about the flower
share more words with the question than the one about the instrument does, and the passage that names the town shares
none. The graph reads names where they are written as names, and follows who mended what to where they live.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evigraph import Evigraph
from evigraph.models.ports import Vectors
from evigraph.text.names import entity_id, name_key
from evigraph.types import Assertion, Extraction, Mention, Passage
from small import OneStore, item

FOUR = [
    item("larkspur", "Fenwick mended Larkspur by lamp light after the flood.", title="Larkspur"),
    item("fenwick", "Fenwick rents rooms in Ostrava above a bakery.", title="Fenwick"),
    item("beds", "A bed of larkspur brightens any town garden until June.", title="Garden beds"),
    item("seeds", "Sow larkspur early: in a cold town it sprouts best indoors.", title="Sowing"),
]
EXPANDED = [
    *FOUR,
    item("marigold", "Tolland mended Marigold during the war.", title="Marigold"),
    item("tolland", "Tolland rents rooms in Ostrava behind the theatre.", title="Tolland"),
    item("halima", "Halima carries mail for Quillon twice a week.", title="Halima"),
    item("quillon", "Quillon breeds bees on the island of Marrow.", title="Quillon"),
]
"""The same with a second way to the same town, and a second community that has nothing to do with it."""

TWO_HOPS = "In which town was Larkspur restored?"
BOTH = "In which town were both Larkspur and Marigold restored?"
ONE_WAY = {"larkspur", "fenwick"}
BOTH_WAYS = ONE_WAY | {"marigold", "tolland"}

SEARCHES: tuple[dict[str, Any], ...] = (
    {"mode": "naive"},
    {"mode": "naive", "hybrid": True},
    {"mode": "keyword_lookup"},
)
GRAPHS: tuple[dict[str, Any], ...] = ({"mode": "local"}, {"mode": "traverse"}, {"mode": "mix"})

NAME_WEIGHT = 1.2
PLAIN = frozenset(("in", "which", "was", "were", "the", "that", "a", "and", "both", "of", "for", "on"))
"""Words without meaning of their own."""
NEAR: Mapping[str, Mapping[str, float]] = {
    "mended": {"restored": 0.6},
    "rents": {"town": 0.4},
    "rooms": {"town": 0.3},
}
"""Words that lie, in part, on the axes of others."""
AXES = 256

PHRASES = {
    "mended": "MENDED",
    "rents rooms in": "RENTS_ROOMS_IN",
    "carries mail for": "CARRIES_FOR",
    "breeds": "BREEDS",
}
_NAME = re.compile(r"\b[A-Z][a-z]+\b")


class TopicEmbedder:
    """Words on axes, added up: see above."""

    name = "topics"
    dimension = AXES
    max_tokens = 64

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), AXES), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in set(re.findall(r"[^\W_]+", text)):
                self._add(rows[row], word)
            rows[row] /= np.linalg.norm(rows[row])
        return rows

    def _add(self, row: Any, word: str) -> None:
        folded = word.casefold()
        if folded in PLAIN:
            return
        weight = NAME_WEIGHT if folded in NAMES else 1.0
        row[zlib.crc32(folded.encode()) % AXES] += weight
        for other, share in NEAR.get(folded, {}).items():
            row[zlib.crc32(other.encode()) % AXES] += share

    def count_tokens(self, text: str) -> int:
        return len(text.split())


NAMES = frozenset(("larkspur", "fenwick", "ostrava", "marigold", "tolland", "halima", "quillon", "marrow"))


class PhraseExtractor:
    """Names, and what a known phrase between two of them claims."""

    name = "phrases"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for passage in passages:
            if name_key(title) in NAMES:
                mentions.append(_mention(passage, title, passage.start, passage.end, "title"))
            found = [match for match in _NAME.finditer(passage.text) if name_key(match.group()) in NAMES]
            for match in found:
                start = passage.start + match.start()
                mentions.append(_mention(passage, match.group(), start, start + len(match.group()), "text"))
            for left, right in pairwise(found):
                phrase = passage.text[left.end() : right.start()].strip()
                if phrase in PHRASES:
                    assertions.append(_claim(passage, left, right, PHRASES[phrase]))
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))


def _mention(passage: Passage, name: str, start: int, end: int, role: Any) -> Mention:
    return Mention(
        passage_index=passage.index,
        entity_id=entity_id(name_key(name), "CONCEPT"),
        key=name_key(name),
        name=name,
        type="CONCEPT",
        start=start,
        end=end,
        role=role,
        extractor=PhraseExtractor.name,
    )


def _claim(passage: Passage, left: re.Match[str], right: re.Match[str], predicate: str) -> Assertion:
    return Assertion(
        passage_index=passage.index,
        subject_id=entity_id(name_key(left.group()), "CONCEPT"),
        subject_name=left.group(),
        subject_type="CONCEPT",
        predicate=predicate,
        object_id=entity_id(name_key(right.group()), "CONCEPT"),
        object_name=right.group(),
        object_type="CONCEPT",
        description=passage.text[left.start() : right.end()],
        start=passage.start + left.start(),
        end=passage.start + right.end(),
        extractor=PhraseExtractor.name,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("four"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def four(store: OneStore) -> Evigraph:
    return _indexed(store, FOUR)


@pytest.fixture(scope="module")
def expanded(store: OneStore) -> Evigraph:
    return _indexed(store, EXPANDED)


def _indexed(store: OneStore, documents: Sequence[dict[str, Any]]) -> Evigraph:
    graph = store.engine(embedder=TopicEmbedder(), extractor=PhraseExtractor())
    report = graph.index(documents)
    assert (report.count("added"), report.errors) == (len(documents), ())
    return graph


def found(graph: Evigraph, question: str, budget: int, **options: Any) -> set[str]:
    """Documents of the passages within the budget."""
    return {chunk.document_id for chunk in graph.retrieve(question, max_chunks=budget, **options).chunks}


def in_words(graph: Evigraph, question: str, budget: int) -> set[str]:
    """Documents of the first passages by BM25 alone."""
    chunks = graph.retrieve(question, mode="keyword_lookup").chunks
    return {chunk.document_id for chunk in chunks if (chunk.bm25_rank or budget + 1) <= budget}


@pytest.mark.parametrize("options", SEARCHES)
def test_search_finds_no_support_in_its_first_two(four: Evigraph, options: dict[str, Any]) -> None:
    assert found(four, TWO_HOPS, 2, **options) == {"beds", "seeds"}
    assert in_words(four, TWO_HOPS, 2) == {"beds", "seeds"}


@pytest.mark.parametrize("options", GRAPHS)
def test_the_graph_finds_both(four: Evigraph, options: dict[str, Any]) -> None:
    assert found(four, TWO_HOPS, 2, **options) == ONE_WAY


@pytest.mark.parametrize("options", SEARCHES)
def test_search_finds_neither_way_whole_in_the_larger_corpus(expanded: Evigraph, options: dict[str, Any]) -> None:
    assert not ONE_WAY & found(expanded, TWO_HOPS, 2, **options)
    assert len(BOTH_WAYS & found(expanded, BOTH, 4, **options)) <= 2
    assert len(BOTH_WAYS & in_words(expanded, BOTH, 4)) <= 2


@pytest.mark.parametrize("options", GRAPHS)
def test_the_graph_finds_two_and_four_in_the_larger_corpus(expanded: Evigraph, options: dict[str, Any]) -> None:
    assert found(expanded, TWO_HOPS, 2, **options) == ONE_WAY
    assert found(expanded, BOTH, 4, **options) == BOTH_WAYS


def test_a_traversal_shows_the_way(four: Evigraph) -> None:
    evidence = four.retrieve(TWO_HOPS, mode="traverse", seeds=["larkspur"], max_chunks=2)
    names = [path.names for path in evidence.paths]
    assert ("Larkspur", "Fenwick", "Ostrava") in names
    way = evidence.paths[names.index(("Larkspur", "Fenwick", "Ostrava"))]
    assert [item.document_id for item in way.relationships] == ["larkspur", "fenwick"]


# ---------------------------------------------------------------- plans


def town_of(name: str, mark: str) -> list[dict[str, Any]]:
    """Steps to the town of whoever mended the named thing."""
    return [
        {"id": f"thing{mark}", "op": "match", "entity": name},
        {"id": f"who{mark}", "op": "hop", "source": f"thing{mark}", "predicates": ["MENDED"], "direction": "in"},
        {"id": f"town{mark}", "op": "hop", "source": f"who{mark}", "predicates": ["RENTS_ROOMS_IN"]},
    ]


def test_a_plan_cites_both(four: Evigraph) -> None:
    answer = four.plan({"steps": town_of("Larkspur", "1")})
    assert not answer.abstained
    assert "Ostrava" in (answer.text or "")
    assert {citation.document_id for citation in answer.citations} == ONE_WAY
    assert found(four, TWO_HOPS, 2, mode="plan", plan={"steps": town_of("Larkspur", "1")}) == ONE_WAY


def test_a_planned_intersection_cites_all_four(expanded: Evigraph) -> None:
    both = [*town_of("Larkspur", "1"), *town_of("Marigold", "2")]
    answer = expanded.plan({"steps": [*both, {"id": "town", "op": "intersect", "sources": ["town1", "town2"]}]})
    assert not answer.abstained
    outcome = answer.evidence.plan
    assert outcome is not None
    assert [binding.name for binding in outcome.steps[-1].bindings] == ["Ostrava"]
    assert {citation.document_id for citation in answer.citations} == BOTH_WAYS


def test_an_intersection_of_strangers_abstains(expanded: Evigraph) -> None:
    """The two communities share nothing: an empty step, and nothing made up."""
    steps = [
        *town_of("Larkspur", "1"),
        {"id": "ferry", "op": "match", "entity": "Halima"},
        {"id": "port", "op": "hop", "source": "ferry", "predicates": ["CARRIES_FOR"]},
        {"id": "town", "op": "intersect", "sources": ["town1", "port"]},
    ]
    answer = expanded.plan({"steps": steps})
    assert answer.abstained
    assert answer.evidence.plan is not None
    assert answer.evidence.plan.failed_step == "town"
