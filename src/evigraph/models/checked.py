"""What stands between every embedder and a query: vectors that cannot be are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evigraph.errors import ModelBadResponse
from evigraph.models.ports import Embedder, Vectors

TOLERANCE = 0.01
"""How far the length of a unit vector may be from 1."""


class CheckedEmbedder:
    """An `Embedder` whose vectors are as the port promises, or else a `ModelBadResponse`: an embedder may be
    anybody's."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embedder.embed(texts)
        expected = len(texts), self.dimension
        if not isinstance(vectors, np.ndarray) or vectors.shape != expected:
            shape = getattr(vectors, "shape", type(vectors).__name__)
            raise ModelBadResponse(
                f"the embedding model returned {shape} for {expected[0]} texts of {expected[1]} dimensions",
                hint=_check(self.name),
            )
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.all(np.abs(lengths - 1) <= TOLERANCE):
            raise ModelBadResponse(
                "the embedding model returned vectors that are no unit vectors",
                hint=_check(self.name),
            )
        return vectors


def _check(model: str) -> str:
    return f"check the model {model!r}, which EVIGRAPH_EMBEDDER or an entry of EVIGRAPH_EMBEDDERS names"
