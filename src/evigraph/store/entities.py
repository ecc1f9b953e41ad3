"""Reads of names and entities: mentions, identities, profiles, and what lies near a vector."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evigraph.store.identity import narrowed
from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, K, Reading
from evigraph.store.rows import EntityProfile, MentionRow, NameInfo, Tie
from evigraph.types import CO_OCCURS
from evigraph.views import Merge


class EntityReading(Reading):
    """Names and entities of a snapshot, all derived from visible rows."""

    def names(self, keys: Sequence[str]) -> dict[str, NameInfo]:
        """Which of these normalised names the scope knows. A merged entity is known by its representative's name alone;
        `identities.keys_of` gives the names to ask for where somebody typed one."""
        found = self._of_scope("name", sorted(set(keys)), self._looked_up)
        return {key: info for key, info in found.items() if info is not None}

    def _looked_up(self, keys: list[str]) -> dict[str, NameInfo | None]:
        """None for a name that the scope does not know."""
        only_asked = "HAVING shown IN {asked:Array(String)}" if self.identities.canonical else ""
        sql = f"""
            SELECT {self._shown_key} AS shown, uniqExact(revision_key, passage_index), maxIf(weight, role != 'text')
            FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY shown {only_asked} ORDER BY shown"""
        bound: dict[str, Any] = {"names": self.identities.behind(keys)}
        if self.identities.canonical:
            bound |= {"asked": keys, **self._merged_keys}
        rows = self._rows(sql, **bound)
        known = {row[0]: NameInfo(key=row[0], passages=row[1], alias_weight=_decimal(row[2])) for row in rows}
        return {key: known.get(key) for key in keys}

    def mentions_of(self, keys: Sequence[str], *, per_name_limit: int, limit: int) -> list[MentionRow]:
        """Mentions of the given names (as `names` knows them), strongest roles first within a name, at most
        `per_name_limit` of each."""
        by_name = self._of_scope(
            ("mentions of", per_name_limit),
            sorted(set(keys)),
            lambda names: self._fetch_mentions_of(names, per_name_limit),
        )
        return list(itertools.islice(itertools.chain.from_iterable(by_name.values()), limit))

    def _fetch_mentions_of(self, keys: list[str], per_name_limit: int) -> dict[str, tuple[MentionRow, ...]]:
        # Without merges a name is shown as it is, and that it was asked for goes without saying.
        only_asked = "HAVING shown IN {asked:Array(String)}" if self.identities.canonical else ""
        sql = f"""
            SELECT revision_key, passage_index, {self._shown_key} AS shown,
                {self._representative("entity_id")} AS entity, min(name), min(type), min(role), max(weight) AS strength
            FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY shown, revision_key, passage_index, entity {only_asked}
            ORDER BY shown, strength DESC, revision_key, passage_index, entity
            LIMIT {{per_name:UInt32}} BY shown"""
        bound: dict[str, Any] = {"names": self.identities.behind(keys), "per_name": per_name_limit}
        if self.identities.canonical:
            bound |= {"asked": keys, **self._merged_keys}
        found = _grouped(self._mentions(self._rows(sql, **bound)), lambda row: row.key)
        return {key: found.get(key, ()) for key in keys}

    def mentions_in(self, keys: Sequence[PassageKey]) -> list[MentionRow]:
        """Every entity of the given passages, once a passage, by passage, then entity."""
        by_passage = self._of_revisions(("mentions", self._naming), sorted(set(keys)), self._fetch_mentions_in)
        return list(itertools.chain.from_iterable(by_passage.values()))

    def _fetch_mentions_in(self, keys: list[PassageKey]) -> dict[PassageKey, tuple[MentionRow, ...]]:
        sql = f"""
            SELECT revision_key, passage_index, {self._shown_key} AS shown,
                {self._representative("entity_id")} AS entity, argMin(name, (start, name)), argMin(type, (start, type)),
                argMin(role, (role != 'text', role)), max(weight)
            FROM mentions
            WHERE workspace = {{workspace:String}} AND {BY_KEY}
            GROUP BY shown, revision_key, passage_index, entity
            ORDER BY revision_key, passage_index, entity"""
        rows = self._mentions(self._rows(sql, keys=keys, **self._merged_keys))
        found = _grouped(rows, lambda row: row.passage)
        return {key: found.get(key, ()) for key in keys}

    def ties(self, keys: Sequence[PassageKey], *, least: float = 0.0) -> dict[PassageKey, tuple[Tie, ...]]:
        """What each of the given passages says and is about, by name. Mentions in the text that weigh less than `least`
        do not count."""
        kind = "ties", self._naming, least
        return self._of_revisions(kind, keys, lambda missing: self._fetch_ties(missing, least))

    def _fetch_ties(self, keys: list[PassageKey], least: float) -> dict[PassageKey, tuple[Tie, ...]]:
        # Whole numbers add up to the same in any order; those of floats do not.
        sql = f"""
            SELECT revision_key, passage_index, arraySort(groupArray((shown, said, about))) FROM (
                SELECT revision_key, passage_index, {self._shown_key} AS shown,
                    sumIf(toUInt64(round(1000 * weight)), role = 'text') AS said,
                    sumIf(toUInt64(round(1000 * weight)), role != 'text') AS about
                FROM mentions
                WHERE workspace = {{workspace:String}} AND {BY_KEY} AND (role != 'text' OR weight >= {{least:Float32}})
                GROUP BY shown, revision_key, passage_index)
            GROUP BY revision_key, passage_index"""
        rows = self._rows(sql, keys=keys, least=least, **self._merged_keys)
        found = {
            PassageKey(key, index): tuple(Tie(name, said / 1000, about / 1000) for name, said, about in held)
            for key, index, held in rows
        }
        return {key: found.get(key, ()) for key in keys}

    def entity_ids(self, keys: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """Entities behind each name, with their passage counts: homographs of several types share a name. A merged
        entity is found by the name of any of its members, and counts the passages of all."""
        sql = f"""
            SELECT {self._shown_key} AS shown, {self._representative("entity_id")} AS entity,
                uniqExact(revision_key, passage_index) AS passages
            FROM mentions
            WHERE workspace = {{workspace:String}} AND key IN {{names:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY shown, entity ORDER BY shown, passages DESC, entity"""
        if not keys:
            return {}
        shown = {key: self.identities.keys_of(key) for key in sorted(set(keys))}
        names = self.identities.behind(name for among in shown.values() for name in among)
        rows = self._rows(sql, names=names, **self._merged_keys)
        found = {
            key: [
                (entity_id, passages)
                for name, entity_id, passages in sorted(rows, key=lambda row: (-row[2], row[1]))
                if name == key or self._bears(entity_id, key)
            ]
            for key in shown
        }
        return {key: entities for key, entities in found.items() if entities}

    def _bears(self, representative: str, key: str) -> bool:
        """Whether passages in scope call a member of a merged entity so."""
        members = self.identities.members.get(representative, ())
        return any(self.identities.names[member][0] == key for member in members)

    def merges(self) -> list[Merge]:
        """Merges that stand, oldest first, with the members that the scope mentions."""
        if not self.state.merges:
            return []
        involved = sorted({entity for merge in self.state.merges for entity in merge.entities})
        return narrowed(self.state.merges, set(self.mentioned(involved)))

    def mentioned(self, entity_ids: Sequence[str]) -> dict[str, int]:
        """Those of the given entities that a passage in scope mentions, each for itself whatever it is merged with,
        with the number of such passages."""
        sql = f"""
            SELECT entity_id, uniqExact(revision_key, passage_index) FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY entity_id ORDER BY entity_id"""
        return dict(self._rows(sql, entities=sorted(set(entity_ids)))) if entity_ids else {}

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
        of = self._representative("ref") if kind == "entity" else "ref"
        sql = f"""
            SELECT {of} AS fact, max(dotProduct(vector, {{vector:Array(Float32)}})) AS score FROM fact_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND kind = {{kind:String}}
              AND revision_key IN {self.scope.revisions} {chosen if predicates is not None else ""}
            GROUP BY fact ORDER BY score DESC, fact LIMIT {{limit:UInt32}}"""
        bound: dict[str, Any] = {"vector": vector.tolist(), "limit": limit}
        if kind == "entity":
            bound |= self._merged
        if predicates is not None:
            bound["predicates"] = list(predicates)
        rows = self._rows(sql, model=self.model, kind=kind, **bound)
        return [(ref, float(score)) for ref, score in rows]

    def most_connected(self, limit: int) -> list[str]:
        """Entities with the most distinct neighbours in scope, then by id."""
        subject, object_ = self._representative("subject_id"), self._representative("object_id")
        sql = f"""
            SELECT entity FROM (
                SELECT {subject} AS entity, {object_} AS neighbour FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT {object_} AS entity, {subject} AS neighbour FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions})
            GROUP BY entity ORDER BY uniqExactIf(neighbour, neighbour != entity) DESC, entity LIMIT {{limit:UInt32}}"""
        return [row[0] for row in self._rows(sql, limit=limit, **self._merged)]

    # ---------------------------------------------------------------- derived entities

    def profiles(self, entity_ids: Sequence[str]) -> dict[str, EntityProfile]:
        """Entities as the scope shows them; nothing outside it can lend a name, a description or a neighbour. One that
        is merged is shown by its representative: its id, name and type, and the passages of all members."""
        ids = sorted({self.identities.of(entity_id) for entity_id in entity_ids})
        found = self._of_scope("profile", ids, self._fetch_profiles)
        return {entity_id: profile for entity_id, profile in found.items() if profile is not None}

    def _fetch_profiles(self, entity_ids: list[str]) -> dict[str, EntityProfile | None]:
        ids = self.identities.expand(entity_ids)
        sql = f"""
            SELECT entity, argMin(type, (entity_id != entity, type)),
                arraySort(groupUniqArray((revision_key, passage_index))), groupArrayIf(name, entity_id = entity),
                max(confidence), min(extractor)
            FROM (
                SELECT {self._representative("entity_id")} AS entity, * FROM mentions
                WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY entity"""
        with self.beside(lambda: self._described(ids)) as described_as:
            mentioned = self._rows(sql, entities=ids, **self._merged)
            described = described_as()
        profiles: dict[str, EntityProfile | None] = dict.fromkeys(entity_ids)
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
        """Description (best stated assertion, as subject before object), degree, extractor, confidence. `entity_ids`
        hold all members of those that are merged."""
        subject, object_ = self._representative("subject_id"), self._representative("object_id")
        sql = f"""
            SELECT entity, uniqExactIf(neighbour, neighbour != entity),
                argMin(tuple(description, extractor, confidence), rank)
            FROM (
                SELECT {subject} AS entity, {object_} AS neighbour, description, extractor, confidence,
                    (predicate = '{CO_OCCURS}', 0, -confidence, revision_key, passage_index, assertion_id) AS rank
                FROM assertions
                WHERE workspace = {{workspace:String}} AND subject_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT {object_} AS entity, {subject} AS neighbour, description, extractor, confidence,
                    (predicate = '{CO_OCCURS}', 1, -confidence, revision_key, passage_index, assertion_id) AS rank
                FROM assertions
                WHERE workspace = {{workspace:String}} AND object_id IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY entity"""
        rows = self._rows(sql, entities=list(entity_ids), **self._merged)
        return {entity: (best[0], degree, best[1], best[2]) for entity, degree, best in rows}

    def _mentions(self, rows: list[tuple[Any, ...]]) -> list[MentionRow]:
        """Rows of mentions; what is merged has its representative's type."""
        types = {entity_id: kind for entity_id, (_, kind) in self.identities.names.items()}
        return [
            MentionRow(
                passage=PassageKey(row[0], row[1]),
                key=row[2],
                entity_id=row[3],
                name=row[4],
                type=types.get(row[3], row[5]),
                role=row[6],
                weight=_decimal(row[7]),
            )
            for row in rows
        ]


def _grouped(rows: Iterable[MentionRow], by: Callable[[MentionRow], K]) -> dict[K, tuple[MentionRow, ...]]:
    groups: dict[K, list[MentionRow]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return {key: tuple(group) for key, group in groups.items()}


def _decimal(weight: float) -> float:
    """A weight as it was given: one of .9 is stored as the nearest number of 32 bits, which is less than .9."""
    return round(float(weight), 6)


def _commonest(names: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return min(counts, key=lambda name: (-counts[name], name))
