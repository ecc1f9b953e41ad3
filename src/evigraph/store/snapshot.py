"""Reading evidence at one pinned generation and scope.

Statements that *discover* rows (search, mentions of a name, assertions of an entity, counts) restrict them to the
scope's revisions. Statements that *fetch* by `PassageKey` need no restriction: a key holds its revision, and keys come
only from discovering statements of the same snapshot.
"""

from __future__ import annotations

from evigraph.store.assertions import AssertionReading
from evigraph.store.communities import CommunityReading
from evigraph.store.conversations import ConversationReading
from evigraph.store.entities import EntityReading
from evigraph.store.explore import ExploreReading
from evigraph.store.exporting import ExportReading
from evigraph.store.knowledge_bases import BaseReading
from evigraph.store.lifecycle import LifecycleReading
from evigraph.store.names import NameReading
from evigraph.store.passages import PassageReading
from evigraph.store.planning import PlanReading
from evigraph.store.rows import document_info
from evigraph.store.schema import SchemaReading
from evigraph.store.windows import WindowReading
from evigraph.types import DocumentInfo


class Snapshot(
    ExportReading,
    CommunityReading,
    ConversationReading,
    BaseReading,
    PassageReading,
    WindowReading,
    EntityReading,
    NameReading,
    AssertionReading,
    SchemaReading,
    PlanReading,
    ExploreReading,
    LifecycleReading,
):
    """All reads of one query."""

    def undated_left_out(self) -> int:
        """How many documents a date bound leaves out because they have no date."""
        sql = f"SELECT countIf(date IS NULL) FROM {self._asked.without_dates().documents}"
        return int(self._run(sql, self._asked.parameters)[0][0])

    def documents(self) -> list[DocumentInfo]:
        """Documents in scope, by source, then id."""
        sql = f"""
            SELECT document_id, source, title, revision, generation, published_at, date, metadata, passages,
                media_type, language, content_hash, origin
            FROM {self._asked.documents} ORDER BY source, document_id"""
        return [document_info(row) for row in self._run(sql, self._asked.parameters)]
