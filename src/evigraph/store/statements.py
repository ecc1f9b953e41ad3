"""Assertions with where they stand: passage, quote, document, date and revision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.store.rows import utc
from evigraph.types import CO_OCCURS
from evigraph.views import Statement

QUOTE_CHARS = 300

STATEMENT_FIELDS = (
    "revision_key, passage_index, assertion_id, subject_id, subject_name, subject_type, predicate, object_id, "
    "object_name, object_type, description, weight, confidence, extractor, verified, start, end"
)
"""Columns of `assertions` that `_statements` reads, in its order."""

SUREST_FIRST = f"predicate = '{CO_OCCURS}', confidence DESC, revision_key, passage_index, start, assertion_id"


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A document revision as a list of statements names it."""

    document_id: str
    source: str
    title: str
    date: date | None
    revision: int
    generation: int
    published_at: datetime


class StatementReading(Reading):
    """Fetching around assertions that a discovering statement found."""

    def statements_named(self, assertion_ids: Sequence[str], subjects: Sequence[str]) -> dict[str, Statement]:
        """Assertions by id, those in scope; their subjects are named too, since that is what they are sorted by."""
        sql = f"""
            SELECT {STATEMENT_FIELDS} FROM assertions
            WHERE workspace = {{workspace:String}} AND subject_id IN {{subjects:Array(String)}}
              AND assertion_id IN {{ids:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            ORDER BY {SUREST_FIRST}"""
        bound = {"ids": sorted(set(assertion_ids)), "subjects": self.identities.expand(subjects)}
        rows = self._rows(sql, **bound) if assertion_ids else []
        return {found.id: found for found in self._statements(rows, self.identities.of)}

    def published(self, revision_keys: Sequence[int]) -> dict[int, Published]:
        """The publications of revisions by key."""
        sql = """
            SELECT revision_key, document_id, source, title, date, revision, generation, published_at
            FROM publications
            WHERE workspace = {workspace:String} AND NOT deleted AND revision_key IN {revisions:Array(UInt128)}"""
        rows = self._rows(sql, revisions=sorted(set(revision_keys))) if revision_keys else []
        return {
            row[0]: Published(
                document_id=row[1],
                source=row[2],
                title=row[3],
                date=row[4],
                revision=row[5],
                generation=row[6],
                published_at=utc(row[7]),
            )
            for row in rows
        }

    def _statements(self, rows: Sequence[tuple[Any, ...]], of: Callable[[str], str]) -> list[Statement]:
        """Rows of `STATEMENT_FIELDS` with their publication and quote; `of` gives an entity's representative."""
        documents = self.published([row[0] for row in rows])
        texts = self._texts([PassageKey(row[0], row[1]) for row in rows])
        found = []
        for row in rows:
            document = documents[row[0]]
            first, text = texts.get(PassageKey(row[0], row[1]), (0, ""))
            found.append(
                Statement(
                    id=row[2],
                    subject=of(row[3]),
                    subject_name=row[4],
                    subject_type=row[5],
                    predicate=row[6],
                    object=of(row[7]),
                    object_name=row[8],
                    object_type=row[9],
                    description=row[10],
                    weight=round(float(row[11]), 6),
                    confidence=round(float(row[12]), 6),
                    extractor=row[13],
                    verified=row[14],
                    chunk_id=f"{document.document_id}#{row[1]}",
                    document_id=document.document_id,
                    source=document.source,
                    title=document.title,
                    date=document.date,
                    revision=document.revision,
                    generation=document.generation,
                    published_at=document.published_at,
                    start=row[15],
                    end=row[16],
                    quote=text[row[15] - first : row[16] - first][:QUOTE_CHARS],
                )
            )
        return found

    def _texts(self, keys: Sequence[PassageKey]) -> dict[PassageKey, tuple[int, str]]:
        """Start and text of the given passages."""
        sql = f"""
            SELECT revision_key, passage_index, start, text FROM passages
            WHERE workspace = {{workspace:String}} AND {BY_KEY}"""
        rows = self._rows(sql, keys=sorted(set(keys))) if keys else []
        return {PassageKey(row[0], row[1]): (row[2], row[3]) for row in rows}
