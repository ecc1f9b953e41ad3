"""Bridge re-query: ask the rest of the question about the entities that the best passages lead to.

"Who founded the firm that made the Tirra 50?" has no word in common with the passage about the firm's founder. Once the
walk has found the passage that names the firm, `residual question + firm` lies near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evigraph.query.fusion import best_first
from evigraph.query.parameters import MIX
from evigraph.query.retrieve.subgraph import Subgraph
from evigraph.query.run import Run
from evigraph.query.understand import rarity
from evigraph.store.keys import PassageKey
from evigraph.text.names import name_key


@dataclass(frozen=True, kw_only=True, slots=True)
class Bridged:
    """Of passages that mention a bridge entity: the best cosine with a question about it, and that with the question
    itself."""

    near: dict[PassageKey, float]
    cosines: dict[PassageKey, float]


def bridge(run: Run, subgraph: Subgraph, log_mass: NDArray[np.float64]) -> Bridged:
    """Ask about the entities that the best passages lead to.

    `log_mass` (n,) is the log of the walk's mass on the subgraph's passages.
    """
    entities = choose(run, subgraph, log_mass)
    if not entities:
        return Bridged(near={}, cosines={})
    with run.ledger.stage("bridge") as stage:
        questions = [f"{run.asked.residual} {entity}" for entity in entities]
        with run.snapshot.beside(lambda: run.embedder().embed(questions)) as vectors:
            rows = run.snapshot.mentions_of(entities, per_name_limit=MIX.per_asked, limit=MIX.per_asked * len(entities))
            # A passage of the subgraph may be tied to an entity that the extractor missed in it.
            holders = {(row.passage, row.key) for row in rows}
            holders |= {(passage, entity) for entity in entities for passage in _tied_to(subgraph, entity)}
            reached = sorted({passage for passage, _ in holders})
            run.snapshot.passage_vectors(reached)  # read now, while the model is at work
            cosines = run.snapshot.similarities([*vectors(), run.asked.vector], reached)
        column = {entity: position for position, entity in enumerate(entities)}
        best: dict[PassageKey, float] = {}
        for passage, entity in holders:
            if passage in cosines:
                best[passage] = max(best.get(passage, -1.0), cosines[passage][column[entity]])
        best = stage.hand_on(best, because="no passage mentions a bridge", kind=float)
    run.ledger.count("bridges", entities)
    return Bridged(near=best, cosines={passage: found[-1] for passage, found in cosines.items()})


def choose(run: Run, subgraph: Subgraph, log_mass: NDArray[np.float64]) -> list[str]:
    """Names of the best passages that the question does not hold and that lead elsewhere, most promising first. A name
    all of whose words stand in the question ("Jamaica", of "Kingston, Jamaica") leads back to where one is.

    Worth: mass of the passage beside the best one's, times the name's rarity, times 1.5 if some passage is about it.
    """
    anchors = {anchor.key for anchor in run.asked.anchors}
    asked = set(name_key(run.asked.text).split())
    order = sorted(range(len(subgraph.passages)), key=lambda i: (-log_mass[i], subgraph.passages[i]))[: MIX.asked_from]
    nearest: dict[str, float] = {}
    for position in order:
        share = float(np.exp(log_mass[position] - log_mass[order[0]]))
        for name in _names_in(subgraph, position):
            if name not in anchors and not asked.issuperset(name.split()) and not name.replace(" ", "").isdigit():
                nearest[name] = max(nearest.get(name, 0.0), share)
    known = run.snapshot.names(list(nearest))
    worth = {
        name: round(
            share
            * rarity(known[name].passages, run.counts.passages)
            * (MIX.about if known[name].alias_weight >= MIX.title_like else 1.0),
            9,
        )
        for name, share in nearest.items()
        if name in known and known[name].passages + (name in subgraph.missed) >= 2
    }
    return best_first(worth)[: MIX.asked_about]


def _tied_to(subgraph: Subgraph, name: str) -> list[PassageKey]:
    """Passages of the subgraph that are tied to a name of it, most closely first, as many as an entity may have."""
    column = subgraph.incidence[:, subgraph.names.index(name)].tocoo()
    ranked = sorted(zip(column.row.tolist(), column.data.tolist(), strict=True), key=lambda tie: (-tie[1], tie[0]))
    return [subgraph.passages[row] for row, _ in ranked[: MIX.per_asked]]


def _names_in(subgraph: Subgraph, position: int) -> Sequence[str]:
    matrix = subgraph.incidence
    columns = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
    return [subgraph.names[column] for column in sorted(columns)]
