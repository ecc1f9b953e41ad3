"""Re-ranking without a model of its own: each passage by its best sentence, the question's words, and its place before.

`score = 0.5 cosine + 0.3 words + 0.2 together + 0.4 place`. `cosine` is that of the passage's best sentence: a long
passage is as relevant as the best piece of it, and what retrieval made of the whole counts beside it (Yilmaz et al.,
"Cross-domain modeling of sentence-level evidence for document retrieval", EMNLP 2019). `words` is the share of the
question's words, weighted by their idf in the scope, that the passage holds; `together` the share that one sentence of
it holds, for words that stand near each other speak of one thing (Tao and Zhai, "An exploration of proximity measures
in information retrieval", SIGIR 2007). `place` is `10 / (10 + n)` of the passage in place `n`, from 0: without it,
passages in other words than the question's sink, which vectors and graph had found. The weights were set on the sample
corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evigraph.models.ports import Embedder
from evigraph.query.relevance import Words, cosines
from evigraph.text.sentences import sentence_spans
from evigraph.text.telling import is_telling

COSINE_WEIGHT = 0.5
WORDS_WEIGHT = 0.3
TOGETHER_WEIGHT = 0.2
PLACE_WEIGHT = 0.4
PLACES = 10
EMBEDDED = 2
"""Sentences of a passage that are embedded: those with most of the question's words. One costs about 5 ms."""


Near = Callable[[str, Sequence[int], Sequence[str]], Sequence[float]]
"""Cosine with a question of each of some sentences, given with the numbers of the texts that they are from."""


def by_model(embedder: Embedder) -> Near:
    """Cosines by one model, whatever the sentences are from."""

    def near(question: str, owners: Sequence[int], sentences: Sequence[str]) -> list[float]:
        return cosines(embedder, embedder.embed([question])[0], sentences)

    return near


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """A text as judged by words: their share in it and in its best sentence, and the sentences worth embedding."""

    words: float
    together: float
    nearest: tuple[str, ...]


class RuleReranker:
    """A `Reranker` of the scope that its `words` are weighted in, for texts that come best first. `near` compares
    their sentences with the question where `embedder` alone must not. Scores lie in 0-1.4. Deterministic."""

    name = "rules"

    def __init__(self, embedder: Embedder, words: Words, *, near: Near | None = None) -> None:
        self._near = near or by_model(embedder)
        self._words = words

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, higher is better."""
        if not texts:
            return []
        read = [self._read(text) for text in texts]
        owners = [number for number, one in enumerate(read) for _ in one.nearest]
        near = self._near(question, owners, [sentence for one in read for sentence in one.nearest])
        scores, at = [], 0
        for place, one in enumerate(read):
            cosine = max(near[at : at + len(one.nearest)], default=0.0)
            at += len(one.nearest)
            score = COSINE_WEIGHT * cosine + WORDS_WEIGHT * one.words + TOGETHER_WEIGHT * one.together
            scores.append(round(score + PLACE_WEIGHT * PLACES / (PLACES + place), 6))
        return scores

    def _read(self, text: str) -> _Read:
        language = (*self._words.languages, "en")[0]
        sentences = [text[start:end] for start, end in sentence_spans(text, language)]
        sentences = [sentence for sentence in sentences if is_telling(sentence)] or sentences[:1] or [text]
        shares = [self._words.share(self._words.held(sentence)) for sentence in sentences]
        order = sorted(range(len(sentences)), key=lambda at: (-shares[at], at))
        return _Read(
            words=self._words.share(self._words.held(text)),
            together=max(shares),
            nearest=tuple(sentences[at] for at in order[:EMBEDDED]),
        )
