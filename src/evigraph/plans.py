"""Typed plans: questions as data (SPEC 8). No generated SQL or code runs, ever.

The idea of answering by a bounded logical form over cited facts is that of OpenSPG KAG (Liang et al., 2024); the steps
here are fewer, typed, and checked against the workspace's schema before anything is read.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Anchors: entities by id (`type:name`) or by name, of `type` where given. A name that several entities carry is
    ambiguous, and the plan abstains; the ids of all that are meant settle it."""

    id: str
    entities: tuple[str, ...]
    type: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hop:
    """From every binding of step `source` along assertions of any of `predicates`; may revisit an entity."""

    id: str
    source: str
    predicates: tuple[str, ...]
    direction: Direction = "out"


@dataclass(frozen=True, kw_only=True, slots=True)
class Intersect:
    """Entities that every one of the `sources` bound."""

    id: str
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Bindings of step `source` that are of `type`, and that an assertion of `predicates` joins (in `direction`, seen
    from the binding) with an entity that step `to` bound. Without `to` any such assertion will do."""

    id: str
    source: str
    type: str | None = None
    predicates: tuple[str, ...] = ()
    direction: Direction = "out"
    to: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """How many distinct entities step `source` bound; with `by`, how many for each binding of that earlier step, those
    that led nowhere counting 0."""

    id: str
    source: str
    by: str | None = None


Step = Match | Hop | Intersect | Filter | Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Steps in order; a step refers to earlier ones by id. The last one is the answer."""

    steps: tuple[Step, ...]


def op_of(step: Step) -> str:
    """The name of a step's operation, as plans write it."""
    return type(step).__name__.lower()


def sources_of(step: Step) -> tuple[str, ...]:
    """The earlier steps a step reads."""
    match step:
        case Match():
            return ()
        case Intersect():
            return step.sources
        case Filter(to=str(to)):
            return step.source, to
        case Count(by=str(by)):
            return step.source, by
        case _:
            return (step.source,)


def as_data(plan: Plan) -> dict[str, object]:
    """A plan as JSON values, in the form that is parsed. Fields left at their defaults are left out."""
    steps = []
    for step in plan.steps:
        written: dict[str, object] = {"id": step.id, "op": op_of(step)}
        for part in fields(step):
            value = getattr(step, part.name)
            if part.name != "id" and value != part.default:
                written[part.name] = list(value) if isinstance(value, tuple) else value
        steps.append(written)
    return {"steps": steps}
