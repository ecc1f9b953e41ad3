from __future__ import annotations

from pathlib import Path

import pytest

from evigraph.errors import CorruptDocument, EmptyDocument, EncryptedDocument
from evigraph.ingest.readers.base import Extracted
from evigraph.ingest.readers.pdf import read_pdf
from evigraph.ingest.readers.pdf_layout import Line, Page, join_pages

Text = tuple[int, int, int, str]
"""x, y, font size, text"""


def pdf(pages: list[list[Text]], *, title: str = "", trailer: str = "") -> bytes:
    """A small PDF; PDFium finds the objects without a cross-reference table."""
    kids = " ".join(f"{10 + 2 * i} 0 R" for i in range(len(pages)))
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< /Title ({title}) >>",
    }
    for i, texts in enumerate(pages):
        shown = "\n".join(f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET" for x, y, size, text in texts)
        objects[10 + 2 * i] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {11 + 2 * i} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[11 + 2 * i] = f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream"
    body = "".join(f"{number} 0 obj\n{content}\nendobj\n" for number, content in objects.items())
    return f"%PDF-1.4\n{body}trailer\n<< /Root 1 0 R /Info 4 0 R {trailer} >>\n%%EOF\n".encode()


def read(path: Path, content: bytes) -> Extracted:
    path.write_bytes(content)
    (found,) = read_pdf(path)
    assert isinstance(found, Extracted)
    return found


def paragraph(top: int, *lines: str) -> list[Text]:
    return [(72, top - 14 * i, 12, line) for i, line in enumerate(lines)]


def test_headings_paragraphs_and_pages(tmp_path: Path) -> None:
    first = [
        (72, 720, 24, "A Report"),
        (72, 680, 16, "1 Results"),
        *paragraph(650, "The first paragraph has two", "lines of text in it."),
        *paragraph(600, "The second one goes on over the"),
    ]
    second = [*paragraph(720, "end of the page without stopping."), *paragraph(680, "A third one is here.")]
    found = read(tmp_path / "a.pdf", pdf([first, [], second], title="Given title"))
    (segment,) = found.segments()
    assert segment.text == (
        "# A Report\n\n### 1 Results\n\nThe first paragraph has two\nlines of text in it.\n\n"
        "The second one goes on over the\nend of the page without stopping.\n\nA third one is here.\n"
    )
    assert segment.pages == ((0, 1), (segment.text.index("end of the page"), 3))
    assert (found.title, found.heading) == ("Given title", "A Report")


def test_tables_without_rules(tmp_path: Path) -> None:
    rows = [("Item", "Price", "Stock"), ("Nuts", "12", ""), ("Bolts", "3", "400"), ("", "9", "1")]
    texts = [
        (x, 700 - 20 * i, 12, cell)
        for i, row in enumerate(rows)
        for x, cell in zip((72, 200, 330), row, strict=True)
        if cell
    ]
    found = read(tmp_path / "a.pdf", pdf([[*paragraph(740, "Some words above the table."), *texts]]))
    shown = "".join(segment.text for segment in found.segments())
    assert "| Item | Price | Stock |\n| --- | --- | --- |\n| Nuts | 12 |  |\n| Bolts | 3 | 400 |\n|  | 9 | 1 |" in shown


def test_encrypted(tmp_path: Path) -> None:
    lock = "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<{1}> <{1}>]"
    content = pdf([paragraph(700, "Secret")], trailer=lock.format("ab" * 32, "cd" * 16))
    with pytest.raises(EncryptedDocument, match="password"):
        read(tmp_path / "a.pdf", content)


def test_no_pdf(tmp_path: Path) -> None:
    with pytest.raises(CorruptDocument):
        read(tmp_path / "a.pdf", b"no pdf at all")
    with pytest.raises(EmptyDocument):
        read(tmp_path / "a.pdf", pdf([[]]))


def test_running_headers_and_footers_are_left_out_but_repeated_body_lines_stay() -> None:
    def page(number: int, *body: str) -> Page:
        texts = ("Annual report", *body, f"Page {number}")
        return Page(
            number=number,
            lines=[
                Line(cells=(text,), bottom=700.0 - 14 * position, size=11.0, font=10.0)
                for position, text in enumerate(texts)
            ],
        )

    text, starts = join_pages(
        [page(1, "Wells dried up.", "None were mended."), page(2, "Rain came.", "None were mended.")]
    )
    assert "Annual report" not in text
    assert "Page" not in text
    assert text.count("None were mended.") == 2
    assert [number for _, number in starts] == [1, 2]
    alone, _ = join_pages([page(1, "Wells dried up.", "None were mended.")])
    assert "Annual report" in alone
