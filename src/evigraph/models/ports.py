"""The ports evigraph speaks to models through. Tests and users may hand in their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors.

    `embed(texts)` returns float32 of shape `(len(texts), dimension)`, each row of L2 norm 1, and depends on
    each text alone: the same text gives the same vector in any batch. `count_tokens` counts what the model
    would read, special tokens included; text beyond `max_tokens` is not read.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...

    def count_tokens(self, text: str) -> int: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """A model's reply with its own token account; `None` where the server did not report one. `cut` says that it ends
    where a limit on its length fell, not where the model was done."""

    text: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cut: bool = False


class ChatModel(Protocol):
    """Completes a conversation. Raises `ModelTimeout`, `ModelUnavailable` or `ModelBadResponse`."""

    @property
    def name(self) -> str: ...

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply: ...


class Reranker(Protocol):
    """Judges texts by how well they answer a question.

    `score(question, texts)` returns one finite number a text, higher is better; numbers of different questions need
    not be comparable. Raises `ModelTimeout`, `ModelUnavailable` or `ModelBadResponse`; whatever it raises or returns
    instead leaves the texts in the order they had.
    """

    @property
    def name(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class WebResult:
    """A page of the web as a search found it; `text` is what it says, in plain words."""

    title: str
    url: str
    text: str


class WebSearch(Protocol):
    """Searches the web.

    `search(query, limit)` returns at most `limit` results, the best first. Raises `ModelTimeout`, `ModelUnavailable` or
    `ModelBadResponse`; whatever it raises or returns instead leaves the evidence as it was.
    """

    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int) -> Sequence[WebResult]: ...
