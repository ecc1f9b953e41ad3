"""What a plan may speak of: predicates, types and entities of the schema and the scope. Unknown ones stop the plan,
with what would have been valid; nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from evigraph.domain import PredicateType, predicate_key
from evigraph.errors import InvalidValue
from evigraph.once import once
from evigraph.plans import Direction, Match
from evigraph.store import Snapshot
from evigraph.text.names import name_key, split_entity_id

ALTERNATIVES = 10
"""Valid values offered instead of an unknown one."""
_NEAR = 60.0
"""Similarity (0-100) from which a name is near another."""


class CannotGoOn(Exception):
    """A step that no valid reading exists for. Caught where the plan is executed; it never leaves this package."""

    def __init__(self, step: str, reason: str, alternatives: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.step, self.reason, self.alternatives = step, reason, tuple(alternatives)[:ALTERNATIVES]


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicate:
    """A predicate as asked for: the spellings the scope's assertions have for it, and what the schema says of it."""

    name: str
    spellings: tuple[str, ...]
    declared: PredicateType | None = None

    def fits(self, types: Iterable[str], direction: Direction) -> bool:
        """Whether the schema allows it for one of the types, at the end that `direction` starts from."""
        if self.declared is None:
            return True
        ends = {"out": [self.declared.domain], "in": [self.declared.range]}.get(
            direction, [self.declared.domain, self.declared.range]
        )
        return any(not allowed or kind in allowed for allowed in ends for kind in types)


class Vocabulary:
    """Names of one snapshot as plans may write them. Predicates compare in upper snake case; synonyms that a given
    schema declares stand for their predicate."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.schema = snapshot.state.schema
        declared = self.schema.predicates if self.schema else ()
        self._declared = {item.name: item for item in declared}
        self._canonical = {name: item.name for item in declared for name in (item.name, *item.synonyms)}

    @once
    def predicates(self) -> dict[str, Predicate]:
        """By canonical name: the declared ones in their order, then what assertions say besides, the commonest
        first."""
        spellings: dict[str, list[str]] = {name: [] for name in self._declared}
        for stored, _ in self.snapshot.predicate_counts():
            key = predicate_key(stored) or stored
            spellings.setdefault(self._canonical.get(key, key), []).append(stored)
        return {
            name: Predicate(name=name, spellings=tuple(sorted(found)), declared=self._declared.get(name))
            for name, found in spellings.items()
        }

    @once
    def types(self) -> tuple[str, ...]:
        declared = [item.name for item in self.schema.types] if self.schema else []
        return tuple(dict.fromkeys([*declared, *(name for name, _ in self.snapshot.type_counts())]))

    def predicate(self, step: str, given: str) -> Predicate:
        """The predicate of a name. Raises `CannotGoOn` for one that neither schema nor assertions know."""
        key = predicate_key(given)
        found = self.predicates.get(self._canonical.get(key, key))
        if found is None:
            raise CannotGoOn(step, f"unknown predicate {_short(given)}", self._near(key, list(self.predicates)))
        return found

    def usable(self, step: str, names: Sequence[str], types: Sequence[str], direction: Direction) -> list[str]:
        """The stored spellings of predicates, which the schema must allow for one of the bound types. Raises
        `CannotGoOn`."""
        found = [self.predicate(step, name) for name in names]
        if types and not any(item.fits(types, direction) for item in found):
            fitting = [name for name, item in self.predicates.items() if item.declared and item.fits(types, direction)]
            side = {"out": "domain", "in": "range"}.get(direction, "domain and range")
            raise CannotGoOn(
                step,
                f"unusable predicate: by the schema's {side}, {', '.join(item.name for item in found)} "
                f"cannot start from {', '.join(types)}",
                fitting,
            )
        return sorted({spelling for item in found for spelling in item.spellings})

    def type(self, step: str, given: str) -> str:
        """The type of a name. Raises `CannotGoOn`."""
        wanted = given.upper()
        if wanted not in self.types:
            raise CannotGoOn(step, f"unknown type {_short(given)}", self._near(wanted, self.types))
        return wanted

    def types_of(self, entity: str, own: str) -> set[str]:
        """The types of a representative: its own, and where several entities count as one, those of all members that
        the scope mentions."""
        identities = self.snapshot.identities
        return {own, *(identities.names[member][1] for member in identities.members.get(entity, ()))}

    def anchor(self, step: Match, given: str) -> str:
        """The one entity that an id or a name stands for. Raises `CannotGoOn` where there is none, or several."""
        kind = None if step.type is None else self.type(step.id, step.type)
        found = self._by_id(given) or self._by_name(given)
        if kind is not None and found:
            labels = self.snapshot.entity_labels(found)
            of_type = [entity for entity in found if kind in self.types_of(entity, labels[entity][1])]
            if not of_type:
                raise CannotGoOn(step.id, f"unknown entity: {_short(given)} is no {kind}", found)
            found = of_type
        if not found:
            near = self.snapshot.entities_like(name_key(given.rpartition(":")[2]), ALTERNATIVES)
            raise CannotGoOn(step.id, f"unknown entity {_short(given)}", near)
        if len(found) > 1:
            raise CannotGoOn(step.id, f"ambiguous entity: {len(found)} carry the name {_short(given)}", found)
        return found[0]

    def _by_id(self, given: str) -> list[str]:
        try:
            key, kind = split_entity_id(given)
        except InvalidValue:
            return []
        identities = self.snapshot.identities
        known = self.snapshot.entity_labels([given, f"{kind.lower()}:{name_key(key)}"])
        return sorted({identities.of(entity) for entity in known})

    def _by_name(self, given: str) -> list[str]:
        key = name_key(given)
        carriers = self.snapshot.entity_ids([key]).get(key, []) if key else []
        return list(dict.fromkeys(self.snapshot.identities.of(entity) for entity, _ in carriers))

    def _near(self, key: str, known: Sequence[str]) -> list[str]:
        """Known names like one, the most alike first; the commonest where none is."""
        scored = process.extract(key, known, scorer=fuzz.WRatio, score_cutoff=_NEAR, limit=None)
        near = [name for name, _, _ in sorted(scored, key=lambda found: (-found[1], found[0]))]
        return (near or list(known))[:ALTERNATIVES]


def _short(text: str) -> str:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return repr(shown)
