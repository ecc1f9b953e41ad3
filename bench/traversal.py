"""Depth-3 traversals over a skewed graph, beside one recursive statement that does the same.

    python bench/traversal.py                                   1,000,000 assertions: minutes to build, kept in DATA
    python bench/traversal.py --assertions 20000 --documents 200 --seeds 5

The graph is synthetic and seeded: entities are drawn with Zipf probabilities (Zipf, 1949) capped so that the few
largest hubs have one edge end in forty. Rows go through the store's own stage and publish; no model runs. Prints a
table, then JSON. `rows_read` is what the engine says it read, statement by statement.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evigraph.errors import StoreError
from evigraph.graph.traverse import HopReport, Limits, traverse
from evigraph.store import Snapshot, Store, open_store
from evigraph.store.assertions import Edge
from evigraph.store.rows import Publication, StagedPassages
from evigraph.testing.models import HashEmbedder
from evigraph.types import Assertion, Mention, Passage, Relationship

WORKSPACE = "skewed"
EMBEDDER = HashEmbedder(8)
PREDICATES = ("SUPPLIES", "OWNS", "MET", "FUNDED", "CO_OCCURS")
PER_PASSAGE = 10
"""Assertions of one passage."""
HUB_SHARE = 1 / 40
"""Largest share of all edge ends that one entity gets: 50,000 of the 2,000,000 ends of a million assertions."""
BATCH = 100
"""Documents staged in one insert."""
DEPTH = 3
PER_NODE = 20
PATHS = 50
"""The mode's own defaults."""


# --------------------------------------------------------------------------- the graph


def ends(rng: np.random.Generator, assertions: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """`(assertions, 2)` entity numbers, 0 the largest hub; no assertion has one entity at both ends."""
    entities = max(50, assertions // 5)
    weights = 1.0 / np.arange(1, entities + 1)
    for _ in range(20):  # capping lifts the others, so it takes a few rounds
        weights = np.minimum(weights / weights.sum(), HUB_SHARE)
    drawn = rng.choice(entities, size=(assertions, 2), p=weights / weights.sum())
    same = drawn[:, 0] == drawn[:, 1]
    drawn[same, 1] = (drawn[same, 1] + 1) % entities
    return drawn


def documents(rng: np.random.Generator, assertions: int, count: int) -> Iterator[tuple[Publication, StagedPassages]]:
    """The graph cut into documents."""
    drawn = ends(rng, assertions)
    predicates = rng.integers(len(PREDICATES), size=assertions)
    confidences = np.round(rng.uniform(0.3, 1.0, size=assertions), 3)
    for number, rows in enumerate(np.array_split(np.arange(assertions), count)):
        name = f"document-{number:05}"
        passages = [
            Passage(document_id=name, revision=1, index=i, start=40 * i, end=40 * i + 39, text=f"{name} {i}".ljust(39))
            for i in range(max(1, -(-len(rows) // PER_PASSAGE)))
        ]
        claims = [
            _claim(i // PER_PASSAGE, drawn[row], PREDICATES[predicates[row]], float(confidences[row]))
            for i, row in enumerate(rows)
        ]
        yield (
            _publication(name, len(passages)),
            StagedPassages(
                passages=passages,
                vectors=EMBEDDER.embed([passage.text for passage in passages]),
                terms=[{name: 1}] * len(passages),
                mentions=_mentions(claims),
                assertions=claims,
            ),
        )


def entity(number: int) -> str:
    return f"organization:entity {number}"


def _claim(passage: int, pair: Sequence[int], predicate: str, confidence: float) -> Assertion:
    return Assertion(
        passage_index=passage,
        subject_id=entity(pair[0]),
        subject_name=f"Entity {pair[0]}",
        subject_type="ORGANIZATION",
        predicate=predicate,
        object_id=entity(pair[1]),
        object_name=f"Entity {pair[1]}",
        object_type="ORGANIZATION",
        description=f"Entity {pair[0]} {predicate.lower()} Entity {pair[1]}, as its passage says in so many words",
        start=40 * passage,
        end=40 * passage + 39,
        confidence=confidence,
        extractor="synthetic",
    )


def _mentions(claims: Sequence[Assertion]) -> list[Mention]:
    """Each entity once a passage."""
    found = {
        (claim.passage_index, name): label
        for claim in claims
        for name, label in ((claim.subject_id, claim.subject_name), (claim.object_id, claim.object_name))
    }
    return [
        Mention(
            passage_index=passage,
            entity_id=name,
            key=label.lower(),
            name=label,
            type="ORGANIZATION",
            start=40 * passage,
            end=40 * passage + 39,
            extractor="synthetic",
        )
        for (passage, name), label in found.items()
    ]


def _publication(name: str, passages: int) -> Publication:
    return Publication(
        document_id=name,
        revision=1,
        source=f"{name}.txt",
        title=name,
        date=None,
        metadata={},
        media_type="text/plain",
        language="en",
        content_hash=name,
        passages=passages,
        terms=passages,
    )


def build(store: Store, *, assertions: int, count: int, seed: int) -> float:
    """Fill the workspace unless it is filled; seconds it took."""
    started = time.perf_counter()
    if store.generation(WORKSPACE):
        return 0.0
    store.record_change(WORKSPACE, "embedder", {"model": EMBEDDER.name, "dimension": EMBEDDER.dimension})
    made = documents(np.random.default_rng(seed), assertions, count)
    publications = []
    while pending := [pair for _, pair in zip(range(BATCH), made, strict=False)]:
        store.reserve(WORKSPACE, [publication.document_id for publication, _ in pending])
        store.stage(WORKSPACE, EMBEDDER.name, [staged for _, staged in pending])
        publications += [publication for publication, _ in pending]
    store.publish(WORKSPACE, publications)
    return time.perf_counter() - started


# --------------------------------------------------------------------------- the measured search


@dataclass(kw_only=True)
class Meter:
    """Stands between a snapshot and its store, and asks the engine what each statement will read."""

    run: Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
    counting: bool = False
    rows_read: list[int] = field(default_factory=list)

    def __call__(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        if self.counting:
            estimate = self.run(f"EXPLAIN ESTIMATE {sql}", parameters)
            self.rows_read.append(sum(int(row[3]) for row in estimate if row[1] == "assertions"))
        return self.run(sql, parameters)


def search(snapshot: Snapshot, seed: str) -> tuple[tuple[HopReport, ...], dict[str, Relationship]]:
    """One traversal as the mode runs it, with the assertions of its paths fetched whole."""

    def expand(frontier: Sequence[str], per_node: int, rows: int) -> Sequence[Edge]:
        return snapshot.edges_of(frontier, per_node_limit=per_node, limit=rows)

    found = traverse({seed: 1.0}, expand, Limits(depth=DEPTH, per_node=PER_NODE, paths=PATHS))
    edges = [edge for walk in found.walks for edge in (*walk.edges, *(e for same in walk.parallel for e in same))]
    for walk in found.walks:
        assert len(set(walk.entities)) == len(walk.entities) <= DEPTH + 1
    return found.hops, snapshot.assertions_at(edges)


RECURSIVE = """
    WITH RECURSIVE edges AS (
        SELECT subject_id AS origin, object_id AS other, predicate, confidence, assertion_id FROM assertions
        WHERE workspace = {workspace:String} AND revision_key IN REVISIONS
        UNION ALL
        SELECT object_id AS origin, subject_id AS other, predicate, confidence, assertion_id FROM assertions
        WHERE workspace = {workspace:String} AND revision_key IN REVISIONS),
    walk AS (
        SELECT {seed:String} AS entity, [{seed:String}] AS path, CAST([], 'Array(String)') AS hops,
            toFloat64(1) AS worth, 0 AS depth
        UNION ALL
        SELECT other, arrayPushBack(path, other), arrayPushBack(hops, assertion_id),
            worth * confidence * if(predicate = 'CO_OCCURS', 0.3, 1), depth + 1
        FROM (
            SELECT walk.path AS path, walk.hops AS hops, walk.worth AS worth, walk.depth AS depth,
                edges.other AS other, edges.predicate AS predicate, edges.confidence AS confidence,
                edges.assertion_id AS assertion_id
            FROM edges INNER JOIN walk ON edges.origin = walk.entity
            WHERE walk.depth < {depth:UInt8} AND NOT has(walk.path, edges.other)
            ORDER BY walk.path, walk.hops, predicate = 'CO_OCCURS', confidence DESC, assertion_id
            LIMIT {per_node:UInt32} BY walk.path, walk.hops)
        ORDER BY worth * confidence DESC, path, assertion_id LIMIT {paths:UInt32})
    SELECT path, hops, worth FROM walk WHERE depth > 0 ORDER BY worth DESC, path, hops LIMIT {paths:UInt32}"""
"""The same limits in one statement: `LIMIT n BY` per path, the best paths per hop."""


def recursive(snapshot: Snapshot, seed: str) -> int:
    """Paths that the recursive statement finds. It joins on both sides of the table at each hop, so that each hop reads
    the whole of both."""
    sql = RECURSIVE.replace("REVISIONS", snapshot.scope.revisions)
    bound = {**snapshot.scope.parameters, "seed": seed, "depth": DEPTH, "per_node": PER_NODE, "paths": PATHS}
    return len(snapshot._run(sql, bound))


# --------------------------------------------------------------------------- the report


def measure(store: Store, seeds: Sequence[str], *, recursive_seeds: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    timed: list[tuple[str, float, float]] = []
    with store.snapshot(WORKSPACE) as snapshot:
        meter = Meter(run=snapshot._run)
        snapshot._run = meter
        snapshot.counts()
        search(snapshot, seeds[0])  # warm
        for seed in seeds:
            wall, cpu = time.perf_counter(), time.process_time()
            search(snapshot, seed)
            timed.append((seed, time.perf_counter() - wall, time.process_time() - cpu))
        figures["hops"] = _hops(snapshot, meter, seeds)
        figures["recursive_cte"] = _recursive(snapshot, seeds[:recursive_seeds])
    for name, column in (("wall_ms", 1), ("cpu_ms", 2)):
        values = sorted(1000 * row[column] for row in timed)  # type: ignore[arg-type, operator]
        figures[name] = {"p50": _p(values, 0.5), "p95": _p(values, 0.95), "max": round(values[-1], 1)}
    figures["per_seed"] = [
        {"seed": s, "wall_ms": round(1000 * w, 1), "cpu_ms": round(1000 * c, 1)} for s, w, c in timed
    ]
    return figures


def _hops(snapshot: Snapshot, meter: Meter, seeds: Sequence[str]) -> list[dict[str, Any]]:
    """Medians, hop by hop, and of the fetch at the end."""
    meter.counting = True
    seen: dict[str, list[tuple[int, int, int]]] = {}
    for seed in seeds:
        meter.rows_read = []
        hops, fetched = search(snapshot, seed)
        for number, (hop, rows) in enumerate(zip(hops, meter.rows_read, strict=False), start=1):
            seen.setdefault(f"hop {number}", []).append((hop.entities, hop.edges, rows))
        seen.setdefault("fetch", []).append((0, len(fetched), meter.rows_read[-1]))
    meter.counting = False
    names = ("entities", "edges", "rows_read")
    return [
        {"stage": stage}
        | {name: statistics.median(row[at] for row in rows) for at, name in enumerate(names)}
        | {"max_rows_read": max(row[2] for row in rows)}
        for stage, rows in sorted(seen.items(), key=lambda pair: (pair[0] == "fetch", pair[0]))
    ]


def _recursive(snapshot: Snapshot, seeds: Sequence[str]) -> dict[str, Any]:
    runs = []
    for seed in seeds:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            outcome: int | str = recursive(snapshot, seed)
        except StoreError as error:
            outcome = str(error)[:200]
        runs.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu), outcome))
    if not runs:
        return {}
    counted = snapshot._run("SELECT count() FROM assertions WHERE workspace = {workspace:String}", _bound(snapshot))
    return {
        "wall_ms": {"p50": _p(sorted(run[0] for run in runs), 0.5)},
        "cpu_ms": {"p50": _p(sorted(run[1] for run in runs), 0.5)},
        "rows_read_per_hop": 2 * counted[0][0],
        "paths": [run[2] for run in runs],
    }


def _bound(snapshot: Snapshot) -> dict[str, Any]:
    return {"workspace": snapshot.scope.workspace}


def _p(values: Sequence[float], share: float) -> float:
    return round(values[min(len(values) - 1, int(share * len(values)))], 1)


def pick(rng: np.random.Generator, assertions: int, count: int) -> list[str]:
    """Seeds: the largest hub first, then others of the ten largest and random entities in turn."""
    entities = max(50, assertions // 5)
    random = rng.integers(10, entities, size=count)
    return [entity(at // 4 if at % 4 == 0 else int(random[at])) for at in range(count)]


def table(figures: Mapping[str, Any]) -> str:
    lines = [f"{figures['assertions']} assertions in {figures['documents']} documents, load {figures['load']}"]
    for label, part in (("frontier by frontier", figures), ("one recursive CTE", figures["recursive_cte"])):
        for unit in ("wall_ms", "cpu_ms"):
            if unit in part:
                shown = "  ".join(f"{name} {value:>9}" for name, value in part[unit].items())
                lines.append(f"{label:22} {unit:8} {shown}")
    lines += [
        f"{hop['stage']:22} entities {hop['entities']:>6}  edges {hop['edges']:>6}  rows read {hop['rows_read']:>10}"
        for hop in figures["hops"]
    ]
    return "\n".join(lines)


def run(data: str, *, assertions: int, count: int, seeds: int, recursive_seeds: int, seed: int) -> dict[str, Any]:
    """Build where needed, measure, and return the figures."""
    store = open_store(data)
    try:
        built = build(store, assertions=assertions, count=count, seed=seed)
        degrees = store.rows(
            """SELECT count() AS ends FROM (
                SELECT subject_id AS entity FROM assertions UNION ALL SELECT object_id AS entity FROM assertions)
            GROUP BY entity ORDER BY ends DESC LIMIT 5""",
            {},
        )
        figures = measure(
            store, pick(np.random.default_rng(seed + 1), assertions, seeds), recursive_seeds=recursive_seeds
        )
    finally:
        store.close()
    return {
        "assertions": assertions,
        "documents": count,
        "build_s": round(built, 1),
        "largest_degrees": [row[0] for row in degrees],
        "depth": DEPTH,
        "per_node_limit": PER_NODE,
        "limit": PATHS,
        "seeds": seeds,
        "load": [round(value, 2) for value in os.getloadavg()],
        **figures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assertions", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=4_000)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--recursive-seeds", type=int, default=2, help="seeds the recursive statement is given")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    parser.add_argument("--data", default="./evigraph-bench-traversal")
    parser.add_argument("--output", type=Path, help="write the figures here too")
    given = parser.parse_args()
    figures = run(
        given.data,
        assertions=given.assertions,
        count=given.documents,
        seeds=given.seeds,
        recursive_seeds=given.recursive_seeds,
        seed=given.seed,
    )
    print(table(figures))
    print(json.dumps(figures, indent=2))
    if given.output is not None:
        given.output.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
