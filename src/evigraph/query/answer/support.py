"""Does the evidence hold what a sentence says? Does it hold what a question asks for?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evigraph.query.run import Run
from evigraph.text.support import SUPPORTED_OVERLAP, unsupported_reason

__all__ = ["SUPPORTED_OVERLAP", "idf", "question_weights", "unsupported_reason"]


def idf(frequencies: Mapping[str, int], total: int, terms: Sequence[str]) -> dict[str, float]:
    """BM25's inverse document frequency of each term; a term that is nowhere weighs most."""
    return {
        term: math.log(1 + (total - frequencies.get(term, 0) + 0.5) / (frequencies.get(term, 0) + 0.5))
        for term in terms
    }


def question_weights(run: Run) -> dict[str, float]:
    """Weight of each distinct term of the question in the scope."""
    terms = run.asked.terms
    return idf(run.snapshot.term_frequencies(terms), run.counts.passages, terms)
