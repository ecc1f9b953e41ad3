"""Is there enough evidence to answer at all?

Three signs, all within the scope, in one sum: the best cosine, plus a tenth of the share of the question's weighted
vocabulary that the best passages hold, less a penalty if they hold a name, date or code of the question nowhere.
Threshold and penalty are set by averages over questions with and without evidence: the sample's, those of one corpus
asked of another, and those whose evidence was put out of sight (`bench/abstention.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evigraph.query.run import Run
from evigraph.query.spaces import cosines, spaces_of
from evigraph.store.keys import passage_key
from evigraph.text.analysis import analyse
from evigraph.types import Chunk

READ = 5
"""Passages in which the question's words are looked for."""
COVERAGE_WEIGHT = 0.1
UNKNOWN_PENALTY = 0.25
UNKNOWN_PENALTY_FOR_A_MODEL = 0.15
ENOUGH = 0.4
ENOUGH_FOR_A_MODEL = 0.25
"""A chat model reads the passages and may decline itself, so it is kept only from what is plainly beside the point."""
NUMBER_CHARS = 4
"""Of a date or code; shorter numbers stand in many passages, whatever they count."""
_NUMBER = re.compile(r"(?=.*\d)(?!\d+s$).*")  # but "the 1990s", which passages need not say
_DIGITS = re.compile(r"\d+")
ALL_WORDS = 0.95
"""A passage that holds this share of the weighted words is about the question, however short the question is."""
ENOUGH_BY_WORDS = 0.5
"""The same of a passage whose embedding model is not configured, so that it has no cosine. Not measured: half of what
is asked, and every name of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strength:
    """`cosine`: best of the dense arm; `coverage`: idf-weighted share of the question's terms that the best passages
    hold together, 0-1; `best_passage`: that one of them holds alone."""

    cosine: float
    coverage: float
    best_passage: float
    unknown: tuple[str, ...]
    """Names of the question that those passages lack, and its dates and codes that no passage in scope has."""
    needed: float = ENOUGH
    penalty: float = UNKNOWN_PENALTY
    by_words: float = 0.0
    """`best_passage` of those that have no cosine for want of their embedding model."""

    @property
    def value(self) -> float:
        return self.cosine + COVERAGE_WEIGHT * self.coverage - (self.penalty if self.unknown else 0.0)

    @property
    def weakness(self) -> str | None:
        """Why the evidence does not bear an answer, or None."""
        if self.value >= self.needed or self.best_passage >= ALL_WORDS:
            return None
        if self.by_words >= ENOUGH_BY_WORDS and not self.unknown:
            return None
        if self.unknown:
            return f"the nearest passages do not mention {self.unknown[0]!r}"
        return (
            f"the nearest passages hold too little of the question (best cosine {self.cosine:.2f}, "
            f"{self.coverage:.0%} of its weighted words; strength {self.value:.2f}, needed {self.needed:.2f})"
        )


def strength(run: Run, weights: Mapping[str, float]) -> Strength:
    """Measure the evidence the run holds."""
    best = max(_cosines(run), default=0.0)
    read = run.citable[:READ]
    alone = [(chunk, coverage([chunk], weights, run.counts.languages)) for chunk in read]
    return Strength(
        cosine=best,
        coverage=coverage(read, weights, run.counts.languages),
        best_passage=max((share for _, share in alone), default=0.0),
        unknown=(*(n for n in run.asked.unknown_names if not _holds(run.citable, n)), *_unknown_numbers(run)),
        needed=ENOUGH if run.chat is None else ENOUGH_FOR_A_MODEL,
        penalty=UNKNOWN_PENALTY if run.chat is None else UNKNOWN_PENALTY_FOR_A_MODEL,
        by_words=_by_words(run, alone),
    )


def _by_words(run: Run, alone: Sequence[tuple[Chunk, float]]) -> float:
    if all(space.embedder is not None for space in run.spaces):
        return 0.0
    spaces = spaces_of(run, [chunk for chunk, _ in alone])
    unseen = [share for (_, share), space in zip(alone, spaces, strict=True) if space and space.embedder is None]
    return max(unseen, default=0.0)


def _cosines(run: Run) -> list[float]:
    """Of the chunks with the question as asked, whatever they were found with."""
    if not run.wordings:
        return [chunk.vector_score or 0.0 for chunk in run.chunks]
    stored = [chunk for chunk in run.chunks if not chunk.level and not chunk.web]
    keys = [passage_key(chunk.document_id, chunk.revision, chunk.id) for chunk in stored]
    found = [max(0.0, near) for near in cosines(run, keys).values()]
    # Those of the web were measured with the question as asked.
    return found + [chunk.vector_score or 0.0 for chunk in run.chunks if chunk.web]


def coverage(chunks: Sequence[Chunk], weights: Mapping[str, float], languages: Sequence[str]) -> float:
    """Share of the weights whose terms the passages hold, 0-1."""
    held = {
        term
        for chunk in chunks
        for language in languages or ("en",)
        for term in analyse(f"{chunk.context}\n{chunk.text}", language)
    }
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def _holds(chunks: Sequence[Chunk], name: str) -> bool:
    folded = name.casefold()
    return any(folded in chunk.text.casefold() or folded in chunk.context.casefold() for chunk in chunks)


def _unknown_numbers(run: Run) -> list[str]:
    """Dates and codes of the question that no passage in scope has, and no citable one spells in another way."""
    typed = [term for term in run.asked.terms if len(term) >= NUMBER_CHARS and _NUMBER.fullmatch(term)]
    held = run.snapshot.term_frequencies(typed)
    return [term for term in typed if term not in held and not any(_spells(chunk.text, term) for chunk in run.citable)]


def _spells(text: str, number: str) -> bool:
    """Whether a text has all numbers of a date or code but those that may be a month, which it may write as a word."""
    parts = {part for part in _numbers(number) if len(part) > 2 or int(part or 0) > 12}
    return bool(parts) and parts <= _numbers(text)


def _numbers(text: str) -> set[str]:
    return {digits.lstrip("0") for digits in _DIGITS.findall(text)}
