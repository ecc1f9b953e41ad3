"""Real documents of other parsers' test suites, read and cut; skipped where they are absent."""

from __future__ import annotations

import runpy
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


@pytest.mark.shared
def test_every_file_gives_passages_or_its_typed_error(shared_data: Path) -> None:
    rows = runpy.run_path(str(TOOL))["rows"](shared_data / "parser_documents")
    assert len(rows) == 13
    for row in rows:
        assert row.outcome == ERRORS.get(row.name, row.outcome)
        assert row.name in ERRORS or row.outcome.endswith(" passages")
        assert row.unmet == (), row.name
        assert row.overlap is None or row.overlap >= 0.99, (row.name, row.missing)
