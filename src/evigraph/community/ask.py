"""Many calls to a chat model at once, replies in order; and when to stop asking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from evigraph.errors import ModelError
from evigraph.models.meter import Metered
from evigraph.models.ports import Message

FAILURES_IN_A_ROW = 5
"""After so many the fault is not the questions', and no more are asked."""


class Asker:
    """Asks for one run. `gone` is the last error where the model was given up."""

    def __init__(self, chat: Metered, concurrency: int, *, model: str | None = None) -> None:
        self._chat = chat
        self._model = model
        self._concurrency = concurrency
        self._in_a_row = 0
        self.gone: ModelError | None = None

    def ask(self, questions: Sequence[Sequence[Message]], done: Callable[[], None]) -> list[str | None]:
        """The reply to each question; None where the call failed, or was not made any more."""
        replies: list[str | None] = []
        with ThreadPoolExecutor(max_workers=self._concurrency) as pool:
            for reply in pool.map(self._one, questions):
                self._note(reply)
                replies.append(reply if isinstance(reply, str) else None)
                done()
        return replies

    def _one(self, question: Sequence[Message]) -> str | ModelError | None:
        if self.gone is not None:
            return None
        try:
            return self._chat.complete(question, model=self._model).text
        except ModelError as error:
            return error

    def _note(self, reply: str | ModelError | None) -> None:
        if isinstance(reply, str):
            self._in_a_row = 0
        elif reply is not None:
            self._in_a_row += 1
            if self._in_a_row >= FAILURES_IN_A_ROW:
                self.gone = reply
