"""Print how each file of a folder is read: passages or the typed error, its expectations, words lost and
added.

python tools/parser_table.py FOLDER

`FOLDER/expectations.json` lists strings that must and must not occur, `FOLDER/expected/NAME.md` the text
another reader made of NAME. Rows that ask for the bytes of an inline image are left out: evigraph keeps no
images.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from evigraph.ingest.chunk import chunk
from evigraph.ingest.read import read
from evigraph.types import FileError, SourceDocument

_WORD = re.compile(r"\w+")
_DIVIDED = re.compile(r"(?<=\w)-\n\s*(?=\w)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What came of one file. `overlap` is the share of the expected text's words that were found (None: no
    such text)."""

    name: str
    outcome: str
    met: int
    unmet: tuple[str, ...]
    overlap: float | None
    missing: Counter[str]
    extra: Counter[str]


def rows(folder: Path) -> list[Row]:
    expectations = json.loads((folder / "expectations.json").read_text(encoding="utf-8"))
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.suffix != ".md")
    return [_row(folder, name, expectations) for name in names if name != "expectations.json"]


def _row(folder: Path, name: str, expectations: list[dict[str, list[str]]]) -> Row:
    found = list(read([folder / name], workspace="t", root=None, max_file_bytes=50_000_000, metadata={}))
    documents = [item for item in found if isinstance(item, SourceDocument)]
    errors = [item for item in found if isinstance(item, FileError)]
    text = "\n".join(segment.text for document in documents for segment in document.segments())
    mine = [entry for entry in expectations if entry["filename"] == name]
    wanted = sorted({item for entry in mine for item in entry["must_include"] if "data:image" not in item})
    unmet = tuple(item for item in wanted if item not in text)
    banned = sorted({item for entry in mine for item in entry["must_not_include"] if item in text})
    expected = folder / "expected" / f"{Path(name).stem}.md"
    missing, extra, overlap = Counter[str](), Counter[str](), None
    if expected.is_file() and Path(name).suffix == ".pdf":
        theirs, ours = words(expected.read_text(encoding="utf-8")), words(text)
        missing, extra = theirs - ours, ours - theirs
        overlap = 1 - missing.total() / theirs.total() if theirs else 1.0
    outcome = ", ".join(error.code for error in errors) or f"{sum(map(_passages, documents))} passages"
    return Row(
        name=name,
        outcome=outcome,
        met=len(wanted) - len(unmet),
        unmet=unmet + tuple(f"not: {item}" for item in banned),
        overlap=overlap,
        missing=missing,
        extra=extra,
    )


def words(text: str) -> Counter[str]:
    """Words without Markdown's marks; a word divided at a line end is one."""
    return Counter(_WORD.findall(_DIVIDED.sub("", text)))


def _passages(document: SourceDocument) -> int:
    return sum(
        1
        for _ in chunk(
            document,
            revision=1,
            language="en",
            max_tokens=256,
            count_tokens=lambda text: len(text.split()) + 2,
        )
    )


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{word}×{count}" if count > 1 else word for word, count in sorted(counts.items())) or "-"


def main() -> int:
    table = rows(Path(sys.argv[1]))
    print("| file | outcome | expectations met | words found | missing | extra |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in table:
        found = "-" if row.overlap is None else f"{row.overlap:.1%}"
        met = f"{row.met} of {row.met + len(row.unmet)}" if row.met or row.unmet else "-"
        print(f"| {row.name} | {row.outcome} | {met} | {found} | {_shown(row.missing)} | {_shown(row.extra)} |")
        for item in row.unmet:
            print(f"    unmet: {item}", file=sys.stderr)
    return 1 if any(row.unmet for row in table) else 0


if __name__ == "__main__":
    raise SystemExit(main())
