"""A question reads one generation: what is published, deleted or pruned meanwhile never mixes in."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evigraph.reports import PruneReport
from evigraph.testing.clickhouse_http import serve_clickhouse
from evigraph.types import Mode

from .interleaving import Corpus, Interruption, check_every_statement, undisturbed

PLAN = {
    "steps": [
        {"op": "match", "id": "birch", "entity": "Birch"},
        {"op": "hop", "id": "supplied", "source": "birch", "predicates": ["SUPPLIES"], "direction": "both"},
        {"op": "count", "id": "answer", "source": "supplied"},
    ]
}
CASES: tuple[dict[str, Any], ...] = (
    {"mode": "naive"},
    {"mode": "naive", "hybrid": True, "metadata_filter": {"k": "v"}, "document_filter": {"pattern": "*.txt"}},
    {"mode": "local"},
    {"mode": "global"},
    {"mode": "global", "min_score": 1.0},
    {"mode": "hybrid"},
    {"mode": "mix"},
    {"mode": "mix", "mix_weights": {"local": 1.0, "global": 1.0}},
    {"mode": "keyword_lookup"},
    {"mode": "entity_connections"},
    {"mode": "traverse", "seeds": ["Birch"], "graph_depth": 3},
    {"mode": "plan", "plan": PLAN},
    {"mode": "thematic_overview"},
    {"mode": "auto"},
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    corpus = Corpus(str(tmp_path_factory.mktemp("interleaving") / "store"), "w")
    yield corpus
    corpus.close()


def test_every_mode_that_reads_is_a_case() -> None:
    assert {Mode(case["mode"]) for case in CASES} == set(Mode) - {Mode.BYPASS}


@pytest.mark.parametrize("case", CASES, ids=[" ".join(map(str, case.values()))[:60] for case in CASES])
def test_a_change_before_any_statement_leaves_the_answer_as_it_was(corpus: Corpus, case: dict[str, Any]) -> None:
    statements = check_every_statement(corpus, **case)
    assert statements > 5


def test_the_same_over_http(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path / "store") as dsn:
        corpus = Corpus(dsn, "w")
        try:
            assert check_every_statement(corpus, mode="local") > 5
        finally:
            corpus.close()


@pytest.mark.parametrize("mode", ["local", "mix"])
def test_a_prune_waits_until_the_question_is_answered(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("evigraph.store.retention._wait_until_vanished", lambda store, tables: None)
    expected, statements = undisturbed(corpus, mode=mode)
    for before in (2, statements // 2, statements):
        state, visible = corpus.state, {info.document_id: info.revision for info in corpus.graph.documents()}
        prune = _Prune(corpus)
        with Interruption(corpus.store, before, prune.change_and_start):
            answer = corpus.ask(mode=mode)
            assert not prune.done, "the prune waits for the question"
        assert prune.report().revisions > 0
        told = corpus.plain_at(answer, visible)
        assert told["state"] == state
        assert told == expected[state], f"pruned before statement {before} of {statements}"


class _Prune:
    """A prune in another thread, once the corpus has moved on."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.others = ThreadPoolExecutor(max_workers=1)

    def change_and_start(self) -> None:
        store, workspace = self.corpus.store, self.corpus.workspace
        self.others.submit(self.corpus.change).result()
        state, generation = self.corpus.state, store.generation(workspace)
        self.running = self.others.submit(self.corpus.graph.prune)
        while store.prune_horizon(workspace) <= generation:
            pass  # its horizon is published before it waits
        self.corpus.states[store.generation(workspace)] = state

    @property
    def done(self) -> bool:
        return self.running.done()

    def report(self) -> PruneReport:
        with self.others:
            self.corpus.forget_staged()
            return self.running.result()
