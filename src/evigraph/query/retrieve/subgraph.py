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

Ties = dict[PassageKey, dict[str, float]]
"""How closely each passage is tied to each name."""


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
        with run.snapshot.beside(lambda: run.snapshot.capitalised(inner[: MIX.read])) as written_in:
            ties = _ties(run.snapshot.ties(inner, least=MIX.name_like))
            written = written_in()
        nearest = _nearest(ties, inner, anchors)
        # What is asked of these names below is in memory then.
        run.snapshot.names([*sorted(set().union(*written.values())), *_in_turn(nearest)[:LOOKED_UP]])
        missed = _tie(ties, written, _subjects(run, written))
        bridges = _bridges(run, _nearest(ties, inner, anchors), missed)
        further = run.snapshot.mentions_of(bridges, per_name_limit=MIX.per_bridge, limit=MIX.per_bridge * MIX.bridges)
        outer = sorted({row.passage for row in further}.difference(inner))
        # The walk compares the vectors of all of them.
        with run.snapshot.beside(lambda: run.snapshot.passage_vectors([*inner, *outer])) as vectors_read:
            ties |= _ties(run.snapshot.ties(outer, least=MIX.name_like))
            vectors_read()
        subgraph = stage.hand_on(
            build([*inner, *outer], ties, anchors, missed),
            because="no passage mentions a name of the question",
            kind=Subgraph,
            count=lambda built: len(built.passages),
            check=_misshapen,
        )
    run.ledger.count("graph_passages", len(subgraph.passages))
    return subgraph


def _ties(found: Mapping[PassageKey, Sequence[Tie]]) -> Ties:
    """What a passage's text says, and what it is about."""
    return {
        passage: {tie.name: tie.said + MIX.alias_weight * tie.about for tie in held} for passage, held in found.items()
    }


def _tie(ties: Ties, written: Mapping[PassageKey, Iterable[str]], subjects: Set[str]) -> set[str]:
    """Tie passages to what other passages are about and their own text names, where the extractor missed it; return
    these names."""
    missed: set[str] = set()
    for passage, runs in written.items():
        new = subjects & set(runs) - ties[passage].keys()
        ties[passage] |= dict.fromkeys(sorted(new), 1.0)
        missed |= new
    return missed


def _misshapen(subgraph: Subgraph) -> str | None:
    shape = len(subgraph.passages), len(subgraph.names)
    right = subgraph.incidence.shape == shape and subgraph.seeds.shape == shape[1:]
    return None if right else "it handed on a matrix that does not fit its passages and names"


def build(passages: Sequence[PassageKey], ties: Ties, anchors: Sequence[Anchor], missed: Set[str]) -> Subgraph:
    """Assemble the matrix; `seeds` is the rarity of each anchor at its name's column."""
    ordered_passages = tuple(sorted(passages))
    names = tuple(sorted({name for held in ties.values() for name in held}))
    column_of = {name: position for position, name in enumerate(names)}
    rows = [ties.get(passage, {}) for passage in ordered_passages]
    incidence = sparse.csr_matrix(
        (
            [weight for held in rows for weight in held.values()],
            [column_of[name] for held in rows for name in held],
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(ordered_passages), len(names)),
    )
    incidence.sort_indices()
    seeds = np.zeros(len(names))
    for anchor in anchors:
        if anchor.key in column_of:
            seeds[column_of[anchor.key]] += anchor.weight
    return Subgraph(passages=ordered_passages, names=names, incidence=incidence, seeds=seeds, missed=frozenset(missed))


def _subjects(run: Run, written: Mapping[PassageKey, Iterable[str]]) -> set[str]:
    """Which of the written names some passage is about."""
    known = run.snapshot.names(sorted(set().union(*written.values())))
    return {name for name, info in known.items() if info.alias_weight >= MIX.subject}


def _nearest(ties: Ties, inner: Sequence[PassageKey], anchors: Sequence[Anchor]) -> dict[str, int]:
    """The names in the inner passages that the question does not hold, with the place of the first passage of each."""
    named = {anchor.key for anchor in anchors}
    nearest: dict[str, int] = {}
    for place, passage in enumerate(inner):
        for name in ties.get(passage, ()):
            if name not in named:
                nearest.setdefault(name, place)
    return nearest


def _in_turn(nearest: Mapping[str, int]) -> list[str]:
    """Names by the place of their first passage."""
    return sorted(nearest, key=lambda name: (nearest[name], name))


def _bridges(run: Run, nearest: Mapping[str, int], missed: Set[str]) -> list[str]:
    """Names in the inner passages that lead elsewhere: rare ones, in passages that came first.

    A name is worth its rarity, at most 1, by the place of its first passage. So names are looked up place by place,
    until none further back could be among the best.
    """
    waiting = _in_turn(nearest)
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
