"""The scope ranked against a corpus-wide question, without a model.

A small embedder ranks the passages of a theme poorly by cosine alone. What helps, each a little and all on averages
(`bench/overview.py`): the question's vector averaged with that of its topic; BM25 over the topic's words beside the
cosines; pseudo-relevance feedback (Rocchio, 1971: the query moves towards the mean of what it ranks first); and scoring
single sentences of the best passages, each with its passage's score. The best sentence of every part (a document, or a
stretch of a long one) whose score is not below that of the average candidate is cited. Where the question has no topic,
every part is, each with the sentence to which other parts come nearest: what recurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evigraph.query.answer.sentences import sentences_of
from evigraph.query.answer.strength import ENOUGH_BY_WORDS
from evigraph.query.answer.support import idf
from evigraph.query.fusion import round_robin, z_scores
from evigraph.query.ledger import repeated
from evigraph.query.overview.state import Candidate, Relevance, part_of
from evigraph.query.overview.topic import Topic
from evigraph.query.run import Run
from evigraph.store.keys import PassageKey
from evigraph.text.analysis import analyse
from evigraph.text.instructions import chunk_without_orders
from evigraph.types import Chunk

RANKED = 2_000
"""Passages that each arm ranks."""
LEXICAL_WEIGHT = 0.4
"""What BM25 counts beside the cosine, both as z-scores."""
FED_BACK_PASSAGES = 10
FED_BACK_SENTENCES = 20
"""How many of the first are taken for relevant when the query is moved."""
CANDIDATES = 120
"""Passages whose sentences are scored: also the most parts an answer cites."""
PER_PART = 2
"""Passages of one part among them."""
EMBEDDED = 240
"""Sentences that are embedded, of each passage alike: those with most words of the topic. One costs about 5 ms."""
RECURRING = 10
"""Parts whose nearest sentence a sentence is compared with, where what recurs is asked."""
DEPTH = 1.05
"""How far below the best part's score a cited part's may lie, as a share of the way to the average candidate's:
those better than average, and a few more. A higher value finds more of a theme and cites more beside it."""
RELEVANT = 0.35
RELEVANT_TO_A_MODEL = 0.2
"""Least `cosine + coverage / 10` of the best sentence for anything to be relevant at all. A chat model reads the
passages and may find them useless itself."""
PLAIN, FEWEST_WORDS, NO_PROSE = 0.7, 6, 4.0
"""A sentence is prose if this share of its words is neither capitalised nor a number, and it has so many; one that is
not loses so much where what recurs is asked, which its likes would win."""
LONG_ENOUGH = 25
"""Terms beyond which a longer sentence tells no more."""
K1, B = 1.2, 0.75

_WORD = re.compile(r"\w+")

Vector = NDArray[np.float32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """What everything is compared with: a unit vector, the topic's terms and their weights."""

    vector: Vector
    weights: Mapping[str, float]
    languages: tuple[str, ...]

    def held(self, text: str) -> tuple[float, int]:
        """Weight of the terms a text holds, and how many terms it has."""
        terms = [term for language in self.languages for term in analyse(text, language)]
        return sum(self.weights[term] for term in sorted(set(terms) & self.weights.keys())), len(terms)


Communities = Callable[[Sequence[PassageKey]], Mapping[PassageKey, int]]
"""Tells the community that each of some passages speaks of most."""


def rank(run: Run, topic: Topic, communities: Communities) -> Relevance:
    """Rank passages, then sentences; choose what to cite. Where everything is asked about, the communities take turns
    in giving documents, so that a large scope is sampled from all sides."""
    asked = _asked(run, topic)
    with run.ledger.stage("relevance") as stage:
        passages = stage.hand_on(
            _passages(run, topic, asked),
            because="no passage matched the question",
            kind=tuple,
            check=lambda ranked: repeated("passage", (key for key, _ in ranked)),
        )
    if not passages:
        return Relevance(topical=bool(topic.terms))
    with run.ledger.stage("sentences") as stage:
        keys = [key for key, _ in passages]
        chosen = _few_of_each(keys, PER_PART) if topic.terms else _in_turn(_few_of_each(keys, 1), communities)
        found, orders = _fetched(run, chosen[:CANDIDATES])
        sentences, cosine = _scored(run, asked, found, dict(passages), topical=bool(topic.terms))
        sentences = stage.hand_on(
            sentences,
            because="nothing that was ranked can be quoted",
            kind=Candidate,
            check=lambda scored: repeated("sentence", ((item.key, item.sentence.start) for item in scored)),
        )
    cited = sentences if not topic.terms else tuple(item for item in sentences if _worth_citing(item, sentences))
    total = sum(asked.weights.values())
    best = max((asked.held(f"{chunk.context}\n{chunk.text}")[0] for chunk in found.values()), default=0.0)
    return Relevance(
        passages=tuple(passages),
        sentences=sentences,
        cited=cited,
        read=tuple(found),
        parts=len({part_of(key) for key in keys}),
        cut=_cut(chosen, dict(passages), topical=bool(topic.terms)),
        orders=orders,
        topical=bool(topic.terms),
        cosine=round(cosine, 6),
        coverage=round(best / total, 6) if total else 0.0,
        unseen=run.blind,
    )


def beside_the_point(run: Run, found: Relevance) -> str | None:
    """Why nothing ranked bears on the question, or None."""
    if not found.passages:
        return "retrieval: no passage matched the question"
    if not found.sentences:
        return "evidence: nothing in scope can be quoted; all that matched gives orders to a model"
    if found.judged or (found.unseen and found.coverage >= ENOUGH_BY_WORDS):
        return None
    needed = RELEVANT if run.chat is None else RELEVANT_TO_A_MODEL
    strength = found.cosine + found.coverage / 10
    if not found.topical or strength >= needed:
        return None
    return f"evidence: nothing in scope bears on the question (strength {strength:.2f}, needed {needed:.2f})"


def _asked(run: Run, topic: Topic) -> _Asked:
    vector = run.asked.vector
    if topic.text:
        vector = unit(vector + run.embedder().embed([topic.text])[0])
    frequencies = run.snapshot.term_frequencies(topic.terms)
    return _Asked(
        vector=vector,
        weights=idf(frequencies, run.counts.passages, topic.terms),
        languages=run.counts.languages or ("en",),
    )


def unit(vector: NDArray[np.floating]) -> Vector:
    """The vector at length 1."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


# --------------------------------------------------------------------------- passages


def _passages(run: Run, topic: Topic, asked: _Asked) -> list[tuple[PassageKey, float]]:
    """Passages with their scores, best first; ties by document and place."""
    lexical = {hit.key: hit.score for hit in run.snapshot.lexical(topic.terms, run.counts, RANKED)}
    cosines = _cosines(run, asked.vector, lexical)
    if topic.terms:
        cosines = {key: value for key, value in cosines.items() if value >= run.request.min_score or key in lexical}
    if not cosines:
        return []
    ids = run.snapshot.chunk_ids(sorted(cosines))
    place = {key: (ids[key].rpartition("#")[0], key.passage_index) for key in cosines}
    scores = _fused(cosines, lexical)
    first = sorted(scores, key=lambda key: (-scores[key], place[key]))[:FED_BACK_PASSAGES]
    if not run.blind:
        vectors = run.snapshot.passage_vectors(first)
        moved = unit(asked.vector + unit(np.mean([vectors[key] for key in first if key in vectors], axis=0)))
        again = _cosines(run, moved, cosines)
        scores = _fused({key: again[key] for key in cosines}, lexical)
    return sorted(scores.items(), key=lambda pair: (-pair[1], place[pair[0]]))


def _cosines(run: Run, vector: Vector, wanted: Mapping[PassageKey, float]) -> dict[PassageKey, float]:
    """Cosines of the nearest passages and of those wanted besides; where there are no vectors all are as near."""
    if run.blind:
        return dict.fromkeys([*run.snapshot.passage_keys(RANKED), *sorted(wanted)], 0.0)
    found = {hit.key: hit.score for hit in run.snapshot.nearest_passages(vector, RANKED)}
    rest = run.snapshot.similarities([vector], sorted(wanted.keys() - found.keys()))
    return found | {key: cosine for key, (cosine,) in rest.items()}


def _fused(cosines: Mapping[PassageKey, float], lexical: Mapping[PassageKey, float]) -> dict[PassageKey, float]:
    keys = sorted(cosines)
    near = z_scores(np.array([cosines[key] for key in keys], dtype=np.float64))
    words = z_scores(np.array([lexical.get(key, 0.0) for key in keys], dtype=np.float64))
    return {key: round(float(score), 6) for key, score in zip(keys, near + LEXICAL_WEIGHT * words, strict=True)}


# --------------------------------------------------------------------------- sentences


def _few_of_each(keys: Sequence[PassageKey], most: int) -> list[PassageKey]:
    """The first so many passages of each part, in their order."""
    taken: Counter[tuple[int, int]] = Counter()
    chosen = []
    for key in keys:
        taken[part_of(key)] += 1
        if taken[part_of(key)] <= most:
            chosen.append(key)
    return chosen


def _in_turn(keys: Sequence[PassageKey], communities: Communities) -> list[PassageKey]:
    """The passages of each community in turn, if there are more than can be looked at."""
    if len(keys) <= CANDIDATES:
        return list(keys)
    of = communities(keys)
    parts: dict[int, list[PassageKey]] = {}
    for key in keys:
        parts.setdefault(of.get(key, -1), []).append(key)
    return round_robin(list(parts.values()))


def _fetched(run: Run, keys: Sequence[PassageKey]) -> tuple[dict[PassageKey, Chunk], tuple[str, ...]]:
    """Passages without the sentences that give orders to a model, and these sentences."""
    fetched = run.snapshot.chunks(keys)
    language = (run.counts.languages or ("en",))[0]
    found: dict[PassageKey, Chunk] = {}
    orders: list[str] = []
    for key in keys:
        if key in fetched:
            cleaned = chunk_without_orders(fetched[key], language)
            orders += cleaned.orders
            if cleaned.chunk is not None:
                found[key] = cleaned.chunk
    return found, tuple(dict.fromkeys(orders))


def _cut(chosen: Sequence[PassageKey], scores: Mapping[PassageKey, float], *, topical: bool) -> bool:
    """Whether parts beyond `CANDIDATES` may have been worth citing. Of a topic, by the rule for sentences: the best of
    them, as its passage is ranked, is not far below the average of all parts."""
    read = {part_of(key) for key in chosen[:CANDIDATES]}
    unread = [key for key in chosen[CANDIDATES:] if part_of(key) not in read]
    if not unread or not topical:
        return bool(unread)
    best: dict[tuple[int, int], float] = {}
    for key in chosen:
        best.setdefault(part_of(key), scores[key])
    first, average = max(best.values()), sum(best.values()) / len(best)
    return scores[unread[0]] >= first - DEPTH * (first - average)


def _scored(
    run: Run,
    asked: _Asked,
    found: Mapping[PassageKey, Chunk],
    passages: Mapping[PassageKey, float],
    *,
    topical: bool,
) -> tuple[tuple[Candidate, ...], float]:
    """The best sentence of each part, best first; and the best cosine of any sentence with the question."""
    chosen: list[Candidate] = []
    lexical: list[float] = []
    per_passage = max(1, EMBEDDED // max(1, len(found)))
    for key, chunk in found.items():
        told = [(sentence, *asked.held(sentence.text)) for sentence in sentences_of([chunk])]
        told.sort(
            key=lambda item: (
                -_saturated(*item[1:]),
                not topical and not _prose(item[0].text),
                -min(item[2], LONG_ENOUGH),
                item[0].start,
            )
        )
        for sentence, held, length in told[:per_passage]:
            chosen.append(Candidate(key=key, chunk=chunk, sentence=sentence, score=0.0))
            lexical.append(_saturated(held, length))
    if not chosen:
        return (), 0.0
    vectors = run.embedder().embed([item.sentence.text for item in chosen])
    cosines = vectors @ asked.vector
    if not topical:
        return _best_of_parts(_recurring(chosen, vectors, cosines)), float(cosines.max())
    beside = LEXICAL_WEIGHT * z_scores(np.array(lexical)) + np.array([passages[item.key] for item in chosen])
    scores = _rounded(z_scores(cosines.astype(np.float64)) + beside)
    first = sorted(range(len(chosen)), key=lambda at: (-scores[at], at))[:FED_BACK_SENTENCES]
    moved = unit(asked.vector + unit(np.mean(vectors[first], axis=0)))
    scores = _rounded(z_scores((vectors @ moved).astype(np.float64)) + beside)
    scored = [replace(item, score=float(score)) for item, score in zip(chosen, scores, strict=True)]
    return _best_of_parts(scored), float(cosines.max())


def _recurring(chosen: Sequence[Candidate], vectors: Vector, cosines: Vector) -> list[Candidate]:
    """Sentences scored by how near other parts' sentences come to them, on the average of the nearest, and by how near
    they are to the question; what is no prose comes last."""
    numbers = {part: number for number, part in enumerate(dict.fromkeys(part_of(item.key) for item in chosen))}
    parts = np.array([numbers[part_of(item.key)] for item in chosen])
    near = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    best = np.stack([near[:, parts == number].max(axis=1) for number in range(len(numbers))], axis=1)
    # The best of all is the sentence itself, in its own part.
    nearest = np.sort(best, axis=1)[:, ::-1][:, 1 : RECURRING + 1]
    recurring = nearest.mean(axis=1) if nearest.shape[1] else np.zeros(len(chosen))
    prose = np.array([_prose(item.sentence.text) for item in chosen], dtype=np.float64)
    scores = _rounded(z_scores(recurring) + z_scores(cosines.astype(np.float64)) + NO_PROSE * (prose - 1.0))
    return [replace(item, score=float(score)) for item, score in zip(chosen, scores, strict=True)]


def _prose(text: str) -> bool:
    """Whether a sentence is told in words: bylines, addresses and table rows are names and numbers mostly."""
    words = _WORD.findall(text)
    plain = sum(not word[0].isupper() and not word[0].isdigit() for word in words)
    return len(words) >= FEWEST_WORDS and plain >= PLAIN * len(words) and not text.lstrip().startswith("|")


def _saturated(held: float, length: int) -> float:
    """BM25's weight of the terms a sentence holds, each once."""
    return held * (K1 + 1) / (1 + K1 * (1 - B + B * length / LONG_ENOUGH))


def _rounded(values: Floats) -> Floats:
    return np.round(values, 6)


def _best_of_parts(scored: Sequence[Candidate]) -> tuple[Candidate, ...]:
    best: dict[tuple[int, int], Candidate] = {}
    for item in sorted(scored, key=_order):
        best.setdefault(part_of(item.key), item)
    scores = [item.score for item in best.values()]
    low, span = min(scores), max(scores) - min(scores)
    return tuple(replace(item, worth=round((item.score - low) / span, 6) if span else 1.0) for item in best.values())


def _order(item: Candidate) -> tuple[float, str, int]:
    return -item.score, item.chunk.document_id, item.sentence.start


def _worth_citing(item: Candidate, among: Sequence[Candidate]) -> bool:
    average = sum(other.worth for other in among) / len(among)
    return item.worth >= 1.0 - DEPTH * (1.0 - average)
