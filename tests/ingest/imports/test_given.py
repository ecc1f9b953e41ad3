"""Units of a source become passages only where the embedder reads each whole."""

from __future__ import annotations

from collections import Counter

from evigraph.ingest.imports.given import GivenGraph, GivenPassage
from evigraph.types import Passage

TEXT = "Ann met Bo. " * 100


def test_the_first_unit_too_long_ends_the_reading_of_units() -> None:
    units = [GivenPassage(start=0, end=len(TEXT)) for _ in range(1_000)]
    graph = GivenGraph(title="", text=TEXT, units=units, mentions=(), claims=(), descriptions={}, counts=Counter[str]())
    counted: list[str] = []

    def count_tokens(text: str) -> int:
        counted.append(text)
        return len(text.split())

    cut = Passage(document_id="d", revision=1, index=0, start=0, end=11, text=TEXT[:11], token_count=3, sentences=())
    passages = graph.passages(
        "d", revision=1, language="en", chunked=lambda: iter([cut]), count_tokens=count_tokens, max_tokens=50
    )
    assert list(passages) == [cut]
    assert len(counted) == 1
    assert graph.counts["units_chunked"] == 1_000
