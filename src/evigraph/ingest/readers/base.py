"""What a reader returns, and the helpers every reader shares."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evigraph.errors import CorruptDocument, EmptyDocument, ReadError, UndecodableText
from evigraph.ingest.sources import Segment
from evigraph.text.markdown import plain_heading

SEGMENT_CHARS = 500_000
"""Code points a segment holds at most; four bytes each keeps it under two megabytes."""

BLOCK_BYTES = 1 << 18

_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Extracted:
    """One document as its reader sees it. `digest` is the SHA-256 of what it was read from; `title` and
    `declared` (title, date, other metadata) are what the file says about itself; `heading` is its first
    level-1 heading; `record` counts from 1 in files of many records, and `record_id` and `source` are the
    record's own."""

    segments: Callable[[], Iterator[Segment]]
    digest: str
    media_type: str
    title: str = ""
    heading: str = ""
    declared: Mapping[str, object] = field(default_factory=dict)
    record: int | None = None
    record_id: str = ""
    source: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordError:
    """Record number `record` of a file could not be read; the others can."""

    record: int
    error: ReadError


Reader = Callable[[Path], Iterator[Extracted | RecordError]]


def sha256_of_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def first_heading(text: str) -> str:
    """Text of the first level-1 Markdown heading that holds a letter or digit, or an empty string."""
    titles = (plain_heading(found[1]) for found in _HEADING.finditer(text))
    return next(filter(has_word, titles), "")


def has_word(text: str) -> bool:
    """Whether there is a letter or a digit: a line of punctuation separates, and names nothing."""
    return _WORD.search(text) is not None


def cut(pieces: Iterable[str], limit: int = SEGMENT_CHARS) -> Iterator[Segment]:
    """Regroup text pieces into segments of at most `limit` code points, cut after a blank line where there
    is one, else at a line end, else at white space, else hard. Holds one segment at a time."""
    start, held, size = 0, list[str](), 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < limit:
            continue
        buffer = "".join(held)
        while len(buffer) >= limit:
            at = _cut_point(buffer, limit)
            yield Segment(text=buffer[:at], start=start)
            start, buffer = start + at, buffer[at:]
        held, size = [buffer], len(buffer)
    rest = "".join(held)
    if rest:
        yield Segment(text=rest, start=start)


def _cut_point(buffer: str, limit: int) -> int:
    """A cut in the second half of the limit, so that segments stay few."""
    for mark in ("\n\n", "\n", " "):
        at = buffer.rfind(mark, limit // 2, limit)
        if at >= 0:
            return min(at + len(mark), limit)
    return limit


def lines(pieces: Iterator[str]) -> Iterator[str]:
    """Lines with their ends; a piece may stop anywhere inside one."""
    held: list[str] = []
    for piece in pieces:
        *whole, rest = piece.split("\n")
        for line in whole:
            yield "".join([*held, line, "\n"])
            held = []
        if rest:
            held.append(rest)
    if held:
        yield "".join(held)


def in_memory(text: str, pages: tuple[tuple[int, int], ...] = ()) -> Callable[[], Iterator[Segment]]:
    """`segments` of a text that is already held; `pages` are `(offset, page number)` in ascending order."""

    def segments() -> Iterator[Segment]:
        for segment in cut([text]):
            end = segment.start + len(segment.text)
            inside = tuple(page for page in pages if segment.start <= page[0] < end)
            yield Segment(text=segment.text, start=segment.start, pages=inside)

    return segments


def check_text(text: str, name: str) -> str:
    """The text with `\\n` line ends; raises `EmptyDocument` without any text, `UndecodableText` for NUL or
    lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise UndecodableText(
            f"{name}: holds NUL characters", hint="it is not text; remove the NUL characters if it is"
        )
    if _SURROGATE.search(text):
        raise UndecodableText(
            f"{name}: holds a lone surrogate", hint=r"replace escapes such as \ud800 that have no partner"
        )
    if not text.strip():
        raise empty(name)
    return text


def empty(name: str) -> EmptyDocument:
    return EmptyDocument(
        f"{name}: holds no text", hint="remove it from the input, or check that it was saved completely"
    )


def one_line(text: str) -> str:
    """White space of any kind collapsed to single spaces."""
    return " ".join(text.split())


def table_row(cells: Iterable[str]) -> str:
    """One Markdown table row; bars inside cells are escaped."""
    shown = (one_line(cell).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(shown) + " |"


def table(rows: list[list[str]]) -> str:
    """A Markdown table whose first row is the header; rows are padded to the widest, blank rows dropped."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return ""
    width = max(map(len, rows))
    padded = [row + [""] * (width - len(row)) for row in rows]
    lines = [table_row(padded[0]), table_row(["---"] * width), *map(table_row, padded[1:])]
    return "\n".join(lines)


def corrupt(path: Path, what: str, cause: object) -> CorruptDocument:
    return CorruptDocument(
        f"{path.name}: not a readable {what} ({cause})",
        hint=f"open it in another program and save it as {what} again",
    )


def json_problem(error: ValueError | RecursionError) -> str:
    """What is wrong with a text that `json.loads` refused."""
    if isinstance(error, RecursionError):
        return "not readable JSON (nested too deeply)"
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON ({error})"
    # Python bounds the digits of an integer, since reading them takes quadratic time.
    return "holds a number with too many digits"
