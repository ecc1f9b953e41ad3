"""Which class a question reads like: what the examples say, each the more the nearer its meaning is to the question's.

Kernel ridge regression on the vectors of the examples: a weighted sum over the examples, whose weights are worked out
once a process and embedder. Nothing of it is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evigraph.models.ports import Embedder
from evigraph.query.route.examples import EXAMPLES
from evigraph.query.route.names import Thing
from evigraph.routing import RouteClass
from evigraph.text.names import name_key

STAND_INS = ("Paris", "London", "Rome")
"""What replaces the names of a question before it is compared with examples, in order; the last one for all others."""
ANYWHERE = "the organisation"
"""What replaces a name that is everywhere."""
SHARPNESS = 2.0
"""How fast an example loses its say as its cosine falls: it has exp(SHARPNESS * (cosine - 1))."""
RIDGE = 0.3
"""How far the examples may differ from what is made of them all."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reader:
    """Examples as one embedder sees them. `shares` has a row an example, a column a class of `EXAMPLES`."""

    vectors: Matrix
    shares: Matrix
    unseen: Matrix
    """What each example reads like to all others together: `read` of one that is not among them."""

    def read(self, vector: NDArray[np.float32]) -> dict[RouteClass, tuple[float, str]]:
        """How far the question reads like each class, about 0 to 1, and its nearest example of that class."""
        near = _near(np.asarray(vector, dtype=np.float64)[None], self.vectors)[0]
        found: dict[RouteClass, tuple[float, str]] = {}
        at = 0
        for column, (route, examples) in enumerate(EXAMPLES.items()):
            nearest = examples[int(near[at : at + len(examples)].argmax())]
            found[route] = round(float(near @ self.shares[:, column]), 4), nearest
            at += len(examples)
        return found


_readers: dict[tuple[str, int], Reader] = {}
_lock = threading.Lock()


def reader(embedder: Embedder) -> Reader:
    """The examples by this embedder, made once a process: a model's name stands for the model."""
    key = embedder.name, embedder.dimension
    with _lock:
        if key not in _readers:
            _readers[key] = _made(embedder)
        return _readers[key]


def with_stand_ins(text: str, named: Sequence[Thing]) -> str:
    """The question with other names: what is asked stays, of whom does not. A name that is there twice stays one."""
    chosen: dict[str, str] = {}
    for thing in named:
        if not thing.everywhere:
            chosen.setdefault(name_key(thing.text), STAND_INS[min(len(chosen), len(STAND_INS) - 1)])
    for thing in reversed(named):
        name = ANYWHERE if thing.everywhere else chosen[name_key(thing.text)]
        text = text[: thing.start] + name + text[thing.end :]
    return text


def _made(embedder: Embedder) -> Reader:
    texts = [text for examples in EXAMPLES.values() for text in examples]
    classes = [column for column, examples in enumerate(EXAMPLES.values()) for _ in examples]
    wanted = np.eye(len(EXAMPLES))[classes]
    vectors = np.asarray(embedder.embed(texts), dtype=np.float64)
    inverse = np.linalg.inv(_near(vectors, vectors) + RIDGE * np.eye(len(texts)))
    shares = inverse @ wanted
    return Reader(vectors, shares, wanted - shares / np.diag(inverse)[:, None])


def _near(one: Matrix, other: Matrix) -> Matrix:
    return np.asarray(np.exp(SHARPNESS * (one @ other.T - 1.0)))
