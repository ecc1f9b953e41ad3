"""What holds for any text whatever: spans, quotes, token limits, and filters that equal a workspace of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evigraph import Evigraph
from evigraph.query.request import LIMITS
from evigraph.types import Evidence, Mode
from small import OneStore, item

MODES = [mode.value for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)]
EVERYTHING = {name: high for name, (_, high) in LIMITS.items() if name.startswith("max_")}

_NAMES = ["Hana Sefu", "Corrick Vane", "Tarn", "Lowani", "Ulwe", "Émile Zöllner"]
_SENTENCES = [
    "{} delivered pumps to {}.",
    "{} visited {} twice, e.g. in May.",
    "{} and {} stayed at home!",
    "Nobody saw {} or {}?",
]
_BLOCKS = [
    "# {}\n\n",
    "## About {}\n\n",
    "- {}\n- and more\n\n",
    "| a | b |\n| --- | --- |\n| {} | 2 |\n\n",
    "> {}\n\n",
]
_ODD = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")
    | st.sampled_from("\n\r\t |#*`é𝒳東ア한ไ🏽\u200d\u0301"),
    max_size=40,
)
_NAME = st.sampled_from(_NAMES)
_SENTENCE = st.builds(lambda form, one, two: form.format(one, two) + " ", st.sampled_from(_SENTENCES), _NAME, _NAME)
_BLOCK = st.builds(lambda form, name: form.format(name), st.sampled_from(_BLOCKS), _NAME)
TEXTS = st.lists(_SENTENCE | _BLOCK | _ODD | st.just("\n\n"), min_size=1, max_size=25).map("".join)
TITLES = st.sampled_from(["", "Note", *_NAMES, "Bericht über Ulwe", "東京のメモ"])

FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("properties"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graphs(store: OneStore) -> Iterator[Evigraph]:
    """Empty workspaces, one after the other."""
    engine = store.engine()
    return (engine.in_workspace(f"p{number}") for number in count())


def documents(texts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        item(f"d{n}", text, title=title, source=f"{'ab'[n % 2]}/d{n}.md", metadata={"side": "ab"[n % 2]})
        for n, (text, title) in enumerate(texts)
    ]


CORPORA = st.lists(st.tuples(TEXTS, TITLES), min_size=1, max_size=4).map(documents)
QUESTIONS = st.sampled_from(["What did Hana Sefu do in Tarn?", "who delivered pumps to ulwe", "Émile Zöllner", "東京"])


# ------------------------------------------------------------------ spans


def check_spans(graph: Evigraph, corpus: list[dict[str, Any]], question: str, modes: Sequence[str]) -> None:
    report = graph.index(corpus)
    assert {error.code for error in report.errors} <= {"empty_document"}
    texts = {info.document_id: graph.document_text(info.document_id) for info in graph.documents()}
    limit = graph.embedder.max_tokens
    for mode in modes:
        answer = graph.ask(question, mode=mode, min_score=-1, **EVERYTHING)
        for chunk in (one for one in answer.evidence.chunks if not one.level):
            assert texts[chunk.document_id][chunk.start : chunk.end] == chunk.text
            searched = f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
            assert graph.embedder.count_tokens(searched) == chunk.token_count <= limit
            assert all(chunk.start <= start < end <= chunk.end for start, end in chunk.sentences)
        for claim in answer.evidence.relationships:
            assert texts[claim.document_id][claim.start : claim.end] == claim.description
        for citation in answer.citations:
            assert texts[citation.document_id][citation.start : citation.end] == citation.quote
            assert 1 <= len(citation.quote) <= 300
            assert f"[{citation.n}]" in (answer.text or "")
        assert answer.abstained == (answer.text is None) == bool(answer.abstain_reason)
    dense = graph.retrieve(question, mode="naive", min_score=-1, **EVERYTHING)
    held = "".join(sorted("".join("".join(chunk.text.split()) for chunk in dense.chunks)))
    assert held == "".join(sorted("".join("".join(text.split()) for text in texts.values())))


@FEW
@given(corpus=CORPORA, question=QUESTIONS, mode=st.sampled_from(MODES))
def test_spans_and_quotes_stand_where_they_say(
    graphs: Iterator[Evigraph], corpus: list[dict[str, Any]], question: str, mode: str
) -> None:
    check_spans(next(graphs), corpus, question, [mode])


@pytest.mark.verify
@MANY
@given(corpus=CORPORA, question=QUESTIONS)
def test_spans_and_quotes_stand_where_they_say_at_length(
    graphs: Iterator[Evigraph], corpus: list[dict[str, Any]], question: str
) -> None:
    check_spans(next(graphs), corpus, question, MODES)


# ------------------------------------------------------------------ filters

FILTERS = st.sampled_from(
    [
        {"metadata_filter": {"side": "a"}},
        {"document_filter": {"pattern": "b/*"}},
        {"document_filter": {"document_ids": ["d0", "d3"]}},
        {"document_filter": {"document_ids": []}},
        {"document_filter": {"document_ids": ["d2"], "pattern": "b/*"}, "metadata_filter": {"side": "b"}},
    ]
)


def matches(document: dict[str, Any], filters: dict[str, Any]) -> bool:
    allowed = filters.get("document_filter", {})
    named = document["document_id"] in allowed.get("document_ids", [])
    globbed = "pattern" in allowed and document["source"].startswith(allowed["pattern"].rstrip("*"))
    kept = named or globbed or not allowed
    return kept and document["metadata"]["side"] == filters.get("metadata_filter", document["metadata"])["side"]


def comparable(found: Evidence) -> Evidence:
    """Without what must differ: generation, timings, and how the scope was asked for."""
    counts = {name: value for name, value in found.stats.items() if not name.endswith("_ms")}
    return replace(found, generation=0, stats=counts)


def check_filters(
    whole: Evigraph,
    alone: Evigraph,
    *,
    corpus: list[dict[str, Any]],
    filters: dict[str, Any],
    question: str,
    modes: Sequence[str],
) -> None:
    whole.index(corpus)
    alone.index([document for document in corpus if matches(document, filters)])
    for mode in modes:
        filtered = whole.retrieve(question, mode=mode, **filters)
        assert comparable(filtered) == comparable(alone.retrieve(question, mode=mode))


@FEW
@given(corpus=CORPORA, filters=FILTERS, question=QUESTIONS, mode=st.sampled_from(MODES))
def test_a_filter_equals_a_workspace_of_the_filtered_documents(
    graphs: Iterator[Evigraph], corpus: list[dict[str, Any]], filters: dict[str, Any], question: str, mode: str
) -> None:
    check_filters(next(graphs), next(graphs), corpus=corpus, filters=filters, question=question, modes=[mode])


@pytest.mark.verify
@MANY
@given(corpus=CORPORA, filters=FILTERS, question=QUESTIONS)
def test_a_filter_equals_a_workspace_of_the_filtered_documents_at_length(
    graphs: Iterator[Evigraph], corpus: list[dict[str, Any]], filters: dict[str, Any], question: str
) -> None:
    check_filters(next(graphs), next(graphs), corpus=corpus, filters=filters, question=question, modes=MODES)
