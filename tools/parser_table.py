"""Print how each file of a folder is read: passages or the typed error, its expectations, words lost and
added, and whether they come in the same order.

python tools/parser_table.py FOLDER

Passages are counted with the default embedder's tokens. `FOLDER/expectations.json` lists strings that must and
must not occur, `FOLDER/expected/NAME.md` the text another reader made of NAME. Rows that ask for the bytes of an
inline image are left out: evigraph keeps no images.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from evigraph.ingest.chunk import chunk
from evigraph.ingest.read import read
from evigraph.ingest.sources import SourceDocument
from evigraph.models.onnx import OnnxEmbedder
from evigraph.reports import FileError

MAX_TOKENS = 256

_WORD = re.compile(r"\w+")
_DIVIDED = re.compile(r"(?<=\w)-\n\s*(?=\w)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What came of one file. `overlap` is the share of the expected text's words that were found, `order` the share
    of both texts' words that stand in common runs (`SequenceMatcher.ratio`); None without an expected text."""

    name: str
    outcome: str
    met: int
    unmet: tuple[str, ...]
    overlap: float | None
    order: float | None
    missing: Counter[str]
    extra: Counter[str]


def rows(folder: Path, count_tokens: Callable[[str], int]) -> list[Row]:
    expectations = json.loads((folder / "expectations.json").read_text(encoding="utf-8"))
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.suffix != ".md")
    return [_row(folder, name, expectations, count_tokens) for name in names if name != "expectations.json"]


def _row(folder: Path, name: str, expectations: list[dict[str, Any]], count_tokens: Callable[[str], int]) -> Row:
    found = list(read([folder / name], workspace="t", root=None, max_file_bytes=50_000_000, metadata={}))
    documents = [item for item in found if isinstance(item, SourceDocument)]
    errors = [item for item in found if isinstance(item, FileError)]
    text = "\n".join(segment.text for document in documents for segment in document.segments())
    mine = [entry for entry in expectations if entry["filename"] == name]
    wanted = sorted({item for entry in mine for item in entry["must_include"] if "data:image" not in item})
    unmet = tuple(item for item in wanted if item not in text)
    banned = sorted({item for entry in mine for item in entry["must_not_include"] if item in text})
    expected = folder / "expected" / f"{Path(name).stem}.md"
    compared = expected.is_file() and Path(name).suffix == ".pdf"
    theirs, ours = (words(expected.read_text(encoding="utf-8")), words(text)) if compared else ([], [])
    missing, extra = Counter(theirs) - Counter(ours), Counter(ours) - Counter(theirs)
    passages = sum(_passages(document, count_tokens) for document in documents)
    return Row(
        name=name,
        outcome=", ".join(error.code for error in errors) or f"{passages} passages",
        met=len(wanted) - len(unmet),
        unmet=unmet + tuple(f"not: {item}" for item in banned),
        overlap=1 - missing.total() / len(theirs) if theirs else None,
        order=SequenceMatcher(None, theirs, ours, autojunk=False).ratio() if theirs else None,
        missing=missing,
        extra=extra,
    )


def words(text: str) -> list[str]:
    """Words without Markdown's marks; a word divided at a line end is one."""
    return _WORD.findall(_DIVIDED.sub("", text))


def _passages(document: SourceDocument, count_tokens: Callable[[str], int]) -> int:
    passages = chunk(document, revision=1, language="en", max_tokens=MAX_TOKENS, count_tokens=count_tokens)
    return sum(1 for _ in passages)


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{word}×{count}" if count > 1 else word for word, count in sorted(counts.items())) or "-"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Print how each file of a folder is read.")
    parser.add_argument("folder", type=Path, help="holds the files, expectations.json and perhaps expected/NAME.md")
    table = rows(parser.parse_args().folder, OnnxEmbedder.minilm().count_tokens)
    print("| file | outcome | expectations met | words found | order | missing | extra |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in table:
        found = f"{_percent(row.overlap)} | {_percent(row.order)}"
        met = f"{row.met} of {row.met + len(row.unmet)}" if row.met or row.unmet else "-"
        print(f"| {row.name} | {row.outcome} | {met} | {found} | {_shown(row.missing)} | {_shown(row.extra)} |")
        for item in row.unmet:
            print(f"    unmet: {item}", file=sys.stderr)
    return 1 if any(row.unmet for row in table) else 0


if __name__ == "__main__":
    raise SystemExit(main())
