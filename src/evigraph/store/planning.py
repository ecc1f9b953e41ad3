"""Reads of a plan's steps: every entity that assertions join with given ones, and the assertions that do, up to bounds;
what these leave out is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evigraph.plans import Direction
from evigraph.store.assertions import ASSERTION_FIELDS, relationship_of
from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.types import Relationship

SUPPORT = 20
"""Assertions kept of all that join the same two entities in one step: the surest."""
_BATCH = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One assertion as a step: from `origin` to `target`, representatives both."""

    origin: str
    target: str
    assertion_id: str
    passage: PassageKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """What a step reads. `cut` says that there may be more pairs of entities than it holds, `omitted` how many more
    assertions join the pairs it holds."""

    links: Sequence[Link] = ()
    cut: bool = False
    omitted: int = 0


class PlanReading(Reading):
    """Sorted look-ups: complete, or said not to be."""

    def links(
        self,
        entity_ids: Sequence[str],
        predicates: Sequence[str],
        *,
        direction: Direction,
        fan_out: int,
        limit: int,
        targets: Sequence[str] | None = None,
    ) -> Links:
        """Assertions of the predicates that leave the entities in `direction`; of those that reach `targets` alone,
        where given. At most `SUPPORT` for the same two ends, `fan_out` from one entity and `limit` in all. The surest
        for two ends comes first, then the second of each, so that bounds cut further support before other targets."""
        if not entity_ids or not predicates or limit < 1 or (targets is not None and not targets):
            return Links(cut=bool(entity_ids and predicates and limit < 1))
        ways = [("subject_id", "object_id", "out"), ("object_id", "subject_id", "in")]
        union = " UNION ALL ".join(
            f"""
            SELECT {self._representative(start)} AS origin, {self._representative(end)} AS target,
                assertion_id, revision_key, passage_index, confidence
            FROM assertions
            WHERE workspace = {{workspace:String}} AND {start} IN {{entities:Array(String)}}
              AND predicate IN {{predicates:Array(String)}} AND revision_key IN {self.scope.revisions}
              {f"AND {end} IN {{targets:Array(String)}}" if targets is not None else ""}"""
            for start, end, way in ways
            if direction in (way, "both")
        )
        sql = f"""
            SELECT origin, target, assertion_id, revision_key, passage_index, place, stated FROM (
                SELECT origin, target, assertion_id, revision_key, passage_index,
                    row_number() OVER (PARTITION BY origin, target
                        ORDER BY confidence DESC, revision_key, passage_index, assertion_id) AS place,
                    count() OVER (PARTITION BY origin, target) AS stated
                FROM ({union}) WHERE origin != target)
            WHERE place <= {SUPPORT}
            ORDER BY place, origin, target
            LIMIT {{each:UInt32}} BY origin LIMIT {{all:UInt32}}"""
        bound: dict[str, Any] = {"predicates": sorted(set(predicates)), "each": fan_out + 1, "all": limit + 1}
        if targets is not None:
            bound["targets"] = self.identities.expand(targets)
        rows = self._rows(sql, entities=self.identities.expand(entity_ids), **bound, **self._merged)
        within, beyond = _within(rows, fan_out)
        kept = within[:limit]
        # Where the surest assertion of a pair had to go, pairs are missing; else further support alone is.
        cut = any(row[5] == 1 for row in (*beyond, *within[limit:]))
        return Links(
            links=[
                Link(origin=row[0], target=row[1], assertion_id=row[2], passage=PassageKey(row[3], row[4]))
                for row in kept
            ],
            cut=cut,
            omitted=sum(row[6] for row in kept if row[5] == 1) - len(kept),
        )

    def stated(self, links: Sequence[Link]) -> dict[str, Relationship]:
        """The assertions behind links, by id; their ends are representatives."""
        found: dict[str, Relationship] = {}
        for at in range(0, len(links), _BATCH):
            batch = links[at : at + _BATCH]
            sql = f"""
                SELECT {ASSERTION_FIELDS} FROM assertions
                WHERE workspace = {{workspace:String}} AND {BY_KEY} AND assertion_id IN {{ids:Array(String)}}"""
            keys = sorted({link.passage for link in batch})
            for row in self._rows(sql, keys=keys, ids=sorted({link.assertion_id for link in batch})):
                item = relationship_of(row)
                source, target = self.identities.of(item.source), self.identities.of(item.target)
                found[item.id] = replace(item, source=source, target=target)
        return found


def _within(rows: Sequence[tuple[Any, ...]], fan_out: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows up to `fan_out` of one origin, and those beyond."""
    kept: list[tuple[Any, ...]] = []
    beyond: list[tuple[Any, ...]] = []
    of_origin: Counter[str] = Counter()
    for row in rows:
        of_origin[row[0]] += 1
        (kept if of_origin[row[0]] <= fan_out else beyond).append(row)
    return kept, beyond
