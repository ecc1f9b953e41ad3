"""How much a sentence bears on a question: its weighted words in common with it, and its cosine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evigraph.models.ports import Embedder, Vectors
from evigraph.text.analysis import analyse


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The question's terms, weighted by their rarity in the scope, under the analysis of its languages."""

    weights: Mapping[str, float]
    languages: Sequence[str]

    def held(self, text: str) -> frozenset[str]:
        """The terms of the question that a text holds."""
        return frozenset(
            term for language in self.languages or ("en",) for term in analyse(text, language) if term in self.weights
        )

    def share(self, held: frozenset[str]) -> float:
        """The share of the weight that some terms have, 0-1."""
        total = sum(self.weights.values())
        # In a fixed order, since the last bits of a sum depend on it.
        return sum(self.weights[term] for term in sorted(held)) / total if total else 0.0


def cosines(embedder: Embedder, question: Vectors, texts: Sequence[str]) -> list[float]:
    """Cosine of each text with the question's unit vector, none below 0."""
    if not texts:
        return []
    vectors = embedder.embed(texts)
    return [max(0.0, round(float(value), 6)) for value in vectors.astype(np.float64) @ question.astype(np.float64)]
