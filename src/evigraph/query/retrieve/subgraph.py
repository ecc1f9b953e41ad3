"""The bounded passage-entity graph around a question, fetched in a few statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evigraph.query.fusion import best_first
from evigraph.query.parameters import MIX
from evigraph.query.run import Anchor, Run
from evigraph.query.understand import rarity
from evigraph.store.keys import PassageKey
from evigraph.store.rows import Tie

LOOKED_UP = 400
"""Names looked up at once."""

Ties = dict[tuple[PassageKey, str], float]
"""Weights of (passage, name)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgraph:
    """Passages (n) and names (m) around a question; `incidence` is the sparse (n, m) matrix of mention weights."""

    passages: tuple[PassageKey, ...]
    names: tuple[str, ...]
    incidence: Any
    seeds: NDArray[np.float64]
    missed: frozenset[str]
    """Names that some passage writes and the extractor did not see there."""


def fetch_subgraph(run: Run, candidates: Sequence[PassageKey]) -> Subgraph:
    """Candidates of the plain arms, passages of the anchors, and one step along the rarest names they share."""
    anchors = run.asked.anchors
    with run.ledger.stage("subgraph") as stage:
        anchored = run.snapshot.mentions_of(
            [anchor.key for anchor in anchors],
            per_name_limit=MIX.per_anchor,
            limit=MIX.per_anchor * max(1, len(anchors)),
        )
        inner = list(dict.fromkeys([*(row.passage for row in anchored), *candidates]))
        ties = _ties(run.snapshot.ties(inner, least=MIX.name_like))
        written = run.snapshot.capitalised(inner[: MIX.read])
        missed = _tie(ties, written, _subjects(run, written))
        bridges = _bridges(run, ties, inner, missed)
        further = run.snapshot.mentions_of(bridges, per_name_limit=MIX.per_bridge, limit=MIX.per_bridge * MIX.bridges)
        outer = sorted({row.passage for row in further}.difference(inner))
        ties |= _ties(run.snapshot.ties(outer, least=MIX.name_like))
        subgraph = stage.hand_on(
            build([*inner, *outer], ties, anchors, missed),
            because="no passage mentions a name of the question",
            kind=Subgraph,
            count=lambda built: len(built.passages),
            check=_misshapen,
        )
    run.ledger.count("graph_passages", len(subgraph.passages))
    return subgraph


def _ties(found: Iterable[Tie]) -> Ties:
    """How closely each passage is tied to each name: by what its text says and by what it is about."""
    return {(tie.passage, tie.name): tie.said + MIX.alias_weight * tie.about for tie in found}


def _tie(ties: Ties, written: Mapping[PassageKey, Iterable[str]], subjects: Set[str]) -> set[str]:
    """Tie passages to what other passages are about and their own text names, where the extractor missed it; return
    these names."""
    missed = {(passage, name) for passage, runs in written.items() for name in runs if name in subjects}
    missed -= ties.keys()
    ties.update(dict.fromkeys(sorted(missed), 1.0))
    return {name for _, name in missed}


def _misshapen(subgraph: Subgraph) -> str | None:
    shape = len(subgraph.passages), len(subgraph.names)
    right = subgraph.incidence.shape == shape and subgraph.seeds.shape == shape[1:]
    return None if right else "it handed on a matrix that does not fit its passages and names"


def build(passages: Sequence[PassageKey], ties: Ties, anchors: Sequence[Anchor], missed: Set[str]) -> Subgraph:
    """Assemble the matrix; `seeds` is the rarity of each anchor at its name's column."""
    ordered_passages = tuple(sorted(passages))
    row_of = {key: position for position, key in enumerate(ordered_passages)}
    names = tuple(sorted({name for _, name in ties}))
    column_of = {name: position for position, name in enumerate(names)}
    cells = sorted(ties)
    incidence = sparse.csr_matrix(
        (
            [ties[cell] for cell in cells],
            ([row_of[passage] for passage, _ in cells], [column_of[name] for _, name in cells]),
        ),
        shape=(len(ordered_passages), len(names)),
    )
    seeds = np.zeros(len(names))
    for anchor in anchors:
        if anchor.key in column_of:
            seeds[column_of[anchor.key]] += anchor.weight
    return Subgraph(passages=ordered_passages, names=names, incidence=incidence, seeds=seeds, missed=frozenset(missed))


def _subjects(run: Run, written: Mapping[PassageKey, Iterable[str]]) -> set[str]:
    """Which of the written names some passage is about."""
    known = run.snapshot.names(sorted(set().union(*written.values())))
    return {name for name, info in known.items() if info.alias_weight >= MIX.subject}


def _bridges(run: Run, ties: Ties, inner: Sequence[PassageKey], missed: Set[str]) -> list[str]:
    """Names in the inner passages that lead elsewhere: rare ones, in passages that came first.

    A name is worth its rarity, at most 1, by the place of its first passage. So names are looked up place by place,
    until none further back could be among the best.
    """
    anchors = {anchor.key for anchor in run.asked.anchors}
    place = {key: position for position, key in enumerate(inner)}
    nearest: dict[str, int] = {}
    for passage, name in ties:
        if name not in anchors:
            nearest[name] = min(nearest.get(name, len(inner)), place[passage])
    waiting = sorted(nearest, key=lambda name: (nearest[name], name))
    worth: dict[str, float] = {}
    while waiting:
        batch, waiting = waiting[:LOOKED_UP], waiting[LOOKED_UP:]
        for name, info in run.snapshot.names(batch).items():
            if info.passages + (name in missed) > 1:
                worth[name] = rarity(info.passages + (name in missed), run.counts.passages) / (10 + nearest[name])
        best = best_first(worth)[: MIX.bridges]
        if waiting and len(best) == MIX.bridges > 0 and worth[best[-1]] > 1 / (10 + nearest[waiting[0]]):
            break
    return best_first(worth)[: MIX.bridges]
