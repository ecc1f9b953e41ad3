"""Question → lexical terms, vector and anchors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from evigraph.query.run import Anchor, Question, Run
from evigraph.store.rows import NameInfo, ScopeCounts
from evigraph.text.analysis import ENGLISH_STOP_WORDS, analyse
from evigraph.text.names import Ngram, question_ngrams
from evigraph.types import Mode

MOSTLY_NAME = 0.7
"""A single lower-case word counts as a name only if this share of the passages with the word mention it as one."""
TITLE_LIKE = 0.9


def understand(run: Run) -> None:
    """Leave the understood question in `run.question`. `bypass` needs none of it."""
    if run.request.mode is Mode.BYPASS:
        return
    text = run.request.query.strip()
    with run.ledger.stage("understand") as record:
        terms = question_terms(text, run.counts.languages)
        vector = run.embedder().embed([text])[0] if run.counts.passages else np.zeros(1, dtype=np.float32)
        anchors, unknown = find_anchors(run, text)
        record.items_out = len(anchors)
    run.question = Question(
        text=text,
        terms=terms,
        vector=vector,
        anchors=anchors,
        unknown_names=unknown,
        residual=residual(text, anchors),
    )
    run.ledger.count("anchors", [anchor.text for anchor in anchors])


def question_terms(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Distinct terms of the question under the analysis of every language in scope, in order."""
    return tuple(dict.fromkeys(term for language in languages or ("en",) for term in analyse(text, language)))


def find_anchors(run: Run, text: str) -> tuple[tuple[Anchor, ...], tuple[str, ...]]:
    """Known names in the question, longest first and not overlapping, and capitalised names that nothing carries.

    A run of words counts if it holds a capital that does not merely begin a sentence. A question without any such name
    ("users rarely type canonical names") is read again in lower case: several words that are a known name count, a
    single word only if the corpus uses it mostly as a name.
    """
    ngrams = question_ngrams(text)
    known = run.snapshot.names([ngram.key for ngram in ngrams])
    chosen = _longest_first(ngram for ngram in ngrams if ngram.capital and ngram.key in known)
    if not chosen:
        chosen = _longest_first(ngram for ngram in _plain_names(run, ngrams, known))
    anchors = tuple(_anchor(ngram, known[ngram.key], run.counts) for ngram in chosen)
    return anchors, _unknown_names(text, ngrams, anchors)


def _plain_names(run: Run, ngrams: Sequence[Ngram], known: dict[str, NameInfo]) -> list[Ngram]:
    """Known names that the scope uses mostly as names, whichever of its languages their words are read in."""
    candidates = [ngram for ngram in ngrams if ngram.key in known and ngram.key not in ENGLISH_STOP_WORDS]
    languages = run.counts.languages or ("en",)
    words = {ngram.key: [analyse(ngram.text, language) for language in languages] for ngram in candidates}
    frequencies = run.snapshot.term_frequencies([term for read in words.values() for terms in read for term in terms])

    def is_name(ngram: Ngram) -> bool:
        read = [terms for terms in words[ngram.key] if terms]
        if not read:
            return False
        commonest = max(min(frequencies.get(term, 0) for term in terms) for terms in read)
        return known[ngram.key].passages >= MOSTLY_NAME * commonest

    return [ngram for ngram in candidates if is_name(ngram)]


def _longest_first(ngrams: Iterable[Ngram]) -> list[Ngram]:
    chosen: list[Ngram] = []
    for ngram in ngrams:
        if all(ngram.end <= other.start or ngram.start >= other.end for other in chosen):
            chosen.append(ngram)
    return sorted(chosen, key=lambda ngram: ngram.start)


def _anchor(ngram: Ngram, info: NameInfo, counts: ScopeCounts) -> Anchor:
    return Anchor(
        key=ngram.key,
        text=ngram.text,
        start=ngram.start,
        end=ngram.end,
        passages=info.passages,
        alias_weight=info.alias_weight,
        weight=rarity(info.passages, counts.passages),
    )


def rarity(passages: int, total: int) -> float:
    """Inverse frequency of a name scaled to 0-1: `ln((N+1)/df) / ln(N+1)`."""
    return math.log((total + 1) / max(passages, 1)) / math.log(total + 1) if total else 0.0


def _unknown_names(text: str, ngrams: Sequence[Ngram], anchors: Sequence[Anchor]) -> tuple[str, ...]:
    """Maximal capitalised runs that overlap no anchor."""
    singles = [
        ngram
        for ngram in sorted(ngrams, key=lambda ngram: ngram.start)
        if ngram.size == 1 and ngram.capital and ngram.key not in ENGLISH_STOP_WORDS
    ]
    free = [
        ngram
        for ngram in singles
        if not any(ngram.start < anchor.end and anchor.start < ngram.end for anchor in anchors)
    ]
    runs: list[tuple[int, int]] = []
    for ngram in free:
        if runs and not text[runs[-1][1] : ngram.start].strip(" -"):
            runs[-1] = (runs[-1][0], ngram.end)
        else:
            runs.append((ngram.start, ngram.end))
    return tuple(text[start:end] for start, end in runs)


def residual(text: str, anchors: Sequence[Anchor]) -> str:
    """The question without its anchors, or the whole question if nothing is left."""
    kept, position = [], 0
    for anchor in anchors:
        kept.append(text[position : anchor.start])
        position = anchor.end
    rest = re.sub(r"\s+", " ", " ".join([*kept, text[position:]])).strip()
    return rest if re.search(r"\w", rest) else text
