"""What was said, by which revision and when; and claims that may not go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from evigraph.once import once
from evigraph.store.identity import Identities, identities
from evigraph.store.rows import utc
from evigraph.store.statements import STATEMENT_FIELDS, StatementReading
from evigraph.types import CO_OCCURS
from evigraph.views import PastStatement, Statement

CLAIMS = 500
"""Claims of one subject and predicate that are compared."""

_SAID = ", ".join(f"said.{field} AS {field}" for field in STATEMENT_FIELDS.split(", "))


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimRow:
    """An assertion reduced to what a contradiction is judged by. `predicate` is the one it was read as."""

    assertion_id: str
    document_id: str
    subject: str
    predicate: str
    negated: bool
    object: str
    object_type: str


class LifecycleReading(StatementReading):
    """Statements over time, and against each other."""

    def predicates(self) -> list[str]:
        """Every predicate in scope, as written."""
        sql = f"""
            SELECT DISTINCT predicate FROM assertions
            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions} ORDER BY predicate"""
        return [row[0] for row in self._rows(sql)]

    def rival_claims(
        self,
        read_as: Mapping[str, tuple[str, bool]],
        *,
        functional: Sequence[str],
        any_predicate: bool,
        entity_ids: Sequence[str] | None,
        limit: int,
    ) -> tuple[list[ClaimRow], bool]:
        """Claims of one subject and predicate among which both a claim and its denial occur, or several objects; the
        latter for `functional` predicates, or with `any_predicate` wherever several documents speak.

        `read_as` gives for predicates as written `(predicate, negated)`. At most `limit` pairs of subject and
        predicate, denials first; the flag says that there were more, or more claims of one pair than are compared.
        """
        subject = self._representative("subject_id")
        about = "" if entity_ids is None else f"AND {subject} IN ({self._subjects_about()})"
        sql = f"""
            SELECT subject, read, max(negated) > min(negated) AS denied,
                arraySlice(arraySort(groupUniqArray((object, negated, document_id, assertion_id, object_type))),
                    1, {CLAIMS + 1})
            FROM (
                SELECT {subject} AS subject, {self._representative("object_id")} AS object,
                    transform(toString(predicate), {{written:Array(String)}}, {{read:Array(String)}},
                        toString(predicate)) AS read,
                    predicate IN {{denials:Array(String)}} AS negated,
                    document_id, assertion_id, object_type
                FROM assertions
                WHERE workspace = {{workspace:String}} AND predicate != '{CO_OCCURS}'
                  AND revision_key IN {self.scope.revisions} {about})
            GROUP BY subject, read
            HAVING denied OR uniqExactIf(object, NOT negated) > 1
                AND (has({{functional:Array(String)}}, read) OR {{any:Bool}} AND uniqExact(document_id) > 1)
            ORDER BY denied DESC, has({{functional:Array(String)}}, read) DESC, subject, read
            LIMIT {{limit:UInt32}}"""
        written = sorted(read_as)
        bound: dict[str, Any] = {
            "written": written,
            "read": [read_as[name][0] for name in written],
            "denials": [name for name in written if read_as[name][1]],
            "functional": sorted(functional),
            "any": any_predicate,
            "limit": limit + 1,
            **self._merged,
        }
        if entity_ids is not None:
            bound["about"] = self.identities.expand(entity_ids)
        rows = self._rows(sql, **bound)
        more = len(rows) > limit or any(len(row[3]) > CLAIMS for row in rows)
        return [_row(row[0], row[1], claim) for row in rows[:limit] for claim in row[3][:CLAIMS]], more

    def _subjects_about(self) -> str:
        """SQL of the subjects of all assertions with an end among `about`."""
        return " UNION ALL ".join(
            f"""
                SELECT {self._representative("subject_id")} FROM assertions
                WHERE workspace = {{workspace:String}} AND {side} IN {{about:Array(String)}}
                  AND revision_key IN {self.scope.revisions}"""
            for side in ("subject_id", "object_id")
        )

    # ---------------------------------------------------------------- history

    @once
    def past_identities(self) -> Identities:
        """Merged entities among all that was ever published, filtered, and is not pruned."""
        involved = sorted({entity for merge in self.state.merges for entity in (merge.canonical, *merge.entities)})
        return identities(self.state.merges, self._ever_mentioned(involved))

    def past_named(self, key: str) -> list[str]:
        """Representatives of the entities that some published revision calls by a normalised name."""
        sql = f"""
            SELECT DISTINCT entity_id FROM mentions
            WHERE workspace = {{workspace:String}} AND key = {{key:String}}
              AND revision_key IN (SELECT revision_key FROM {self._asked.published})"""
        return sorted({self.past_identities.of(row[0]) for row in self._past_rows(sql, key=key)})

    def past_entity(self, entity_id: str) -> tuple[str, str, str] | None:
        """Representative, commonest name and type of an entity that some published revision mentions, or that only
        assertions name; None for any other."""
        ever = f"revision_key IN (SELECT revision_key FROM {self._asked.published})"
        mentions = f"""
            SELECT name, type FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}} AND {ever}"""
        ends = " UNION ALL ".join(
            f"""
            SELECT {side}_name AS name, {side}_type AS type FROM assertions
            WHERE workspace = {{workspace:String}} AND {side}_id IN {{entities:Array(String)}} AND {ever}"""
            for side in ("subject", "object")
        )
        representative = self.past_identities.of(entity_id)
        for named in (mentions, ends):
            sql = f"SELECT name, min(type) FROM ({named}) GROUP BY name ORDER BY count() DESC, name LIMIT 1"
            rows = self._past_rows(sql, entities=[representative])
            if rows:
                return representative, *rows[0]
        return None

    def history(self, entity_id: str, *, limit: int, offset: int) -> tuple[list[PastStatement], int]:
        """Every assertion about an entity that was published and is not pruned, oldest first, and how many."""
        members = self.past_identities.expand([entity_id])
        about = "subject_id IN {entities:Array(String)}"
        sql = f"""
            SELECT {_SAID}, live.until_generation, live.until, live.until_deleted FROM (
                SELECT {STATEMENT_FIELDS} FROM assertions WHERE workspace = {{workspace:String}} AND {about}
                UNION ALL
                SELECT {STATEMENT_FIELDS} FROM assertions
                WHERE workspace = {{workspace:String}} AND object_id IN {{entities:Array(String)}} AND NOT {about}
            ) AS said
            INNER JOIN (
                SELECT revision_key, generation AS since, until_generation, until, until_deleted
                FROM {self._asked.published}) AS live ON said.revision_key = live.revision_key"""
        page = f"""{sql}
            ORDER BY live.since, said.revision_key, passage_index, start, assertion_id
            LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}"""
        rows = self._past_rows(page, entities=members, limit=limit, offset=offset)
        total = int(self._past_rows(f"SELECT count() FROM ({sql})", entities=members)[0][0])
        said = self._statements(rows, self.past_identities.of)
        made = self._still_made(said)
        found = []
        for row, statement in zip(rows, said, strict=True):
            until_generation, until, deleted = row[-3:]
            ended: Literal["replaced", "deleted"] = "deleted" if deleted else "replaced"
            found.append(
                PastStatement(
                    **asdict(statement),
                    visible=not until_generation,
                    until_generation=until_generation or None,
                    until=utc(until) if until_generation else None,
                    ended_by=ended if until_generation else None,
                    still_made=_claim(statement) in made,
                )
            )
        return found, total

    def _still_made(self, statements: Sequence[Statement]) -> set[tuple[str, str, str]]:
        """Which claims of these statements a visible revision makes, of whichever members of a merge."""
        sql = f"""
            SELECT DISTINCT subject_id, toString(predicate), object_id FROM assertions
            WHERE workspace = {{workspace:String}} AND subject_id IN {{subjects:Array(String)}}
              AND (subject_id, toString(predicate), object_id) IN {{claims:Array(Tuple(String, String, String))}}
              AND revision_key IN {self.scope.revisions}"""
        of, members = self.past_identities.of, self.past_identities.expand
        claims = sorted(
            {
                (subject, predicate, target)
                for one, predicate, other in {_claim(statement) for statement in statements}
                for subject, target in product(members([one]), members([other]))
            }
        )
        if not claims:
            return set()
        rows = self._rows(sql, subjects=sorted({claim[0] for claim in claims}), claims=claims)
        return {(of(subject), predicate, of(target)) for subject, predicate, target in rows}

    def _ever_mentioned(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Those of the given entities that some published revision mentions, with key and type."""
        sql = f"""
            SELECT DISTINCT entity_id, key, type FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN (SELECT revision_key FROM {self._asked.published})
            ORDER BY entity_id, key, type"""
        rows = self._past_rows(sql, entities=list(entity_ids)) if entity_ids else []
        return {entity_id: (key, kind) for entity_id, key, kind in rows}

    def _past_rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        """Rows of statements over `Scope.published`, which the list of visible revisions cannot stand for."""
        return self._run(sql, {**self._asked.parameters, **parameters})


def _claim(statement: Statement) -> tuple[str, str, str]:
    return statement.subject, statement.predicate, statement.object


def _row(subject: str, predicate: str, claim: tuple[Any, ...]) -> ClaimRow:
    target, negated, document_id, assertion_id, object_type = claim
    return ClaimRow(
        assertion_id=assertion_id,
        document_id=document_id,
        subject=subject,
        predicate=predicate,
        negated=bool(negated),
        object=target,
        object_type=object_type,
    )
