"""Answers to `context_only` and corpus-wide questions, kept per generation: they depend on nothing but the store, the
models and the request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from evigraph.types import Answer, QueryRequest

KEPT = 256
"""Answers kept, the most recently used ones."""

Key = tuple[str, int, str, str, str]


class ContextCache:
    """Shared by all workspaces of an engine; thread safe. `clear` forgets everything, as a prune must; a question at a
    newer generation forgets the older ones of its workspace, as after a prune by another process."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, Answer] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def key(workspace: str, generation: int, model: str, chat: str, request: QueryRequest) -> Key:
        """`model` names the embedder, `chat` the chat model, "" for none."""
        return workspace, generation, model, chat, repr(request)

    def get(self, key: Key) -> Answer | None:
        """The kept answer, marked `cached` in its stats, which count the calls and tokens of this time: none. The
        ledger and the times of stages are those of the run that made it; each stage is marked so."""
        with self._lock:
            self._forget_older(key)
            answer = self._answers.get(key)
            if answer is None:
                return None
            self._answers.move_to_end(key)
        stats = {**answer.stats, "cached": True, "llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        return replace(answer, stats=stats, ledger=tuple(replace(stage, cached=True) for stage in answer.ledger))

    def put(self, key: Key, answer: Answer) -> None:
        with self._lock:
            self._forget_older(key)
            self._answers[key] = answer
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()

    def _forget_older(self, key: Key) -> None:
        workspace, generation = key[:2]
        for older in [one for one in self._answers if one[0] == workspace and one[1] < generation]:
            del self._answers[older]
