"""The vocabulary of routing: what kind of question is asked, and why a mode was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RouteClass = Literal["lookup", "local", "linked", "global"]
"""What a question asks for: one fact; what is said of one thing; how several things are linked; the whole corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """One thing a router looked at: its value, and what that added to the chosen class over the second one."""

    name: str
    value: float
    contribution: float
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Why `auto` chose a mode. `margin` is the probability of the class less that of `second`; `fell_back` says why
    another mode than the class's own answered in the end."""

    route: RouteClass
    mode: str
    margin: float
    second: RouteClass
    probabilities: Mapping[RouteClass, float]
    signals: tuple[Signal, ...]
    decided_by: Literal["rules", "model"] = "rules"
    fell_back: str | None = None
