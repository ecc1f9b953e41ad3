"""Weights of the router, written by `bench/routing.py --write`."""

from __future__ import annotations

from collections.abc import Mapping

from evigraph.routing import RouteClass

WEIGHTS: Mapping[str, tuple[float, float, float, float]] = {
    "named": (0.925, 0.414, 0.173, -1.513),
    "restriction": (0.357, -0.136, 0.330, -0.551),
    "everywhere": (-0.134, -0.507, -0.078, 0.719),
    "several_named": (0.001, -1.274, 1.580, -0.307),
    "aggregate": (0.614, -0.073, -0.860, 0.319),
    "themes": (-0.714, -0.121, 0.022, 0.813),
    "scope": (-0.587, -0.813, -0.305, 1.706),
    "fact": (1.185, -1.114, -0.314, 0.243),
    "attribute": (1.986, -0.633, -0.892, -0.461),
    "open": (-1.965, 1.466, 0.149, 0.351),
    "link": (-1.313, -1.394, 3.466, -0.760),
    "repeated": (-0.802, -0.587, 1.586, -0.197),
    "pair": (-0.336, -0.483, 1.455, -0.636),
    "yes_no": (-0.102, -0.797, 0.079, 0.821),
    "yes_no_then": (0.585, -0.462, -0.037, -0.086),
    "present": (-0.737, -0.328, 0.300, 0.765),
    "single": (-0.338, 0.450, 0.491, -0.602),
    "definite": (0.765, 0.130, 0.813, -1.708),
    "aside": (-0.614, 1.012, -0.084, -0.315),
    "unit": (1.008, -0.281, -0.581, -0.146),
    "year": (0.445, 0.121, 0.698, -1.264),
    "period": (-0.117, -0.506, -0.057, 0.680),
    "code": (0.720, -0.607, -0.150, 0.038),
    "plurals": (-0.495, 0.043, -0.301, 0.753),
    "top_cosine": (0.024, 0.284, 0.373, -0.681),
    "lead": (0.902, 0.090, 0.150, -1.142),
    "spread": (0.179, -0.534, -0.665, 1.020),
    "reads_like_lookup": (3.411, -0.653, -0.740, -2.018),
    "reads_like_local": (-0.603, 2.467, -0.934, -0.930),
    "reads_like_linked": (-0.840, -0.469, 2.051, -0.741),
    "reads_like_global": (-1.964, -1.464, -0.564, 3.991),
}
"""What one unit of a signal adds to the score of lookup, local, linked, global."""

CENTRES: Mapping[str, float] = {
    "named": 0.5302,
    "restriction": 0.3911,
    "everywhere": 0.0202,
    "several_named": 0.1593,
    "aggregate": 0.0272,
    "themes": 0.0267,
    "scope": 0.0832,
    "fact": 0.2641,
    "attribute": 0.2319,
    "open": 0.2263,
    "link": 0.1527,
    "repeated": 0.0242,
    "pair": 0.1966,
    "yes_no": 0.0605,
    "yes_no_then": 0.0181,
    "present": 0.3317,
    "single": 0.1114,
    "definite": 0.3851,
    "aside": 0.0232,
    "unit": 0.0212,
    "year": 0.1220,
    "period": 0.0091,
    "code": 0.0302,
    "plurals": 0.2308,
    "top_cosine": 0.4714,
    "lead": 0.4148,
    "spread": 0.8683,
    "reads_like_lookup": 0.2362,
    "reads_like_local": 0.2762,
    "reads_like_linked": 0.2324,
    "reads_like_global": 0.2375,
}
"""Mean of each signal over the questions that the weights were learnt from."""

PRIOR: Mapping[RouteClass, float] = {
    "lookup": -0.029,
    "local": 0.459,
    "linked": 0.172,
    "global": -0.602,
}
"""Score of each class for a question whose signals are all average."""
