"""HTML as Markdown: headings, paragraphs, lists, tables with their caption, code; without the page's
furniture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evigraph.errors import CorruptDocument
from evigraph.ingest.readers.base import (
    Extracted,
    check_text,
    empty,
    first_heading,
    has_word,
    in_memory,
    one_line,
    sha256_of_file,
    table,
)
from evigraph.ingest.readers.encoding import decode
from evigraph.ingest.readers.html_depth import too_deep

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# fmt: off
_INVISIBLE = frozenset((
    "script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas", "button",
    "select", "input", "textarea", "dialog",
))
_FURNITURE = frozenset(("aside", "footer"))
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "main", "nav", "p",
    "section", "summary",
))
# fmt: on
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.\-]+)""", re.IGNORECASE)
_TECHNICAL_META = re.compile(
    r"^(viewport|generator|robots|googlebot|referrer|theme-color|color-scheme|format-detection|csrf.*|google.*|msapplication.*|apple-.*|msvalidate.*|.*verification|docusaurus_.*|title|date|.*:.*)$"
)
_DATE_META = ("date", "dc.date", "dcterms.date", "article:published_time", "pubdate")
_INVISIBLE_SPACE = "\u200b\ufeff "
_SPACE = re.compile(r"\s+")
_SITE_SUFFIX = re.compile(r"\s+[|·–—»-]\s+\S")


def read_html(path: Path) -> Iterator[Extracted]:
    """One document a file. `<title>` gives the title, `<meta name>` the metadata and date."""
    from selectolax.lexbor import LexborHTMLParser

    data = path.read_bytes()
    if not data.strip():
        raise empty(path.name)
    named = _CHARSET.search(data[:4096])
    markup = decode(data, path.name, named[1].decode() if named else "")
    if too_deep(markup):
        raise _too_deep(path)
    page = LexborHTMLParser(markup)
    try:
        text = check_text(_Writer(_root(page)).text(), path.name)
    except RecursionError as error:
        raise _too_deep(path) from error
    heading = first_heading(text)
    yield Extracted(
        segments=in_memory(text),
        digest=sha256_of_file(path),
        media_type="text/html",
        title=_title(page, heading),
        heading=heading,
        declared=_declared(page),
    )


def _too_deep(path: Path) -> CorruptDocument:
    return CorruptDocument(f"{path.name}: elements are nested too deeply", hint="save the page as plain text")


def _root(page: LexborHTMLParser) -> LexborNode:
    """The element that holds the page's own content: `main`, the only `article`, else the whole body."""
    mains, articles = page.css("main, [role=main]"), page.css("article")
    candidates = [*mains[:1], *(articles if len(articles) == 1 else [])]
    for node in candidates:
        if node.text(strip=True):
            return node
    whole = page.body or page.root
    if whole is None:
        raise CorruptDocument("the page has no elements", hint="check that the file holds HTML")
    return whole


def _title(page: LexborHTMLParser, heading: str) -> str:
    node = page.css_first("head > title") or page.css_first("title")
    title = one_line(node.text()) if node is not None else ""
    # "Report for May | Example Ltd": what follows the page's own heading names the site.
    named = heading and title.startswith(heading) and _SITE_SUFFIX.match(title, len(heading))
    return heading if named else title


def _declared(page: LexborHTMLParser) -> dict[str, object]:
    declared: dict[str, object] = {}
    for node in page.css("meta"):
        name = one_line(node.attributes.get("name") or node.attributes.get("property") or "").lower()
        content = one_line(node.attributes.get("content") or "")
        if not name or not content:
            continue
        if name in _DATE_META:
            declared.setdefault("date", content)
        elif not _TECHNICAL_META.match(name):
            declared[name] = content
    return declared


class _Writer:
    """Walks the tree once and collects Markdown blocks; `_inline` holds the text of the block being built."""

    def __init__(self, root: LexborNode) -> None:
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._root = root
        self._whole_page = root.tag in ("body", "html")

    def text(self) -> str:
        self._children(self._root)
        self._flush()
        return "\n\n".join(self._blocks) + "\n" if self._blocks else ""

    def _children(self, node: LexborNode) -> None:
        for child in node.iter(include_text=True):
            self._visit(child)

    def _visit(self, node: LexborNode) -> None:
        tag = str(node.tag)
        if tag == "-text":
            self._inline.append(_SPACE.sub(" ", node.text_content or ""))
        elif self._is_left_out(tag, node):
            return
        elif tag in _HEADINGS:
            title = one_line(_plain(node)).strip(_INVISIBLE_SPACE)
            self._block("#" * _HEADINGS[tag] + " " if has_word(title) else "", title)
        elif tag in ("ul", "ol", "menu"):
            self._flush()
            self._add("\n".join(_list(node, 0)))
        elif tag == "table":
            self._table(node)
        elif tag == "pre":
            self._flush()
            code = node.text().strip("\n")
            self._add(f"```\n{code}\n```" if code.strip() else "")
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._inline.append(f" {node.attributes.get('alt') or ''} ")
        elif tag in _BLOCKS:
            self._flush()
            self._children(node)
            self._flush()
        else:
            self._children(node)

    def _is_left_out(self, tag: str, node: LexborNode) -> bool:
        if tag in _INVISIBLE or tag == "nav" or tag.startswith("-") or "hidden" in node.attributes:
            return True
        # Without a main element nothing tells furniture from content.
        return tag in _FURNITURE and not self._whole_page

    def _block(self, prefix: str, text: str) -> None:
        self._flush()
        self._add(prefix + text if text else "")

    def _flush(self) -> None:
        self._add(_tidy("".join(self._inline)))
        self._inline = []

    def _add(self, block: str) -> None:
        if block.strip():
            self._blocks.append(block)

    def _table(self, node: LexborNode) -> None:
        self._flush()
        rows = _rows(node)
        if _is_layout(node, rows):
            for cell in _cells(node):
                self._children(cell)
                self._flush()
            return
        caption = next((child for child in node.iter() if child.tag == "caption"), None)
        if caption is not None:
            self._add(one_line(_plain(caption)))
        self._add(table(rows))


def _tidy(text: str) -> str:
    """Spaces collapsed; the line breaks, which only `<br>` makes, are kept."""
    return "\n".join(line for line in (one_line(part) for part in text.split("\n")) if line)


def _plain(node: LexborNode) -> str:
    """All visible text below a node on one line; the rows of a nested table end in semicolons."""
    parts: list[str] = []
    for child in node.iter(include_text=True):
        tag = str(child.tag)
        if tag == "-text":
            parts.append(child.text_content or "")
        elif tag == "img":
            parts.append(f" {child.attributes.get('alt') or ''} ")
        elif tag == "table":
            rows = (", ".join(cell for cell in map(one_line, row) if cell) for row in _rows(child))
            parts.append(" " + "; ".join(row for row in rows if row) + " ")
        elif tag not in _INVISIBLE and not tag.startswith("-"):
            # Only block elements separate words: "H<sub>2</sub>O" is one.
            edge = " " if tag in _BLOCKS or tag in _HEADINGS or tag in ("li", "ul", "ol", "br", "pre") else ""
            parts.append(edge + _plain(child) + edge)
    return "".join(parts)


def _list(node: LexborNode, depth: int) -> list[str]:
    """Markdown lines of a list, nested lists indented by two spaces a level."""
    lines: list[str] = []
    number = int(start) if (start := node.attributes.get("start") or "1").isdecimal() else 1
    for item in node.iter():
        if item.tag in ("ul", "ol", "menu"):
            lines += _list(item, depth + 1)
        if item.tag != "li":
            continue
        inner: list[LexborNode] = []
        own = one_line(_item_text(item, inner))
        marker = f"{number}." if node.tag == "ol" else "-"
        number += 1
        if own:
            lines.append(f"{'  ' * depth}{marker} {own}")
        for nested in inner:
            lines += _list(nested, depth + 1)
    return lines


def _item_text(node: LexborNode, inner: list[LexborNode]) -> str:
    """Text of a list item without the lists inside it, which are collected in `inner`."""
    parts: list[str] = []
    for child in node.iter(include_text=True):
        tag = str(child.tag)
        if tag in ("ul", "ol", "menu"):
            inner.append(child)
        elif tag in ("p", "div", "span", "section"):
            parts.append(f" {_item_text(child, inner)} " if tag != "span" else _item_text(child, inner))
        elif tag == "-text":
            parts.append(child.text_content or "")
        elif tag not in _INVISIBLE and not tag.startswith("-"):
            edge = " " if tag in _BLOCKS or tag in ("br", "table") else ""
            parts.append(edge + _plain(child) + edge)
    return "".join(parts)


def _table_rows(node: LexborNode) -> Iterator[LexborNode]:
    for child in node.iter():
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child.iter() if row.tag == "tr")


def _cells(node: LexborNode) -> Iterator[LexborNode]:
    for row in _table_rows(node):
        yield from (cell for cell in row.iter() if cell.tag in ("td", "th"))


def _rows(node: LexborNode) -> list[list[str]]:
    """Cell texts by row; a cell that spans columns is followed by empty ones."""
    rows = []
    for row in _table_rows(node):
        cells: list[str] = []
        for cell in row.iter():
            if cell.tag in ("td", "th"):
                span = cell.attributes.get("colspan") or "1"
                wide = min(int(span), 100) if span.isdecimal() else 1
                cells += [one_line(_plain(cell)), *[""] * (wide - 1)]
        rows.append(cells)
    return rows


def _is_layout(node: LexborNode, rows: list[list[str]]) -> bool:
    """A table used to lay out a page: one column, or cells that hold headings."""
    return max(map(len, rows), default=0) < 2 or node.css_first("h1, h2, h3, h4") is not None
