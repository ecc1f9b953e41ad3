"""What the enhancers say of passages that a model judged in part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evigraph.config import Settings
from evigraph.errors import ModelTimeout
from evigraph.models.ports import Message
from evigraph.testing.models import HashEmbedder, ScriptedChat
from evigraph.types import Evidence
from small import OneStore, item

QUESTION = "Which pumps stand last?"


def embedder() -> HashEmbedder:
    return HashEmbedder(64, 2_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("enhance"))
    filler = "Nothing of note is said of it here. " * 20
    notes = [item(f"d{n:02}", f"Pumps {n}. {filler} Pump {n} stands last.", title="") for n in range(100)]
    assert not opened.engine("notes", embedder=embedder()).index(notes).errors
    yield opened
    opened.close()


def grades(messages: Sequence[Message]) -> str:
    count = messages[-1].content.count("<passage n=")
    return json.dumps([{"n": n, "grade": 5} for n in range(1, count + 1)])


def retrieve(store: OneStore, top_k: int, *, reply: Any = grades, **options: Any) -> Evidence:
    settings = Settings(reranker="llm")
    graph = store.engine("notes", embedder=embedder(), chat=ScriptedChat(reply), settings=settings, **options)
    return graph.retrieve(QUESTION, mode="naive", min_score=-1.0, rerank=True, rerank_top_k=top_k)


def test_passages_judged_by_their_beginning_are_counted_and_told(store: OneStore) -> None:
    assert retrieve(store, 100).degraded == (
        "rerank: 100 of 100 passages were judged by their beginning, for the chat model is shown 48,000 characters in"
        " all; a smaller rerank_top_k leaves more to each",
    )


def test_passages_that_are_shown_whole_are_no_deviation(store: OneStore) -> None:
    assert retrieve(store, 50).degraded == ()


def test_where_the_model_failed_nothing_was_judged(store: OneStore) -> None:
    (sentence,) = retrieve(store, 100, reply=[ModelTimeout("too long")]).degraded
    assert "failed" in sentence


def test_another_reranker_sees_all_of_each(store: OneStore) -> None:
    class Whole:
        name = "whole"

        def score(self, question: str, texts: Sequence[str]) -> list[float]:
            return [float(len(text)) for text in texts]

    assert retrieve(store, 100, reranker=Whole()).degraded == ()
