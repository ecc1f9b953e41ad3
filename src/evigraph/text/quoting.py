"""Sentences of passages as they are quoted and read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evigraph.text.telling import is_rule
from evigraph.types import Chunk

QUOTE_CHARS = 300
"""Longest quote of a citation."""

_BRACKETED = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_MARKUP = re.compile(r"(?:[*_>\s]|[-+]\s)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of chunk number `chunk` (from 0), at `[start, end)` of its document."""

    chunk: int
    start: int
    end: int
    text: str


def quote_span(sentence: Sentence) -> tuple[int, int]:
    """The sentence's span without leading markup, cut at a word border where it is longer than a quote may be."""
    text = sentence.text
    lead = len(_MARKUP.match(text).group())  # type: ignore[union-attr]
    tail = len(text.rstrip())
    if tail - lead > QUOTE_CHARS:
        cut = text.rfind(" ", lead + QUOTE_CHARS // 2, lead + QUOTE_CHARS + 1)
        tail = cut if cut > 0 else lead + QUOTE_CHARS
    return sentence.start + lead, sentence.start + tail


def readable(sentence: Sentence, chunk: Chunk) -> str:
    """The sentence as running text: white space folded, a table row as `column: value` pairs."""
    start, end = quote_span(sentence)
    text = " ".join(chunk.text[start - chunk.start : end - chunk.start].split())
    if end < sentence.start + len(sentence.text.rstrip()):
        text += " …"
    if text.startswith("|"):
        text = _row(text, _header(sentence, chunk))
    return without_brackets(re.sub(r"^\d+[.)]\s+", "", text).replace("**", ""))


def without_brackets(text: str) -> str:
    """The text with its bracketed numbers in round ones: a document's own would read as one of our citations."""
    return _BRACKETED.sub(r"(\1)", text)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _header(sentence: Sentence, chunk: Chunk) -> list[str]:
    """Column names: the row above the nearest `| --- |` line before the sentence, else one kept in the context."""
    lines = chunk.text[: sentence.start - chunk.start].splitlines()
    for above, line in zip(reversed(lines[:-1]), reversed(lines[1:]), strict=True):
        if line.startswith("|") and is_rule(line):
            return _cells(above)
    kept = [line for line in chunk.context.splitlines() if line.startswith("|") and not is_rule(line)]
    return _cells(kept[-1]) if kept else []


def _row(text: str, header: list[str]) -> str:
    cells = _cells(text)
    if len(header) != len(cells):
        return "; ".join(cell for cell in cells if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)
