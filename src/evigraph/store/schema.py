"""Reads of what kinds of things the scope holds: predicates with their ends, types, names like a given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.store.reading import Reading

LIKE = 0.8
"""Jaro-Winkler similarity from which a name is offered instead of one that nothing carries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredicateProfile:
    """A predicate as the visible assertions use it: how often, and from and to which entity types."""

    predicate: str
    assertions: int
    subject_types: tuple[str, ...]
    object_types: tuple[str, ...]


class SchemaReading(Reading):
    """What a schema is inferred from, and what plans are checked against."""

    def predicate_counts(self) -> list[tuple[str, int]]:
        """Every predicate of the scope with its number of assertions, the commonest first."""
        sql = f"""
            SELECT predicate, count() AS assertions FROM assertions
            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
            GROUP BY predicate ORDER BY assertions DESC, predicate"""
        return [(row[0], row[1]) for row in self._rows(sql)]

    def predicate_profiles(self, limit: int) -> list[PredicateProfile]:
        """The commonest predicates of the scope with the types at their ends."""
        sql = f"""
            SELECT predicate, count() AS assertions, arraySort(groupUniqArray(subject_type)),
                arraySort(groupUniqArray(object_type))
            FROM assertions
            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
            GROUP BY predicate ORDER BY assertions DESC, predicate LIMIT {{limit:UInt32}}"""
        return [
            PredicateProfile(
                predicate=row[0], assertions=row[1], subject_types=tuple(row[2]), object_types=tuple(row[3])
            )
            for row in self._rows(sql, limit=limit)
        ]

    def predicates_at(self, entity_ids: Sequence[str], *, outgoing: bool, incoming: bool, limit: int) -> list[str]:
        """The commonest predicates of assertions that start from (`outgoing`) or end in (`incoming`) the entities."""
        sides = [side for side, wanted in (("subject_id", outgoing), ("object_id", incoming)) if wanted]
        union = " UNION ALL ".join(
            f"""
            SELECT predicate FROM assertions
            WHERE workspace = {{workspace:String}} AND {side} IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
            for side in sides
        )
        sql = f"""
            SELECT predicate FROM ({union})
            GROUP BY predicate ORDER BY count() DESC, predicate LIMIT {{limit:UInt32}}"""
        return [row[0] for row in self._rows(sql, entities=self.identities.expand(entity_ids), limit=limit)]

    def type_counts(self) -> list[tuple[str, int]]:
        """Every entity type of the scope with its number of entities, the commonest first. One that is merged of
        several types counts once under each, as it is of each where a plan asks for a type."""
        sql = f"""
            SELECT type, uniqExact({self._representative("entity_id")}) AS entities FROM (
                SELECT type, entity_id FROM mentions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT subject_type AS type, subject_id AS entity_id FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT object_type AS type, object_id AS entity_id FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions})
            GROUP BY type ORDER BY entities DESC, type"""
        return [(row[0], row[1]) for row in self._rows(sql, **self._merged)]

    def entities_like(self, key: str, limit: int) -> list[str]:
        """Entities with a name like this normalised one, the most alike first."""
        sql = f"""
            SELECT {self._representative("entity_id")} AS entity,
                max(jaroWinklerSimilarity(key, {{name:String}})) AS likeness
            FROM (
                SELECT DISTINCT key, entity_id FROM mentions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions})
            GROUP BY entity HAVING likeness >= {LIKE}
            ORDER BY likeness DESC, entity LIMIT {{limit:UInt32}}"""
        return [row[0] for row in self._rows(sql, name=key, limit=limit, **self._merged)]

    def entity_labels(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Commonest name and type of each entity that the scope mentions or asserts something of."""
        if not entity_ids:
            return {}
        sql = f"""
            SELECT entity, name, type FROM (
                SELECT entity_id AS entity, name, type FROM mentions
                WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT subject_id AS entity, subject_name AS name, subject_type AS type FROM assertions
                WHERE workspace = {{workspace:String}} AND subject_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT object_id AS entity, object_name AS name, object_type AS type FROM assertions
                WHERE workspace = {{workspace:String}} AND object_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY entity, name, type ORDER BY entity, count() DESC, name, type LIMIT 1 BY entity"""
        return {row[0]: (row[1], row[2]) for row in self._rows(sql, entities=sorted(set(entity_ids)))}

    def keys_of(self, entity_ids: Sequence[str]) -> set[str]:
        """Every normalised name under which the scope mentions one of the entities."""
        sql = f"""
            SELECT DISTINCT key FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        return {row[0] for row in self._rows(sql, entities=sorted(set(entity_ids)))} if entity_ids else set()
