"""Deletion: publishing a revision without passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evigraph.store.rows import Publication

if TYPE_CHECKING:
    from evigraph.store.store import Store


def delete_documents(store: Store, workspace: str, document_ids: Sequence[str]) -> list[str]:
    """Delete those of the documents that are visible, in one insert; return their ids."""
    with store.writing:
        # By sorted key: what is visible of the whole corpus is no matter of a deletion.
        sql = """
            SELECT document_id, deleted, origin, source, media_type FROM publications
            WHERE workspace = {workspace:String} AND document_id IN {ids:Array(String)}
            ORDER BY document_id, revision DESC, generation DESC LIMIT 1 BY document_id"""
        rows = [row for row in store.rows(sql, {"workspace": workspace, "ids": list(document_ids)}) if not row[1]]
        if not rows:
            return []
        # Nothing is staged for a tombstone, so its number needs no reservation.
        numbers = store.next_revisions(workspace, [row[0] for row in rows])
        tombstones = [
            Publication(
                document_id=document_id,
                revision=numbers[document_id],
                origin=origin,
                source=source,
                title="",
                date=None,
                metadata={},
                media_type=media_type,
                language="",
                content_hash="",
                passages=0,
                terms=0,
                deleted=True,
            )
            for document_id, _, origin, source, media_type in rows
        ]
        store.publish(workspace, tombstones)
        return [row[0] for row in rows]
