"""A question reads one generation: what is published, deleted or pruned meanwhile never mixes in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evigraph.testing.clickhouse_http import serve_clickhouse
from evigraph.types import Mode

from .interleaving import Corpus, Interruption, check_every_statement, nothing

CASES: tuple[dict[str, Any], ...] = (
    {"mode": "naive"},
    {"mode": "naive", "hybrid": True},
    {"mode": "local"},
    {"mode": "global"},
    {"mode": "global", "min_score": 1.0},
    {"mode": "hybrid"},
    {"mode": "mix"},
    {"mode": "mix", "mix_weights": {"local": 1.0, "global": 1.0}},
    {"mode": "mix", "metadata_filter": {"k": "v"}, "document_filter": {"pattern": "*.txt"}},
    {"mode": "keyword_lookup"},
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    corpus = Corpus(str(tmp_path_factory.mktemp("interleaving") / "store"), "w")
    yield corpus
    corpus.close()


def test_every_mode_that_reads_is_a_case() -> None:
    assert {Mode(case["mode"]) for case in CASES} == set(Mode) - {Mode.BYPASS}


@pytest.mark.parametrize("case", CASES, ids=[" ".join(map(str, case.values())) for case in CASES])
def test_a_change_before_any_statement_leaves_the_answer_as_it_was(corpus: Corpus, case: dict[str, Any]) -> None:
    statements = check_every_statement(corpus, **case)
    assert statements > 5


def test_the_same_over_http(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path / "store") as dsn:
        corpus = Corpus(dsn, "w")
        try:
            assert check_every_statement(corpus, mode="mix") > 5
        finally:
            corpus.close()


@pytest.mark.parametrize("mode", ["local", "mix"])
def test_a_prune_waits_until_the_question_is_answered(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("evigraph.store.retention._wait_until_vanished", lambda store: None)
    expected = {}
    for _ in range(2):
        with Interruption(corpus.graph.store, 0, nothing) as counted:
            expected[corpus.state] = corpus.ask(mode=mode)
        corpus.change()
    store, workspace = corpus.graph.store, corpus.shelf.workspace
    for before in (2, counted.statements // 2, counted.statements - 1):
        state = corpus.state
        running: list[Future[Any]] = []
        recorded = threading.Event()
        record_change = store.record_change

        def record(*arguments: Any, change: Any = record_change, done: threading.Event = recorded) -> int:
            generation: int = change(*arguments)
            corpus.states[generation] = state  # noqa: B023 - used up within this round
            done.set()
            return generation

        with ThreadPoolExecutor(max_workers=2) as others:

            def replace_and_prune(
                others: ThreadPoolExecutor = others, running: list[Any] = running, done: threading.Event = recorded
            ) -> None:
                others.submit(corpus.change).result()
                monkeypatch.setattr(store, "record_change", record)
                running.append(others.submit(corpus.graph.prune))
                done.wait()

            with Interruption(store, before, replace_and_prune):
                answer = corpus.ask_pinned(running, mode=mode)
            assert answer == expected[state], f"pruned before statement {before} of {counted.statements}"
            assert running[0].result().revisions > 0
        monkeypatch.setattr(store, "record_change", record_change)
        corpus.states[store.generation(workspace)] = 1 - state
