"""Contextual compression: of each passage only the sentences that bear on the question are read for the answer.

A sentence's score is half its cosine with the question and half the share of the question's weighted words that it
holds. Kept are the best one of each passage, and every other that reaches half the score of the best of all. A kept
table row brings the header of its table along. Rules choose, also where a chat model is configured: a call for each
passage would cost more tokens than the sentences left out save, and a model's own wording could not be cited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evigraph.query.answer.support import question_weights
from evigraph.query.relevance import Words, cosines
from evigraph.query.run import Run
from evigraph.query.spaces import count_tokens, near
from evigraph.text.excerpt import kept_text
from evigraph.text.telling import is_rule, is_telling
from evigraph.types import Chunk

COSINE_WEIGHT = 0.5
WORDS_WEIGHT = 0.5
WORTH_KEEPING = 0.5
"""Share of the best sentence's score from which another is kept."""
EMBEDDED = 64
"""Sentences that are embedded, those with most of the question's words first; the others count as far. One costs about
5 ms."""

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    """Sentence number `at` of chunk number `chunk`."""

    chunk: int
    at: int
    text: str
    words: float


def compress(run: Run) -> None:
    """Leave in each of the run's passages which of its sentences are kept, and how many tokens these have."""
    with run.ledger.stage("compress", given=len(run.chunks), of="chunks") as stage:
        before = run.chunks
        sentences = [_sentences(chunk) for chunk in before]
        kept = _kept(_scored(run, _candidates(run, sentences, before)))
        cut = [_cut(run, chunk, spans, kept.get(at, [])) for at, (chunk, spans) in enumerate(_pairs(before, sentences))]
        run.chunks = stage.hand_on(cut, kind=Chunk, most=len(before))
    run.ledger.count(
        "compress",
        {
            "sentences_before": sum(map(len, sentences)),
            "sentences_after": sum(
                len(chunk.kept or spans) for chunk, spans in zip(run.chunks, sentences, strict=True)
            ),
            "tokens_before": sum(chunk.token_count for chunk in before),
            "tokens_after": sum(chunk.token_count for chunk in run.chunks),
        },
    )


def _pairs(chunks: Sequence[Chunk], sentences: Sequence[Sequence[Span]]) -> list[tuple[Chunk, Sequence[Span]]]:
    return list(zip(chunks, sentences, strict=True))


def _sentences(chunk: Chunk) -> Sequence[Span]:
    """The sentences of document text; a summary is short as it is."""
    return () if chunk.level else chunk.sentences


def _candidates(run: Run, sentences: Sequence[Sequence[Span]], chunks: Sequence[Chunk]) -> list[_Candidate]:
    """Sentences that tell something by themselves; all of a passage's where none does."""
    words = Words(weights=question_weights(run), languages=run.counts.languages)
    found = []
    for number, (chunk, spans) in enumerate(_pairs(chunks, sentences)):
        texts = [_text(chunk, span) for span in spans]
        telling = [at for at, text in enumerate(texts) if is_telling(text)] or list(range(len(texts)))
        found += [
            _Candidate(chunk=number, at=at, text=texts[at], words=words.share(words.held(texts[at]))) for at in telling
        ]
    return found


def _scored(run: Run, candidates: Sequence[_Candidate]) -> list[tuple[float, _Candidate]]:
    first = sorted(range(len(candidates)), key=lambda number: (-candidates[number].words, number))[:EMBEDDED]
    owners = [run.chunks[candidates[number].chunk] for number in first]
    cosine = dict(zip(first, near(run, owners, [candidates[number].text for number in first], cosines), strict=True))
    return [
        (round(COSINE_WEIGHT * cosine.get(number, 0.0) + WORDS_WEIGHT * one.words, 6), one)
        for number, one in enumerate(candidates)
    ]


def _kept(scored: Sequence[tuple[float, _Candidate]]) -> dict[int, list[int]]:
    """By chunk, the numbers of the sentences worth keeping."""
    best = max((score for score, _ in scored), default=0.0)
    kept: dict[int, list[int]] = {}
    for chunk in sorted({one.chunk for _, one in scored}):
        own = [(score, one.at) for score, one in scored if one.chunk == chunk]
        first = min(own, key=lambda pair: (-pair[0], pair[1]))[1]
        kept[chunk] = sorted({first, *(at for score, at in own if score >= WORTH_KEEPING * best)})
    return kept


def _cut(run: Run, chunk: Chunk, spans: Sequence[Span], kept: Sequence[int]) -> Chunk:
    """The chunk with its kept sentences; as it is where these are all."""
    numbers = sorted({*kept, *(header for at in kept for header in _header(chunk, spans, at))})
    if len(numbers) == len(spans):
        return chunk
    cut = replace(chunk, kept=tuple(spans[at] for at in numbers))
    text = kept_text(cut)
    tokens = count_tokens(run, chunk, f"{chunk.context}\n{text}" if chunk.context else text)
    return replace(cut, token_count=min(tokens, chunk.token_count) if chunk.token_count else tokens)


def _header(chunk: Chunk, spans: Sequence[Span], at: int) -> list[int]:
    """The number of the header row of the table that a sentence is a row of, if the passage holds it."""
    first = at
    while first and _is_row(chunk, spans[first]) and _is_row(chunk, spans[first - 1]):
        # Rows of one table stand line by line; the line below the header is drawn and no sentence.
        between = chunk.text[spans[first - 1][1] - chunk.start : spans[first][0] - chunk.start]
        if between.strip() and not is_rule(between):
            break
        first -= 1
    return [first] if first < at else []


def _is_row(chunk: Chunk, span: Span) -> bool:
    return _text(chunk, span).startswith("|")


def _text(chunk: Chunk, span: Span) -> str:
    return chunk.text[span[0] - chunk.start : span[1] - chunk.start]
