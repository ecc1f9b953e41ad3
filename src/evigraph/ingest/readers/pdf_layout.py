"""From placed characters to Markdown: paragraphs by line distance, headings by size, tables by white
gutters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from evigraph.ingest.readers.base import one_line, table

_SOFT_HYPHENS = "\ufffe\x02\xad"
_LINE = re.compile(r"[^\n\ufffe]*[\n\ufffe]|[^\n\ufffe]+")
_BULLET = re.compile(r"^[•◦▪‣●○■·∙]\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[A-Z][.)])\s")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of a page: its cells (runs of text with wide gaps between) with their x ranges, and its
    vertical place in points from the bottom. `size` is the height of its characters, `font` their nominal
    size; both are 0 on a page whose characters could not be placed."""

    cells: tuple[str, ...]
    spans: tuple[tuple[float, float], ...] = ()
    bottom: float = 0.0
    size: float = 0.0
    font: float = 0.0

    @property
    def text(self) -> str:
        return " ".join(self.cells)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    number: int
    lines: list[Line]


def page_lines(textpage: Any) -> list[Line]:
    """Lines of one page in PDFium's order."""
    text = textpage.get_text_range()
    placed = len(text) == textpage.count_chars()
    lines, start = [], 0
    # A soft hyphen stands in the place of the line end it caused.
    for raw in _LINE.findall(text):
        line = _place(textpage, raw, start) if placed else Line(cells=(_clean(raw),))
        start += len(raw)
        if any(line.cells):
            lines.append(line)
    return lines


def _clean(raw: str) -> str:
    # One at a line's end is kept: `_join_lines` decides whether the word carries a hyphen.
    ended = raw.rstrip()
    if ended and ended[-1] in _SOFT_HYPHENS:
        ended = ended[:-1] + "\u00ad"
    return one_line(_CONTROL.sub(" ", ended))


def _place(textpage: Any, raw: str, start: int) -> Line:
    boxes = []
    for offset, char in enumerate(raw):
        if not char.isspace() and char not in _SOFT_HYPHENS:
            boxes.append((offset, textpage.get_charbox(start + offset, loose=True)))
    if not boxes:
        return Line(cells=(_clean(raw),))
    size = median(box[3] - box[1] for _, box in boxes)
    cells, spans = [], []
    first, left, right = 0, boxes[0][1][0], boxes[0][1][2]
    for offset, box in boxes[1:]:
        if box[0] - right > 0.9 * size:
            cells.append(_clean(raw[first:offset]))
            spans.append((left, right))
            first, left = offset, box[0]
        right = max(right, box[2]) if first != offset else box[2]
    cells.append(_clean(raw[first:]))
    spans.append((left, right))
    return Line(
        cells=tuple(cells),
        spans=tuple(spans),
        bottom=median(box[1] for _, box in boxes),
        size=size,
        font=_font(textpage, [start + offset for offset, _ in boxes]) or size,
    )


def _font(textpage: Any, indices: list[int]) -> float:
    """Nominal font size in the middle of a line; 0 where the page scales a font of size one instead."""
    import pypdfium2.raw

    size = float(pypdfium2.raw.FPDFText_GetFontSize(textpage.raw, indices[len(indices) // 2]))
    return round(size, 1) if size > 3 else 0.0


def join_pages(pages: list[Page]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The document's Markdown and `(offset, page number)` of every page that has text."""
    pages = without_running_lines(pages)
    sizes = _Sizes(pages)
    words = Counter(word.lower() for page in pages for line in page.lines for word in _WORD.findall(line.text))
    text, starts = "", list[tuple[int, int]]()
    parts: list[str] = []
    length, tail = 0, ""
    for page in pages:
        body = "\n\n".join(_blocks(page, sizes, words))
        if not body:
            continue
        # A sentence that runs over the page's end stays in one paragraph.
        joint = "" if not parts else "\n" if _runs_on(tail, body) else "\n\n"
        starts.append((length + len(joint), page.number))
        parts += [joint, body]
        length += len(joint) + len(body)
        tail = body[-200:]
    text = "".join(parts)
    return (text + "\n" if text else ""), tuple(starts)


def without_running_lines(pages: list[Page]) -> list[Page]:
    """The pages without running headers and footers: a page's highest or lowest line that, but for its digits, is the
    same on most pages and on two at least."""
    edges = [_edges(page.lines) for page in pages]
    counts = Counter(shape for page_edges in edges for shape in {_shape(line) for line in page_edges})
    needed = max(2, (3 * len(pages) + 4) // 5)
    return [
        Page(
            number=page.number,
            lines=[line for line in page.lines if line not in page_edges or counts[_shape(line)] < needed],
        )
        for page, page_edges in zip(pages, edges, strict=True)
    ]


def _edges(lines: list[Line]) -> list[Line]:
    """The lines at the very top and bottom of a page; none where lines have no place."""
    placed = sorted((line for line in lines if line.size > 0), key=lambda line: line.bottom)
    return [placed[0], placed[-1]] if len(placed) > 2 else []


def _shape(line: Line) -> str:
    return re.sub(r"\d+", "0", line.text)


def _runs_on(tail: str, body: str) -> bool:
    last = tail.rsplit("\n", 1)[-1]
    return body[:1].islower() and not last.startswith(("|", "#")) and last[-1:] not in '.!?:;"”)'


class _Sizes:
    """Line heights of the document: the body's, and the level of each larger one."""

    def __init__(self, pages: list[Page]) -> None:
        weights: Counter[float] = Counter()
        for page in pages:
            for line in page.lines:
                weights[round(line.font, 1)] += len(line.text)
        self.body = max(weights, key=lambda size: (weights[size], -size), default=0.0)
        larger = sorted((size for size in weights if size > 1.15 * self.body > 0), reverse=True)
        self._levels = {size: min(level, 4) for level, size in enumerate(larger, start=1)}

    def level(self, line: Line) -> int:
        text = line.text
        if len(text) > 150 or text.endswith((".", ",", ";")) or not _mostly_letters(text):
            return 0
        level = self._levels.get(round(line.font, 1), 0)
        # The one largest line is the title, unless it is numbered as a section is.
        return level + 1 if level and _NUMBERED.match(text) else level


def _mostly_letters(text: str) -> bool:
    """Amounts and codes are set large as well."""
    return 2 * sum(map(str.isalpha, text)) > sum(map(str.isalnum, text))


def _blocks(page: Page, sizes: _Sizes, words: Counter[str]) -> Iterator[str]:
    pitch = _pitch(page.lines)
    index, paragraph = 0, list[Line]()
    while index < len(page.lines):
        line = page.lines[index]
        grid = _grid(page.lines, index)
        level = 0 if grid else sizes.level(line)
        if paragraph and (grid or level or _breaks(paragraph[-1], line, pitch)):
            yield _join_lines(paragraph, words)
            paragraph = []
        if grid:
            yield table(grid)
            index += len(grid)
        elif level:
            wrapped = 1
            while index + wrapped < len(page.lines) and _continues_heading(
                page.lines[index + wrapped - 1], page.lines[index + wrapped]
            ):
                wrapped += 1
            yield ("#" * level + " " + _join_lines(page.lines[index : index + wrapped], words).replace("\n", " "))
            index += wrapped
        else:
            paragraph.append(line)
            index += 1
    if paragraph:
        yield _join_lines(paragraph, words)


def _pitch(lines: list[Line]) -> float:
    """The usual distance between two lines of a paragraph, in heights of their characters."""
    # A step from a heading to its text is short in heights of the heading, and says nothing of paragraphs.
    steps = [
        (above.bottom - below.bottom) / above.size
        for above, below in pairwise(lines)
        if above.size > 0 and abs(above.font - below.font) < 0.1
    ]
    close = [step for step in steps if 0.6 < step < 2.5]
    # Gaps between paragraphs are among them; on a page of short paragraphs they may be the most.
    return median(step for step in close if step <= 1.25 * min(close)) if close else 1.2


def _breaks(above: Line, below: Line, pitch: float) -> bool:
    if _BULLET.match(below.text):
        return False
    step = above.bottom - below.bottom
    if step < -2 * below.size:
        return above.text[-1:] in ".!?:"
    return step > 1.3 * pitch * above.size


def _continues_heading(above: Line, below: Line) -> bool:
    same = abs(above.font - below.font) < 0.1
    return same and 0 < above.bottom - below.bottom < 1.6 * above.size and not _NUMBERED.match(below.text)


def _join_lines(lines: list[Line], words: Counter[str]) -> str:
    """Lines of a paragraph, one under the other; words that a line end divides are put together."""
    shown = ""
    for line in lines:
        text = _BULLET.sub("- ", line.text)
        if not shown:
            shown = text
        elif shown[-1] == "\u00ad":
            head, _, rest = text.partition(" ")
            shown = shown[:-1] + _hyphen(shown[:-1], head, words) + head + (f"\n{rest}" if rest else "")
        else:
            shown += "\n" + text
    ended = "-" if shown.endswith("\u00ad") else ""
    return shown.replace("\u00ad", "") + ended


def _hyphen(before: str, after: str, words: Counter[str]) -> str:
    """A hyphen where the divided word is a compound: it, or else both its halves, occur elsewhere in the
    document."""
    halves = _WORD.findall(before.lower())[-1:] + _WORD.findall(after.lower())[:1]
    if len(halves) < 2:
        return "-"
    left, right = halves
    if words[left + right] or words[f"{left}-{right}"]:
        return "" if words[left + right] >= words[f"{left}-{right}"] else "-"
    # Each half was counted once where the word is divided.
    return "-" if words[left] > 1 and words[right] > 1 else ""


def _grid(lines: list[Line], start: int) -> list[list[str]]:
    """The table that begins at a line, as rows of cells; empty where there is none.

    Rows are taken while the x ranges of all cells, merged where they overlap, keep every row's cells apart:
    columns are what white gutters separate, however cells are aligned.
    """
    taken: list[Line] = []
    columns: list[tuple[float, float]] = []
    for line in lines[start:]:
        merged = _merge([*columns, *line.spans])
        if len(line.cells) < 2 or any(len(set(_fit(row, merged))) < len(row.cells) for row in [*taken, line]):
            break
        taken.append(line)
        columns = merged
    rows, width = len(taken), len(columns)
    if rows < 2 or rows * width < 6:
        return []
    texts = [cell for line in taken for cell in line.cells]
    # Two columns of running text have gutters too.
    if sum(map(len, texts)) > 40 * len(texts):
        return []
    grid = []
    for line in taken:
        row = [""] * width
        for column, cell in zip(_fit(line, columns), line.cells, strict=True):
            row[column] = cell.replace("\u00ad", "-")
        grid.append(row)
    return grid


def _merge(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if merged and left <= merged[-1][1] + 1.0:
            merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    return merged


def _fit(line: Line, columns: list[tuple[float, float]]) -> list[int]:
    return [next(i for i, (left, right) in enumerate(columns) if left <= span[0] <= right) for span in line.spans]
