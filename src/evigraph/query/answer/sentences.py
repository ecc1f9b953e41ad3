"""Sentences of the evidence as candidates for answers and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evigraph.types import Chunk, Citation

QUOTE_CHARS = 300
"""Longest quote of a citation."""

_RULE = re.compile(r"[\s|:\-=_*#>]*")
_WORDS = re.compile(r"\w+")
_BRACKETED = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_MARKUP = re.compile(r"(?:[*_>\s]|[-+]\s)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of chunk number `chunk` (from 0), at `[start, end)` of its document."""

    chunk: int
    start: int
    end: int
    text: str


def sentences_of(chunks: Sequence[Chunk]) -> Iterator[Sentence]:
    """Sentences worth quoting: not headings, rules or single words. A chunk without any gives itself."""
    for number, chunk in enumerate(chunks):
        spans = chunk.sentences or ((chunk.start, chunk.end),)
        sentences = [
            Sentence(chunk=number, start=start, end=end, text=chunk.text[start - chunk.start : end - chunk.start])
            for start, end in spans
        ]
        telling = [sentence for sentence in sentences if is_telling(sentence.text)]
        yield from telling or sentences[:1]


def is_telling(text: str) -> bool:
    """Headings, table rules and fragments of fewer than three words tell nothing by themselves."""
    return not text.lstrip().startswith("#") and not _RULE.fullmatch(text) and len(_WORDS.findall(text)) >= 3


def quote_span(sentence: Sentence) -> tuple[int, int]:
    """The sentence's span without leading markup, cut at a word border where it is longer than a quote may be."""
    text = sentence.text
    lead = len(_MARKUP.match(text).group())  # type: ignore[union-attr]
    tail = len(text.rstrip())
    if tail - lead > QUOTE_CHARS:
        cut = text.rfind(" ", lead + QUOTE_CHARS // 2, lead + QUOTE_CHARS + 1)
        tail = cut if cut > 0 else lead + QUOTE_CHARS
    return sentence.start + lead, sentence.start + tail


def cite(number: int, sentence: Sentence, chunk: Chunk) -> Citation:
    """Citation `[number]`: the sentence, quoted verbatim from the chunk."""
    start, end = quote_span(sentence)
    return Citation(
        n=number,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        revision=chunk.revision,
        source=chunk.source,
        title=chunk.title,
        start=start,
        end=end,
        quote=chunk.text[start - chunk.start : end - chunk.start],
        page=chunk.page,
    )


def readable(sentence: Sentence, chunk: Chunk) -> str:
    """The sentence as running text: white space folded, a table row as `column: value` pairs."""
    start, end = quote_span(sentence)
    text = " ".join(chunk.text[start - chunk.start : end - chunk.start].split())
    if end < sentence.start + len(sentence.text.rstrip()):
        text += " …"
    if text.startswith("|"):
        text = _row(text, _header(sentence, chunk))
    # A bracketed number of the document's own would read as one of our citations.
    return _BRACKETED.sub(r"(\1)", re.sub(r"^\d+[.)]\s+", "", text).replace("**", ""))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _header(sentence: Sentence, chunk: Chunk) -> list[str]:
    """Column names: the row above the nearest `| --- |` line before the sentence, else one kept in the context."""
    lines = chunk.text[: sentence.start - chunk.start].splitlines()
    for above, line in zip(reversed(lines[:-1]), reversed(lines[1:]), strict=True):
        if line.startswith("|") and _RULE.fullmatch(line):
            return _cells(above)
    kept = [line for line in chunk.context.splitlines() if line.startswith("|") and not _RULE.fullmatch(line)]
    return _cells(kept[-1]) if kept else []


def _row(text: str, header: list[str]) -> str:
    cells = _cells(text)
    if len(header) != len(cells):
        return "; ".join(cell for cell in cells if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)
