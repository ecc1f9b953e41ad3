"""Reads behind the graph's pages: search by name, what is known of an entity, who its neighbours are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evigraph.plans import Direction
from evigraph.store.statements import STATEMENT_FIELDS, SUREST_FIRST, Published, StatementReading
from evigraph.types import CO_OCCURS
from evigraph.views import MentionView, RelationView, SourceView, Statement, SurfaceName

LISTED = 20
"""Assertion and chunk ids listed for one relationship."""

_SIDES: tuple[tuple[str, str, Direction], ...] = (("subject_id", "object_id", "out"), ("object_id", "subject_id", "in"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """One neighbour of one entity. `stated`: some assertion says more than that they co-occur. `degree` counts the
    neighbours of `origin` that the filters leave, before any limit."""

    origin: str
    neighbour: str
    stated: bool
    degree: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Supported:
    """The surest assertions that join two entities, and how many there are."""

    shown: tuple[Statement, ...]
    total: int


class ExploreReading(StatementReading):
    """Entities and relationships, derived from visible rows. Ids that come in may be of any member of a merge; ids
    that go out are of representatives."""

    # ---------------------------------------------------------------- lists of entities

    def search_entities(
        self, words: Sequence[str], *, type: str | None, limit: int, offset: int
    ) -> tuple[list[tuple[str, float]], int]:
        """Entities a name of which shares words with `words` (normalised), with scores in 0-1, and how many there are.

        A score is the share of common words among all words of both, a word that only begins one of the name's counting
        half. Best first, then by mentions, then by id.
        """
        entity = self._representative("entity_id")
        sql = f"""
            SELECT entity, max(score) AS best, sum(mentions) AS mentioned FROM (
                SELECT entity, mentions, splitByChar(' ', key) AS tokens,
                    arrayCount(word -> has(tokens, word), {{words:Array(String)}}) AS same,
                    arrayCount(word -> NOT has(tokens, word) AND arrayExists(token -> startsWith(token, word), tokens),
                        {{words:Array(String)}}) AS begun,
                    (same + 0.5 * begun) / (length({{words:Array(String)}}) + length(tokens) - same - begun) AS score
                FROM (
                    SELECT {entity} AS entity, key, count() AS mentions FROM mentions
                    WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                    GROUP BY entity, key)
                WHERE same + begun > 0 {self._of_type(type)})
            GROUP BY entity"""
        bound = {"words": sorted(set(words)), **self._merged, **self._type_bound(type)}
        page = f"{sql} ORDER BY best DESC, mentioned DESC, entity LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"
        rows = self._rows(page, limit=limit, offset=offset, **bound)
        return [(row[0], float(row[1])) for row in rows], self._total(sql, bound, len(rows), limit, offset)

    def list_entities(self, *, type: str | None, limit: int, offset: int) -> tuple[list[str], int]:
        """Entities by distinct neighbours, then by id; and how many there are."""
        subject, target = self._representative("subject_id"), self._representative("object_id")
        edges = " UNION ALL ".join(
            f"""
                SELECT {near} AS entity, {far} AS neighbour, false AS mention FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}"""
            for near, far in ((subject, target), (target, subject))
        )
        sql = f"""
            SELECT entity, uniqExactIf(neighbour, NOT mention AND neighbour != entity) AS degree FROM (
                SELECT {self._representative("entity_id")} AS entity, '' AS neighbour, true AS mention FROM mentions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL {edges})
            WHERE true {self._of_type(type)} GROUP BY entity HAVING max(mention)"""
        bound = {**self._merged, **self._type_bound(type)}
        page = f"{sql} ORDER BY degree DESC, entity LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"
        rows = self._rows(page, limit=limit, offset=offset, **bound)
        return [row[0] for row in rows], self._total(sql, bound, len(rows), limit, offset)

    def tallies(self, entity_ids: Sequence[str]) -> dict[str, tuple[int, int, tuple[str, ...]]]:
        """Mentions, documents and the six commonest surface forms of entities, by representative."""
        sql = f"""
            SELECT {self._representative("entity_id")} AS entity, count(), uniqExact(revision_key),
                arrayMap(pair -> pair.2, arraySlice(arraySort(arrayMap(
                    form -> (-countEqual(groupArray(name), form), form), groupUniqArray(name))), 1, 6))
            FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY entity"""
        members = self.identities.expand(entity_ids)
        rows = self._rows(sql, entities=members, **self._merged) if members else []
        return {row[0]: (row[1], row[2], tuple(row[3])) for row in rows}

    # ---------------------------------------------------------------- one entity

    def surface_names(self, entity_ids: Sequence[str], *, limit: int) -> tuple[list[SurfaceName], int]:
        """Surface forms, commonest first, and how many there are."""
        sql = f"""
            SELECT name, entity_id, count() AS mentions FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY name, entity_id"""
        bound = {"entities": self.identities.expand(entity_ids)}
        rows = self._rows(f"{sql} ORDER BY mentions DESC, name, entity_id LIMIT {{limit:UInt32}}", limit=limit, **bound)
        found = [SurfaceName(name=row[0], entity=row[1], mentions=row[2]) for row in rows]
        return found, self._total(sql, bound, len(rows), limit)

    def source_documents(self, entity_ids: Sequence[str], *, limit: int) -> tuple[list[SourceView], int]:
        """Documents that mention the entities, those with most mentions first, and how many there are."""
        sql = f"""
            SELECT revision_key, count() AS mentions FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY revision_key"""
        bound = {"entities": self.identities.expand(entity_ids)}
        rows = self._rows(f"{sql} ORDER BY mentions DESC, revision_key LIMIT {{limit:UInt32}}", limit=limit, **bound)
        documents = self.published([row[0] for row in rows])
        found = [
            SourceView(
                document_id=documents[key].document_id,
                source=documents[key].source,
                title=documents[key].title,
                date=documents[key].date,
                revision=documents[key].revision,
                mentions=mentions,
            )
            for key, mentions in rows
        ]
        return found, self._total(sql, bound, len(rows), limit)

    def mention_views(self, entity_ids: Sequence[str], *, limit: int, offset: int = 0) -> tuple[list[MentionView], int]:
        """Mentions by document, passage and place, and how many there are."""
        sql = f"""
            SELECT revision_key, passage_index, start, end, name, role, entity_id, confidence, extractor FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        bound = {"entities": self.identities.expand(entity_ids)}
        page = f"""{sql}
            ORDER BY revision_key, passage_index, start, end, name, role, entity_id, confidence, extractor
            LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"""
        rows = self._rows(page, limit=limit, offset=offset, **bound)
        documents = self.published([row[0] for row in rows])
        found = [
            MentionView(
                chunk_id=f"{documents[row[0]].document_id}#{row[1]}",
                document_id=documents[row[0]].document_id,
                revision=documents[row[0]].revision,
                source=documents[row[0]].source,
                title=documents[row[0]].title,
                date=documents[row[0]].date,
                start=row[2],
                end=row[3],
                surface=row[4],
                role=row[5],
                entity=row[6],
                confidence=round(float(row[7]), 6),
                extractor=row[8],
            )
            for row in rows
        ]
        return found, self._total(sql, bound, len(rows), limit, offset)

    def statements_of(
        self, entity_ids: Sequence[str], side: Literal["subject", "object"], *, limit: int, offset: int = 0
    ) -> tuple[list[Statement], int]:
        """Assertions with the entities as subject or object, surest first, and how many there are."""
        sql = f"""
            SELECT {STATEMENT_FIELDS} FROM assertions
            WHERE workspace = {{workspace:String}} AND {side}_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        bound = {"entities": self.identities.expand(entity_ids)}
        page = f"{sql} ORDER BY {SUREST_FIRST} LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"
        rows = self._rows(page, limit=limit, offset=offset, **bound)
        return self._statements(rows, self.identities.of), self._total(sql, bound, len(rows), limit, offset)

    def weight(self, entity_ids: Sequence[str]) -> float:
        """Sum of the weights of all assertions of the entities, co-occurrence left out."""
        # A sorted array sums to the same last bit, whichever thread ends first; weights are stored in single precision,
        # so that digits beyond the fourth say nothing.
        sql = f"""
            SELECT arraySum(arraySort(groupArray(toFloat64(weight)))) FROM (
                SELECT weight FROM assertions
                WHERE workspace = {{workspace:String}} AND predicate != '{CO_OCCURS}'
                  AND subject_id IN {{entities:Array(String)}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT weight FROM assertions
                WHERE workspace = {{workspace:String}} AND predicate != '{CO_OCCURS}'
                  AND object_id IN {{entities:Array(String)}} AND subject_id NOT IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions})"""
        return round(float(self._rows(sql, entities=self.identities.expand(entity_ids))[0][0]), 4)

    # ---------------------------------------------------------------- around entities

    def relations(
        self,
        near: Sequence[str],
        far: Sequence[str] | None = None,
        *,
        limit: int,
        offset: int = 0,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> tuple[list[RelationView], int]:
        """Relationships of the entities `near` (with those of `far`, where given), heaviest first, co-occurrence last;
        and how many there are."""
        sql = f"""
            SELECT {self._representative("subject_id")} AS subject, predicate,
                {self._representative("object_id")} AS object,
                argMin((subject_name, object_name, description), rank),
                arraySum(arraySort(groupArray(toFloat64(weight)))) AS total, max(weight), count() AS statements,
                uniqExact(revision_key), arraySlice(arraySort(groupArray((rank, assertion_id))), 1, {LISTED}),
                arraySlice(arraySort(groupUniqArray((revision_key, passage_index))), 1, {LISTED})
            FROM (
                SELECT *, (-confidence, revision_key, passage_index, start, assertion_id) AS rank
                FROM ({self._asserted(far is not None, predicates, direction)}))
            GROUP BY subject, predicate, object"""
        bound: dict[str, Any] = {"near": self.identities.expand(near), **self._merged}
        if far is not None:
            bound["far"] = self.identities.expand(far)
        if predicates is not None:
            bound["predicates"] = list(predicates)
        page = f"""{sql}
            ORDER BY predicate = '{CO_OCCURS}', total DESC, statements DESC, subject, predicate, object
            LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"""
        rows = self._rows(page, limit=limit, offset=offset, **bound) if near else []
        documents = self.published([key for row in rows for key, _ in row[9]])
        found = [_relation(row, documents) for row in rows]
        return found, self._total(sql, bound, len(rows), limit, offset) if near else 0

    def _asserted(self, bounded: bool, predicates: Sequence[str] | None, direction: Direction) -> str:
        """SQL of the assertions with one end among `near`, and the other among `far` where it is `bounded`."""
        # By one end, then by the other, since each has an order of its own to look it up in.
        ends = [
            f"{one} IN {{near:Array(String)}}" + (f" AND {other} IN {{far:Array(String)}}" if bounded else "")
            for one, other, way in _SIDES
            if direction in ("both", way)
        ]
        if len(ends) == 2:
            ends[1] += f" AND NOT ({ends[0]})"
        return " UNION ALL ".join(
            f"""
                SELECT * FROM assertions
                WHERE workspace = {{workspace:String}} AND {end}
                  AND revision_key IN {self.scope.revisions} {_allowed(predicates)}"""
            for end in ends
        )

    def neighbours(
        self,
        entity_ids: Sequence[str],
        *,
        per_node_limit: int,
        limit: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> list[Reach]:
        """Neighbours of a frontier, stated ones and surer ones first, at most `per_node_limit` of each entity."""
        edges = " UNION ALL ".join(
            f"""
                SELECT {self._representative(near)} AS origin, {self._representative(far)} AS neighbour,
                    predicate, confidence
                FROM assertions
                WHERE workspace = {{workspace:String}} AND {near} IN {{entities:Array(String)}}
                  AND revision_key IN {self.scope.revisions} {_allowed(predicates)}"""
            for near, far, way in _SIDES
            if direction in ("both", way)
        )
        sql = f"""
            SELECT origin, neighbour, stated, count() OVER (PARTITION BY origin) AS degree FROM (
                SELECT origin, neighbour, max(predicate != '{CO_OCCURS}') AS stated, max(confidence) AS surest
                FROM ({edges}) WHERE origin != neighbour GROUP BY origin, neighbour)
            ORDER BY origin, stated DESC, surest DESC, neighbour
            LIMIT {{per_node:UInt32}} BY origin LIMIT {{limit:UInt32}}"""
        if not entity_ids:
            return []
        bound: dict[str, Any] = {"entities": self.identities.expand(entity_ids), **self._merged}
        if predicates is not None:
            bound["predicates"] = list(predicates)
        rows = self._rows(sql, per_node=per_node_limit, limit=limit, **bound)
        return [Reach(origin=row[0], neighbour=row[1], stated=bool(row[2]), degree=row[3]) for row in rows]

    def statements_between(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        per_pair: int,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
    ) -> dict[tuple[str, str], Supported]:
        """Assertions that join each pair of representatives `(a, b)`, surest first: from `a` to `b` under `out`, from
        `b` to `a` under `in`; at most `per_pair` of each."""
        if not pairs:
            return {}
        wanted = sorted({pair for one in pairs for pair in _oriented(one, direction)})
        subject, target = self._representative("subject_id"), self._representative("object_id")
        sql = f"""
            SELECT {STATEMENT_FIELDS}, count() OVER (PARTITION BY {subject}, {target}) AS total FROM assertions
            WHERE workspace = {{workspace:String}} AND subject_id IN {{subjects:Array(String)}}
              AND ({subject}, {target}) IN {{pairs:Array(Tuple(String, String))}}
              AND revision_key IN {self.scope.revisions} {_allowed(predicates)}
            ORDER BY {SUREST_FIRST} LIMIT {{per_pair:UInt32}} BY {subject}, {target}"""
        bound: dict[str, Any] = {
            "subjects": self.identities.expand([one for one, _ in wanted]),
            "pairs": wanted,
            "per_pair": per_pair,
            **self._merged,
        }
        if predicates is not None:
            bound["predicates"] = list(predicates)
        rows = self._rows(sql, **bound)
        found = self._statements(rows, self.identities.of)
        totals = {(one.subject, one.object): int(row[-1]) for row, one in zip(rows, found, strict=True)}
        supported = {}
        for pair in pairs:
            ways = _oriented(pair, direction)
            supported[pair] = Supported(
                shown=tuple([one for one in found if (one.subject, one.object) in ways][:per_pair]),
                total=sum(totals.get(way, 0) for way in ways),
            )
        return supported

    def _of_type(self, type: str | None) -> str:
        """SQL that keeps entities of a type; one that is merged is of the types of all its members in scope."""
        # An id is `type:name`; a type may hold a colon, a name never does.
        if type is None:
            return ""
        alone = "startsWith(entity, {kind:String}) AND position(entity, ':', {after:UInt64}) = 0"
        return f"AND ({alone} OR entity IN {{bearing:Array(String)}})"

    def _type_bound(self, type: str | None) -> dict[str, Any]:
        if type is None:
            return {}
        kind = type.lower()
        bearing = sorted(
            representative
            for representative, members in self.identities.members.items()
            if any(member.rpartition(":")[0] == kind for member in members)
        )
        return {"kind": f"{kind}:", "after": len(kind.encode()) + 2, "bearing": bearing}

    def _total(self, sql: str, bound: dict[str, Any], shown: int, limit: int, offset: int = 0) -> int:
        """How many rows `sql` has, of which `shown` were read; counted only where a page does not tell."""
        if shown < limit and (shown or not offset):
            return offset + shown
        return int(self._rows(f"SELECT count() FROM ({sql})", **bound)[0][0])


def _oriented(pair: tuple[str, str], direction: Direction) -> list[tuple[str, str]]:
    ways = {"out": [pair], "in": [pair[::-1]], "both": [pair, pair[::-1]]}
    return ways[direction]


def _allowed(predicates: Sequence[str] | None) -> str:
    return "" if predicates is None else "AND predicate IN {predicates:Array(String)}"


def _relation(row: tuple[Any, ...], documents: Mapping[int, Published]) -> RelationView:
    return RelationView(
        subject=row[0],
        predicate=row[1],
        object=row[2],
        subject_name=row[3][0],
        object_name=row[3][1],
        description=row[3][2],
        weight=round(float(row[4]), 4),
        max_weight=round(float(row[5]), 4),
        statements=row[6],
        documents=row[7],
        assertions=tuple(name for _, name in row[8]),
        chunks=tuple(f"{documents[key].document_id}#{index}" for key, index in row[9]),
    )
