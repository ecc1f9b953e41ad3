"""What a tree is made of, and what is known of its document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evigraph.types import Passage

Vector = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A sentence as a passage writes it. `leaf` is the passage's index, `start` the sentence's offset in the document,
    `vector` its unit vector."""

    leaf: int
    start: int
    text: str
    vector: Vector


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A passage (`leaf`), or a summary. `text` is what is read of it, `supports` the indexes of the leaves that it
    rests on, rising, and `told` the sentences of these that say most of it: none yet of a leaf, whose sentences are
    weighed together with those of its cluster."""

    text: str
    vector: Vector
    supports: tuple[int, ...]
    told: tuple[Told, ...] = ()
    leaf: Passage | None = None
    tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A summary that has no vector yet."""

    text: str
    supports: tuple[int, ...]
    told: tuple[Told, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """The document that is summarised. `context` is searched with each summary, as that of a passage is."""

    document_id: str
    revision: int
    source: str
    context: str
    language: str

    def searchable(self, text: str) -> str:
        return f"{self.context}\n{text}" if self.context else text
