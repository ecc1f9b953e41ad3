"""One question as measured: what an evaluation keeps of it, and its line in a result file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundDocument:
    """A document that a retrieval found, by its corpus id, with the signals of the passage that gave it its place.

    `rank` counts distinct documents, from 1; the ranks of the arms count passages, from 1. A signal that did not rank
    the passage is None. `score` is the order.
    """

    document: str
    rank: int
    title: str = ""
    score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    bm25_rank: int | None = None
    bm25_score: float | None = None
    graph_rank: int | None = None
    graph_score: float | None = None
    rerank_score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingCase:
    """One question in one mode: the ids ranked, best first, and its metrics. A retrieval that failed has
    `error` and scores 0 throughout.

    `found` explains the ranking: the documents of `ranked`, then gold documents that were found below them. `notes` are
    what the ledger counted of the retrieval, as plain values: anchors, gate, bridges, aliases, sizes; `retrieval` the
    arms that ran.
    """

    mode: str
    question_id: str
    question: str
    type: str
    gold: tuple[str, ...]
    ranked: tuple[str, ...]
    metrics: Mapping[str, float]
    seconds: float
    options: Mapping[str, Any]
    degraded: tuple[str, ...] = ()
    error: str = ""
    retrieval: str = ""
    found: tuple[FoundDocument, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerCase:
    """One question answered. `cites_gold`: at least one citation points into a gold document;
    `answer_recall`: share of the expected strings in the answer. Both are None where the question has no
    gold or no expected answer. Of a corpus-wide question, `gold_recall` is the share of its gold documents that are
    cited, `gold_precision` the share of the cited ones that are gold (None where nothing is cited), `groups` the share
    of values of each metadata key that cited documents have."""

    mode: str
    question_id: str
    question: str
    type: str
    abstained: bool
    abstain_reason: str
    text: str
    citations: tuple[str, ...]
    longest_quote: int
    cites_gold: bool | None
    answer_recall: float | None
    seconds: float
    options: Mapping[str, Any]
    error: str = ""
    gold_recall: float | None = None
    gold_precision: float | None = None
    groups: Mapping[str, float] = field(default_factory=dict)


def as_record(case: RankingCase | AnswerCase) -> dict[str, Any]:
    """The case as plain values, with `case` saying which kind it is. Signals that are None are left out: they are most
    of a ranking."""
    record = {"case": "ranking" if isinstance(case, RankingCase) else "answer", **dataclasses.asdict(case)}
    for found in record.get("found", ()):
        for name in [name for name, value in found.items() if value is None]:
            del found[name]
    return record
