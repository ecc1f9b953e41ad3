"""Word documents as Markdown: headings, lists, tables (also nested), text of links and equations; no images,
headers, footers or comments."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evigraph.errors import CorruptDocument, EncryptedDocument, FileTooLarge
from evigraph.ingest.readers.base import (
    Extracted,
    check_text,
    corrupt,
    first_heading,
    has_word,
    in_memory,
    one_line,
    sha256_of_file,
    table,
)

MAX_UNPACKED_BYTES = 500_000_000
"""A document is a ZIP archive; one that unpacks to more than this is refused before it fills the memory."""

MAX_PART_BYTES = 50_000_000
"""Of one XML part: its tree takes up to twenty times as much."""

MAX_RATIO = 200
"""Unpacked to packed bytes of a part over `RATIO_FROM_BYTES`; text and tables of ordinary documents stay below 50."""

RATIO_FROM_BYTES = 10_000_000

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"heading\s*([1-9])", re.IGNORECASE)


def read_docx(path: Path) -> Iterator[Extracted]:
    """One document a file. Raises `EncryptedDocument`, `CorruptDocument`, `EmptyDocument` or
    `FileTooLarge`."""
    import docx

    _check_archive(path)
    try:
        document = docx.Document(str(path))
        _check_doctype(document, path)
        text = "\n\n".join(_blocks(document)) + "\n"
    except (
        KeyError,
        ValueError,
        AttributeError,
        OSError,
        RecursionError,
        zipfile.BadZipFile,
        SyntaxError,
    ) as error:
        raise corrupt(path, "Word document", error) from error
    text = check_text(text, path.name)
    yield Extracted(
        segments=in_memory(text),
        digest=sha256_of_file(path),
        media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        title=_core_title(document),
        heading=first_heading(text),
    )


def _check_archive(path: Path) -> None:
    with path.open("rb") as file:
        magic = file.read(len(_OLE))
    if magic == _OLE:
        raise EncryptedDocument(
            f"{path.name}: protected by a password, or an old .doc file",
            hint="save it as .docx without a password",
        )
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise corrupt(path, "Word document", error) from error
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED_BYTES:
        raise FileTooLarge(
            f"{path.name}: unpacks to {unpacked:,} bytes", hint="split the document or remove its images"
        )
    for entry in entries:
        _check_part(entry, path)


def _check_part(entry: zipfile.ZipInfo, path: Path) -> None:
    size, packed = entry.file_size, entry.compress_size
    what = f"{path.name}: its part {entry.filename[:80]!r} unpacks"
    if entry.filename.lower().endswith((".xml", ".rels")) and size > MAX_PART_BYTES:
        raise FileTooLarge(
            f"{what} to {size:,} bytes, more than the limit of {MAX_PART_BYTES:,}",
            hint="split the document into several",
        )
    if size > RATIO_FROM_BYTES and size > MAX_RATIO * packed:
        raise FileTooLarge(
            f"{what} from {packed:,} to {size:,} bytes, more than {MAX_RATIO} times as much",
            hint="remove the repeated (perhaps empty) paragraphs, or save its text as a new document",
        )


def _check_doctype(document: Any, path: Path) -> None:
    # Word writes none; the text of an entity that one declares would be missing without a word.
    if document.part.element.getroottree().docinfo.doctype:
        raise CorruptDocument(
            f"{path.name}: its text part has a DOCTYPE, which a Word document must not",
            hint="open it in a word processor and save it as .docx again",
        )


def _core_title(document: Any) -> str:
    # python-docx writes missing core properties itself, with this title.
    title = one_line(document.core_properties.title or "")
    return "" if title == "Word Document" else title


def _blocks(document: Any) -> Iterator[str]:
    """Markdown blocks in order; neighbouring list items form one block."""
    from docx.table import Table

    items: list[str] = []
    numbers = _Numbering(document)
    for block in document.iter_inner_content():
        is_table = isinstance(block, Table)
        shown, is_item = (table(_rows(block)), False) if is_table else _paragraph(block, numbers)
        if items and not is_item:
            yield "\n".join(items)
            items = []
        if is_item:
            items.append(shown)
        elif shown:
            yield shown
    if items:
        yield "\n".join(items)


class _Numbering:
    """Markers of list items: which numbering definitions are bulleted, and how far each numbered one has
    counted."""

    def __init__(self, document: Any) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._formats: dict[tuple[str, int], str] = {}
        # Asking for a numbering part that is absent makes python-docx look for a template it does not have.
        parts = [rel.target_part for rel in document.part.rels.values() if rel.reltype.endswith("/numbering")]
        for part in parts[:1]:
            self._load(part.element)

    def _load(self, root: Any) -> None:
        levels = {}
        for abstract in root.iter(f"{_W}abstractNum"):
            for level in abstract.iter(f"{_W}lvl"):
                shown = level.find(f"{_W}numFmt")
                key = (abstract.get(f"{_W}abstractNumId"), int(level.get(f"{_W}ilvl") or 0))
                levels[key] = shown.get(f"{_W}val") if shown is not None else "decimal"
        for number in root.iter(f"{_W}num"):
            target = number.find(f"{_W}abstractNumId")
            for (abstract_id, depth), shown in levels.items():
                if target is not None and target.get(f"{_W}val") == abstract_id:
                    self._formats[str(number.get(f"{_W}numId")), depth] = str(shown)

    def marker(self, number: str, depth: int, default: str) -> str:
        shown = self._formats.get((number, depth), default)
        if shown in ("bullet", "none"):
            return "-"
        self._counts[number, depth] = self._counts.get((number, depth), 0) + 1
        for key in [key for key in self._counts if key[0] == number and key[1] > depth]:
            del self._counts[key]
        return f"{self._counts[number, depth]}."


def _paragraph(paragraph: Any, numbers: _Numbering) -> tuple[str, bool]:
    """The paragraph's Markdown, and whether it is a list item."""
    text = _text(paragraph._p)
    if not text.strip():
        return "", False
    style = paragraph.style.name or "" if paragraph.style is not None else ""
    level = _heading_level(paragraph, style)
    if level and has_word(text):
        return "#" * level + " " + one_line(text), False
    properties = _numbering_properties(paragraph)
    if properties is not None or style.startswith("List "):
        number, depth = properties or (style, 0)
        if number == "0":
            return _lines(text), False
        default = "decimal" if "Number" in style else "bullet"
        return f"{'  ' * depth}{numbers.marker(number, depth, default)} {one_line(text)}", True
    return _lines(text), False


def _lines(text: str) -> str:
    return "\n".join(line for line in (one_line(part) for part in text.split("\n")) if line)


def _heading_level(paragraph: Any, style: str) -> int:
    """1-6 from the style's name or its outline level; 0 for running text."""
    if style == "Title":
        return 1
    named = _HEADING.match(style)
    if named:
        return min(int(named[1]), 6)
    current = paragraph.style
    while current is not None:
        outline = current.element.find(f"{_W}pPr/{_W}outlineLvl")
        if outline is not None:
            value = int(outline.get(f"{_W}val") or 9)
            return min(value + 1, 6) if value < 9 else 0
        current = current.base_style
    return 0


def _numbering_properties(paragraph: Any) -> tuple[str, int] | None:
    """Numbering id and depth, of the paragraph itself or inherited from its style."""
    found = paragraph._p.find(f"{_W}pPr/{_W}numPr")
    current = paragraph.style
    while found is None and current is not None:
        found = current.element.find(f"{_W}pPr/{_W}numPr")
        current = current.base_style
    if found is None:
        return None
    number, depth = found.find(f"{_W}numId"), found.find(f"{_W}ilvl")
    if number is None:
        return None
    return str(number.get(f"{_W}val")), int(depth.get(f"{_W}val") or 0) if depth is not None else 0


def _text(element: Any) -> str:
    """Text of a paragraph with its links, equations and text boxes; deleted text has a tag of its own and
    stays out."""
    parts: list[str] = []
    for child in element.iterchildren():
        tag = child.tag
        if tag in (f"{_W}t", f"{_M}t"):
            parts.append(child.text or "")
        elif tag in (f"{_W}tab", f"{_W}ptab"):
            parts.append("\t")
        elif tag in (f"{_W}br", f"{_W}cr"):
            parts.append("\n")
        elif tag == f"{_W}noBreakHyphen":
            parts.append("-")
        elif tag == f"{_W}txbxContent":
            parts.append("\n" + "\n".join(_text(inner) for inner in child.iterchildren()) + "\n")
        elif tag not in (_FALLBACK, f"{_W}pPr", f"{_W}rPr", f"{_W}instrText"):
            parts.append(_text(child))
    return "".join(parts)


def _rows(grid: Any) -> list[list[str]]:
    """Cell texts by row; the repeats of a merged cell are empty."""
    # The elements themselves: lxml makes a new object, perhaps with an old id, for each access.
    rows, seen = [], set[Any]()
    for row in grid.rows:
        cells = []
        for cell in row.cells:
            repeated = cell._tc in seen
            seen.add(cell._tc)
            cells.append("" if repeated else _cell(cell))
        rows.append(cells)
    return rows


def _cell(cell: Any) -> str:
    """A cell on one line; rows of a table inside it end in semicolons."""
    from docx.table import Table

    parts = []
    for block in cell.iter_inner_content():
        if isinstance(block, Table):
            rows = (", ".join(text for text in row if text) for row in _rows(block))
            parts.append("; ".join(row for row in rows if row))
        else:
            parts.append(one_line(_text(block._p)))
    return " ".join(part for part in parts if part)
