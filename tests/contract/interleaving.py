"""Whole questions during which the corpus changes, before every single statement in turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from evigraph import Evigraph
from evigraph.store.rows import Publication
from evigraph.testing.store_contract.material import EMBEDDER, Draft, Shelf, compose, doc
from evigraph.types import Answer

QUESTION = "Who supplies Acme with pumps from Birch?"
ALWAYS = (
    doc("base", "Cedar audits Acme every spring", "Dorn supplies Cedar. Birch", title="Audits", metadata={"k": "v"}),
    doc("more", "Birch sues Dorn over pumps", "Elm supplies Birch with pumps", metadata={"k": "v"}),
)
EVEN = (
    ("turns", "Acme", ("Acme supplies Birch with pumps", "Birch audits Acme")),
    ("comes", "", ("Acme sues Elm. Birch supplies Acme with pumps",)),
)
ODD = (
    ("turns", "Birch", ("Birch supplies Acme with pumps now", "Acme. Cedar. Pumps for Acme")),
    ("comes", "", ()),
)
AHEAD = 20
"""Revisions staged in one go, so that a change costs no more than its publication."""


class Corpus:
    """Two states that alternate by one publication batch: a document replaced, one deleted or brought back."""

    def __init__(self, data: str, workspace: str) -> None:
        self.graph = Evigraph(data, workspace=workspace, embedder=EMBEDDER)
        self.store = self.graph.store
        self.workspace = workspace
        self.states: dict[int, int] = {}
        """Which state (0 even, 1 odd) each generation shows; 2 stands for those inside a batch."""
        self._staged: list[tuple[int, list[Publication]]] = []
        Shelf(self.store, workspace).fill(*ALWAYS)
        self.state = 1
        self.change()

    def change(self) -> None:
        """Replace `turns`, and delete `comes` or publish it again."""
        if not self._staged:
            self._stage_ahead()
        self.state, publications = self._staged.pop(0)
        generation = self.store.publish(self.workspace, publications)
        self.states[generation - 1] = 2
        self.states[generation] = self.state

    def forget_staged(self) -> None:
        """Reserve and stage anew: a prune removes what was staged and never published."""
        self._staged.clear()

    def _stage_ahead(self) -> None:
        drafts: list[Draft] = []
        for ahead in range(AHEAD):
            state = (1 + self.state + ahead) % 2
            numbers = self.store.reserve(self.workspace, ["turns", "comes"])
            pair = [
                compose(name, numbers[name], texts, title=title, metadata={"k": "v"})
                for name, title, texts in (ODD if state else EVEN)
            ]
            publications = [draft.publication for draft in pair]
            if state:
                publications[1] = replace(publications[1], deleted=True, passages=0, terms=0)
            self._staged.append((state, publications))
            drafts += [draft for draft in pair if draft.staged.passages]
        self.store.stage(self.workspace, EMBEDDER.name, [draft.staged for draft in drafts])

    def ask(self, **options: Any) -> Answer:
        """An answer that every statement is run for."""
        self.graph._cache.clear()
        self.store._states.clear()
        self.store._generations.clear()
        self.store.scopes.close()
        return self.graph.ask(QUESTION, **options)

    def plain(self, answer: Answer) -> dict[str, Any]:
        """An answer as data, without timings and revision numbers; these are checked to be the pinned ones."""
        generation = answer.evidence.generation
        visible = {info.document_id: info.revision for info in self.graph.documents(as_of=generation)}
        return self.plain_at(answer, visible)

    def plain_at(self, answer: Answer, visible: Mapping[str, int]) -> dict[str, Any]:
        """The same with the visible revisions given, for a generation that was pruned since."""
        found = answer.evidence
        passages = [chunk for chunk in found.chunks if not chunk.level]
        quotes = [quote for community in found.communities for quote in community.quotes]
        for item in (*passages, *quotes, *found.relationships, *answer.citations):
            assert item.revision == visible[item.document_id], item
        return {**_plain(asdict(answer)), "state": self.states[answer.evidence.generation]}

    def close(self) -> None:
        self.graph.close()


class Interruption:
    """While in force, runs `action` in another thread before this thread's statement number `before` (from 1)."""

    def __init__(self, store: Any, before: int, action: Callable[[], None]) -> None:
        self.statements = 0
        self._store = store
        self._before = before
        self._action = action
        self._rows = store.rows
        self._thread = threading.get_ident()

    def __enter__(self) -> Interruption:
        self._store.rows = self._counting
        return self

    def __exit__(self, *_: object) -> None:
        del self._store.rows

    def _counting(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        if threading.get_ident() == self._thread:
            self.statements += 1
            if self.statements == self._before:
                self._action()
        found: list[tuple[Any, ...]] = self._rows(sql, parameters)
        return found


def nothing() -> None:
    """No interruption."""


def undisturbed(corpus: Corpus, **options: Any) -> tuple[dict[int, dict[str, Any]], int]:
    """The answer in either state, and how many statements one takes."""
    told = {}
    for _ in range(2):
        with Interruption(corpus.store, 0, nothing) as counted:
            answer = corpus.ask(**options)
        told[corpus.state] = corpus.plain(answer)
        corpus.change()
    assert told[0] != told[1], "a mixture of the two states would be noticed"
    return told, counted.statements


def check_every_statement(corpus: Corpus, **options: Any) -> int:
    """Ask once per statement the question takes, with the corpus changed right before it; return how many."""
    expected, _ = undisturbed(corpus, **options)
    with ThreadPoolExecutor(max_workers=1) as writer:
        for before in itertools.count(1):
            state = corpus.state
            # The first statement reads the generation to pin: a change before it is simply earlier. It runs under
            # the lock of the pins, which a deletion in another thread would wait for.
            change = corpus.change if before == 1 else lambda: writer.submit(corpus.change).result()
            with Interruption(corpus.store, before, change) as interruption:
                answer = corpus.ask(**options)
            if interruption.statements < before:
                break
            told = corpus.plain(answer)
            assert told["state"] == (1 - state if before == 1 else state)
            assert told == expected[told["state"]], f"changed before statement {before}"
    return before - 1


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in value.items()
            if key not in ("revision", "generation") and not str(key).endswith("_ms")
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
