"""Reads of a plan's steps: every assertion from or to given entities, up to bounds that are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evigraph.plans import Direction
from evigraph.store.assertions import ASSERTION_FIELDS, relationship_of
from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.types import Relationship

SUPPORT = 5
"""Assertions kept of all that join the same two entities in one step."""
_BATCH = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One assertion as a step: from `origin` to `target`, representatives both."""

    origin: str
    target: str
    assertion_id: str
    passage: PassageKey


class PlanReading(Reading):
    """Sorted look-ups without a ranking: complete, or cut and said to be."""

    def links(
        self,
        entity_ids: Sequence[str],
        predicates: Sequence[str],
        *,
        direction: Direction,
        fan_out: int,
        limit: int,
        targets: Sequence[str] | None = None,
    ) -> tuple[list[Link], bool]:
        """Assertions of the predicates that leave the entities in `direction`, by origin, then target; of those that
        reach `targets` alone, where given. At most `SUPPORT` for the same two ends, `fan_out` from one entity and
        `limit` in all; the second value says that one of the last two cut."""
        if not entity_ids or not predicates or limit < 1 or (targets is not None and not targets):
            return [], bool(entity_ids and predicates and limit < 1)
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
            SELECT origin, target, assertion_id, revision_key, passage_index FROM (
                SELECT * FROM ({union}) WHERE origin != target
                ORDER BY origin, target, confidence DESC, revision_key, passage_index, assertion_id
                LIMIT {SUPPORT} BY origin, target)
            ORDER BY origin, target, confidence DESC, revision_key, passage_index, assertion_id
            LIMIT {{each:UInt32}} BY origin LIMIT {{all:UInt32}}"""
        bound: dict[str, Any] = {"predicates": sorted(set(predicates)), "each": fan_out + 1, "all": limit + 1}
        if targets is not None:
            bound["targets"] = self.identities.expand(targets)
        rows = self._rows(sql, entities=self.identities.expand(entity_ids), **bound, **self._merged)
        kept, cut = _within(rows, fan_out)
        found = [
            Link(origin=row[0], target=row[1], assertion_id=row[2], passage=PassageKey(row[3], row[4]))
            for row in kept[:limit]
        ]
        return found, cut or len(kept) > limit

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


def _within(rows: Sequence[tuple[Any, ...]], fan_out: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows without those beyond `fan_out` of one origin, and whether there were any."""
    kept: list[tuple[Any, ...]] = []
    of_origin = 0
    for row in rows:
        of_origin = of_origin + 1 if kept and kept[-1][0] == row[0] else 1
        if of_origin <= fan_out:
            kept.append(row)
    return kept, len(kept) < len(rows)
