"""The part of a passage that is read for an answer."""

from __future__ import annotations

from evigraph.types import Chunk

GAP = "…"
"""Stands where sentences were left out between two that were kept."""


def kept_text(chunk: Chunk) -> str:
    """The passage's text, or its kept sentences in order, with `GAP` between those that do not follow each other."""
    if not chunk.kept:
        return chunk.text
    parts: list[str] = []
    last = chunk.kept[0][0]
    for start, end in chunk.kept:
        between = chunk.text[last - chunk.start : start - chunk.start]
        if parts:
            parts.append(f" {GAP} " if between.strip() else between)
        parts.append(chunk.text[start - chunk.start : end - chunk.start])
        last = end
    return "".join(parts)
