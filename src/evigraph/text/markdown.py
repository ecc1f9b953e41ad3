"""Block structure of Markdown text, read as a stream: headings, paragraphs, list items, table rows, code.

Only what matters for cutting text is recognised, after CommonMark (https://spec.commonmark.org/0.31.2/)
with pipe tables. Blocks are exact slices: joining every block's `lead` and `text` gives the text without
its last white space.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_LINE = 8_000
MAX_BLOCK = 8_000
"""Code points. The sentence splitter takes quadratic time where there is no white space."""

MAX_LEAD = 1_000
"""Code points of white space that may stand inside a passage; where there is more, `Block.detached` is
set."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.{0,400}?)[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_RULE = re.compile(r"(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,}|={3,})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*")
_ITEM = re.compile(r"\s*(?:[-*+•]|(\d{1,9})[.)])\s+\S")
_DELIMITER = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


class Kind(enum.Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    HEADER = "header"
    ROW = "row"
    CODE = "code"
    MARK = "mark"
    """Lines that say nothing themselves: rules, table delimiter rows, code fences."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """`text` has no line end; `ended` says that one follows. Lines longer than `MAX_LINE` come in pieces,
    of which all but the first are `continued`."""

    start: int
    text: str
    ended: bool
    continued: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """`text` is the slice at `start`; `lead` the white space between the block before and this one. Items
    of one list, rows of one table and lines of one code block share `group`. A paragraph or item of more
    than `MAX_BLOCK` comes in several blocks, all but the last `open`."""

    kind: Kind
    start: int
    text: str
    lead: str
    group: int
    detached: bool = False
    open: bool = False
    level: int = 0
    title: str = ""


def lines(pieces: Iterable[tuple[int, str]]) -> Iterator[Line]:
    """Lines of a text that comes as `(offset, piece)`, holding one piece and one line at a time."""
    start, held, continued = 0, "", False
    for offset, piece in pieces:
        if not held:
            start = offset
        parts = piece.split("\n")
        parts[0] = held + parts[0]
        for number, whole in enumerate(parts, start=1):
            part, ended = whole, number < len(parts)
            while len(part) > MAX_LINE:
                at = _space_before(part)
                yield Line(start=start, text=part[:at], ended=False, continued=continued)
                start, part, continued = start + at, part[at:], True
            if not ended:
                held = part
                break
            yield Line(start=start, text=part, ended=True, continued=continued)
            start, continued = start + len(part) + 1, False
    if held:
        yield Line(start=start, text=held, ended=False, continued=continued)


def _space_before(text: str) -> int:
    at = text.rfind(" ", MAX_LINE // 2, MAX_LINE)
    return at + 1 if at >= 0 else MAX_LINE


def blocks(source: Iterable[Line]) -> Iterator[Block]:
    """Group lines into blocks."""
    parser = _Parser()
    for line in source:
        yield from parser.feed(line)
    yield from parser.close()


def plain_heading(text: str) -> str:
    """A heading without emphasis marks and link targets."""
    return _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text).replace("`", "")).strip()


class _Parser:
    """Holds one paragraph or list item; everything else is passed on line by line."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._size = 0
        self._kind = Kind.PARAGRAPH
        self._start = 0
        self._single = False
        self._stands_alone = False
        self._ended = True
        self._lead = ""
        self._detached = False
        self._after_blank = True
        self._group = 0
        self._fence = ""
        self._table = False

    def feed(self, line: Line) -> Iterator[Block]:
        if self._fence:
            yield from self._code(line)
        elif line.continued:
            yield from self._continue(line)
        elif not line.text.strip():
            yield from self.close()
            self._table = False
            self._skip(line)
        else:
            yield from self._text(line)
            self._after_blank = False

    def close(self) -> Iterator[Block]:
        """Pass on what is held."""
        if not self._held:
            return
        text = "".join(self._held)
        self._held, self._size, self._single = [], 0, False
        if text:
            yield self._emit(self._kind, self._start, text, ended=self._ended)
        else:
            self._lead = "\n" if self._ended else ""

    def _text(self, line: Line) -> Iterator[Block]:
        text = line.text
        if self._single and self._ends_table_header(text):
            yield from self._open_table(line)
            return
        if self._single and self._held[0].startswith("|") and text.startswith("|"):
            self._kind, self._table = Kind.ROW, True
            yield from self.close()
        if self._table and "|" in text:
            yield self._line(Kind.ROW, line)
            return
        self._table = False
        heading = _HEADING.fullmatch(text)
        fence = None if heading else _FENCE.fullmatch(text)
        if self._single and self._is_underline(text):
            yield self._underlined(line)
        elif heading:
            yield from self.close()
            self._group += 1
            yield self._line(Kind.HEADING, line, level=len(heading[1]), title=plain_heading(heading[2]))
        elif fence:
            yield from self.close()
            self._group += 1
            self._fence = fence[1]
            yield self._line(Kind.MARK, line)
        elif _RULE.fullmatch(text.strip()):
            yield from self.close()
            self._group += 1
            yield self._line(Kind.MARK, line)
        elif self._begins_item(text):
            in_list = bool(self._held) and self._kind is Kind.ITEM
            yield from self.close()
            self._hold(line, Kind.ITEM, same_group=in_list)
        elif self._held and not (text.startswith("|") and not self._held[0].startswith("|")):
            yield from self._append(line)
        else:
            yield from self.close()
            self._hold(line, Kind.PARAGRAPH, same_group=False)

    def _hold(self, line: Line, kind: Kind, *, same_group: bool) -> None:
        if not same_group:
            self._group += 1
        self._held, self._size = [line.text], len(line.text)
        self._kind, self._start, self._ended = kind, line.start, line.ended
        self._single = kind is Kind.PARAGRAPH
        self._stands_alone = self._after_blank

    def _append(self, line: Line) -> Iterator[Block]:
        joint = "" if line.continued else "\n"
        self._held.append(joint + line.text)
        self._size += len(joint) + len(line.text)
        self._ended = line.ended
        self._single = self._single and line.continued
        if self._size > MAX_BLOCK:
            text = "".join(self._held)
            yield self._emit(self._kind, self._start, text, ended=False, is_open=True)
            # An empty string keeps the block open; its next piece begins where this one ended.
            self._held, self._size, self._start = [""], 0, self._start + len(text)

    def _continue(self, line: Line) -> Iterator[Block]:
        if self._held:
            yield from self._append(line)
        elif self._table:
            yield self._line(Kind.ROW, line)
        elif line.text.strip():
            self._hold(line, Kind.PARAGRAPH, same_group=False)
        else:
            self._skip(line)

    def _code(self, line: Line) -> Iterator[Block]:
        text = line.text.strip()
        if text.startswith(self._fence) and not text.strip(self._fence[0]):
            self._fence = ""
            yield self._line(Kind.MARK, line)
        elif text:
            yield self._line(Kind.CODE, line)
        else:
            self._skip(line)

    def _ends_table_header(self, text: str) -> bool:
        return "|" in text and "|" in self._held[0] and _DELIMITER.fullmatch(text.strip()) is not None

    def _open_table(self, line: Line) -> Iterator[Block]:
        text = "".join(self._held)
        self._held, self._single, self._table = [], False, True
        yield self._emit(Kind.HEADER, self._start, text, ended=True)
        yield self._line(Kind.MARK, line)

    def _is_underline(self, text: str) -> bool:
        """Under a single line after a blank one, of about its length: else it is a rule."""
        found = _UNDERLINE.fullmatch(text)
        title = self._held[0].strip()
        usual = found is not None and len(found[1]) >= 3 and len(title) / 2 <= len(found[1]) <= 2 * len(title)
        return usual and self._stands_alone

    def _underlined(self, line: Line) -> Block:
        title = "".join(self._held)
        level = 1 if "=" in line.text else 2
        self._held, self._single = [], False
        text = f"{title}\n{line.text}"
        return self._emit(Kind.HEADING, self._start, text, ended=line.ended, level=level, title=plain_heading(title))

    def _begins_item(self, text: str) -> bool:
        found = _ITEM.match(text)
        if not found:
            return False
        # "… in\n1998. The next" is no list: inside a paragraph a numbered list can only begin with 1.
        interrupts = bool(self._held) and self._kind is Kind.PARAGRAPH
        return not (interrupts and found[1] is not None and int(found[1]) != 1)

    def _line(self, kind: Kind, line: Line, *, level: int = 0, title: str = "") -> Block:
        return self._emit(kind, line.start, line.text, ended=line.ended, level=level, title=title)

    def _emit(
        self,
        kind: Kind,
        start: int,
        text: str,
        *,
        ended: bool,
        is_open: bool = False,
        level: int = 0,
        title: str = "",
    ) -> Block:
        block = Block(
            kind=kind,
            start=start,
            text=text,
            lead=self._lead,
            group=self._group,
            detached=self._detached,
            open=is_open,
            level=level,
            title=title,
        )
        self._lead, self._detached = ("\n" if ended else ""), False
        return block

    def _skip(self, line: Line) -> None:
        """White space between blocks."""
        self._after_blank = True
        self._lead += line.text + ("\n" if line.ended else "")
        if len(self._lead) > MAX_LEAD:
            self._lead, self._detached = "", True
