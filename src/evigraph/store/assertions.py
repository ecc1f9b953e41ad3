"""Reads of assertions: a traversal frontier, by id, by passage."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evigraph.plans import Direction
from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.types import CO_OCCURS, Relationship


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """An assertion seen from one of its ends, with what a traversal needs of it. `forward` says that `origin` is its
    subject. Both ends are representatives of what they were merged with."""

    origin: str
    other: str
    id: str
    predicate: str
    confidence: float
    forward: bool
    passage: PassageKey

    @property
    def subject(self) -> str:
        return self.origin if self.forward else self.other


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionEdges:
    """Assertions of some entities: `direct` ones made by given passages, `extended` ones by others; and how many of
    either there are."""

    direct: tuple[Edge, ...]
    extended: tuple[Edge, ...]
    total_direct: int
    total: int


class AssertionReading(Reading):
    """Assertions of a snapshot. Inputs stand for all entities they are merged with; the ends of what is returned are
    representatives, their names those the passage uses."""

    def edges_of(
        self,
        entity_ids: Sequence[str],
        *,
        per_node_limit: int,
        limit: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Edge]:
        """One traversal frontier: edges by origin, strongest first, at most `per_node_limit` per origin.

        Stated assertions come before co-occurrence, whatever their confidence. An assertion between two entities that
        count as one is met once. The rows of a hub go through a heap of `per_node_limit` (`groupArraySorted`): measured
        at half the cost of sorting them all for `LIMIT n BY`; and as one string each, a sixth less than as tuples.
        """
        if not entity_ids or (predicates is not None and not predicates):
            return []
        sql = f"""
            SELECT origin, edge FROM (
                SELECT origin, arrayJoin(groupArraySorted({{per_node:UInt32}})({_PACKED})) AS edge
                FROM ({self._sides(direction, predicates)})
                WHERE revision_key IN {self.scope.revisions}
                GROUP BY origin)
            ORDER BY origin, edge LIMIT {{limit:UInt32}}
            SETTINGS use_index_for_in_with_subqueries = 0"""
        bound = {"per_node": per_node_limit, "limit": limit, **self._sides_bound(entity_ids, predicates)}
        return [_edge(origin, edge) for origin, edge in self._rows(sql, **bound)]

    def connections_of(
        self,
        entity_ids: Sequence[str],
        passages: Sequence[PassageKey],
        *,
        limit: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> ConnectionEdges:
        """Every assertion of the entities, each once: at most `limit`, those of the given passages first, then the
        strongest."""
        if not entity_ids or (predicates is not None and not predicates):
            return ConnectionEdges(direct=(), extended=(), total_direct=0, total=0)
        sql = f"""
            SELECT count(), countIf(direct),
                groupArraySorted({{most:UInt32}})(concat(if(direct, '0', '1'), {_PACKED}, char(0), origin))
            FROM (
                SELECT *, (revision_key, passage_index) IN {{keys:Array(Tuple(UInt128, UInt32))}} AS direct
                FROM ({self._sides(direction, predicates, again=False)})
                WHERE revision_key IN {self.scope.revisions})"""
        bound = {"keys": list(passages), "most": max(1, limit), **self._sides_bound(entity_ids, predicates)}
        total, total_direct, rows = self._rows(sql, **bound)[0]
        edges = [(row[0] == "0", _edge(row.rpartition("\0")[2], row[1:])) for row in rows[:limit]]
        return ConnectionEdges(
            direct=tuple(edge for direct, edge in edges if direct),
            extended=tuple(edge for direct, edge in edges if not direct),
            total_direct=total_direct,
            total=total,
        )

    def assertions_of(
        self,
        entity_ids: Sequence[str],
        *,
        per_node_limit: int,
        limit: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[tuple[str, Relationship]]:
        """`edges_of` with the whole assertions, as `(from entity, assertion)`."""
        edges = self.edges_of(
            entity_ids, per_node_limit=per_node_limit, limit=limit, predicates=predicates, direction=direction
        )
        found = self.assertions_at(edges)
        return [(edge.origin, found[edge.id]) for edge in edges]

    def assertions_at(self, edges: Iterable[Edge]) -> dict[str, Relationship]:
        """The assertions of edges of this snapshot, by id."""
        wanted = {edge.id: edge for edge in edges}
        if not wanted:
            return {}
        keys: set[tuple[Any, ...]]
        if self.identities.canonical:  # edges name representatives, rows the subjects themselves
            where, keys = BY_KEY, {edge.passage for edge in wanted.values()}
        else:
            where, keys = _BY_SUBJECT, {(edge.subject, *edge.passage) for edge in wanted.values()}
        sql = f"""
            SELECT {ASSERTION_FIELDS} FROM assertions
            WHERE workspace = {{workspace:String}} AND {where} AND assertion_id IN {{ids:Array(String)}}
            SETTINGS optimize_use_projections = {int(where is BY_KEY)}"""
        rows = self._rows(sql, keys=sorted(keys), ids=sorted(wanted))
        return {row[0]: self._shown(row) for row in rows}

    def assertions_named(self, assertion_ids: Sequence[str]) -> dict[str, Relationship]:
        """Assertions by id, those in scope."""
        sql = f"""
            SELECT {ASSERTION_FIELDS} FROM assertions
            WHERE workspace = {{workspace:String}} AND assertion_id IN {{ids:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        rows = self._rows(sql, ids=list(assertion_ids)) if assertion_ids else []
        return {row[0]: self._shown(row) for row in rows}

    def assertions_in(self, keys: Sequence[PassageKey], *, limit: int) -> list[Relationship]:
        """Assertions the given passages make, stated ones first, then the surest."""
        kind = "assertions", self._naming, limit
        by_passage = self._of_revisions(kind, keys, lambda missing: self._fetch_assertions_in(missing, limit))
        ranked = sorted(
            (item.type == CO_OCCURS, -item.confidence, key, item.start, item.id, position)
            for key, found in by_passage.items()
            for position, item in enumerate(found)
        )
        return [by_passage[key][position] for _, _, key, _, _, position in ranked[:limit]]

    def _fetch_assertions_in(self, keys: list[PassageKey], limit: int) -> dict[PassageKey, tuple[Relationship, ...]]:
        sql = f"""
            SELECT {ASSERTION_FIELDS} FROM assertions WHERE workspace = {{workspace:String}} AND {BY_KEY}
            ORDER BY predicate = '{CO_OCCURS}', confidence DESC, revision_key, passage_index, start, assertion_id
            LIMIT {{limit:UInt32}} BY revision_key, passage_index"""
        found: dict[PassageKey, list[Relationship]] = {key: [] for key in keys}
        for row in self._rows(sql, keys=keys, limit=limit):
            found[PassageKey(row[_REVISION], row[_PASSAGE])].append(self._shown(row))
        return {key: tuple(items) for key, items in found.items()}

    def _sides(self, direction: Direction, predicates: Sequence[str] | None, *, again: bool = True) -> str:
        """Assertions of the bound entities, as subject and as object: each side is one sorted look-up. One between two
        of them comes from either end; where not `again`, only from its subject.

        The scope is applied outside, so that the engine works it out once for both sides.
        """
        subject, object_ = self._representative("subject_id"), self._representative("object_id")
        allowed = "AND predicate IN {predicates:Array(String)}" if predicates is not None else ""
        columns = "assertion_id, predicate, confidence, revision_key, passage_index"
        out = f"""
            SELECT {subject} AS origin, {object_} AS other, true AS forward, {columns} FROM assertions
            WHERE workspace = {{workspace:String}} AND subject_id IN {{entities:Array(String)}} {allowed}"""
        into = f"""
            SELECT {object_} AS origin, {subject} AS other, false AS forward, {columns} FROM assertions
            WHERE workspace = {{workspace:String}} AND object_id IN {{entities:Array(String)}} {allowed}"""
        if direction == "both":
            once = "origin != other" if again else "subject_id NOT IN {entities:Array(String)}"
            return f"{out} UNION ALL {into} AND {once}"
        return out if direction == "out" else into

    def _sides_bound(self, entity_ids: Sequence[str], predicates: Sequence[str] | None) -> dict[str, Any]:
        bound: dict[str, Any] = {"entities": self.identities.expand(entity_ids), **self._merged}
        return bound if predicates is None else {**bound, "predicates": sorted(set(predicates))}

    def _shown(self, row: tuple[Any, ...]) -> Relationship:
        item = relationship_of(row)
        if not self.identities.canonical:
            return item
        return replace(item, source=self.identities.of(item.source), target=self.identities.of(item.target))


_BY_SUBJECT = "(subject_id, revision_key, passage_index) IN {keys:Array(Tuple(String, UInt128, UInt32))}"
"""Finds assertions by the order of their table."""

_PACKED = f"""concat(
    if(predicate = '{CO_OCCURS}', '1', '0'), hex(bitNot(reinterpretAsUInt32(confidence))),
    leftPad(hex(revision_key), 32, '0'), leftPad(hex(passage_index), 8, '0'), if(forward, '1', '0'),
    assertion_id, char(0), toString(predicate), char(0), other)"""
"""An edge as text that sorts like edges: stated before co-occurring, then by falling confidence (the bits of a float
that is not negative rise with it), by passage, and by id."""


def _edge(origin: str, packed: str) -> Edge:
    """From `_PACKED`, whatever follows it behind a NUL."""
    name, predicate, other = packed[50:].split("\0")[:3]
    return Edge(
        origin=origin,
        other=other,
        id=name,
        predicate=predicate,
        confidence=struct.unpack("<f", struct.pack("<I", ~int(packed[1:9], 16) & 0xFFFFFFFF))[0],
        forward=packed[49] == "1",
        passage=PassageKey(int(packed[9:41], 16), int(packed[41:49], 16)),
    )


ASSERTION_FIELDS = (
    "assertion_id, subject_id, object_id, predicate, description, weight, subject_name, subject_type, object_name, "
    "object_type, document_id, passage_index, revision_key, start, end, confidence, extractor, verified"
)

_PASSAGE, _REVISION = 11, 12
"""Where these stand among them."""


def relationship_of(row: tuple[Any, ...]) -> Relationship:
    return Relationship(
        id=row[0],
        source=row[1],
        target=row[2],
        type=row[3],
        description=row[4],
        weight=float(row[5]),
        source_name=row[6],
        source_type=row[7],
        target_name=row[8],
        target_type=row[9],
        chunk_id=f"{row[10]}#{row[11]}",
        document_id=row[10],
        revision=row[12] & 0xFFFFFFFF,
        start=row[13],
        end=row[14],
        confidence=float(row[15]),
        extractor=row[16],
        verified=row[17],
    )
