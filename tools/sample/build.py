"""Build the PDF and DOCX files of the sample corpus from their source texts.

Usage: python tools/sample/build.py

Each file below ``source/`` is named after the document that it becomes, with
``.txt`` added. It starts with ``key: value`` lines (title, date, region,
programme, author), then ``---``, then a small subset of Markdown: ``#`` to
``###`` headings, paragraphs, ``- `` and ``1. `` lists, ``| a | b |`` tables
(first row is the header), ``**bold**`` and ``*italic*``. Building twice gives
the same bytes with the same versions of reportlab and python-docx: every date
in the output is the date of the document.

Needs reportlab (PDF) and python-docx (DOCX).
"""

from __future__ import annotations

import datetime as dt
import html
import io
import json
import os
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source"
CORPUS = HERE.parents[1] / "src" / "evigraph" / "sample" / "corpus"

Block = tuple[str, object]


def read_source(path: Path) -> tuple[dict[str, str], list[Block]]:
    """Split a source file into its metadata and a list of blocks."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n---\n")
    meta = {}
    for line in head.splitlines():
        key, _, value = line.partition(":")
        meta[key.strip()] = value.strip()
    blocks: list[Block] = []
    for chunk in re.split(r"\n\s*\n", body.strip()):
        lines = chunk.splitlines()
        if match := re.match(r"(#+) (.*)", chunk):
            blocks.append((f"h{len(match.group(1))}", match.group(2)))
        elif lines[0].startswith("|"):
            rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
            width = len(rows[0])
            blocks.append(("table", [(row + [""] * width)[:width] for row in rows]))
        elif lines[0].startswith("- "):
            blocks.append(("ul", [line[2:] for line in lines]))
        elif re.match(r"\d+\. ", lines[0]):
            blocks.append(("ol", [re.sub(r"^\d+\. ", "", line) for line in lines]))
        else:
            blocks.append(("p", " ".join(lines)))
    return meta, blocks


def spans(text: str) -> list[tuple[str, str]]:
    """Split inline text into ('', text), ('b', text) and ('i', text) runs."""
    out = []
    for part in re.split(r"(\*\*.+?\*\*|\*.+?\*)", text):
        if part.startswith("**"):
            out.append(("b", part[2:-2]))
        elif part.startswith("*") and len(part) > 2:
            out.append(("i", part[1:-1]))
        elif part:
            out.append(("", part))
    return out


def build_docx(meta: dict[str, str], blocks: list[Block], target: Path) -> None:
    from docx import Document

    document = Document()
    when = dt.datetime.fromisoformat(meta["date"])
    props = document.core_properties
    props.title, props.author = meta["title"], meta["author"]
    props.created = props.modified = when
    props.last_modified_by, props.revision, props.comments = meta["author"], 1, ""

    def fill(paragraph: object, text: str) -> None:
        for kind, part in spans(text):
            run = paragraph.add_run(part)  # type: ignore[attr-defined]
            run.bold = kind == "b" or None
            run.italic = kind == "i" or None

    for kind, value in blocks:
        if kind.startswith("h"):
            document.add_heading(str(value), level=int(kind[1]))
        elif kind == "table":
            rows: list[list[str]] = value  # type: ignore[assignment]
            table = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    table.cell(i, j).text = cell
        elif kind in ("ul", "ol"):
            style = "List Bullet" if kind == "ul" else "List Number"
            for item in value:  # type: ignore[attr-defined]
                fill(document.add_paragraph(style=style), item)
        else:
            fill(document.add_paragraph(), str(value))

    raw = io.BytesIO()
    document.save(raw)
    stamp = (when.year, when.month, when.day, 0, 0, 0)
    with (
        zipfile.ZipFile(raw) as src,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as dst,
    ):
        for item in src.infolist():
            info = zipfile.ZipInfo(item.filename, date_time=stamp)
            info.compress_type = zipfile.ZIP_DEFLATED
            dst.writestr(info, src.read(item.filename))


def build_pdf(meta: dict[str, str], blocks: list[Block], target: Path) -> None:
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A5
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
    from reportlab.lib.units import mm
    from reportlab.platypus import ListFlowable, Paragraph, SimpleDocTemplate, Spacer, Table

    sheet = getSampleStyleSheet()
    body = ParagraphStyle("body", parent=sheet["BodyText"], fontSize=10, leading=14, spaceAfter=5)
    cellstyle = ParagraphStyle("cell", parent=body, fontSize=8.5, leading=11, spaceAfter=0)

    def inline(text: str) -> str:
        return "".join(
            f"<{kind}>{html.escape(part)}</{kind}>" if kind else html.escape(part) for kind, part in spans(text)
        )

    flow: list[object] = []
    for kind, value in blocks:
        if kind.startswith("h"):
            style = sheet["Title" if kind == "h1" else "Heading2" if kind == "h2" else "Heading3"]
            flow.append(Paragraph(inline(str(value)), style))
        elif kind == "table":
            rows = [[Paragraph(inline(c), cellstyle) for c in row] for row in value]  # type: ignore[attr-defined]
            longest = [max(len(row[i]) for row in value) for i in range(len(rows[0]))]  # type: ignore[attr-defined]
            share = [min(max(length, 7), 45) for length in longest]
            width = A5[0] - 38 * mm
            table = Table(rows, colWidths=[width * s / sum(share) for s in share], repeatRows=1)
            table.setStyle(
                [
                    ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                    ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
                    ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ]
            )
            flow += [table, Spacer(1, 4 * mm)]
        elif kind in ("ul", "ol"):
            items = [Paragraph(inline(item), body) for item in value]  # type: ignore[attr-defined]
            flow.append(ListFlowable(items, bulletType="bullet" if kind == "ul" else "1"))
        else:
            flow.append(Paragraph(inline(str(value)), body))

    def furniture(canvas: object, doc: object) -> None:
        canvas.saveState()  # type: ignore[attr-defined]
        canvas.setFont("Helvetica", 7)  # type: ignore[attr-defined]
        canvas.drawString(18 * mm, 8 * mm, "Brackenfold Relief and Rural Development")  # type: ignore[attr-defined]
        canvas.drawRightString(A5[0] - 18 * mm, 8 * mm, f"Page {doc.page}")  # type: ignore[attr-defined]
        canvas.restoreState()  # type: ignore[attr-defined]

    when = dt.datetime.fromisoformat(meta["date"]).replace(tzinfo=dt.UTC)
    os.environ["SOURCE_DATE_EPOCH"] = str(int(when.timestamp()))  # read by reportlab
    document = SimpleDocTemplate(
        str(target), pagesize=A5, title=meta["title"], author=meta["author"], invariant=1,
        leftMargin=18 * mm, rightMargin=18 * mm, topMargin=16 * mm, bottomMargin=16 * mm,
    )  # fmt: skip
    document.build(flow, onFirstPage=furniture, onLaterPages=furniture)


def main() -> None:
    for source in sorted(SOURCE.rglob("*.txt")):
        meta, blocks = read_source(source)
        target = CORPUS / source.relative_to(SOURCE).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        (build_pdf if target.suffix == ".pdf" else build_docx)(meta, blocks, target)
        sidecar = target.with_name(target.name + ".meta.json")
        sidecar.write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(target.relative_to(CORPUS))


if __name__ == "__main__":
    main()
