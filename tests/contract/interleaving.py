"""Whole questions during which the corpus changes, before every single statement in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from evigraph import Evigraph
from evigraph.testing.store_contract.material import EMBEDDER, Doc, Shelf, doc

QUESTION = "Who supplies Acme with pumps from Birch?"
ALWAYS = (
    doc("base", "Cedar audits Acme every spring", "Dorn supplies Cedar. Birch", title="Audits", metadata={"k": "v"}),
    doc("more", "Birch sues Dorn over pumps", "Elm supplies Birch with pumps", metadata={"k": "v"}),
)
EVEN = (
    doc("turns", "Acme supplies Birch with pumps", "Birch audits Acme", title="Acme", metadata={"k": "v"}),
    doc("comes", "Acme sues Elm. Birch supplies Acme with pumps", metadata={"k": "v"}),
)
ODD = (
    doc("turns", "Birch supplies Acme with pumps now", "Acme. Cedar. Pumps for Acme", title="Birch", metadata={"k": "v"}),
)


class Corpus:
    """Two states that alternate by one publication batch: a document replaced, one deleted or brought back."""

    def __init__(self, data: str, workspace: str) -> None:
        self.graph = Evigraph(data, workspace=workspace, embedder=EMBEDDER)
        self.shelf = Shelf(self.graph.store, workspace)
        self.states: dict[int, int] = {}
        """Which state (0 even, 1 odd) each generation shows."""
        self._note(self.shelf.fill(*ALWAYS, *EVEN), 0)

    @property
    def state(self) -> int:
        return self.states[self.graph.store.generation(self.shelf.workspace)]

    def change(self) -> None:
        """Replace `turns`, and delete `comes` or publish it again."""
        target: tuple[Doc, ...] = EVEN if self.state else ODD
        now = 1 - self.state
        drafts = self.shelf.drafts(*target)
        if now:
            # Between the two publications `comes` is still there: a state of its own, which nobody compares.
            self._note(self.shelf.delete("comes"), 2)
        self._note(self.shelf.publish(*drafts), now)

    def ask(self, **options: Any) -> dict[str, Any]:
        """The answer as plain data, without timings and revision numbers; revisions are checked to be pinned."""
        answer = self.graph.ask(QUESTION, **options)
        visible = {
            info.document_id: info.revision for info in self.graph.documents(as_of=answer.evidence.generation)
        }
        for item in (*answer.evidence.chunks, *answer.evidence.relationships, *answer.citations):
            assert item.revision == visible[item.document_id], item
        told = asdict(answer)
        told["state"] = self.states[answer.evidence.generation]
        return _plain(told)

    def close(self) -> None:
        self.graph.close()

    def _note(self, generation: int, state: int) -> None:
        self.states[generation] = state
        self.states.setdefault(generation - 1, 2)  # inside a batch


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


def check_every_statement(corpus: Corpus, **options: Any) -> int:
    """Ask once per statement the question takes, with the corpus changed right before it; return how many."""
    undisturbed = {}
    for _ in range(2):
        with Interruption(corpus.graph.store, 0, nothing) as counted:
            undisturbed[corpus.state] = corpus.ask(**options)
        corpus.change()
    assert undisturbed[0] != undisturbed[1], "a mixture of the two states would be noticed"
    before = 0
    with ThreadPoolExecutor(max_workers=1) as writer:
        while True:
            before += 1
            state = corpus.state
            action = lambda: writer.submit(corpus.change).result()  # noqa: E731 - one line is clearer here
            with Interruption(corpus.graph.store, before, action) as interruption:
                told = corpus.ask(**options)
            if interruption.statements < before:
                return before - 1
            # Statement 1 reads the generation that is pinned: a change before it is simply earlier.
            pinned = corpus.state if before == 1 else state
            assert told["state"] == pinned
            assert told == undisturbed[pinned], f"changed before statement {before} of {counted.statements}"


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
