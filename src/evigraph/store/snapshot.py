"""Reading evidence at one pinned generation and scope.

Statements that *discover* rows (search, mentions of a name, assertions of an entity, counts) restrict them to the
scope's revisions. Statements that *fetch* by `PassageKey` need no restriction: a key holds its revision, and keys come
only from discovering statements of the same snapshot.
"""

from __future__ import annotations

from evigraph.store.graph import GraphReading
from evigraph.store.passages import PassageReading
from evigraph.store.rows import ScopeCounts, utc
from evigraph.types import DocumentInfo


class Snapshot(PassageReading, GraphReading):
    """All reads of one query."""

    def counts(self) -> ScopeCounts:
        """Size of the scope."""
        sql = f"""
            SELECT count(), sum(passages), sum(terms), arraySort(groupUniqArray(language))
            FROM {self.scope.documents}"""
        documents, passages, terms, languages = self._rows(sql)[0]
        return ScopeCounts(
            documents=documents,
            passages=passages,
            average_terms=terms / passages if passages else 0.0,
            languages=tuple(languages),
        )

    def undated_left_out(self) -> int:
        """How many documents a date bound leaves out because they have no date."""
        sql = f"SELECT countIf(date IS NULL) FROM {self.scope.without_dates().documents}"
        return int(self._rows(sql)[0][0])

    def documents(self) -> list[DocumentInfo]:
        """Documents in scope, by source, then id."""
        sql = f"""
            SELECT document_id, source, title, revision, generation, published_at, date, metadata, passages,
                media_type, language, content_hash, origin
            FROM {self.scope.documents} ORDER BY source, document_id"""
        return [
            DocumentInfo(
                document_id=row[0],
                source=row[1],
                title=row[2],
                revision=row[3],
                generation=row[4],
                published_at=utc(row[5]),
                date=row[6],
                metadata=row[7],
                passages=row[8],
                media_type=row[9],
                language=row[10],
                content_hash=row[11],
                origin=row[12],
            )
            for row in self._rows(sql)
        ]
