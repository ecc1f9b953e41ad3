"""A document's text and the place of its text units in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.errors import ReadError
from evigraph.ingest.imports.documents import Import, body_of
from evigraph.ingest.imports.given import GivenPassage
from evigraph.ingest.imports.rows import RowError

_PREPENDED = re.compile(r"[^\n:]{1,80}: [^\n]*\.\n")
"""A line of metadata that GraphRAG may write before the text of a unit."""

SECTION_BREAK = "\n\n"


def laid_out(text: str | None, title: str, units: Sequence[str], job: Import) -> tuple[str, list[GivenPassage], bool]:
    """The document's text, its units as spans of it, and whether these were found in the original.

    The original is the document's `text`, else a file of the folder that bears its title. Units that do not all occur
    in it, word for word, become sections of a text of their own: units overlap, so this text repeats some of itself.
    """
    for original in (text, _file_named(title, job)):
        spans = None if original is None else _aligned(original.removeprefix("\ufeff"), units)
        if original is not None and spans is not None:
            return original.removeprefix("\ufeff"), [_passage(span, title) for span in spans], True
    at, spans = 0, []
    shown = [_without_title(unit, title) for unit in units]
    for unit in shown:
        spans.append((at, at + len(unit)))
        at += len(unit) + len(SECTION_BREAK)
    return SECTION_BREAK.join(shown), [_passage(span, title) for span in spans], False


def _passage(span: tuple[int, int], title: str) -> GivenPassage:
    return GivenPassage(start=span[0], end=span[1], context=title)


def _file_named(title: str, job: Import) -> str | None:
    path = job.folder.beside(title) if title else None
    if path is None or path.suffix not in (".txt", ".md"):
        return None
    try:
        return body_of(job.folder.checked(path).read_text(encoding="utf-8"), "text")
    except (UnicodeDecodeError, ReadError, RowError, OSError):
        return None


def _aligned(text: str, units: Sequence[str]) -> list[tuple[int, int]] | None:
    """Spans of the units in the text, each at or after the one before; None if one does not occur."""
    spans = []
    at = 0
    for unit in units:
        found = _found(text, unit, at)
        if found is None:
            return None
        spans.append(found)
        at = found[0]
    return spans


def _found(text: str, unit: str, at: int) -> tuple[int, int] | None:
    while unit.strip():
        start = text.find(unit, at)
        if start >= 0:
            return start, start + len(unit)
        line = _PREPENDED.match(unit)
        if line is None:
            return None
        # What GraphRAG prepends comes before a byte order mark of the text itself.
        unit = unit[line.end() :].removeprefix("\ufeff")
    return None


def _without_title(unit: str, title: str) -> str:
    """The unit without the line that repeats the document's title."""
    line = f"title: {title}.\n"
    rest = unit.removeprefix(line) if title else unit
    return rest if rest.strip() else unit
