"""What a corpus-wide question is about, once the words that merely ask for an overview are set aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evigraph.query.run import Run
from evigraph.query.spaces import per_space
from evigraph.query.understand import question_terms
from evigraph.store.rows import Hit
from evigraph.text.analysis import ENGLISH_STOP_WORDS

_CUE_TEXT = """
across all archive area areas back came challenge challenges collection come comes coming common commonest commonly
corpus countries country decade decades department departments describe did difference different difficulties
difficulty do document documents does entire entirely everything everywhere file files finding findings frequency
frequent frequently general generally give given gives happen happened happens insight insights issue issues key kind
kinds lesson lessons list look looked looking looks made main mainly major make makes making most often one ones
overall overview pattern patterns period place places problem problems program programme programmes programs recur
recurrent recurring recurs region regions repeat repeated repeatedly repeats report reports said say says sector
sectors see show shown shows sort sorts subject subjects summarise summarised summarize summarized summary tell ten
text texts thematic theme themes time times topic topics trend trends various way ways whatever whichever whole year
years
"""
CUE_WORDS = frozenset(_CUE_TEXT.split())
"""English words that ask for breadth, name the corpus or its usual parts, or stand for whatever it is about."""

LOOKED_AT = 50
"""Passages whose documents are asked for their metadata keys."""

_WORD = re.compile(r"\w[\w'’-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """`text` is the question without cue words and `terms` what the lexical index makes of it; both are empty where it
    asks about everything."""

    text: str
    terms: tuple[str, ...]


def topic_of(question: str, languages: Sequence[str], keys: Iterable[str]) -> Topic:
    """The topic of a question. Names of metadata keys ("region") are cues as well: they ask for breadth over values."""
    grouped = {_singular(key.casefold()) for key in keys}
    words = [
        word
        for word in _WORD.findall(question)
        if word.casefold() not in CUE_WORDS and _singular(word.casefold()) not in grouped
    ]
    telling = [word for word in words if word.casefold() not in ENGLISH_STOP_WORDS]
    if not telling:
        return Topic(text="", terms=())
    text = " ".join(words)
    return Topic(text=text, terms=question_terms(text, languages))


def metadata_keys(run: Run) -> list[str]:
    """Keys that most documents near the question have, however many values: a filter may have left a key but one."""
    if not run.counts.passages:
        return []
    near = run.snapshot.chunk_ids([hit.key for part in per_space(run, lambda: _nearest(run)) for hit in part])
    documents = run.snapshot.documents_of(sorted({chunk.rpartition("#")[0] for chunk in near.values()}))
    counts: dict[str, int] = {}
    for document in documents.values():
        for key in document.metadata:
            counts[key] = counts.get(key, 0) + 1
    return sorted(key for key, count in counts.items() if 2 * count >= len(documents))


def _nearest(run: Run) -> list[Hit]:
    return run.snapshot.nearest_passages(run.asked.vector, LOOKED_AT)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word
