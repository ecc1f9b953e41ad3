"""The bounded passage-entity graph around a question, fetched in a few statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evigraph.query.fusion import best_first
from evigraph.query.run import Anchor, Run
from evigraph.query.understand import rarity
from evigraph.store.keys import PassageKey
from evigraph.store.rows import MentionRow

PER_ANCHOR = 100
"""Passages fetched for each name in the question."""
BRIDGES = 80
"""Names followed one step further, the rarest of the best passages first."""
PER_BRIDGE = 12
"""Passages fetched for each of those."""
ALIAS_WEIGHT = 5.0
"""A passage about a name (title, lead name) is tied to it this much more than one that mentions it."""
NAME_LIKE = 0.5
"""Weight from which a mention in the text is one of a name. A common noun phrase ("the committee") weighs less, and
ties passages together that have nothing to do with each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgraph:
    """Passages (n) and names (m) around a question; `incidence` is the sparse (n, m) matrix of mention weights."""

    passages: tuple[PassageKey, ...]
    names: tuple[str, ...]
    incidence: Any
    seeds: NDArray[np.float64]


def fetch_subgraph(run: Run, candidates: Sequence[PassageKey]) -> Subgraph:
    """Candidates of the plain arms, passages of the anchors, and one step along the rarest names they share."""
    anchors = run.asked.anchors
    with run.ledger.stage("subgraph") as stage:
        anchored = run.snapshot.mentions_of(
            [anchor.key for anchor in anchors], per_name_limit=PER_ANCHOR, limit=PER_ANCHOR * max(1, len(anchors))
        )
        inner = list(dict.fromkeys([*(row.passage for row in anchored), *candidates]))
        rows = run.snapshot.mentions_in(inner, least=NAME_LIKE)
        bridges = _bridges(run, rows, inner, {anchor.key for anchor in anchors})
        further = run.snapshot.mentions_of(bridges, per_name_limit=PER_BRIDGE, limit=PER_BRIDGE * BRIDGES)
        known = set(inner)
        outer = [passage for passage in dict.fromkeys(row.passage for row in further) if passage not in known]
        rows += run.snapshot.mentions_in(outer, least=NAME_LIKE)
        subgraph = stage.hand_on(
            build([*inner, *outer], rows, anchors),
            because="no passage mentions a name of the question",
            kind=Subgraph,
            count=lambda built: len(built.passages),
            check=_misshapen,
        )
    run.ledger.count("graph_passages", len(subgraph.passages))
    return subgraph


def _misshapen(subgraph: Subgraph) -> str | None:
    shape = len(subgraph.passages), len(subgraph.names)
    right = subgraph.incidence.shape == shape and subgraph.seeds.shape == shape[1:]
    return None if right else "it handed on a matrix that does not fit its passages and names"


def build(passages: Sequence[PassageKey], rows: Iterable[MentionRow], anchors: Sequence[Anchor]) -> Subgraph:
    """Assemble the matrix; `seeds` is the rarity of each anchor at its name's column."""
    ordered_passages = tuple(sorted(passages))
    row_of = {key: position for position, key in enumerate(ordered_passages)}
    weights: dict[tuple[int, str], float] = {}
    for row in rows:
        cell = (row_of[row.passage], row.key)
        weights[cell] = weights.get(cell, 0.0) + row.said + ALIAS_WEIGHT * row.about
    names = tuple(sorted({name for _, name in weights}))
    column_of = {name: position for position, name in enumerate(names)}
    cells = sorted(weights)
    incidence = sparse.csr_matrix(
        (
            [weights[cell] for cell in cells],
            ([row for row, _ in cells], [column_of[name] for _, name in cells]),
        ),
        shape=(len(ordered_passages), len(names)),
    )
    seeds = np.zeros(len(names))
    for anchor in anchors:
        if anchor.key in column_of:
            seeds[column_of[anchor.key]] += anchor.weight
    return Subgraph(passages=ordered_passages, names=names, incidence=incidence, seeds=seeds)


def _bridges(run: Run, rows: Sequence[MentionRow], inner: Sequence[PassageKey], anchors: set[str]) -> list[str]:
    """Names in the inner passages that lead elsewhere: rare ones, in passages that came first."""
    place = {key: position for position, key in enumerate(inner)}
    nearest: dict[str, int] = {}
    for row in rows:
        if row.key not in anchors:
            nearest[row.key] = min(nearest.get(row.key, len(inner)), place[row.passage])
    known = run.snapshot.names(list(nearest))
    worth = {
        name: rarity(known[name].passages, run.counts.passages) / (10 + nearest[name])
        for name in nearest
        if name in known and known[name].passages > 1
    }
    return best_first(worth)[:BRIDGES]
