"""Claims that do not go together, judged from what they say alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from evigraph.domain import DomainSchema, PredicateType, predicate_key
from evigraph.types import CO_OCCURS, RELATED_TO
from evigraph.views import ContradictionKind

NEGATION = "NOT_"
_OPEN = frozenset({"IS", RELATED_TO})
"""Predicates that are no statement of one thing: what something is, or is somehow related to, are many things."""
_RANK: dict[ContradictionKind, int] = {"negation": 0, "functional": 1, "possible": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What one assertion says, and in which document. `predicate` is without its negation."""

    assertion_id: str
    document: str
    subject: str
    predicate: str
    negated: bool
    object: str
    object_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Claims against each other: on each side the assertions that say the same."""

    kind: ContradictionKind
    subject: str
    predicate: str
    sides: tuple[tuple[Claim, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How a predicate as written is to be read: its name in the schema, or else in upper snake case; whether it denies,
    whether it is functional."""

    predicate: str
    negated: bool
    functional: bool


def read_predicates(predicates: Iterable[str], schema: DomainSchema | None) -> dict[str, Reading]:
    """`NOT_ACQUIRE` denies `ACQUIRE`; spellings are read as one (`domain.predicate_key`), synonyms of the schema as the
    predicate they stand for."""
    known: dict[str, PredicateType] = {}
    for predicate in schema.predicates if schema else ():
        for spelling in (predicate.name, *predicate.synonyms):
            known.setdefault(predicate_key(spelling), predicate)
    return {written: _read(written, known) for written in predicates}


def read_predicate(predicate: str, schema: DomainSchema | None) -> Reading:
    """As `read_predicates`, of one."""
    return read_predicates([predicate], schema)[predicate]


def _read(predicate: str, known: Mapping[str, PredicateType]) -> Reading:
    key = predicate_key(predicate) or predicate
    bare = key.removeprefix(NEGATION)
    # A predicate whose own name begins with the prefix is no denial.
    for spelling in (key, bare):
        if spelling in known:
            found = known[spelling]
            return Reading(predicate=found.name, negated=spelling != key, functional=found.functional)
    return Reading(predicate=bare, negated=bare != key, functional=False)


def contradictions(claims: Iterable[Claim], schema: DomainSchema | None) -> list[Conflict]:
    """Contradictions among claims (kinds as `views.Contradiction` names them), negations first, in a total order.

    With a schema, only a predicate it calls functional makes different objects a contradiction; without one they are
    only `possible`, and only where whole documents disagree: a list of objects in one document is no contradiction, nor
    are several answers to what something IS.
    """
    functional = {predicate.name for predicate in schema.predicates if predicate.functional} if schema else set()
    groups: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.predicate != CO_OCCURS:
            groups[claim.subject, claim.predicate].append(claim)
    found = []
    for (subject, predicate), members in sorted(groups.items()):
        found += _negations(subject, predicate, members)
        affirmed = [claim for claim in members if not claim.negated]
        if predicate in functional:
            found += _differing("functional", subject, predicate, affirmed)
        elif schema is None and predicate not in _OPEN:
            for kind in sorted({claim.object_type for claim in affirmed}):
                of_type = [claim for claim in affirmed if claim.object_type == kind]
                if _disagree(of_type):
                    found += _differing("possible", subject, predicate, of_type)
    return sorted(found, key=lambda one: (_RANK[one.kind], one.subject, one.predicate, one.sides[0][0].object))


def _negations(subject: str, predicate: str, claims: Sequence[Claim]) -> list[Conflict]:
    found = []
    for target in sorted({claim.object for claim in claims}):
        sides = tuple(_side(claims, target, negated) for negated in (False, True))
        if all(sides):
            found.append(Conflict(kind="negation", subject=subject, predicate=predicate, sides=sides))
    return found


def _differing(kind: ContradictionKind, subject: str, predicate: str, claims: Sequence[Claim]) -> list[Conflict]:
    objects = sorted({claim.object for claim in claims})
    if len(objects) < 2:
        return []
    sides = tuple(_side(claims, target, False) for target in objects)
    return [Conflict(kind=kind, subject=subject, predicate=predicate, sides=sides)]


def _side(claims: Iterable[Claim], target: str, negated: bool) -> tuple[Claim, ...]:
    saying = [claim for claim in claims if claim.object == target and claim.negated is negated]
    return tuple(sorted(saying, key=lambda claim: (claim.document, claim.assertion_id)))


def _disagree(claims: Iterable[Claim]) -> bool:
    """Whether two documents name objects of which they share none."""
    named: dict[str, set[str]] = defaultdict(set)
    for claim in claims:
        named[claim.document].add(claim.object)
    distinct: Collection[frozenset[str]] = {frozenset(objects) for objects in named.values()}
    return any(one.isdisjoint(other) for one, other in combinations(distinct, 2))
