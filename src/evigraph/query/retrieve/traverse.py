"""`traverse`: from seeds along allowed predicates, as paths; evidence is the passages that make their hops.

Seeds are entity ids, or labels that stand for the entity whose name shares most words with them; without any, the
entities behind the question's names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from evigraph.errors import InvalidValue
from evigraph.graph.traverse import Limits, Traversal, Walk, traverse
from evigraph.query.fusion import best_first
from evigraph.query.ledger import repeated
from evigraph.query.retrieve.arms import Board, enter_graph, ordered
from evigraph.query.retrieve.local import MOST_SEEDS, anchored_entities
from evigraph.query.run import Retrieved, Run
from evigraph.query.spaces import cosines_apart
from evigraph.store.assertions import Edge
from evigraph.store.keys import PassageKey
from evigraph.text.names import name_key, split_entity_id
from evigraph.types import Path, Relationship

MAX_LABELS = 50
"""Labels looked up; each costs a search of all names in scope."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seed:
    """What a given seed stands for: the entity chosen (None: nothing in scope), how well its name matches (0-1), and
    how many other entities share a word with it."""

    given: str
    entity: str | None
    match: float = 1.0
    others: int = 0


def retrieve(run: Run) -> Retrieved:
    seeds = _seeds(run)
    if not seeds:
        what = "none of the given seeds is" if run.request.seeds is not None else "no name of the question is"
        return Retrieved(retrieval="traversal", empty=f"seeds: {what} an entity in scope")
    found = _walk(run, seeds)
    edges = [edge for walk in found.walks for edge in _edges(walk)]
    items = run.snapshot.assertions_at(edges)
    scores: dict[str, float] = {}
    entities: dict[str, float] = {}
    for walk in found.walks:
        for edge in _edges(walk):
            scores.setdefault(edge.id, walk.score)
        for entity in walk.entities:
            entities.setdefault(entity, walk.score)
    board: Board = {}
    passages = _passages(run, board, found.walks)
    return Retrieved(
        passages=ordered(board, passages),
        entities=tuple(entities.items()) or tuple((seed, None) for seed in best_first(seeds)),
        relationships=tuple(replace(items[name], score=score) for name, score in scores.items()),
        paths=tuple(_path(walk, [items[edge.id] for edge in walk.edges]) for walk in found.walks),
        retrieval="traversal",
        empty=None if found.walks else "traversal: no assertion in scope leads on from the seeds",
    )


# ------------------------------------------------------------------ seeds


def _seeds(run: Run) -> dict[str, float]:
    """Entities to start from, with weights in 0-1. What each given seed stands for goes into the counts."""
    with run.ledger.stage("seeds") as stage:
        if run.request.seeds is None:
            seeds = anchored_entities(run)
            run.ledger.count("seeds", [asdict(Seed(given=name, entity=name)) for name in best_first(seeds)])
        else:
            resolved = _resolve(run, run.request.seeds)
            seeds = {}
            for seed in resolved:
                if seed.entity is None:
                    run.ledger.degrade(f"traverse: seed {seed.given[:80]!r} is no entity in scope; left out")
                else:
                    if seed.match < 1:
                        run.ledger.degrade(
                            f"traverse: no entity is named {seed.given[:80]!r}; {seed.entity} shares most words with it"
                        )
                    seeds[seed.entity] = max(seeds.get(seed.entity, 0.0), seed.match)
            run.ledger.count("seeds", [asdict(seed) for seed in resolved])
        most = MOST_SEEDS if run.request.seeds is None else len(run.request.seeds)
        return stage.hand_on(seeds, because="no seed is an entity in scope", kind=float, most=most)


def _resolve(run: Run, given: Sequence[str]) -> list[Seed]:
    """Each seed once, in order."""
    distinct = list(dict.fromkeys(given))
    ids = [item for item in distinct if _is_id(item)]
    visible = run.snapshot.tallies(ids)
    labels = [item for item in distinct if not _is_id(item)]
    if len(labels) > MAX_LABELS:
        run.ledger.degrade(f"traverse: only the first {MAX_LABELS} of {len(labels)} labels were looked up (safety cap)")
    by_label = {label: _by_label(run, label) for label in labels[:MAX_LABELS]}
    resolved = []
    for item in distinct:
        if _is_id(item):
            entity = run.snapshot.identities.of(item)
            resolved.append(Seed(given=item, entity=entity if entity in visible else None))
        elif item in by_label:
            resolved.append(by_label[item])
    return resolved


def _is_id(item: str) -> bool:
    """Whether a seed is written as an entity id; a label may hold a colon, too."""
    try:
        key, _ = split_entity_id(item)
    except InvalidValue:
        return False
    return key == name_key(key) and item == item.lower() and " " not in item.rpartition(":")[0]


def _by_label(run: Run, label: str) -> Seed:
    words = name_key(label).split()
    found, total = run.snapshot.search_entities(words, type=None, limit=1, offset=0) if words else ([], 0)
    if not found:
        return Seed(given=label, entity=None)
    entity, match = found[0]
    return Seed(given=label, entity=entity, match=round(match, 6), others=total - 1)


# ------------------------------------------------------------------ paths


def _walk(run: Run, seeds: dict[str, float]) -> Traversal:
    """Traverse within the request's limits, and report what they cut."""
    request = run.request

    def expand(frontier: Sequence[str], per_node: int, rows: int) -> Sequence[Edge]:
        return run.snapshot.edges_of(
            frontier,
            per_node_limit=per_node,
            limit=rows,
            predicates=run.predicates,
            direction=request.direction,
        )

    limits = Limits(depth=request.graph_depth, per_node=request.per_node_limit, paths=request.limit)
    with run.ledger.stage("traverse") as stage:
        found = stage.hand_on(
            traverse(seeds, expand, limits),
            because="no assertion in scope leads on from the seeds",
            kind=Traversal,
            count=lambda walked: len(walked.walks),
            check=lambda walked: repeated("path", map(_identity, walked.walks)),
        )
    for number, hop in enumerate(found.hops, start=1):
        if hop.capped:
            run.ledger.degrade(f"traverse: hop {number} was cut at {limits.rows} assertions (safety cap)")
    run.ledger.count("hops", [asdict(hop) for hop in found.hops])
    run.ledger.count("paths_found", found.found)
    run.ledger.count("paths", len(found.walks))
    cut = any(hop.cut_entities or hop.spared or hop.kept < hop.found or hop.capped for hop in found.hops)
    run.ledger.count("traversal_truncated", cut or len(found.walks) < found.found)
    return found


def _identity(walk: Walk) -> Hashable:
    return walk.entities, tuple(edge.id for edge in walk.edges)


def _edges(walk: Walk) -> Iterable[Edge]:
    """The edges of a path, then those that state the same."""
    return [*walk.edges, *(edge for others in walk.parallel for edge in others)]


def _passages(run: Run, board: Board, walks: Sequence[Walk]) -> dict[PassageKey, float]:
    """Passages by the paths they support: each path gives its score over its place to the passages of its hops."""
    scores: dict[PassageKey, float] = {}
    for place, walk in enumerate(walks, start=1):
        for passage in sorted({edge.passage for edge in _edges(walk)}):
            scores[passage] = scores.get(passage, 0.0) + walk.score / place
    scores = {passage: round(score, 9) for passage, score in scores.items()}
    enter_graph(board, scores)
    for cosines in cosines_apart(run, sorted(scores)):
        for rank, key in enumerate(best_first(cosines), start=1):
            board[key].vector_score, board[key].vector_rank = cosines[key], rank
    return scores


def _path(walk: Walk, relationships: Sequence[Relationship]) -> Path:
    names = [
        item.source_name if edge.forward else item.target_name
        for edge, item in zip(walk.edges, relationships, strict=True)
    ]
    last, edge = relationships[-1], walk.edges[-1]
    return Path(
        entities=walk.entities,
        names=(*names, last.target_name if edge.forward else last.source_name),
        relationships=tuple(replace(item, score=walk.score) for item in relationships),
        score=walk.score,
    )
