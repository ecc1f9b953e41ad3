"""Real documents of other parsers' test suites, read and cut; skipped where they are absent."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "parser_table.py"

ERRORS = {
    "MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "no_text_layer",
    "doc-no-coreprops.docx": "empty_document",
    "doc-word-default-blank.docx": "empty_document",
    "random.bin": "unsupported_format",
    "tbl-having-tables.docx": "empty_document",
}


def count_words(text: str) -> int:
    return len(text.split()) + 2


def pdf(path: Path, *lines: str) -> None:
    """A page with these lines; without any, one without text."""
    shown = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        " /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{each}\nendobj\n" for number, each in enumerate(objects, start=1))
    path.write_text(f"%PDF-1.4\n{body}trailer\n<< /Root 1 0 R /Size 5 >>\n%%EOF\n", encoding="ascii")


def test_words_are_compared_with_their_order(tmp_path: Path) -> None:
    (tmp_path / "expected").mkdir()
    (tmp_path / "expectations.json").write_text(json.dumps([]))
    for name, lines, expected in (
        ("empty", (), ""),
        ("moved", ("one two three four", "five six seven eight"), "five six seven eight one two three four"),
        ("same", ("one two three", "four five"), "one two three four five"),
    ):
        pdf(tmp_path / f"{name}.pdf", *lines)
        (tmp_path / "expected" / f"{name}.md").write_text(expected)
    found = runpy.run_path(str(TOOL))["rows"](tmp_path, count_words)
    assert [(row.name, row.outcome, row.overlap, row.order) for row in found] == [
        ("empty.pdf", "empty_document", None, None),
        ("moved.pdf", "1 passages", 1.0, 0.5),
        ("same.pdf", "1 passages", 1.0, 1.0),
    ]


def test_without_a_folder_the_tool_says_how_it_is_called() -> None:
    done = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr and "folder" in done.stderr


@pytest.mark.shared
def test_every_file_gives_passages_or_its_typed_error(shared_data: Path) -> None:
    rows = runpy.run_path(str(TOOL))["rows"](shared_data / "parser_documents", count_words)
    assert len(rows) == 13
    for row in rows:
        assert row.outcome == ERRORS.get(row.name, row.outcome)
        assert row.name in ERRORS or row.outcome.endswith(" passages")
        assert row.unmet == (), row.name
        assert row.overlap is None or row.overlap >= 0.99, (row.name, row.missing)
