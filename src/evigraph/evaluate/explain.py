"""What a case keeps of a retrieval so that a difference between two runs can be explained later."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from evigraph.evaluate.cases import FoundDocument
from evigraph.types import Chunk

LONGEST_NOTE = 1_000
"""Characters, as JSON, of what the ledger counted under one name, beyond which it is not kept."""

DECIMALS = 6
"""Of the scores kept: enough to tell passages apart, and a file half as large."""


def found_documents(chunks: Iterable[tuple[str, Chunk]], k: int, gold: Collection[str]) -> tuple[FoundDocument, ...]:
    """The first `k` documents of a ranking of passages, each given with its corpus id, and gold documents below."""
    best: dict[str, Chunk] = {}
    for name, chunk in chunks:
        best.setdefault(name, chunk)
    return tuple(
        FoundDocument(
            document=name,
            rank=rank,
            title=chunk.title,
            score=_rounded(chunk.score),
            vector_rank=chunk.vector_rank,
            vector_score=_rounded(chunk.vector_score),
            bm25_rank=chunk.bm25_rank,
            bm25_score=_rounded(chunk.bm25_score),
            graph_rank=chunk.graph_rank,
            graph_score=_rounded(chunk.graph_score),
            rerank_score=_rounded(chunk.rerank_score),
        )
        for rank, (name, chunk) in enumerate(best.items(), 1)
        if rank <= k or name in gold
    )


def notes(stats: Mapping[str, Any]) -> dict[str, Any]:
    """What the ledger counted, as plain values: names it took for anchors, the gate, bridges, sizes. Times are not
    kept, nor what is too long to read beside a question."""
    kept: dict[str, Any] = {}
    for name, value in stats.items():
        text = json.dumps(value, default=str)
        if not name.endswith("_ms") and len(text) <= LONGEST_NOTE:
            kept[name] = json.loads(text)
    return kept


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
