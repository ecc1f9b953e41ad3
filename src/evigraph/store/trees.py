"""Writing trees of communities: rows are staged under random names, and one change publishes them.

Whoever stages and publishes holds `Store.maintenance` the while: a prune of this process takes rows that nobody has
published for a crashed build's.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evigraph.store.clustering import SentenceRef
from evigraph.store.state import TreeRecord

if TYPE_CHECKING:
    from evigraph.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedSummary:
    """A summary to store. An extractive one consists of `references`. One by a chat model has a `text` and must name
    every sentence that it goes back to, through other summaries too: the text is shown and kept as long as these are.
    A `model` without a text was asked and had nothing to say; the summary is extractive.
    """

    number: int
    input_hash: str
    references: Sequence[SentenceRef]
    text: str | None = None
    model: str = ""


def stage_tree(
    store: Store,
    workspace: str,
    entities: Sequence[str],
    paths: NDArray[np.int32],
    *,
    members: Mapping[str, Sequence[str]],
) -> str:
    """Write a tree: `paths[i]` holds the community of `entities[i]` at each level. `members` are all entities that a
    merged one stands for (`Snapshot.identities.members`), so that a scope that shows another of them, or an undone
    merge, finds it. Returns the tree's name. Nothing is visible before `publish_tree`."""
    tree = uuid.uuid4().hex
    now = datetime.now(UTC)
    rows = [
        [workspace, tree, member, path, now]
        for entity_id, path in zip(entities, paths.tolist(), strict=True)
        for member in members.get(entity_id, (entity_id,))
    ]
    store.insert("community_members", ("workspace", "tree", "entity_id", "path", "staged_at"), rows)
    return tree


def stage_summaries(store: Store, workspace: str, tree: str, summaries: Sequence[StagedSummary]) -> str:
    """Write summaries of a tree's communities; return the name of this edition. Nothing is visible before
    `publish_tree`."""
    if any(summary.text and not summary.references for summary in summaries):
        raise ValueError("a text without references would outlive what it tells of")
    edition = uuid.uuid4().hex
    now = datetime.now(UTC)
    rows = [
        [
            workspace,
            tree,
            edition,
            summary.number,
            summary.input_hash,
            summary.model,
            summary.text or "",
            [(*reference.key, reference.start, reference.end) for reference in summary.references],
            now,
        ]
        for summary in summaries
    ]
    store.insert("community_summaries", _SUMMARY_COLUMNS, rows)
    return edition


def publish_tree(store: Store, workspace: str, record: TreeRecord) -> int:
    """Put a staged tree and edition in force; return the generation."""
    detail = asdict(record)
    del detail["generation"]
    return store.record_change(workspace, "communities", detail)


def doomed_rows(
    store: Store, workspace: str, horizon: int, abandoned_before: datetime
) -> tuple[dict[str, str], dict[str, Any]]:
    """Conditions of the rows to remove by table, with their parameters: of trees and editions that are neither in force
    at the horizon nor later, or were staged so long ago that nobody will publish them; of entities that no row mentions
    any more; texts that rest on a revision that is no more. Names are compared inside the engine alone: it keeps a
    removal's statement in a file."""
    sql = """
        SELECT generation, detail FROM changes
        WHERE workspace = {workspace:String} AND kind = 'communities' ORDER BY generation"""
    told = [(generation, json.loads(text)) for generation, text in store.rows(sql, {"workspace": workspace})]
    # The last one up to the horizon is in force there.
    first = max(0, sum(generation <= horizon for generation, _ in told) - 1)
    bound: dict[str, Any] = {"workspace": workspace, "before": abandoned_before}
    for kind in ("tree", "edition"):
        kept = {detail[kind] for _, detail in told[first:]}
        bound[f"{kind}_kept"] = sorted(kept)
        bound[f"{kind}_replaced"] = sorted({detail[kind] for _, detail in told} - kept)
    return {
        "community_members": _replaced_or("tree", _FORGOTTEN),
        "community_summaries": _replaced_or("edition", _UNSUPPORTED),
    }, bound


def _replaced_or(column: str, otherwise: str) -> str:
    return f"""workspace = {{workspace:String}} AND (
        {column} IN {{{column}_replaced:Array(String)}}
        OR {column} NOT IN {{{column}_kept:Array(String)}} AND staged_at <= {{before:DateTime64(6, 'UTC')}}
        OR {otherwise})"""


_FORGOTTEN = """entity_id NOT IN (
        SELECT entity_id FROM mentions WHERE workspace = {workspace:String}
        UNION ALL SELECT subject_id FROM assertions WHERE workspace = {workspace:String}
        UNION ALL SELECT object_id FROM assertions WHERE workspace = {workspace:String})"""
_UNSUPPORTED = """text != '' AND arrayExists(
        revision -> revision NOT IN (SELECT revision_key FROM publications WHERE workspace = {workspace:String}),
        supports.1)"""

_SUMMARY_COLUMNS = (
    "workspace",
    "tree",
    "edition",
    "number",
    "input_hash",
    "model",
    "text",
    "supports",
    "staged_at",
)
