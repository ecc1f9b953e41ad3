"""Weights of the router, written by `bench/routing.py --write`."""

from __future__ import annotations

from collections.abc import Mapping

from evigraph.routing import RouteClass

WEIGHTS: Mapping[str, tuple[float, float, float, float]] = {
    "named": (0.124, 0.100, 0.220, -0.444),
    "restriction": (-0.063, 0.110, 0.254, -0.301),
    "everywhere": (-0.037, -0.118, -0.023, 0.177),
    "several_named": (0.150, -0.525, 0.488, -0.113),
    "aggregate": (-0.056, -0.121, -0.141, 0.318),
    "themes": (-0.454, -0.091, -0.065, 0.610),
    "scope": (-0.154, -0.427, -0.238, 0.820),
    "fact": (0.671, -0.529, -0.307, 0.165),
    "attribute": (1.772, -1.129, -0.411, -0.232),
    "open": (-1.421, 1.734, -0.105, -0.208),
    "link": (-0.351, -0.961, 1.443, -0.131),
    "named_link": (-0.547, -0.577, 1.158, -0.034),
    "yes_no": (-0.199, -0.477, 0.011, 0.665),
    "present": (-0.549, -0.423, 0.239, 0.733),
    "past": (0.085, 0.111, 0.106, -0.302),
    "single": (0.235, 0.060, 0.348, -0.643),
    "definite": (0.546, 0.074, 0.005, -0.625),
    "aside": (-0.547, 0.010, 0.674, -0.137),
    "year": (0.590, 0.215, -0.272, -0.532),
    "period": (-0.084, -0.273, -0.016, 0.372),
    "code": (0.337, -0.360, -0.200, 0.223),
    "plurals": (-0.430, -0.087, 0.031, 0.486),
    "length": (-0.047, -0.010, 0.289, -0.232),
    "top_cosine": (0.195, -0.222, 0.038, -0.012),
    "spread": (-0.243, -0.052, 0.019, 0.277),
    "like_lookup": (1.093, 0.209, -0.768, -0.534),
    "like_local": (-0.069, 1.015, -0.416, -0.530),
    "like_linked": (-0.395, -0.118, 0.462, 0.050),
    "like_global": (-0.507, -0.401, -0.882, 1.790),
}
"""What one unit of a signal adds to the score of lookup, local, linked, global."""

CENTRES: Mapping[str, float] = {
    "named": 0.6477,
    "restriction": 0.4834,
    "everywhere": 0.0341,
    "several_named": 0.2415,
    "aggregate": 0.0355,
    "themes": 0.0369,
    "scope": 0.0980,
    "fact": 0.3551,
    "attribute": 0.2116,
    "open": 0.2145,
    "link": 0.1364,
    "named_link": 0.1477,
    "yes_no": 0.0568,
    "present": 0.3068,
    "past": 0.3849,
    "single": 0.1278,
    "definite": 0.4072,
    "aside": 0.1733,
    "year": 0.1932,
    "period": 0.0142,
    "code": 0.0625,
    "plurals": 0.2472,
    "length": 0.4653,
    "top_cosine": 0.4913,
    "spread": 0.8577,
    "like_lookup": 1.8175,
    "like_local": 2.1501,
    "like_linked": 2.2100,
    "like_global": 1.1735,
}
"""Mean of each signal over the questions of the development sets."""

PRIOR: Mapping[RouteClass, float] = {
    "lookup": 0.948,
    "local": 0.586,
    "linked": -0.274,
    "global": -1.260,
}
"""Score of each class for a question whose signals are all average."""
