"""CSV and TSV as one Markdown table, read and written as a stream."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from evigraph.errors import CorruptDocument
from evigraph.ingest.readers.base import Extracted, cut, empty, lines, table_row
from evigraph.ingest.readers.encoding import Probe, probe, stream
from evigraph.ingest.sources import Segment

_DELIMITERS = ",;\t|"


def read_csv(path: Path) -> Iterator[Extracted]:
    """One document a file: the first row is the header. Raises `CorruptDocument` for an unclosed quote."""
    found = probe(path)
    if found.blank:
        raise empty(path.name)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else sniff(found.head)

    def segments() -> Iterator[Segment]:
        yield from cut(_table_lines(path, found, delimiter))

    if next(segments(), None) is None:
        raise empty(path.name)
    yield Extracted(segments=segments, digest=found.digest, media_type="text/csv")


def sniff(head: str) -> str:
    """The delimiter that is most frequent in the first lines outside quotes; a comma where none occurs."""
    counts = dict.fromkeys(_DELIMITERS, 0)
    quoted = False
    for line in head.lstrip().split("\n", 5)[:5]:
        for char in line:
            if char == '"':
                quoted = not quoted
            elif not quoted and char in counts:
                counts[char] += 1
    return max(_DELIMITERS, key=lambda delimiter: counts[delimiter])


def _table_lines(path: Path, found: Probe, delimiter: str) -> Iterator[str]:
    rows = csv.reader(lines(stream(path, found)), delimiter=delimiter)
    width = 0
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if width == 0:
                width = len(row)
                yield f"{table_row(row)}\n{table_row(['---'] * width)}\n"
            else:
                yield table_row(row + [""] * (width - len(row))) + "\n"
    except csv.Error as error:
        raise CorruptDocument(
            f"{path.name}: line {rows.line_num} is not valid CSV ({error})",
            hint="look for a quotation mark that is never closed before that line",
        ) from error
