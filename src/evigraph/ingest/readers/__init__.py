"""One small module per format family; each turns a file into Markdown text.

`READERS` maps a lower-case suffix to its reader: to add a format, write a reader and add a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evigraph.errors import UnsupportedFormat
from evigraph.ingest.readers.base import Reader
from evigraph.ingest.readers.csv import read_csv
from evigraph.ingest.readers.docx import read_docx
from evigraph.ingest.readers.html import read_html
from evigraph.ingest.readers.json import read_json, read_jsonl
from evigraph.ingest.readers.pdf import read_pdf
from evigraph.ingest.readers.text import read_markdown, read_text

READERS: Mapping[str, Reader] = {
    ".csv": read_csv,
    ".docx": read_docx,
    ".htm": read_html,
    ".html": read_html,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".log": read_text,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".ndjson": read_jsonl,
    ".pdf": read_pdf,
    ".rst": read_text,
    ".text": read_text,
    ".tsv": read_csv,
    ".txt": read_text,
    ".xhtml": read_html,
}


def reader_for(path: Path) -> Reader:
    """The reader for a file's suffix, or `UnsupportedFormat` naming those there are."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        what = f"files of type {path.suffix!r}" if path.suffix else "files without a suffix"
        supported = ", ".join(sorted(READERS))
        raise UnsupportedFormat(
            f"{path.name}: {what} are not supported",
            hint=f"supported: {supported}; convert the file, or rename it if it holds plain text",
        )
    return reader
