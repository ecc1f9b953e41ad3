"""From signals to a class: one linear model (multinomial logistic regression), so that every decision is a sum that can
be read. Its weights are trained by `bench/routing.py` and stand in `weights.py` alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

from evigraph.query.route.signals import Measured
from evigraph.query.route.weights import CENTRES, PRIOR, WEIGHTS
from evigraph.routing import Route, RouteClass, Signal

CLASSES: tuple[RouteClass, ...] = get_args(RouteClass)

MODES: Mapping[RouteClass, str] = {
    "lookup": "naive",
    "local": "local",
    "linked": "hybrid",
    "global": "thematic_overview",
}
"""The mode of each class: one fact is in one passage; what is said of one thing lies around it in the graph; what links
several lies between them; the whole corpus is in the summaries of its communities."""


def probabilities(signals: Mapping[str, Measured]) -> dict[RouteClass, float]:
    """Probability of each class. A signal that was not measured counts as average, which is as nothing."""
    scores = {
        route: PRIOR[route] + math.fsum(_part(name, measured, route) for name, measured in signals.items())
        for route in CLASSES
    }
    best = max(scores.values())
    odds = {route: math.exp(score - best) for route, score in scores.items()}
    total = math.fsum(odds.values())
    return {route: odds[route] / total for route in CLASSES}


def decide(signals: Mapping[str, Measured]) -> Route:
    """The likeliest class, and why. The contributions add up to the log of how much likelier it is than the second."""
    found = probabilities(signals)
    first, second = ranked(found)[:2]
    parts = [
        Signal(
            name=name,
            value=measured.value,
            contribution=round(_part(name, measured, first) - _part(name, measured, second), 4),
            detail=measured.detail,
        )
        for name, measured in signals.items()
    ]
    prior = Signal(name="prior", value=1.0, contribution=round(PRIOR[first] - PRIOR[second], 4))
    return Route(
        route=first,
        mode=MODES[first],
        margin=round(found[first] - found[second], 4),
        second=second,
        probabilities=rounded(found),
        signals=tuple(sorted([*parts, prior], key=lambda signal: (-abs(signal.contribution), signal.name))),
    )


def ranked(found: Mapping[RouteClass, float]) -> list[RouteClass]:
    """Classes, the likeliest first; in the order of `CLASSES` where equal."""
    return sorted(CLASSES, key=lambda route: (-found[route], CLASSES.index(route)))


def rounded(found: Mapping[RouteClass, float]) -> dict[RouteClass, float]:
    """Probabilities as they are shown."""
    return {route: round(found[route], 4) for route in CLASSES}


def _part(name: str, measured: Measured, route: RouteClass) -> float:
    """What a signal adds to the score of a class, over what it adds to the average question."""
    return (measured.value - CENTRES[name]) * WEIGHTS[name][CLASSES.index(route)]
