"""Does the evidence hold what a sentence says? Does it hold what a question asks for?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evigraph.query.run import Run
from evigraph.text.markers import MARKER, marker_numbers
from evigraph.text.support import SUPPORTED_OVERLAP, unsupported_reason
from evigraph.types import Citation

__all__ = ["LONGEST_ANSWER", "SUPPORTED_OVERLAP", "idf", "marker_missing", "question_weights", "unsupported_reason"]


LONGEST_ANSWER = 200_000
"""Characters of an answer, beyond which it is none."""


def marker_missing(text: str, citations: Sequence[Citation]) -> str | None:
    """What is wrong with an answer that does not carry its citations, as a `check` says it; an empty one is none."""
    held = {number for group in MARKER.findall(text) for number in marker_numbers(group)}
    missing = [citation.n for citation in citations if citation.n not in held] if text else []
    return f"its text does not carry citation [{missing[0]}]" if missing else None


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
