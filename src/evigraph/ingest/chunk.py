"""Cut a document's text into passages along its structure: headings, then blocks, then sentences.

A passage is filled greedily with the blocks of one section. It ends before a heading of the same or a
higher level and before a block that would fit whole into the next passage but not into this one. Only a
sentence that is too long alone is divided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from evigraph.errors import InvalidValue
from evigraph.ingest.atoms import Atom, Heading, TokenCounter, atoms, divide
from evigraph.ingest.sources import SourceDocument
from evigraph.text.markdown import Kind
from evigraph.types import Passage

TINY_TOKENS = 40
"""A section of fewer tokens may share a passage with the sections that follow it."""

MIN_TOKENS = 16

CHUNKER = "structure/1"
"""Name of these rules; raise the number when the same text would give other passages."""


def chunk(
    document: SourceDocument,
    *,
    revision: int,
    language: str,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> Iterator[Passage]:
    """Passages of one document revision, in order, numbered from 0, held one at a time.

    For each, `text == document_text[start:end]` and `count_tokens(searchable_text) <= max_tokens`; together
    they hold all text that is not white space, and none overlaps another. `context` is the title and those
    headings that are not in the text, and for the later parts of a table its caption and header row; it
    takes a quarter of the tokens at most, for which the outermost headings are left out first. Raises
    `InvalidValue` for `max_tokens` below 16.
    """
    if max_tokens < MIN_TOKENS:
        raise InvalidValue(
            f"passages of {max_tokens} tokens are too short",
            hint=f"use an embedder that reads at least {MIN_TOKENS}",
        )
    tokens = TokenCounter(count_tokens)
    packer = _Packer(document, max_tokens, tokens)
    for index, draft in enumerate(packer.run(atoms(document, language, tokens))):
        yield replace(draft, revision=revision, index=index)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextParts:
    title: str
    headings: tuple[str, ...]
    caption: str
    header: str


class _Packer:
    """Fills one passage after another. `_queue` holds atoms that were read ahead or put back."""

    def __init__(self, document: SourceDocument, max_tokens: int, tokens: TokenCounter) -> None:
        self._document = document
        self._max = max_tokens
        self._tokens = tokens
        self._tiny = min(TINY_TOKENS, max_tokens // 4)
        self._queue: deque[Atom] = deque()
        self._current: list[Atom] = []
        self._used = 0
        self._budget = 0
        self._context_parts: ContextParts | None = None
        self._context_text = ""
        self._first = -1

    def run(self, source: Iterator[Atom]) -> Iterator[Passage]:
        while True:
            atom = self._queue.popleft() if self._queue else next(source, None)
            if atom is None and not self._current:
                return
            if atom is None:
                yield self._finish()
            elif self._current and self._ends_before(atom, source):
                self._queue.appendleft(atom)
                self._put_back_opening(atom)
                yield self._finish()
            elif self._fits(atom):
                self._add(atom)
            elif self._current and not self._is_too_long(atom):
                self._queue.appendleft(atom)
                self._put_back_opening(atom)
                yield self._finish()
            elif self._budget - self._used < self._tiny and self._current:
                self._queue.appendleft(atom)
                yield self._finish()
            elif len(atom.text) == 1:
                # It cannot be divided; `_finish` finds a way or gives up.
                self._add(atom)
            else:
                self._queue.extendleft(reversed(divide(atom, self._budget - self._used, self._tokens)))

    def _fits(self, atom: Atom) -> bool:
        if not self._current:
            self._budget = self._fresh_budget(atom)
        return self._used + atom.cost(first=not self._current) <= self._budget

    def _add(self, atom: Atom) -> None:
        self._first = atom.start if self._first < 0 else self._first
        self._used += atom.cost(first=not self._current)
        self._current.append(atom)

    def _fresh_budget(self, atom: Atom) -> int:
        """Tokens there are for text in a passage that begins with this atom."""
        context = self._context([atom])
        return self._max - self._tokens.overhead - (self._tokens.net(context + "\n") if context else 0)

    def _is_too_long(self, atom: Atom) -> bool:
        return atom.tokens > self._fresh_budget(atom)

    def _ends_before(self, atom: Atom, source: Iterator[Atom]) -> bool:
        """Whether the current passage must, or had better, end here."""
        if atom.detached:
            return True
        if atom.kind is Kind.HEADING:
            return self._heading_ends(atom)
        last = self._current[-1]
        if atom.group == last.group or last.kind is Kind.HEADING:
            return False
        left = self._budget - self._used
        block = self._block_cost(atom, source)
        return left < block <= self._fresh_budget(atom)

    def _heading_ends(self, atom: Atom) -> bool:
        level = atom.path[-1].level
        headings = [held.path[-1].level for held in self._current if held.kind is Kind.HEADING]
        if len(headings) == len(self._current):
            return level < min(headings)
        # A tiny section takes in what follows, unless that belongs to a branch above it.
        begins_section = self._current[0].kind is Kind.HEADING or self._current[0].start == self._first
        tiny = begins_section and self._used < self._tiny
        return not (tiny and level >= min(headings, default=1))

    def _block_cost(self, atom: Atom, source: Iterator[Atom]) -> int:
        """Cost of the atom's whole block, read ahead no further than a passage holds."""
        cost, ahead = atom.cost(first=False), 0
        while cost <= self._max:
            if ahead == len(self._queue):
                following = next(source, None)
                if following is None:
                    break
                self._queue.append(following)
            if self._queue[ahead].group != atom.group:
                break
            cost += self._queue[ahead].cost(first=False)
            ahead += 1
        return cost

    def _put_back_opening(self, following: Atom) -> None:
        """Take what only opens the next atom (headings, a table's caption and header row) out of the
        passage that ends, unless nothing would be left of it."""
        kept = len(self._current)
        while kept and _opens(self._current[kept - 1], following):
            kept -= 1
            following = self._current[kept]
        if kept:
            self._queue.extendleft(reversed(self._current[kept:]))
            del self._current[kept:]

    def _finish(self) -> Passage:
        """The current passage, checked against the limit: what is too much goes back to the queue."""
        held, self._current, self._used = self._current, [], 0
        while True:
            draft = self._draft(held, self._context(held))
            cost = self._tokens.count(draft.searchable_text)
            if cost <= self._max:
                return replace(draft, token_count=cost)
            if len(held) > 1:
                over = cost - self._max
                while len(held) > 1 and over > 0:
                    over -= max(1, held[-1].cost(first=False))
                    self._queue.appendleft(held.pop())
            elif len(held[0].text) > 1:
                first, second = divide(held[0], held[0].tokens // 2, self._tokens)
                held = [first]
                self._queue.appendleft(second)
            else:
                return self._single(held)

    def _single(self, held: list[Atom]) -> Passage:
        """One character that costs more than the limit beside its context."""
        draft = self._draft(held, "")
        cost = self._tokens.count(draft.searchable_text)
        if cost > self._max:
            raise InvalidValue(
                f"one character counts {cost} tokens, more than the embedder's {self._max}",
                hint="use an embedder that reads more tokens",
            )
        return replace(draft, token_count=cost)

    def _draft(self, held: list[Atom], context: str) -> Passage:
        parts = [held[0].text]
        for atom in held[1:]:
            parts += [atom.lead, atom.text]
        spans = tuple((atom.start, atom.end) for atom in held if atom.kind is not Kind.MARK)
        return Passage(
            document_id=self._document.document_id,
            revision=0,
            index=0,
            start=held[0].start,
            end=held[-1].end,
            text="".join(parts),
            context=context,
            heading_path=tuple(heading.title for heading in _common_path(held)),
            page=held[0].page,
            sentences=spans or ((held[0].start, held[-1].end),),
        )

    def _context(self, held: list[Atom]) -> str:
        first = held[0]
        outside = [heading.title for heading in _common_path(held) if heading.start < first.start]
        title = self._document.title
        if outside and outside[0].casefold() == title.casefold():
            del outside[0]
        caption, header = "", ""
        if first.table is not None:
            caption = first.table.caption if first.table.caption_start < first.start else ""
            header = first.table.header if first.kind is not Kind.HEADER else ""
        parts = ContextParts(title=title, headings=tuple(outside), caption=caption, header=header)
        # Consecutive passages share their context; those of other sections need not be kept.
        if parts != self._context_parts:
            self._context_parts = parts
            self._context_text = bounded_context(parts, self._max // 4, self._tokens)
        return self._context_text


def bounded_context(parts: ContextParts, budget: int, tokens: TokenCounter) -> str:
    """`title > heading > heading`, caption and header row, a line each, in at most `budget` tokens.

    Left out first are the outermost headings, then the caption; then title and header row are cut.
    """
    title, headings, caption, header = parts.title, list(parts.headings), parts.caption, parts.header

    def render() -> str:
        path = " > ".join(part for part in (title, *headings) if part)
        return "\n".join(line for line in (path, caption, header) if line)

    def too_long() -> bool:
        return tokens.net(render()) > budget

    while headings and too_long():
        del headings[0]
    if too_long():
        caption = ""
    if title and too_long():
        title = title[: tokens.prefix(title, budget // 2 if header else budget)].strip()
    if header and too_long():
        header = header[: tokens.prefix(header, budget // 2)].strip()
    # A counter that charges for the joints may still find it too long.
    return "" if too_long() else render()


def _opens(atom: Atom, following: Atom) -> bool:
    if atom.kind is Kind.HEADING:
        return True
    if atom.group == following.group:
        return atom.kind in (Kind.HEADER, Kind.MARK)
    table = following.table
    return following.kind is Kind.HEADER and table is not None and atom.start == table.caption_start


def _common_path(held: list[Atom]) -> tuple[Heading, ...]:
    """The headings that all the text of a passage stands under; of a passage of headings only, the last
    one's."""
    paths = [atom.path for atom in held if atom.kind is not Kind.HEADING] or [held[-1].path]
    shared = paths[0]
    for path in paths[1:]:
        if path is shared:
            continue
        same = (i for i, (left, right) in enumerate(zip(shared, path, strict=False)) if left != right)
        shared = shared[: next(same, min(len(shared), len(path)))]
    return shared
