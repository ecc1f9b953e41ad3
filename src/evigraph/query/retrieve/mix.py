"""`mix`, the default: dense, lexical and graph arms.

Plain score `F = .7 z(dense) + .3 z(BM25)`. Graph score `S = L + 5 max(RD, B)`: `L` is the log mass of a walk that
restarts at the question's names, `RD` the cosine with the residual question, `B` that with the bridge questions. A gate
decides how far the graph is trusted: a name that some passage is *about* → `S`; names only mentioned → `z(S) + 3 F`;
none → `F`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evigraph.graph.walk import walk
from evigraph.query.fusion import best_first, min_max, rrf, z_scores
from evigraph.query.parameters import MIX
from evigraph.query.retrieve import facts, local, naive
from evigraph.query.retrieve.arms import (
    Board,
    Ranking,
    enter_graph,
    entities_in,
    ordered,
    plain_arms,
    relationships_in,
)
from evigraph.query.retrieve.bridge import bridge
from evigraph.query.retrieve.combined import merged_signals
from evigraph.query.retrieve.plain import plain_scores
from evigraph.query.retrieve.subgraph import Subgraph, fetch_subgraph
from evigraph.query.run import Retrieved, Run, Signals
from evigraph.query.understand import question_terms
from evigraph.store.keys import PassageKey

Floats = NDArray[np.float64]


def retrieve(run: Run) -> Retrieved:
    if run.request.mix_weights is not None:
        return _weighted_modes(run)
    board: Board = {}
    dense, lexical = plain_arms(run, board)
    candidates = list(dict.fromkeys([*dense, *lexical]))
    graph = _graph_arm(run, board, candidates) if run.asked.anchors else _NO_GRAPH
    if run.request.fusion == "rrf":
        plain = rrf([(0.5, dense), (0.5, lexical)])
        scores = rrf([(run.request.vector_weight, best_first(plain)), (run.request.graph_weight, graph.order)])
    else:
        scores = _gated(run, board, candidates, graph)
    fused = rrf([(MIX.dense_weight / 2, dense), (MIX.dense_weight / 2, lexical), (MIX.lexical_weight, graph.order)])
    for key in board:
        board[key].fused = scores.get(key) if run.request.fusion == "rrf" else fused.get(key)
    found = around(run, ordered(board, scores), graph.names)
    return replace(found, retrieval="dense+bm25+graph" if graph.order else "dense+bm25")


def around(run: Run, passages: Ranking, mass: Mapping[str, float] | None = None) -> Retrieved:
    """Ranked passages with the entities and relationships of the best. `mass` is what names gathered in the walk."""
    top = [key for key, _ in passages[: run.request.max_chunks]]
    with run.snapshot.beside(lambda: relationships_in(run, top)) as relationships:
        entities = entities_in(run, top, mass)
        return Retrieved(passages=passages, entities=tuple(entities), relationships=tuple(relationships()))


class _Graph:
    """The graph arm's outcome: passages best first, `S` of each, mass per name, whether a passage is about a seed."""

    def __init__(
        self, scores: dict[PassageKey, float], names: dict[str, float], cosines: dict[PassageKey, float], about: bool
    ) -> None:
        self.scores = scores
        self.names = names
        self.cosines = cosines
        self.about = about
        self.order = best_first(scores)


_NO_GRAPH = _Graph({}, {}, {}, False)


def _graph_arm(run: Run, board: Board, candidates: list[PassageKey]) -> _Graph:
    with run.snapshot.beside(lambda: _read_residual(run)) as residual_read:
        subgraph = fetch_subgraph(run, candidates)
        walked = _walk(run, subgraph, residual_read)
    bridged = bridge(run, subgraph, walked.log_mass)
    near = dict(zip(subgraph.passages, walked.residual.tolist(), strict=True))
    gathered = dict(zip(subgraph.passages, walked.log_mass.tolist(), strict=True))
    floor = float(walked.log_mass.min())
    # Rounding makes the order independent of the last bits, which differ between processors.
    scores = {
        key: round(
            gathered.get(key, floor) + MIX.residual_weight * max(near.get(key, -1.0), bridged.near.get(key, -1.0)), 9
        )
        for key in sorted({*gathered, *bridged.near})
    }
    enter_graph(board, scores)
    return _Graph(
        scores,
        dict(zip(subgraph.names, walked.names.tolist(), strict=True)),
        bridged.cosines | dict(zip(subgraph.passages, walked.dense.tolist(), strict=True)),
        any(anchor.alias_weight >= MIX.title_like for anchor in run.asked.anchors),
    )


class _Residual(NamedTuple):
    """The question without its names: its vector, and the BM25 scores of passages that hold its terms."""

    vector: NDArray[np.float32]
    lexical: dict[PassageKey, float]


def _read_residual(run: Run) -> _Residual:
    vector = run.embedder().embed([run.asked.residual])[0]
    terms = question_terms(run.asked.residual, run.counts.languages)
    hits = run.snapshot.lexical(terms, run.counts, MIX.residual_hits)
    return _Residual(vector, {hit.key: hit.score for hit in hits})


class _Walked(NamedTuple):
    """By passage of the subgraph: cosine with the question, with the residual question, log of the walk's mass; and by
    name the mass."""

    dense: Floats
    residual: Floats
    log_mass: Floats
    names: Floats


def _walk(run: Run, subgraph: Subgraph, residual_read: Callable[[], _Residual]) -> _Walked:
    with run.ledger.stage("walk", given=len(subgraph.passages)) as stage:
        asked = residual_read()
        cosines = run.snapshot.similarities([run.asked.vector, asked.vector], subgraph.passages)
        dense = np.array([cosines[key][0] for key in subgraph.passages])
        residual = np.array([cosines[key][1] for key in subgraph.passages])
        lexical = np.array([asked.lexical.get(key, 0.0) for key in subgraph.passages])
        gain = np.exp(MIX.gain * (MIX.dense_weight * z_scores(residual) + MIX.lexical_weight * z_scores(lexical)))
        passages, names = walk(
            subgraph.incidence,
            min_max(residual),
            subgraph.seeds,
            gain,
            damping=MIX.damping,
            rounds=MIX.rounds,
            seed_share=MIX.seed_share,
        )
        mass = stage.hand_on(passages, kind=np.ndarray, most=len(subgraph.passages), check=_is_mass)
        return _Walked(dense, residual, np.log(mass + 1e-12), names)


def _is_mass(values: Floats) -> str | None:
    return None if np.isfinite(values).all() and (values >= 0).all() else "it handed on masses that are no numbers"


def _gated(run: Run, board: Board, candidates: list[PassageKey], graph: _Graph) -> dict[PassageKey, float]:
    keys = sorted(set(candidates) | set(graph.scores))
    if not keys:
        return {}
    plain = plain_scores(run, board, keys, graph.cosines)
    if not graph.scores:
        total = plain
    else:
        floor = min(graph.scores.values())
        graphed = np.array([graph.scores.get(key, floor) for key in keys])
        total = graphed if graph.about else z_scores(graphed) + MIX.plain_weight * plain
    run.ledger.count("gate", "plain" if not graph.scores else "graph" if graph.about else "both")
    return {key: round(float(score), 9) for key, score in zip(keys, total, strict=True)}


def _weighted_modes(run: Run) -> Retrieved:
    """Weighted reciprocal rank fusion of whole modes (`mix_weights`)."""
    weights = run.request.mix_weights or {}
    modes = {"local": local.retrieve, "global": facts.retrieve, "naive": naive.retrieve}
    parts = {name: retriever(run) for name, retriever in modes.items() if weights.get(name, 0.0) > 0}
    signals: dict[PassageKey, Signals] = merged_signals(parts)
    fused = rrf([(weights[name], [key for key, _ in part.passages]) for name, part in parts.items()])
    for key, score in fused.items():
        signals[key].fused = score
    entities = rrf([(weights[name], [entity for entity, _ in part.entities]) for name, part in parts.items()])
    relationships = {item.id: item for part in parts.values() for item in part.relationships}
    ranked = rrf([(weights[name], [item.id for item in part.relationships]) for name, part in parts.items()])
    return Retrieved(
        passages=ordered(signals, fused),
        entities=tuple((entity, entities[entity]) for entity in best_first(entities)),
        relationships=tuple(relationships[name] for name in best_first(ranked)),
        retrieval="+".join(parts),
    )
