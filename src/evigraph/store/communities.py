"""Reads of the tree of communities in force, and of what answers about a whole scope are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evigraph.communities import Staleness
from evigraph.once import once
from evigraph.store.clustering import (
    ClusteringReading,
    CommunityGraph,
    ScopeDocument,
    SentenceRef,
    Statements,
    scope_document,
)
from evigraph.store.keys import PassageKey
from evigraph.store.state import TreeRecord
from evigraph.store.visibility import Scope

__all__ = [
    "CommunityGraph",
    "CommunityReading",
    "ScopeDocument",
    "SentenceRef",
    "Statements",
    "StoredSummary",
    "TreeNode",
    "nodes_of",
]

FEWEST_VALUES, MOST_VALUES = 2, 50
"""Distinct values that a metadata key has at least and at most where documents are grouped by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeNode:
    """A community of a tree: levels at which it appears, the community it is part of one level up, and its size."""

    number: int
    level: int
    last_level: int
    parent: int | None
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSummary:
    """A summary as stored: the sentences it consists of or rests on that are in scope, and how many are not
    (`dropped`). `text` is a chat model's, by `model`; None for an extractive one, and where any support is dropped.
    `extractive` tells that it consists of its sentences, since no model was asked or `model` had nothing to say."""

    number: int
    input_hash: str
    references: tuple[SentenceRef, ...]
    dropped: int
    text: str | None
    model: str
    extractive: bool


class CommunityReading(ClusteringReading):
    """Communities of a snapshot. The tree in force is that of its generation (`state.tree`)."""

    def tree_members(self) -> dict[str, tuple[int, ...]]:
        """The community of each entity in scope at every level of the tree in force, the broadest first. Entities that
        the tree does not know are left out. One that was merged since has the community of its representative, or else
        of its first member that has one."""
        return self._paths

    @once
    def _paths(self) -> dict[str, tuple[int, ...]]:
        tree = self.state.tree
        if tree is None:
            return {}
        sql = f"""
            SELECT entity_id, path FROM community_members
            WHERE tree = {{tree:String}} AND entity_id IN ({self._visible_entities})
            ORDER BY entity_id"""
        found = {entity_id: tuple(path) for entity_id, path in self._rows(sql, tree=tree.tree)}
        shown: dict[str, tuple[int, ...]] = {}
        for entity_id, path in found.items():
            representative = self.identities.of(entity_id)
            shown.setdefault(representative, found.get(representative, path))
        return shown

    def tree_nodes(self) -> list[TreeNode]:
        """Communities of the tree in force that have members in scope, by number; `size` counts these."""
        return nodes_of(self.tree_members().values())

    def tree_summaries(self, numbers: Sequence[int]) -> dict[int, StoredSummary]:
        """Stored summaries of the given communities of the tree in force."""
        tree = self.state.tree
        if tree is None or not numbers:
            return {}
        sql = f"""
            SELECT number, any(input_hash), any(length(supports)), any(text), any(model),
                arraySort(groupArrayIf((place, support), visible))
            FROM (
                SELECT number, input_hash, supports, text, model, place, support,
                    support.1 IN {self.scope.revisions} AS visible
                FROM community_summaries LEFT ARRAY JOIN supports AS support, arrayEnumerate(supports) AS place
                WHERE edition = {{edition:String}} AND number IN {{numbers:Array(UInt32)}})
            GROUP BY number ORDER BY number"""
        rows = self._rows(sql, edition=tree.edition, numbers=sorted(set(numbers)))
        return {row[0]: _summary(row) for row in rows}

    def tree_staleness(self, record: TreeRecord) -> tuple[Staleness, Staleness]:
        """What has changed since a tree was built, and since its summaries were made. Tells of the whole workspace at
        the snapshot's generation, whatever its filters."""
        whole = Scope(workspace=self._asked.workspace, generation=self._asked.generation)
        sql = f"""
            SELECT count(), countIf(generation <= {{built:UInt64}}), countIf(generation <= {{summarised:UInt64}}),
                sum(made), sumIf(made, generation <= {{built:UInt64}}), sumIf(made, generation <= {{summarised:UInt64}})
            FROM {whole.documents} AS document
            LEFT JOIN (
                SELECT revision_key, count() AS made FROM assertions
                WHERE workspace = {{workspace:String}} GROUP BY revision_key) AS assertion
            ON document.revision_key = assertion.revision_key"""
        bound = {"built": record.built_at, "summarised": record.summarised_at}
        now, kept, still, said, said_kept, said_still = self._run(sql, {**whole.parameters, **bound})[0]
        tree = Staleness(
            generation=record.built_at,
            documents_then=record.built_documents,
            documents_newer=now - kept,
            documents_gone=record.built_documents - kept,
            assertions_then=record.built_assertions,
            assertions_newer=said - said_kept,
            assertions_gone=record.built_assertions - said_kept,
            merges_changed=self._merges_changed(record.built_at),
        )
        summaries = Staleness(
            generation=record.summarised_at,
            documents_then=record.summarised_documents,
            documents_newer=now - still,
            documents_gone=record.summarised_documents - still,
            assertions_then=record.summarised_assertions,
            assertions_newer=said - said_still,
            assertions_gone=record.summarised_assertions - said_still,
            merges_changed=self._merges_changed(record.summarised_at),
        )
        return tree, summaries

    def _merges_changed(self, since: int) -> bool:
        """Whether a merge stands that did not at a generation, or one was taken back that did."""
        made = any(merge.merge_id > since for merge in self.state.merges)
        return made or any(at > since >= merge_id for at, merge_id in self.state.undone)

    # ---------------------------------------------------------------- what answers are made of

    def mention_entities(self, keys: Sequence[PassageKey]) -> dict[PassageKey, list[tuple[str, float]]]:
        """Entities of the given passages with the weight of their strongest mention there, by id."""
        found: dict[PassageKey, list[tuple[str, float]]] = {}
        for row in self.mentions_in(keys):
            found.setdefault(row.passage, []).append((row.entity_id, row.weight))
        return found

    def first_passages(self, entity_ids: Sequence[str]) -> dict[str, PassageKey]:
        """The first passage in scope, by document id and place in it, that mentions each of the given entities (the
        members of those that are merged too)."""
        sql = f"""
            SELECT {self._representative("entity_id")} AS entity,
                argMin((revision_key, passage_index), (document_id, passage_index))
            FROM mentions INNER JOIN (SELECT revision_key, document_id FROM {self._asked.documents}) AS document
                USING revision_key
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY entity ORDER BY entity"""
        if not entity_ids:
            return {}
        bound = {"entities": self.identities.expand(entity_ids), **self._asked.parameters, **self._merged}
        return {entity: PassageKey(*first) for entity, first in self._rows(sql, **bound)}

    def group_counts(self) -> dict[str, dict[str, int]]:
        """Documents in scope by value, of each metadata key that groups them: at least half have it, and it has a few
        distinct values."""
        sql = f"""
            SELECT key, arraySort(groupArray((value, documents))) AS counts FROM (
                SELECT key, value, count() AS documents
                FROM {self._asked.documents} ARRAY JOIN mapKeys(metadata) AS key, mapValues(metadata) AS value
                GROUP BY key, value)
            GROUP BY key
            HAVING sum(documents) * 2 >= {{all:UInt64}}
                AND length(counts) BETWEEN {FEWEST_VALUES} AND {MOST_VALUES}
            ORDER BY key"""
        rows = self._run(sql, {**self._asked.parameters, "all": self.counts().documents})
        return {key: dict(counts) for key, counts in rows}

    def documents_of(self, document_ids: Sequence[str]) -> dict[str, ScopeDocument]:
        """The given documents, those in scope."""
        sql = f"""
            SELECT document_id, source, title, revision, metadata FROM {self._asked.documents}
            WHERE document_id IN {{documents:Array(String)}} ORDER BY document_id"""
        bound = {**self._asked.parameters, "documents": sorted(set(document_ids))}
        return {row[0]: scope_document(row) for row in self._run(sql, bound)} if document_ids else {}


def nodes_of(paths: Iterable[Sequence[int]]) -> list[TreeNode]:
    """The communities that paths make, by number. A path is an entity's community at each level: the first level with a
    number is where that community appears, the last where it is split."""
    nodes: dict[int, TreeNode] = {}
    for path, size in Counter(tuple(path) for path in paths).items():
        for level, number in enumerate(path):
            known = nodes.get(number)
            if known is None:
                parent = path[level - 1] if level else None
                nodes[number] = TreeNode(number=number, level=level, last_level=level, parent=parent, size=size)
            elif path[level - 1 : level] == (number,):
                nodes[number] = replace(known, last_level=max(level, known.last_level))
            else:
                nodes[number] = replace(known, size=known.size + size)
    return [nodes[number] for number in sorted(nodes)]


def _summary(row: tuple[Any, ...]) -> StoredSummary:
    number, input_hash, supports, text, model, visible = row
    references = tuple(SentenceRef(key=PassageKey(*at[:2]), start=at[2], end=at[3]) for _, at in visible)
    dropped = supports - len(references)
    return StoredSummary(
        number=number,
        input_hash=input_hash,
        references=references,
        dropped=dropped,
        text=text if text and not dropped else None,
        model=model,
        extractive=not text,
    )
