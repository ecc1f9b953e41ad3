"""Run a plan step by step over one snapshot: each binding with the assertions it rests on, and what it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evigraph.plans import Count, Filter, Hop, Intersect, Match, Plan, Step, op_of, sources_of
from evigraph.query.ledger import Ledger, repeated
from evigraph.query.plan.validate import CannotGoOn, Vocabulary
from evigraph.store import Snapshot
from evigraph.store.planning import SUPPORT, Links
from evigraph.types import Binding, PlanOutcome, Relationship, StepOutcome

MAX_BINDINGS = 5_000
"""Of one step."""
MAX_ROWS = 50_000
"""Assertions read by all steps together."""
MAX_FAN_OUT = 5_000
"""Assertions followed from one entity in one step."""


def execute(plan: Plan, snapshot: Snapshot, ledger: Ledger) -> PlanOutcome:
    """Bindings of each step, or the step that stopped and why. A step without bindings leaves the later ones without;
    the plan as a whole abstains where the last step then has nothing to say."""
    execution = _Execution(snapshot, ledger)
    try:
        for step in plan.steps:
            done = _staged(execution, step, ledger)
            if done.truncated:
                ledger.degrade(_cut(done))
        execution.require_answer(plan)
    except CannotGoOn as stop:
        return PlanOutcome(
            plan=plan,
            steps=tuple(execution.outcomes.values()),
            failed_step=stop.step,
            reason=str(stop),
            alternatives=stop.alternatives,
        )
    return PlanOutcome(plan=plan, steps=tuple(execution.outcomes.values()), alternatives=execution.beside_nothing(plan))


def _staged(execution: _Execution, step: Step, ledger: Ledger) -> StepOutcome:
    """The step's outcome. Raises `CannotGoOn` outside of the stage, in which nothing went wrong."""
    stopped = None
    with ledger.stage(f"plan.{step.id}") as stage:
        try:
            made = execution.run(step)
        except CannotGoOn as stop:
            stopped = stop
        else:
            done = stage.hand_on(
                made,
                because="nothing is bound so",
                kind=StepOutcome,
                count=lambda outcome: len(outcome.bindings),
                check=lambda outcome: repeated("binding", ((one.id, one.count) for one in outcome.bindings)),
            )
    if stopped is not None:
        raise stopped
    execution.outcomes[step.id] = done
    return done


def _cut(done: StepOutcome) -> str:
    return (
        f"plan: step {done.id} was cut at {len(done.bindings)} bindings and {done.rows} assertions (at most "
        f"{MAX_BINDINGS:,} bindings a step, {MAX_FAN_OUT:,} assertions from one entity, {MAX_ROWS:,} in all); "
        "what follows from it is incomplete"
    )


@dataclass(kw_only=True, slots=True)
class _Found:
    """What is known of one entity that a step reaches. A dict keeps the order in which origins and links came."""

    origins: dict[str, None] = field(default_factory=dict)
    relationships: dict[str, None] = field(default_factory=dict)


_Groups = dict[str, set[str]]


class _Execution:
    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self.snapshot = snapshot
        self.ledger = ledger
        self.vocabulary = Vocabulary(snapshot)
        self.outcomes: dict[str, StepOutcome] = {}
        self._steps: dict[str, Step] = {}
        self._rows_left = MAX_ROWS

    def run(self, step: Step) -> StepOutcome:
        self._steps[step.id] = step
        match step:
            case Match():
                done = self._match(step)
            case Hop():
                done = self._hop(step)
            case Intersect():
                done = self._intersect(step)
            case Filter():
                done = self._filter(step)
            case Count():
                done = self._count(step)
        return done

    # ---------------------------------------------------------------- operations

    def _match(self, step: Match) -> StepOutcome:
        found = dict.fromkeys(self.vocabulary.anchor(step, given) for given in step.entities)
        labels = self.snapshot.entity_labels(list(found))
        bindings = [Binding(id=entity, name=labels[entity][0], type=labels[entity][1]) for entity in found]
        return StepOutcome(id=step.id, op=op_of(step), bindings=_in_order(bindings))

    def _hop(self, step: Hop) -> StepOutcome:
        source = self.outcomes[step.source]
        spellings = self.vocabulary.usable(step.id, step.predicates, self._types(source.bindings), step.direction)
        read = self._read(step, source.bindings, spellings)
        found: dict[str, _Found] = {}
        for link in read.links:
            reached = found.setdefault(link.target, _Found())
            reached.origins[link.origin] = None
            reached.relationships[link.assertion_id] = None
        return self._reached(step, source, found, read)

    def _read(
        self,
        step: Hop | Filter,
        bindings: Sequence[Binding],
        spellings: Sequence[str],
        targets: Sequence[str] | None = None,
    ) -> Links:
        """The assertions a step follows, with what their bounds leave out on the record."""
        read = self.snapshot.links(
            [binding.id for binding in bindings],
            spellings,
            direction=step.direction,
            fan_out=MAX_FAN_OUT,
            limit=self._rows_left,
            targets=targets,
        )
        self._rows_left -= len(read.links)
        if read.omitted:
            self.ledger.count(f"plan.{step.id}.assertions_omitted", read.omitted)
            self.ledger.degrade(
                f"plan: step {step.id} leaves out {read.omitted:,} further assertions of what it bound (at most "
                f"{SUPPORT} for the same two entities, {MAX_FAN_OUT:,} from one, {MAX_ROWS:,} in all); "
                "no binding is missing for that"
            )
        return read

    def _reached(self, step: Hop, source: StepOutcome, found: Mapping[str, _Found], read: Links) -> StepOutcome:
        stated = self.snapshot.stated(read.links)
        labels = self.snapshot.entity_labels(list(found))
        bindings = _in_order(
            Binding(
                id=entity,
                name=labels[entity][0],
                type=labels[entity][1],
                origins=tuple(reached.origins),
                relationships=tuple(reached.relationships),
            )
            for entity, reached in found.items()
        )
        kept = bindings[:MAX_BINDINGS]
        return StepOutcome(
            id=step.id,
            op=op_of(step),
            bindings=kept,
            relationships=_cited(kept, stated),
            bindings_in=len(source.bindings),
            rows=len(read.links),
            truncated=read.cut or len(kept) < len(bindings),
        )

    def _intersect(self, step: Intersect) -> StepOutcome:
        sources = [{binding.id: binding for binding in self.outcomes[name].bindings} for name in step.sources]
        common = [entity for entity in sources[0] if all(entity in other for other in sources[1:])]
        bindings = [
            Binding(id=entity, name=sources[0][entity].name, type=sources[0][entity].type, origins=(entity,))
            for entity in common
        ]
        return StepOutcome(
            id=step.id, op=op_of(step), bindings=_in_order(bindings), bindings_in=sum(len(source) for source in sources)
        )

    def _filter(self, step: Filter) -> StepOutcome:
        source = self.outcomes[step.source]
        kept = list(source.bindings)
        if step.type is not None:
            wanted = self.vocabulary.type(step.id, step.type)
            kept = [binding for binding in kept if wanted in self._types([binding])]
        read = Links()
        if step.predicates:
            types = self._types(kept)
            targets = None if step.to is None else [binding.id for binding in self.outcomes[step.to].bindings]
            usable = self.vocabulary.usable(step.id, step.predicates, types, step.direction)
            read = self._read(step, kept, usable, targets)
        joined: dict[str, list[str]] = {}
        for link in read.links:
            joined.setdefault(link.origin, []).append(link.assertion_id)
        bindings = tuple(
            Binding(
                id=binding.id,
                name=binding.name,
                type=binding.type,
                origins=(binding.id,),
                relationships=tuple(joined.get(binding.id, ())),
            )
            for binding in kept
            if not step.predicates or binding.id in joined
        )
        return StepOutcome(
            id=step.id,
            op=op_of(step),
            bindings=bindings,
            relationships=_cited(bindings, self.snapshot.stated(read.links)),
            bindings_in=len(source.bindings),
            rows=len(read.links),
            truncated=read.cut,
        )

    def _count(self, step: Count) -> StepOutcome:
        source = self.outcomes[step.source]
        if step.by is None:
            total = Binding(
                id="",
                name="",
                count=len(source.bindings),
                origins=tuple(binding.id for binding in source.bindings),
                relationships=_united(source.bindings),
            )
            bindings: tuple[Binding, ...] = (total,)
        else:
            groups = self._groups(step.source, step.by, {}) or {}
            counted: dict[str, list[Binding]] = {binding.id: [] for binding in self.outcomes[step.by].bindings}
            for binding in source.bindings:
                for group in groups.get(binding.id, ()):
                    counted[group].append(binding)
            bindings = tuple(
                Binding(
                    id=group.id,
                    name=group.name,
                    type=group.type,
                    count=len(counted[group.id]),
                    origins=tuple(binding.id for binding in counted[group.id]),
                    relationships=self._between(group.id, counted[group.id], step),
                )
                for group in self.outcomes[step.by].bindings
            )
        return StepOutcome(
            id=step.id,
            op=op_of(step),
            bindings=bindings,
            relationships=source.relationships,
            bindings_in=len(source.bindings),
        )

    def _groups(self, step_id: str, by: str, done: dict[str, _Groups | None]) -> _Groups | None:
        """For each binding of a step, the bindings of step `by` that it stems from; None for a step that does not go
        back to `by`. `done` holds the steps already seen: several ways may lead to each, and more at every step."""
        if step_id not in done:
            done[step_id] = self._grouped(step_id, by, done)
        return done[step_id]

    def _grouped(self, step_id: str, by: str, done: dict[str, _Groups | None]) -> _Groups | None:
        bindings = self.outcomes[step_id].bindings
        step = self._steps[step_id]
        if step_id == by:
            return {binding.id: {binding.id} for binding in bindings}
        if isinstance(step, Intersect):
            found = (self._groups(name, by, done) for name in step.sources)
            known = [groups for groups in found if groups is not None]
            if not known:
                return None
            return {b.id: set.intersection(*(groups.get(b.id, set()) for groups in known)) for b in bindings}
        before = self._groups(step.source, by, done) if isinstance(step, Hop | Filter) else None
        if before is None:
            return None
        return {b.id: set().union(*(before.get(origin, set()) for origin in b.origins)) for b in bindings}

    def _between(self, group: str, counted: Sequence[Binding], step: Count) -> tuple[str, ...]:
        """The assertions of counted bindings; where they are one hop from the group, those that join them to it."""
        source = self._steps[step.source]
        if not isinstance(source, Hop) or source.source != step.by:
            return _united(counted)
        ends = {item.id: (item.source, item.target) for item in self.outcomes[step.source].relationships}
        return tuple(name for name in _united(counted) if group in ends[name])

    def _types(self, bindings: Iterable[Binding]) -> list[str]:
        return sorted({kind for binding in bindings for kind in self.vocabulary.types_of(binding.id, binding.type)})

    # ---------------------------------------------------------------- nothing found

    def require_answer(self, plan: Plan) -> None:
        """Raise `CannotGoOn` where the last step says nothing: it bound nothing, or counts for nothing. No links from
        something known is a count of 0; no links from nothing is no count."""
        last = plan.steps[-1]
        if isinstance(last, Count):
            decisive = (last.by,) if last.by is not None else sources_of(self._steps[last.source])
        else:
            decisive = (last.id,)
        for name in decisive:
            if not self.outcomes[name].bindings:
                raise self._empty(self._first_empty(name))

    def beside_nothing(self, plan: Plan) -> tuple[str, ...]:
        """Where the plan counts 0 because a hop led nowhere: the predicates that do lead on. Nothing said of `brother`
        may be said of `brothers`."""
        last = plan.steps[-1]
        source = self._steps[last.source] if isinstance(last, Count) else last
        if not isinstance(last, Count) or not isinstance(source, Hop) or self.outcomes[source.id].bindings:
            return ()
        return self._empty(source).alternatives

    def _first_empty(self, step_id: str) -> Step:
        for source in sources_of(self._steps[step_id]):
            if not self.outcomes[source].bindings:
                return self._first_empty(source)
        return self._steps[step_id]

    def _empty(self, step: Step) -> CannotGoOn:
        if isinstance(step, Hop) or (isinstance(step, Filter) and step.predicates):
            known = self.snapshot.predicates_at(
                [binding.id for binding in self.outcomes[step.source].bindings],
                outgoing=step.direction in ("out", "both"),
                incoming=step.direction in ("in", "both"),
                limit=MAX_FAN_OUT,
            )
            asked = ", ".join(step.predicates)
            to = step.to if isinstance(step, Filter) else None
            joins = f"leads on from {step.source}" if to is None else f"joins {step.source} with {to}"
            reason = f"empty step: no visible assertion of {asked} {joins}"
            return CannotGoOn(step.id, reason, known)
        if isinstance(step, Intersect):
            return CannotGoOn(step.id, f"empty step: {', '.join(step.sources)} have no entity in common")
        types = self._types(b for name in sources_of(step) for b in self.outcomes[name].bindings)
        return CannotGoOn(step.id, "empty step: no binding is of that type", types)


def _in_order(bindings: Iterable[Binding]) -> tuple[Binding, ...]:
    return tuple(sorted(bindings, key=lambda binding: (binding.name.casefold(), binding.id)))


def _united(bindings: Iterable[Binding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for binding in bindings for name in binding.relationships))


def _cited(bindings: Iterable[Binding], stated: Mapping[str, Relationship]) -> tuple[Relationship, ...]:
    return tuple(stated[name] for name in _united(bindings))
