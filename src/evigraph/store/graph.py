"""Reads of the graph: names, mentions, entities and assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.store.rows import EntityProfile, MentionRow, NameInfo
from evigraph.types import CO_OCCURS, Relationship

Direction = Literal["out", "in", "both"]


class GraphReading(Reading):
    """Entities and assertions of a snapshot, all derived from visible rows."""

    def names(self, keys: Sequence[str]) -> dict[str, NameInfo]:
        """Which of these normalised names the scope knows."""
        sql = f"""
            SELECT key, uniqExact(revision_key, passage_index), maxIf(weight, role != 'text')
            FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY key ORDER BY key"""
        rows = self._rows(sql, names=sorted(set(keys))) if keys else []
        return {key: NameInfo(key=key, passages=passages, alias_weight=float(weight)) for key, passages, weight in rows}

    def mentions_of(self, keys: Sequence[str], *, per_name_limit: int, limit: int) -> list[MentionRow]:
        """Mentions of the given names, strongest roles first within a name, at most `per_name_limit` of each."""
        sql = f"""
            SELECT revision_key, passage_index, key, entity_id, min(name), min(type), min(role), max(weight) AS strength
            FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY key, revision_key, passage_index, entity_id
            ORDER BY key, strength DESC, revision_key, passage_index, entity_id
            LIMIT {{per_name:UInt32}} BY key LIMIT {{limit:UInt32}}"""
        if not keys:
            return []
        return _mentions(self._rows(sql, names=sorted(set(keys)), per_name=per_name_limit, limit=limit))

    def mentions_in(self, keys: Sequence[PassageKey]) -> list[MentionRow]:
        """Every entity of the given passages, once a passage, by passage, then entity."""
        sql = f"""
            SELECT revision_key, passage_index, key, entity_id, argMin(name, (start, name)), argMin(type, start),
                argMin(role, (role != 'text', role)), max(weight)
            FROM mentions WHERE workspace = {{workspace:String}} AND {BY_KEY}
            GROUP BY key, revision_key, passage_index, entity_id
            ORDER BY revision_key, passage_index, entity_id"""
        return _mentions(self._rows(sql, keys=list(keys))) if keys else []

    def entity_ids(self, keys: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """Entities behind each name, with their passage counts: homographs of several types share a name."""
        sql = f"""
            SELECT key, entity_id, uniqExact(revision_key, passage_index) AS passages FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY key, entity_id ORDER BY key, passages DESC, entity_id"""
        found: dict[str, list[tuple[str, int]]] = {}
        for key, entity_id, passages in self._rows(sql, names=sorted(set(keys))) if keys else []:
            found.setdefault(key, []).append((entity_id, passages))
        return found

    def nearest_entities(self, vector: NDArray[np.float32], limit: int) -> list[tuple[str, float]]:
        """Entities whose name and description lie nearest, as `(entity_id, cosine)`."""
        return self._nearest_facts("entity", vector, limit)

    def nearest_assertions(
        self, vector: NDArray[np.float32], limit: int, *, predicates: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Assertions nearest to a vector, as `(assertion_id, cosine)`; of the given predicates only, where given."""
        return self._nearest_facts("assertion", vector, limit, predicates)

    def _nearest_facts(
        self, kind: str, vector: NDArray[np.float32], limit: int, predicates: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        chosen = f"""AND ref IN (
            SELECT assertion_id FROM assertions
            WHERE workspace = {{workspace:String}} AND predicate IN {{predicates:Array(String)}}
              AND revision_key IN {self.scope.revisions})"""
        sql = f"""
            SELECT ref, max(dotProduct(vector, {{vector:Array(Float32)}})) AS score FROM fact_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND kind = {{kind:String}}
              AND revision_key IN {self.scope.revisions} {chosen if predicates is not None else ""}
            GROUP BY ref ORDER BY score DESC, ref LIMIT {{limit:UInt32}}"""
        bound: dict[str, Any] = {"vector": vector.tolist(), "limit": limit}
        if predicates is not None:
            bound["predicates"] = list(predicates)
        rows = self._rows(sql, model=self.model, kind=kind, **bound)
        return [(ref, float(score)) for ref, score in rows]

    def most_connected(self, limit: int) -> list[str]:
        """Entities with the most distinct neighbours in scope, then by id."""
        sql = f"""
            SELECT entity FROM (
                SELECT subject_id AS entity, object_id AS neighbour FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT object_id AS entity, subject_id AS neighbour FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions})
            GROUP BY entity ORDER BY uniqExact(neighbour) DESC, entity LIMIT {{limit:UInt32}}"""
        return [row[0] for row in self._rows(sql, limit=limit)]

    # ---------------------------------------------------------------- assertions

    def assertions_of(
        self,
        entity_ids: Sequence[str],
        *,
        per_node_limit: int,
        limit: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[tuple[str, Relationship]]:
        """One traversal frontier: `(from entity, assertion)`, strongest first, at most `per_node_limit` per entity.

        Stated assertions come before co-occurrence, whatever their confidence.
        """
        if not entity_ids:
            return []
        sides = [side for side, ways in (("subject_id", "out"), ("object_id", "in")) if direction in ("both", ways)]
        allowed = "AND predicate IN {predicates:Array(String)}" if predicates is not None else ""
        union = " UNION ALL ".join(
            f"""
            SELECT {side} AS origin, * FROM assertions
            WHERE workspace = {{workspace:String}} AND {side} IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions} {allowed}"""
            for side in sides
        )
        sql = f"""
            SELECT origin, {_ASSERTION_FIELDS} FROM ({union})
            ORDER BY origin, predicate = '{CO_OCCURS}', confidence DESC, revision_key, passage_index, assertion_id
            LIMIT {{per_node:UInt32}} BY origin LIMIT {{limit:UInt32}}"""
        bound: dict[str, Any] = {"entities": sorted(set(entity_ids)), "per_node": per_node_limit, "limit": limit}
        if predicates is not None:
            bound["predicates"] = list(predicates)
        return [(row[0], _relationship(row[1:])) for row in self._rows(sql, **bound)]

    def assertions_named(self, assertion_ids: Sequence[str]) -> dict[str, Relationship]:
        """Assertions by id, those in scope."""
        sql = f"""
            SELECT {_ASSERTION_FIELDS} FROM assertions
            WHERE workspace = {{workspace:String}} AND assertion_id IN {{ids:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        rows = self._rows(sql, ids=list(assertion_ids)) if assertion_ids else []
        return {row[0]: _relationship(row) for row in rows}

    def assertions_in(self, keys: Sequence[PassageKey], *, limit: int) -> list[Relationship]:
        """Assertions the given passages make, stated ones first."""
        sql = f"""
            SELECT {_ASSERTION_FIELDS} FROM assertions WHERE workspace = {{workspace:String}} AND {BY_KEY}
            ORDER BY predicate = '{CO_OCCURS}', confidence DESC, revision_key, passage_index, start, assertion_id
            LIMIT {{limit:UInt32}}"""
        return [_relationship(row) for row in self._rows(sql, keys=list(keys), limit=limit)] if keys else []

    # ---------------------------------------------------------------- derived entities

    def profiles(self, entity_ids: Sequence[str]) -> dict[str, EntityProfile]:
        """Entities as the scope shows them; nothing outside it can lend a name, a description or a neighbour."""
        if not entity_ids:
            return {}
        ids = sorted(set(entity_ids))
        sql = f"""
            SELECT entity_id, any(type), arraySort(groupUniqArray((revision_key, passage_index))),
                groupArray(name), max(confidence), min(extractor)
            FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY entity_id"""
        mentioned = self._rows(sql, entities=ids)
        described = self._described(ids)
        profiles = {}
        for entity_id, kind, passages, names, confidence, extractor in mentioned:
            description, degree, by, how_sure = described.get(entity_id, ("", 0, extractor, confidence))
            profiles[entity_id] = EntityProfile(
                entity_id=entity_id,
                name=_commonest(names),
                type=kind,
                description=description,
                extractor=by,
                confidence=float(how_sure),
                degree=degree,
                passages=tuple(PassageKey(*passage) for passage in passages),
                passage_count=len(passages),
            )
        return profiles

    def _described(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, int, str, float]]:
        """Description (best stated assertion, as subject before object), degree, extractor, confidence."""
        sql = f"""
            SELECT entity, uniqExact(neighbour), argMin(tuple(description, extractor, confidence), rank) FROM (
                SELECT subject_id AS entity, object_id AS neighbour, description, extractor, confidence,
                    (predicate = '{CO_OCCURS}', 0, -confidence, revision_key, passage_index, assertion_id) AS rank
                FROM assertions
                WHERE workspace = {{workspace:String}} AND subject_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT object_id AS entity, subject_id AS neighbour, description, extractor, confidence,
                    (predicate = '{CO_OCCURS}', 1, -confidence, revision_key, passage_index, assertion_id) AS rank
                FROM assertions
                WHERE workspace = {{workspace:String}} AND object_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY entity"""
        rows = self._rows(sql, entities=list(entity_ids))
        return {entity: (best[0], degree, best[1], best[2]) for entity, degree, best in rows}


_ASSERTION_FIELDS = (
    "assertion_id, subject_id, object_id, predicate, description, weight, subject_name, subject_type, object_name, "
    "object_type, document_id, passage_index, revision_key, start, end, confidence, extractor"
)


def _relationship(row: tuple[Any, ...]) -> Relationship:
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
    )


def _mentions(rows: list[tuple[Any, ...]]) -> list[MentionRow]:
    return [
        MentionRow(
            passage=PassageKey(row[0], row[1]),
            key=row[2],
            entity_id=row[3],
            name=row[4],
            type=row[5],
            role=row[6],
            weight=float(row[7]),
        )
        for row in rows
    ]


def _commonest(names: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return min(counts, key=lambda name: (-counts[name], name))
