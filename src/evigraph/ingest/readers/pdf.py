"""PDF text with page numbers. Lines, words and their order are PDFium's; paragraphs, headings and tables
come from where the characters stand (`pdf_layout`)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evigraph.errors import EncryptedDocument, NoTextLayer
from evigraph.ingest.readers.base import (
    Extracted,
    check_text,
    corrupt,
    empty,
    first_heading,
    in_memory,
    one_line,
    sha256_of_file,
)
from evigraph.ingest.readers.pdf_layout import Line, Page, join_pages, page_lines

_PDFIUM = threading.Lock()
"""PDFium keeps global state and must not be entered by two threads."""

_IMAGE = 3
_NO_TITLE = ("", "(anonymous)", "untitled", "(unspecified)", "none")


def read_pdf(path: Path) -> Iterator[Extracted]:
    """One document a file. Raises `EncryptedDocument`, `NoTextLayer`, `EmptyDocument` or
    `CorruptDocument`."""
    import pypdfium2

    with _PDFIUM:
        try:
            pdf = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            raise _opening_error(path, error) from error
        try:
            title = one_line(pdf.get_metadata_value("Title"))
            pages, images = _pages(pdf)
        except pypdfium2.PdfiumError as error:
            raise corrupt(path, "PDF", error) from error
        finally:
            pdf.close()
    text, starts = join_pages(pages)
    if not text.strip():
        raise _without_text(path, len(pages), images)
    blank = [page.number for page in pages if not page.lines and page.number in images]
    warnings = (f"pages without a text layer: {', '.join(map(str, blank))}",) if blank else ()
    yield Extracted(
        segments=in_memory(check_text(text, path.name), starts),
        digest=sha256_of_file(path),
        media_type="application/pdf",
        title="" if title.lower() in _NO_TITLE or title.startswith("Microsoft Word") else title,
        heading=first_heading(text),
        warnings=warnings,
    )


def _opening_error(path: Path, error: Exception) -> Exception:
    if "password" in str(error).lower() or "security" in str(error).lower():
        return EncryptedDocument(
            f"{path.name}: protected by a password", hint="save a copy without a password and index that"
        )
    return corrupt(path, "PDF", error)


def _without_text(path: Path, pages: int, images: set[int]) -> Exception:
    if images:
        return NoTextLayer(
            f"{path.name}: a scan, none of its {pages} pages has a text layer",
            hint="run it through OCR (for instance `ocrmypdf in.pdf out.pdf`) and index the result",
        )
    return empty(path.name)


def _pages(pdf: Any) -> tuple[list[Page], set[int]]:
    """The lines of every page, and the numbers (from 1) of pages that show an image."""
    pages, images = [], set[int]()
    for index in range(len(pdf)):
        page = pdf[index]
        lines: list[Line] = page_lines(page.get_textpage())
        if not lines and any(found.type == _IMAGE for found in page.get_objects(max_depth=3)):
            images.add(index + 1)
        pages.append(Page(number=index + 1, lines=lines))
        page.close()
    return pages, images
