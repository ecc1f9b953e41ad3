"""Answers without a model: sentences chosen for the question, each cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evigraph.models.ports import Embedder, Vectors
from evigraph.query.answer.sentences import Sentence, cite, readable, sentences_of
from evigraph.query.answer.support import question_weights
from evigraph.query.run import Run
from evigraph.query.spaces import near as nearness
from evigraph.text.analysis import analyse

EMBEDDED = 24
"""Sentences whose vector is compared with the question's; one costs about 5 ms."""
SENTENCES = 5
LEXICAL_WEIGHT = 0.4
VECTOR_WEIGHT = 0.5
PLACE_WEIGHT = 0.2
"""Weights in a sentence's score: weighted words in common, cosine, place of its passage."""
WORTH_SAYING = 0.55
"""A further sentence must reach this share of the best one's score."""
LEADING = 4
"""The best sentence of each of these first passages is said even if it scores lower: a chain of facts shares few words
with the question that starts it."""
LEADER_WORTH = 0.4
"""Such a sentence must still reach this share of the best one's score."""
SAME = 0.7
"""Word overlap (Jaccard) from which two sentences say the same."""


def answer_extractively(run: Run) -> None:
    """Leave text and citations in the run."""
    with run.ledger.stage("extract_answer") as stage:
        weights = question_weights(run)
        ranked = _ranked(run, list(sentences_of(run.citable)), weights)
        chosen = stage.hand_on(
            _chosen(run, ranked), because="no sentence of the evidence can be quoted", kind=Sentence, most=len(ranked)
        )
        pieces = []
        for number, sentence in enumerate(chosen, start=1):
            chunk = run.citable[sentence.chunk]
            run.citations.append(cite(number, sentence, chunk))
            pieces.append(f"{readable(sentence, chunk)} [{number}]")
        run.text = "\n".join(pieces)
        run.answered_by = "extractive"


def _ranked(run: Run, sentences: list[Sentence], weights: Mapping[str, float]) -> list[tuple[float, Sentence]]:
    """Sentences by score; only those with the best words and places are embedded, the others count as far."""
    total = sum(weights.values()) or 1.0
    languages = run.counts.languages or ("en",)

    def words(sentence: Sentence) -> float:
        held = {term for language in languages for term in analyse(sentence.text, language)}
        return sum(weight for term, weight in weights.items() if term in held) / total

    lexical = [words(sentence) for sentence in sentences]
    place = [1.0 / (1 + sentence.chunk) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda i: (-(lexical[i] + 0.3 * place[i]), i))
    near = order[:EMBEDDED]
    owners = [run.citable[sentences[i].chunk] for i in near]
    cosine = dict(zip(near, nearness(run, owners, [sentences[i].text for i in near], _cosines), strict=True))
    scored = [
        (
            round(LEXICAL_WEIGHT * lexical[i] + VECTOR_WEIGHT * cosine.get(i, 0.0) + PLACE_WEIGHT * place[i], 6),
            sentences[i],
        )
        for i in range(len(sentences))
    ]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].chunk, pair[1].start))


def _cosines(embedder: Embedder, question: Vectors, texts: list[str]) -> list[float]:
    return [float(vector @ question) for vector in embedder.embed(texts)]


def _chosen(run: Run, ranked: Sequence[tuple[float, Sentence]]) -> list[Sentence]:
    if not ranked:
        return []
    best = ranked[0][0]
    leading = {number: [pair for pair in ranked if pair[1].chunk == number] for number in range(LEADING)}
    leaders = [pairs[0][1] for pairs in leading.values() if pairs and pairs[0][0] >= LEADER_WORTH * best]
    worthy = [sentence for score, sentence in ranked if score >= WORTH_SAYING * best]
    chosen: list[Sentence] = []
    for sentence in [ranked[0][1], *leaders, *worthy]:
        if len(chosen) < SENTENCES and not any(says_same(sentence.text, other.text) for other in chosen):
            chosen.append(sentence)
    return chosen


def says_same(one: str, other: str) -> bool:
    """Whether two sentences share most of their words."""
    left, right = set(one.casefold().split()), set(other.casefold().split())
    return len(left & right) >= SAME * len(left | right)
