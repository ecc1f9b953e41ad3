"""Sentences of Markdown text, by sentencex (https://github.com/wikimedia/sentencex) inside paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from evigraph.text.markdown import Block, Kind, blocks, lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """A sentence, or another piece of text that is not divided: a heading, list item, table row or code
    line. `text` is never empty and has no white space around it; `lead` is the white space before it."""

    start: int
    text: str
    lead: str
    block: Block
    detached: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def sentence_spans(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Half-open code point spans of the sentences of a Markdown text, in order, without white space around
    them.

    `language` is an ISO 639 code; sentencex falls back to related languages, last to English. A heading, a
    list item, a table row and a code line count as one sentence each, whatever they hold; a line end inside
    a paragraph ends none. Rules, table delimiter rows and code fences are no sentences.
    """
    found = units(blocks(lines([(0, text)])), language)
    return tuple((unit.start, unit.end) for unit in found if unit.block.kind is not Kind.MARK)


def units(source: Iterable[Block], language: str) -> Iterator[Unit]:
    """The units of a stream of blocks, in order; together they hold all text that is not white space."""
    gap, detached = "", False
    for block in _cut_at_sentences(source, language):
        gap, detached, at = gap + block.lead, detached or block.detached, 0
        for start, end in _spans(block, language):
            lead = gap + block.text[at:start]
            yield Unit(
                start=block.start + start,
                text=block.text[start:end],
                lead=lead,
                block=block,
                detached=detached,
            )
            gap, detached, at = "", False, end
        gap += block.text[at:]


def _cut_at_sentences(source: Iterable[Block], language: str) -> Iterator[Block]:
    """The blocks, where a paragraph that comes in several is cut between sentences instead of anywhere."""
    rest: Block | None = None
    for following in source:
        block = following
        if rest is not None and block.group == rest.group:
            block = replace(rest, text=rest.text + block.text, open=block.open)
        elif rest is not None:
            yield rest
        rest = None
        last = _spans(block, language)[-1][0] if block.open else 0
        if last:
            rest = replace(block, start=block.start + last, text=block.text[last:], lead="", detached=False)
        yield replace(block, text=block.text[:last]) if last else block
    if rest is not None:
        yield rest


def _spans(block: Block, language: str) -> list[tuple[int, int]]:
    """Spans inside the block's text, stripped."""
    text = block.text
    if block.kind is not Kind.PARAGRAPH:
        return [span for span in [_strip(text, 0, len(text))] if span]
    import sentencex

    found = sentencex.get_sentence_boundaries(language or "en", text)
    # A boundary at a line end inside the paragraph counts only where a sentence ends there.
    ends = [int(boundary["end_index"]) for boundary in found]
    spans, start = [], 0
    for end in [*ends, len(text)]:
        if end > start:
            spans.append(_strip(text, start, end))
            start = end
    return [span for span in spans if span]


def _strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends; None where nothing else is in it."""
    piece = text[start:end]
    inner = piece.strip()
    if not inner:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(inner)
