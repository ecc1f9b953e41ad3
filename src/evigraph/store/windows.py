"""Reads of the text around given passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading

TextSpan = tuple[int, int, int]
"""Revision key, and `[start, end)` in that revision's extracted text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a passage stands, without its text."""

    start: int
    end: int
    token_count: int
    page: int | None
    sentences: tuple[tuple[int, int], ...]


class WindowReading(Reading):
    """Neighbours of passages that a discovering statement found: they are of the same revision, so what is visible of
    the one is visible of the other."""

    def places(self, keys: Sequence[PassageKey]) -> dict[PassageKey, Place]:
        """Those of the given passages that exist and are document text, not summaries."""
        if not keys:
            return {}
        sql = f"""
            SELECT revision_key, passage_index, start, end, token_count, page, sentence_starts, sentence_ends
            FROM passages WHERE workspace = {{workspace:String}} AND {BY_KEY} AND level = 0"""
        return {
            PassageKey(row[0], row[1]): Place(
                start=row[2],
                end=row[3],
                token_count=row[4],
                page=row[5],
                sentences=tuple(zip(row[6], row[7], strict=True)),
            )
            for row in self._rows(sql, keys=sorted(set(keys)))
        }

    def span_texts(self, spans: Sequence[TextSpan]) -> dict[TextSpan, str]:
        """The text of each span. Of a long document only the parts that a span touches are read."""
        if not spans:
            return {}
        sql = """
            SELECT revision_key, start, text FROM document_texts
            WHERE workspace = {workspace:String} AND revision_key IN {revisions:Array(UInt128)}
              AND arrayExists((revision, first, last) -> revision = revision_key AND start < last
                  AND start + lengthUTF8(text) > first,
                  {revisions:Array(UInt128)}, {starts:Array(UInt64)}, {ends:Array(UInt64)})
            ORDER BY revision_key, start"""
        revisions, starts, ends = zip(*spans, strict=True)
        parts = self._rows(sql, revisions=list(revisions), starts=list(starts), ends=list(ends))
        return {
            (revision, start, end): "".join(
                text[max(0, start - at) : max(0, end - at)] for key, at, text in parts if key == revision
            )
            for revision, start, end in spans
        }
