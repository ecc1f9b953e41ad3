"""Two documents that contradict each other: both claims stand side by side with their sources, and a deleted one is
gone from every mode at once, and from every table and file once it is pruned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.physical import files_with, inactive_parts, marker, places
from evigraph import Evigraph
from evigraph.query.retrieve import RETRIEVERS
from evigraph.testing.models import ScriptedChat
from evigraph.types import Answer, Mode
from evigraph.wire import answer_to_wire, plain
from small import OneStore, item

QUESTION = "Whom did Corrick Vane marry at Tarn?"
MARRIED = {"predicates": [{"name": "MARRIED", "functional": True}]}
OPTIONS: dict[Mode, dict[str, Any]] = {
    Mode.TRAVERSE: {"seeds": ["Corrick Vane"]},
    Mode.PLAN: {
        "plan": {
            "steps": [
                {"id": "who", "op": "match", "entity": "Corrick Vane"},
                {"id": "whom", "op": "hop", "source": "who", "predicates": ["MARRIED"]},
            ]
        }
    },
}
"""What a mode needs beside the question."""
SHOW_NO_CLAIMS = (Mode.NAIVE, Mode.BYPASS)


class Dispute:
    """A workspace where `register` and `gazette` name different wives; the gazette's is a word found nowhere else."""

    def __init__(self, graph: Evigraph, folder: Path, word: str) -> None:
        self.graph = graph
        self.folder = folder
        self.word = word
        rival = f"{word} Oss"
        report = graph.index(
            [
                item("register", "Corrick Vane married Hana Sefu. Hana Sefu owned Tarn.", source="parish/register.md"),
                item(
                    "gazette",
                    f"Corrick Vane married {rival}. {rival} owned Lowani, says a letter to Tarn.",
                    source="press/gazette.md",
                    title=f"{word} notices",
                    metadata={"by": word},
                ),
                item("other", "The ferry Halima crossed the lake to Tarn.", source="letters/ferry.md"),
            ]
        )
        assert report.errors == ()
        graph.set_schema(MARRIED)

    def ask(self, mode: Mode, **options: Any) -> Answer:
        # Hashed words put no claim near enough to be sure of; what is shown is not a matter of similarity here.
        return self.graph.ask(QUESTION, mode=mode.value, min_score=-1.0, **OPTIONS.get(mode, {}), **options)

    def traces(self, mode: Mode) -> list[str]:
        """In which of its shapes an answer of the mode holds the word."""
        shapes: list[dict[str, Any]] = [{}, {"context_only": True}]
        shapes += [{"hybrid": True}] if mode is Mode.NAIVE else []
        found = []
        for options in shapes:
            shown = json.dumps(answer_to_wire(self.ask(mode, **options)), ensure_ascii=False)
            if self.word.casefold() in shown.casefold():
                found.append(f"{mode} {options}")
        return found


@pytest.fixture
def dispute(tmp_path: Path) -> Iterator[Dispute]:
    store = OneStore(tmp_path)
    chat = ScriptedChat(lambda messages: messages[-1].content[:200])
    yield Dispute(store.engine(chat=chat), store.folder, marker())
    store.close()


def claims(answer: Answer) -> dict[str, set[str]]:
    """Objects of the claims that Corrick Vane married someone, with the documents that make them."""
    evidence = answer.evidence
    shown = [*evidence.relationships]
    shown += [] if evidence.connections is None else [*evidence.connections.direct, *evidence.connections.extended]
    shown += [claim for path in evidence.paths for claim in path.relationships]
    shown += [] if evidence.plan is None else [claim for step in evidence.plan.steps for claim in step.relationships]
    found: dict[str, set[str]] = {}
    for claim in shown:
        if claim.type == "MARRIED":
            assert claim.source_name == "Corrick Vane"
            found.setdefault(claim.target_name, set()).add(claim.document_id)
    return found


def test_both_claims_are_shown_with_their_sources_then_one_is_gone(dispute: Dispute) -> None:
    graph, word = dispute.graph, dispute.word
    modes = [mode for mode in Mode if mode in RETRIEVERS]
    assert len(modes) >= 10
    for mode in modes:
        if mode not in SHOW_NO_CLAIMS:
            assert claims(dispute.ask(mode)) == {"Hana Sefu": {"register"}, f"{word} Oss": {"gazette"}}, mode
        assert bool(dispute.traces(mode)) == (mode is not Mode.BYPASS), "a trace would be noticed"
    _check_side_by_side(dispute)

    graph.delete("gazette")
    for mode in modes:
        assert dispute.traces(mode) == []
        if mode not in SHOW_NO_CLAIMS:
            assert claims(dispute.ask(mode)) == {"Hana Sefu": {"register"}}, mode
    _check_no_trace_in_the_graph(dispute)

    assert places(graph.store, word) != [], "a deletion only hides"
    assert graph.prune().documents == 1
    assert places(graph.store, word) == []
    assert inactive_parts(graph.store) == 0
    assert list(files_with(dispute.folder, word)) == []
    assert word.casefold() not in repr(vars(graph._cache)).casefold()
    _check_no_trace_in_the_graph(dispute, pruned=True)


def _check_side_by_side(dispute: Dispute) -> None:
    [contradiction] = dispute.graph.entities.contradictions(kind="functional").contradictions
    shown = plain(contradiction)
    text = json.dumps(shown)
    assert "Hana Sefu" in text and f"{dispute.word} Oss" in text
    assert "register" in text and "gazette" in text
    page = dispute.graph.entities.page("Corrick Vane")
    assert page.totals.contradictions == 1
    assert {statement.document_id for statement in page.outgoing if statement.predicate == "MARRIED"} == {
        "register", "gazette"
    }  # fmt: skip


def _check_no_trace_in_the_graph(dispute: Dispute, *, pruned: bool = False) -> None:
    entities = dispute.graph.entities
    views = [
        entities.search(""),
        entities.search(dispute.word),
        entities.page("Corrick Vane"),
        entities.page("Tarn"),
        entities.neighbourhood("Corrick Vane", depth=3),
        entities.contradictions(),
        dispute.graph.documents(),
        dispute.graph.schema(),
        *([entities.history("Corrick Vane")] if pruned else []),
    ]
    for view in views:
        # A search repeats what was searched for, nothing else may.
        assert dispute.word.casefold() not in json.dumps(plain(view)).casefold(), type(view)
    if not pruned:
        past = json.dumps(plain(entities.history("Corrick Vane")))
        assert dispute.word in past, "history shows what was said, until it is pruned"


def test_what_replaces_a_claim_supersedes_it_and_history_keeps_both(dispute: Dispute) -> None:
    graph = dispute.graph
    graph.index(item("gazette", "Corrick Vane married Ada Pell.", source="press/gazette.md"))
    for mode in (Mode.LOCAL, Mode.MIX, Mode.ENTITY_CONNECTIONS, Mode.PLAN):
        assert claims(dispute.ask(mode)) == {"Hana Sefu": {"register"}, "Ada Pell": {"gazette"}}, mode
        assert dispute.traces(mode) == []
    said = {
        (statement.object_name, statement.visible)
        for statement in graph.entities.history("Corrick Vane").statements
        if statement.predicate == "MARRIED"
    }
    assert said == {("Hana Sefu", True), ("Ada Pell", True), (f"{dispute.word} Oss", False)}
