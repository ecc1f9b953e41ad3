"""Several embedding spaces in one scope: each searched by itself, the rankings merged by reciprocal rank fusion.

Cosines of two models cannot be compared, ranks can: the passage in place n of its space gets `1 / (60 + n)`, which is
its `fused` and its `score`; what the arms say of it stays what it is in its space. A walk through the graph stays in
its space, too. What is shown of an entity, its description and its degree, is of the whole scope, as everywhere; under
the modes whose facts are *about* the passages shown, so are these. A space whose model is not configured is searched by
words, and under the modes that walk, along the graph from the names of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evigraph.errors import ModelError
from evigraph.query.fusion import best_first, rrf
from evigraph.query.retrieve import entity_connections, facts, keyword_lookup, local, mix
from evigraph.query.retrieve.arms import (
    Board,
    Ranking,
    enter_graph,
    entities_in,
    lexical_arm,
    ordered,
    relationships_in,
)
from evigraph.query.run import EmbeddingSpace, Retrieved, Run
from evigraph.query.spaces import within
from evigraph.store.keys import PassageKey
from evigraph.types import Method, Mode, Relationship

WHOLE = (Mode.BYPASS, Mode.PLAN, Mode.TRAVERSE, Mode.THEMATIC_OVERVIEW)
"""Modes that see to several spaces themselves, or compare no vectors: hops and counts are those of the whole scope."""
_WALKING = (Mode.LOCAL, Mode.HYBRID, Mode.MIX)

Search = Callable[[Run], Retrieved]


def apart(run: Run, search: Search) -> Retrieved:
    """What a search finds in each space, as one."""
    found: list[Retrieved] = []
    method, counts = run.method, dict(run.ledger.counts)
    gained: list[Mapping[str, Any]] = []
    methods = []
    for number in range(len(run.spaces)):
        run.method = method
        found.append(_searched(run, number, search))
        methods.append(run.method)
        gained.append({name: value for name, value in run.ledger.counts.items() if counts.get(name, _NONE) != value})
        run.ledger.counts = dict(counts)
    searched = [one for one, space in zip(methods, run.spaces, strict=True) if space.embedder is not None]
    # What the method could do in any space is what was done.
    unsearched = Method.STANDARD if method is Method.RAPTOR else method
    run.method = method if method in searched else (searched or [unsearched])[0]
    run.ledger.counts.update(_together(gained))
    _tell(run, found)
    return _merged(run, found)


_NONE = object()


def _searched(run: Run, number: int, search: Search) -> Retrieved:
    """What is found in one space; by words alone where its model is not configured or fails."""
    space = run.spaces[number]
    if space.embedder is not None:
        counts = dict(run.ledger.counts)
        try:
            with within(run, space):
                return search(run)
        except ModelError as error:
            run.ledger.counts = counts
            space = _go_without(run, number, error)
    with within(run, space):
        return _by_words(run)


def _go_without(run: Run, number: int, error: ModelError) -> EmbeddingSpace:
    """The space without its model, which nothing is to ask again in this run."""
    space = run.spaces[number]
    run.ledger.degrade(
        f"embedding: the model {space.model!r} of {space.documents} documents failed ({error}); they were searched by"
        " words and names alone"
    )
    run.repeatable = False
    blind = replace(space, embedder=None, snapshot=space.snapshot.without_vectors(), missing="whose model failed")
    run.spaces = (*run.spaces[:number], blind, *run.spaces[number + 1 :])
    told = list(run.details["embedding_models"])
    told[number] = {**told[number], "searched_by_vector": False}
    run.details["embedding_models"] = told
    return blind


def _tell(run: Run, found: Sequence[Retrieved]) -> None:
    """Put into what is said of the spaces how many passages each gave."""
    told = [
        {**told, "passages_ranked": len(one.passages)}
        for told, one in zip(run.details["embedding_models"], found, strict=True)
    ]
    run.details["embedding_models"] = told
    run.ledger.count("embedding_models", told)


def _together(gained: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of all spaces: numbers add up, lists follow each other, of anything else the first stays."""
    made: dict[str, Any] = {}
    for name, value in (pair for counts in gained for pair in counts.items()):
        known = made.get(name)
        if known is None:
            made[name] = value
        elif isinstance(value, bool):
            made[name] = known or value
        elif isinstance(value, int) and isinstance(known, int):
            made[name] = known + value
        elif isinstance(value, list) and isinstance(known, list):
            made[name] = [*known, *value]
    return made


def _by_words(run: Run) -> Retrieved:
    """What BM25 finds in a space that is not searched by vector; under modes that walk, the graph too."""
    board: Board = {}
    rankings = [lexical_arm(run, board)]
    entities: dict[str, float] = {}
    if run.request.mode in _WALKING and run.asked.anchors:
        walked = local.traverse(run, local.anchored_entities(run))
        scores: dict[PassageKey, float] = {}
        for edge, traffic in walked.edges:
            scores[edge.passage] = scores.get(edge.passage, 0.0) + traffic
        rankings.append(enter_graph(board, {key: round(score, 9) for key, score in scores.items()}))
        entities.update(walked.entities)
    passages = ordered(board, rrf([(1.0, ranking) for ranking in rankings]))
    top = [key for key, _ in passages[: run.request.max_chunks]]
    graph = run.request.mode is not Mode.NAIVE
    return Retrieved(
        passages=passages,
        entities=tuple(entities_in(run, top)) if graph else (),
        relationships=tuple(relationships_in(run, top)) if graph else (),
        retrieval="bm25+graph" if len(rankings) > 1 else "bm25",
    )


# --------------------------------------------------------------------------- merging


_AROUND: Mapping[Mode, Callable[[Run, Ranking], Retrieved]] = {
    Mode.MIX: mix.around,
    Mode.KEYWORD_LOOKUP: keyword_lookup.around,
    Mode.ENTITY_CONNECTIONS: entity_connections.around,
}
"""Modes whose facts are those of the passages shown, wherever they are asserted."""


def _merged(run: Run, found: Sequence[Retrieved]) -> Retrieved:
    mode = run.request.mode
    passages = fused([one.passages for one in found])
    retrieval = _retrieval(run, found)
    if not passages and mode is Mode.GLOBAL:
        return facts.popular(run)
    if mode in _AROUND and run.request.mix_weights is None:
        made = _AROUND[mode](run, passages)
        named = retrieval if mode is Mode.MIX else made.retrieval
        return replace(made, retrieval=named.replace("bm25+vector", "bm25") if run.blind else named)
    of = run.snapshot.identities.of
    entities = rrf([(1.0, _once(of(entity) for entity, _ in one.entities)) for one in found])
    return Retrieved(
        passages=passages,
        entities=tuple((entity, entities[entity]) for entity in best_first(entities)),
        relationships=_relationships(run, found),
        relationships_found=_total(found),
        retrieval=retrieval,
        empty=None if passages else found[0].empty,
    )


def fused(rankings: Sequence[Ranking]) -> Ranking:
    """Rankings of passages of different documents as one, ties by key."""
    scores = rrf([(1.0, [key for key, _ in ranking]) for ranking in rankings])
    board: Board = {key: signals for ranking in rankings for key, signals in ranking}
    for key, score in scores.items():
        board[key].fused = score
    return ordered(board, scores)


def _relationships(run: Run, found: Sequence[Retrieved]) -> tuple[Relationship, ...]:
    """By reciprocal rank; one that had a score has that of its rank."""
    of = run.snapshot.identities.of
    ranks = rrf([(1.0, [item.id for item in one.relationships]) for one in found])
    items = {item.id: item for one in found for item in one.relationships}
    return tuple(
        replace(
            item, source=of(item.source), target=of(item.target), score=None if item.score is None else ranks[item.id]
        )
        for item in (items[name] for name in best_first(ranks))
    )


def _total(found: Sequence[Retrieved]) -> int | None:
    if all(one.relationships_found is None for one in found):
        return None
    return sum(len(one.relationships) if one.relationships_found is None else one.relationships_found for one in found)


def _retrieval(run: Run, found: Sequence[Retrieved]) -> str:
    """What the mode did in the space where it could do most."""

    def worth(pair: tuple[Retrieved, EmbeddingSpace]) -> tuple[bool, bool, int]:
        one, space = pair
        return space.embedder is not None, one.retrieval == "raptor", one.retrieval.count("+")

    return max(zip(found, run.spaces, strict=True), key=worth)[0].retrieval


def _once(items: Any) -> list[str]:
    return list(dict.fromkeys(items))
