from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, EmptyDocument, EncryptedDocument, FileTooLarge
from evigraph.ingest.readers import docx as reader
from evigraph.ingest.readers.base import Extracted

docx = pytest.importorskip("docx")


def read(path: Path, document: Any) -> Extracted:
    document.save(str(path))
    (found,) = reader.read_docx(path)
    return found


def text_of(found: Extracted) -> str:
    return "".join(segment.text for segment in found.segments())


def test_structure(tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "Core title"
    document.add_heading("The title", 0)
    document.add_heading("Part", 2)
    document.add_paragraph("Some text\nwith a break.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    document.sections[0].header.paragraphs[0].text = "Running header"
    found = read(tmp_path / "a.docx", document)
    assert text_of(found) == (
        "# The title\n\n## Part\n\nSome text\nwith a break.\n\n- one\n- two\n1. first\n2. second\n"
    )
    assert (found.title, found.heading) == ("Core title", "The title")


def test_tables_merged_and_nested(tmp_path: Path) -> None:
    document = docx.Document()
    grid = document.add_table(rows=3, cols=2)
    for i, row in enumerate(grid.rows):
        for j, cell in enumerate(row.cells):
            cell.text = f"r{i}c{j}"
    grid.cell(0, 0).merge(grid.cell(0, 1)).text = "wide"
    inner = grid.cell(2, 1).add_table(rows=2, cols=2)
    for i, cell in enumerate(cell for row in inner.rows for cell in row.cells):
        cell.text = f"n{i}"
    shown = text_of(read(tmp_path / "a.docx", document))
    assert shown == "| wide |  |\n| --- | --- |\n| r1c0 | r1c1 |\n| r2c0 | r2c1 n0, n1; n2, n3 |\n"


def test_many_cells_are_all_read(tmp_path: Path) -> None:
    document = docx.Document()
    grid = document.add_table(rows=40, cols=5)
    for i, row in enumerate(grid.rows):
        for j, cell in enumerate(row.cells):
            cell.text = f"x{i}y{j}"
    shown = text_of(read(tmp_path / "a.docx", document))
    assert all(f"| x{i}y0 | x{i}y1 | x{i}y2 | x{i}y3 | x{i}y4 |" in shown for i in range(40))


def test_images_leave_no_bytes(tmp_path: Path) -> None:
    image = tmp_path / "a.png"
    image.write_bytes(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c63000100"
            "00050001"
            "0d0a2db40000000049454e44ae426082"
        )
    )
    document = docx.Document()
    document.add_paragraph("Before")
    document.add_picture(str(image))
    assert text_of(read(tmp_path / "a.docx", document)) == "Before\n"


def test_typed_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.docx"
    with pytest.raises(EmptyDocument):
        read(path, docx.Document())
    path.write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(CorruptDocument):
        list(reader.read_docx(path))
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600)
    with pytest.raises(EncryptedDocument):
        list(reader.read_docx(path))
    monkeypatch.setattr(reader, "MAX_UNPACKED_BYTES", 100)
    with pytest.raises(FileTooLarge):
        read(path, docx.Document())


def with_part(path: Path, xml: bytes, name: str = "word/document.xml") -> Path:
    """A Word document with another text part."""
    docx.Document().save(str(path))
    with zipfile.ZipFile(path) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in {**parts, name: xml}.items():
            archive.writestr(entry, data)
    return path


BODY = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
END = "</w:body></w:document>"


def test_a_small_archive_of_endless_paragraphs_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = with_part(tmp_path / "a.docx", f"{BODY}{'<w:p/>' * 20_000}{END}".encode())
    monkeypatch.setattr(docx, "Document", None)
    monkeypatch.setattr(reader, "RATIO_FROM_BYTES", 100_000)
    with pytest.raises(FileTooLarge, match=r"document\.xml.*200 times") as raised:
        list(reader.read_docx(path))
    assert raised.value.hint
    monkeypatch.setattr(reader, "MAX_PART_BYTES", 100_000)
    with pytest.raises(FileTooLarge, match=r"document\.xml.*limit of 100,000"):
        list(reader.read_docx(path))


def test_a_doctype_is_refused_before_its_entities_are_lost(tmp_path: Path) -> None:
    entity = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///nothing">]>'
    path = with_part(tmp_path / "a.docx", f"{entity}{BODY}<w:p><w:r><w:t>XXE &e; more</w:t></w:r></w:p>{END}".encode())
    with pytest.raises(CorruptDocument, match="DOCTYPE"):
        list(reader.read_docx(path))


def test_a_heading_of_punctuation_is_text(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("* * *", 1)
    document.add_heading("Part", 1)
    found = read(tmp_path / "a.docx", document)
    assert (text_of(found), found.heading) == ("* * *\n\n# Part\n", "Part")
