"""From JSON values to a `Plan`, strictly: every step, field, reference and bound is checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evigraph.domain import predicate_key
from evigraph.errors import InvalidPlan, InvalidQuery
from evigraph.plans import Count, Direction, Filter, Hop, Intersect, Match, Plan, Step, as_data
from evigraph.query.checks import check_text, shown

MAX_STEPS = 20
MAX_PREDICATES = 50
"""Predicates of one step."""
MAX_ENTITIES = 100
"""Anchors of one step."""
MAX_TEXT = 500
"""Characters of a name, id, type or predicate."""

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "match": ("entity", "entities", "type"),
    "hop": ("source", "predicates", "direction"),
    "intersect": ("sources",),
    "filter": ("source", "type", "predicates", "direction", "to"),
    "count": ("source", "by"),
}


def parse_plan(value: Any) -> Plan:
    """A validated plan, from its JSON values or from a `Plan` made in Python. Raises `InvalidPlan`."""
    if isinstance(value, Plan):
        value = as_data(value)
    if not isinstance(value, Mapping):
        raise InvalidPlan(f"it must be an object with `steps`, not {shown(value)}", hint='{"steps": [...]}')
    for name in value:
        if name != "steps":
            raise InvalidPlan(f"unknown field {shown(name)}", hint="a plan has `steps` alone")
    steps = value.get("steps")
    if not isinstance(steps, list | tuple) or not 1 <= len(steps) <= MAX_STEPS:
        raise InvalidPlan(
            f"it must be a list of 1 to {MAX_STEPS} steps",
            field="steps",
            hint=f"got {len(steps)}" if isinstance(steps, list | tuple) else f"got {shown(steps)}",
        )
    done: list[Step] = []
    for number, step in enumerate(steps, start=1):
        done.append(_Reader(step, number, done).read())
    return Plan(steps=tuple(done))


def plan_fields(plan: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The request fields of a plan, or of a question for which one is to be proposed."""
    if isinstance(plan, str):
        return {"query": plan, "mode": "plan"}
    parsed = parse_plan(plan)
    return {"query": options.get("query") or describe(parsed)[:MAX_TEXT], "mode": "plan", "plan": parsed}


def describe(plan: Plan) -> str:
    """A plan in one line, for want of a question."""
    return "; ".join(f"{step.id} = {_said(step)}" for step in plan.steps)


def _said(step: Step) -> str:
    match step:
        case Match():
            return f"match {', '.join(step.entities)}"
        case Hop():
            return f"hop {'/'.join(step.predicates)} {step.direction} from {step.source}"
        case Intersect():
            return f"intersect {', '.join(step.sources)}"
        case Filter():
            parts = [f"filter {step.source}", step.type, "/".join(step.predicates), step.to and f"to {step.to}"]
            return " ".join(part for part in parts if part)
        case Count():
            return f"count {step.source}" + (f" by {step.by}" if step.by else "")


class _Reader:
    """Reads one step; `earlier` are those it may refer to."""

    def __init__(self, step: Any, number: int, earlier: Sequence[Step]) -> None:
        self._name = str(number)
        self._earlier = {step.id: step for step in earlier}
        if not isinstance(step, Mapping):
            raise self._wrong("it must be an object", hint=f"got {shown(step)}")
        self._step = {name: item for name, item in step.items() if item is not None}

    def read(self) -> Step:
        step_id = self._step.get("id")
        if not isinstance(step_id, str) or not _ID.fullmatch(step_id):
            raise self._wrong(
                f"it must be a name of at most 32 letters, digits, `_` and `-`, not {shown(step_id)}", field="id"
            )
        if step_id in self._earlier:
            raise self._wrong(f"{step_id} is the id of an earlier step", field="id", hint="give each step its own id")
        self._name = step_id
        op = self._step.get("op")
        if not isinstance(op, str) or op not in _FIELDS:
            raise self._wrong(f"unknown operation {shown(op)}", field="op", hint=f"valid: {', '.join(_FIELDS)}")
        for name in self._step:
            if name not in ("id", "op", *_FIELDS[op]):
                raise self._wrong(f"`{op}` has no field {shown(name)}", hint=f"valid: {', '.join(_FIELDS[op])}")
        return _READERS[op](self, step_id)

    def _match(self, step_id: str) -> Step:
        if ("entity" in self._step) == ("entities" in self._step):
            raise self._wrong("give either `entity`, or `entities` as a list", field="entity")
        if "entity" in self._step:
            entities: tuple[str, ...] = (self._text("entity"),)
        else:
            entities = self._texts("entities", MAX_ENTITIES)
        return Match(id=step_id, entities=entities, type=self._optional("type"))

    def _hop(self, step_id: str) -> Step:
        return Hop(
            id=step_id, source=self._entities("source"), predicates=self._predicates(), direction=self._direction()
        )

    def _intersect(self, step_id: str) -> Step:
        names = self._texts("sources", MAX_STEPS)
        if len(names) < 2:
            raise self._wrong("it needs at least two different steps", field="sources")
        return Intersect(id=step_id, sources=tuple(self._reference("sources", name) for name in names))

    def _filter(self, step_id: str) -> Step:
        predicates = self._predicates() if "predicates" in self._step else ()
        kind = self._optional("type")
        if kind is None and not predicates:
            raise self._wrong("it needs a `type`, or `predicates`", field="type")
        if not predicates and ("to" in self._step or "direction" in self._step):
            raise self._wrong("`to` and `direction` need `predicates`", field="predicates")
        return Filter(
            id=step_id,
            source=self._entities("source"),
            type=kind,
            predicates=predicates,
            direction=self._direction(),
            to=self._entities("to") if "to" in self._step else None,
        )

    def _count(self, step_id: str) -> Step:
        source = self._entities("source")
        by = self._entities("by") if "by" in self._step else None
        if by is not None and by not in self._ancestors(source):
            raise self._wrong(
                f"{source} does not start from {by}, so that its bindings cannot be counted by it",
                field="by",
                hint="group by a step that `source` goes back to",
            )
        return Count(id=step_id, source=source, by=by)

    # ------------------------------------------------------------------ fields

    def _text(self, name: str) -> str:
        return self._checked(name, self._step.get(name))

    def _optional(self, name: str) -> str | None:
        return self._text(name) if name in self._step else None

    def _texts(self, name: str, limit: int) -> tuple[str, ...]:
        given = self._step.get(name)
        if not isinstance(given, list | tuple) or not 1 <= len(given) <= limit:
            raise self._wrong(f"it must be a list of 1 to {limit} texts", field=name, hint=_size(given))
        return tuple(dict.fromkeys(self._checked(name, item) for item in given))

    def _checked(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
            raise self._wrong(f"it must be text of 1 to {MAX_TEXT} characters", field=name, hint=_size(value))
        try:
            return check_text(name, value.strip())
        except InvalidQuery as error:
            raise self._wrong(str(error), field=name, hint=error.hint) from None

    def _predicates(self) -> tuple[str, ...]:
        names = self._texts("predicates", MAX_PREDICATES)
        for name in names:
            if not predicate_key(name):
                raise self._wrong(f"{shown(name)} has no letters or digits", field="predicates")
        return names

    def _direction(self) -> Direction:
        given = self._step.get("direction", "out")
        if given == "in":
            return "in"
        if given == "both":
            return "both"
        if given != "out":
            raise self._wrong(f"unknown direction {shown(given)}", field="direction", hint="valid: out, in, both")
        return "out"

    def _entities(self, name: str) -> str:
        return self._reference(name, self._text(name))

    def _reference(self, name: str, given: str) -> str:
        """The id of an earlier step that binds entities."""
        found = self._earlier.get(given)
        if found is None:
            known = ", ".join(self._earlier) or "none; the first step must be a `match`"
            what = "itself" if given == self._name else f"{shown(given)}, which is no earlier step"
            raise self._wrong(f"it refers to {what}", field=name, hint=f"earlier steps: {known}")
        if isinstance(found, Count):
            raise self._wrong(f"{given} counts; it binds no entities", field=name, hint="refer to what it counted")
        return given

    def _ancestors(self, step_id: str) -> set[str]:
        """The steps that the bindings of a step stem from, itself among them. What a filter compares with is none."""
        found = {step_id}
        waiting = [step_id]
        while waiting:
            step = self._earlier[waiting.pop()]
            before = step.sources if isinstance(step, Intersect) else () if isinstance(step, Match) else (step.source,)
            waiting.extend(name for name in before if name not in found)
            found.update(before)
        return found

    def _wrong(self, message: str, *, field: str | None = None, hint: str = "") -> InvalidPlan:
        return InvalidPlan(message, step=self._name, field=field, hint=hint)


def _size(value: Any) -> str:
    return f"got {len(value)}" if isinstance(value, str | list | tuple) else f"got {shown(value)}"


_READERS: Mapping[str, Callable[[_Reader, str], Step]] = {
    "match": _Reader._match,
    "hop": _Reader._hop,
    "intersect": _Reader._intersect,
    "filter": _Reader._filter,
    "count": _Reader._count,
}
