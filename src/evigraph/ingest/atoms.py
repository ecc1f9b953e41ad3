"""Atoms: the smallest pieces a passage is made of, with their token costs and their place in the document."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from evigraph.ingest.sources import SourceDocument
from evigraph.text.markdown import MAX_LEAD, Kind, blocks, lines
from evigraph.text.sentences import Unit, units

CHARS_PER_TOKEN = 20
"""A passage holds no more code points for each token; running text has about four."""

_CAPTION = re.compile(r"(?:table|tab\.|tabelle|tableau|tabla|tabella|表|図)", re.IGNORECASE)
_SENTENCE_END = (".", "!", "?", "。", "！", "？")
_CUT_AFTER = frozenset("|、，；：،；")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


class TokenCounter:
    """Counts tokens without the special ones a model adds around every text (`overhead`)."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.overhead = count("")
        self._spaces: dict[str, int] = {}

    def net(self, text: str) -> int:
        # Some tokenizers take a word of any length for one unknown token; passages must stay short.
        return max(0, self.count(text) - self.overhead, len(text) // CHARS_PER_TOKEN)

    def space(self, lead: str) -> int:
        """White space between atoms; only a few different ones occur."""
        if len(lead) > 8:
            return self.net(lead)
        if lead not in self._spaces:
            self._spaces[lead] = self.net(lead)
        return self._spaces[lead]

    def prefix(self, text: str, budget: int, known: int | None = None) -> int:
        """Length of a start of `text` (at least 1) that costs at most `budget` tokens, found from the
        average cost of a code point in a few counts; `known` is the cost of the whole where it was counted
        before."""
        size, cost = len(text), self.net(text) if known is None else known
        while cost > budget and size > 1:
            size = max(1, min(size - 1, size * budget // cost))
            cost = self.net(text[:size])
        return size


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    level: int
    title: str
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    group: int
    caption: str
    caption_start: int
    header: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Atom:
    """A sentence, heading, list item, table row or code line. `path` are the headings it stands under,
    itself included where it is one; `lead` is the white space before it, `detached` says that there is too
    much of it to be in one passage with what is before."""

    start: int
    text: str
    lead: str
    kind: Kind
    group: int
    tokens: int
    lead_tokens: int
    detached: bool
    path: tuple[Heading, ...]
    table: Table | None
    page: int | None

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def cost(self, *, first: bool) -> int:
        return self.tokens if first else self.tokens + self.lead_tokens


def atoms(document: SourceDocument, language: str, tokens: TokenCounter) -> Iterator[Atom]:
    """The document's atoms in order, read one segment at a time."""
    page_starts: list[int] = []
    page_numbers: list[int] = []

    def pieces() -> Iterator[tuple[int, str]]:
        for segment in document.segments():
            for offset, number in segment.pages:
                page_starts.append(offset)
                page_numbers.append(number)
            yield segment.start, segment.text

    path: tuple[Heading, ...] = ()
    table: Table | None = None
    previous: Unit | None = None
    for unit in units(blocks(lines(pieces())), language):
        block = unit.block
        if block.kind is Kind.HEADING:
            own = Heading(level=block.level, title=block.title, start=unit.start)
            path = (*(above for above in path if above.level < block.level), own)
        if block.kind is Kind.HEADER or (block.kind is Kind.ROW and (table is None or table.group != block.group)):
            table = _table(unit, previous)
        in_table = table is not None and table.group == block.group
        page = bisect_right(page_starts, unit.start)
        yield Atom(
            start=unit.start,
            text=unit.text,
            lead=unit.lead,
            kind=block.kind,
            group=block.group,
            tokens=tokens.net(unit.text),
            lead_tokens=tokens.space(unit.lead),
            detached=unit.detached,
            path=path,
            table=table if in_table else None,
            page=page_numbers[page - 1] if page else None,
        )
        previous = unit


def divide(atom: Atom, budget: int, tokens: TokenCounter) -> list[Atom]:
    """Pieces of an atom that cost at most `budget` each, cut at white space or commas where there are any.
    There are at least two pieces where the atom has two characters, so that the caller makes progress."""
    size = max(1, min(len(atom.text) - 1, tokens.prefix(atom.text, budget, atom.tokens)))
    size = _good_cut(atom.text, size)
    head, tail = atom.text[:size].rstrip(), atom.text[size:]
    rest = tail.lstrip()
    lead = atom.text[len(head) : len(atom.text) - len(rest)]
    first = replace(atom, text=head, tokens=tokens.net(head))
    second = replace(
        atom,
        start=atom.end - len(rest),
        text=rest,
        lead=lead,
        tokens=tokens.net(rest) if len(rest) < 2 * size else atom.tokens * len(rest) // len(atom.text),
        lead_tokens=tokens.space(lead),
        detached=len(lead) > MAX_LEAD,
    )
    return [first, second]


def _good_cut(text: str, size: int) -> int:
    """A cut at or before `size`: at white space or a comma in the second half, else between grapheme
    clusters."""
    for at in range(size, size // 2, -1):
        if text[at].isspace() or text[at - 1].isspace() or text[at - 1] in _CUT_AFTER:
            return at
    for at in range(size, max(0, size - 32), -1):
        if not (unicodedata.combining(text[at]) or text[at] in _JOINERS or text[at - 1] == "\u200d"):
            return at
    return size


def _table(unit: Unit, previous: Unit | None) -> Table:
    """The table that begins with this row; a short line right above it that is no sentence is its caption."""
    header = unit.text if unit.block.kind is Kind.HEADER else ""
    if previous is not None and _is_caption(previous, unit):
        return Table(group=unit.block.group, caption=previous.text, caption_start=previous.start, header=header)
    return Table(group=unit.block.group, caption="", caption_start=unit.start, header=header)


def _is_caption(above: Unit, row: Unit) -> bool:
    text = above.text
    alone = above.block.kind is Kind.PARAGRAPH and text == above.block.text.strip() and "\n" not in text
    near = row.lead.count("\n") <= 2 and not row.detached
    named = _CAPTION.match(text) is not None or not text.endswith(_SENTENCE_END)
    return alone and near and named and len(text) <= 200
