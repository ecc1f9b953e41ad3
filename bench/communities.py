"""Communities of a large graph: how long the tree takes, how long the summaries, and how much memory.

    python bench/communities.py                                 100,000 entities, 500,000 assertions: kept in DATA
    python bench/communities.py --entities 2000 --assertions 10000 --documents 100

The graph is synthetic and seeded: entities belong to planted topics of some two hundred; within a topic, and over all
for one assertion in five, they are drawn with Zipf probabilities (Zipf, 1949). Ten assertions make a passage of ten
sentences, each document has a region, and all goes through the store's own stage and publish; no model runs. The steps
are timed one by one in a first process, and a whole build through `engine.communities` in a second. Prints a table,
then JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evigraph import Evigraph
from evigraph.community.cluster import cluster
from evigraph.community.compose import compose
from evigraph.community.hashes import input_hashes
from evigraph.community.read import open_tree
from evigraph.community.summarise import material, summarise
from evigraph.store import Store, open_store
from evigraph.store.rows import Publication, StagedPassages
from evigraph.testing.models import HashEmbedder
from evigraph.types import CO_OCCURS, Assertion, Mention, Passage

WORKSPACE = "planted"
EMBEDDER = HashEmbedder(8)
PREDICATES = ("SUPPLIES", "OWNS", "MET", "FUNDED", CO_OCCURS)
TOPIC = 200
"""Entities of one planted topic."""
STRAY = 0.2
"""Share of assertions that join any two entities."""
PER_PASSAGE = 10
BATCH = 100
"""Documents staged in one insert."""
REGIONS = ("north", "south", "lakes", "coast", "hills")


# --------------------------------------------------------------------------- the graph


def ends(rng: np.random.Generator, entities: int, assertions: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """`(assertions, 2)` entity numbers, topic by topic; no assertion has one entity at both ends."""
    topics = max(1, entities // TOPIC)
    within = _zipf(rng, -(-entities // topics), 2 * assertions).reshape(-1, 2)
    topic = np.sort(rng.integers(topics, size=assertions))
    pairs = (within * topics + topic[:, None]) % entities
    stray = rng.random(assertions) < STRAY
    pairs[stray] = _zipf(rng, entities, 2 * int(stray.sum())).reshape(-1, 2)
    same = pairs[:, 0] == pairs[:, 1]
    pairs[same, 1] = (pairs[same, 1] + topics) % entities
    return pairs


def _zipf(rng: np.random.Generator, count: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    weights = 1.0 / (10 + np.arange(count))
    return rng.choice(count, size=size, p=weights / weights.sum())


def documents(
    rng: np.random.Generator, entities: int, assertions: int, count: int
) -> Iterator[tuple[Publication, StagedPassages]]:
    """The graph cut into documents. Every entity is mentioned, and most of them asserted something of."""
    drawn = ends(rng, entities, assertions)
    predicates = rng.integers(len(PREDICATES), size=assertions)
    confidences = np.round(rng.uniform(0.3, 1.0, size=assertions), 3)
    alone = np.array_split(np.setdiff1d(np.arange(entities), drawn), count)
    for number, rows in enumerate(np.array_split(np.arange(assertions), count)):
        name = f"document-{number:05}"
        claims = [(drawn[row], PREDICATES[predicates[row]], float(confidences[row])) for row in rows]
        staged = _document(name, claims, alone[number].tolist())
        yield _publication(name, len(staged.passages), REGIONS[number % len(REGIONS)]), staged


def _document(name: str, claims: list[tuple[Any, str, float]], alone: list[int]) -> StagedPassages:
    passages: list[Passage] = []
    made: list[Assertion] = []
    mentions: dict[tuple[int, int], tuple[int, int]] = {}
    start = 0
    for index, first in enumerate(range(0, len(claims), PER_PASSAGE)):
        spans, texts, at = [], [], start
        for pair, predicate, confidence in claims[first : first + PER_PASSAGE]:
            text = f"It is told here that entity {pair[0]} {predicate.lower()} entity {pair[1]} in that year."
            spans.append((at, at + len(text)))
            texts.append(text)
            made.append(_claim(index, pair, predicate, confidence, spans[-1]))
            for entity in pair:
                mentions.setdefault((index, int(entity)), spans[-1])
            at += len(text) + 1
        if index == 0:
            mentions.update({(0, entity): spans[0] for entity in alone})
        text = " ".join(texts)
        passages.append(
            Passage(
                document_id=name,
                revision=1,
                index=index,
                start=start,
                end=start + len(text),
                text=text,
                sentences=tuple(spans),
            )
        )
        start += len(text) + 2
    return StagedPassages(
        passages=passages,
        vectors=EMBEDDER.embed([passage.document_id for passage in passages]),
        terms=[{name: 1}] * len(passages),
        mentions=[_mention(index, entity, span) for (index, entity), span in sorted(mentions.items())],
        assertions=made,
    )


def _claim(passage: int, pair: Any, predicate: str, confidence: float, span: tuple[int, int]) -> Assertion:
    return Assertion(
        passage_index=passage,
        subject_id=f"organization:entity {pair[0]}",
        subject_name=f"Entity {pair[0]}",
        subject_type="ORGANIZATION",
        predicate=predicate,
        object_id=f"organization:entity {pair[1]}",
        object_name=f"Entity {pair[1]}",
        object_type="ORGANIZATION",
        description=f"Entity {pair[0]} {predicate.lower()} Entity {pair[1]}",
        start=span[0],
        end=span[1],
        confidence=confidence,
        extractor="synthetic",
    )


def _mention(passage: int, entity: int, span: tuple[int, int]) -> Mention:
    return Mention(
        passage_index=passage,
        entity_id=f"organization:entity {entity}",
        key=f"entity {entity}",
        name=f"Entity {entity}",
        type="ORGANIZATION",
        start=span[0],
        end=span[1],
        extractor="synthetic",
    )


def _publication(name: str, passages: int, region: str) -> Publication:
    return Publication(
        document_id=name,
        revision=1,
        source=f"{region}/{name}.txt",
        title=name,
        date=None,
        metadata={"region": region},
        media_type="text/plain",
        language="en",
        content_hash=name,
        passages=passages,
        terms=passages,
    )


def fill(store: Store, *, entities: int, assertions: int, count: int, seed: int) -> float:
    """Fill the workspace unless it is filled; seconds it took."""
    started = time.perf_counter()
    if store.generation(WORKSPACE):
        return 0.0
    store.record_change(WORKSPACE, "embedder", {"model": EMBEDDER.name, "dimension": EMBEDDER.dimension})
    made = documents(np.random.default_rng(seed), entities, assertions, count)
    publications = []
    while pending := [pair for _, pair in zip(range(BATCH), made, strict=False)]:
        store.reserve(WORKSPACE, [publication.document_id for publication, _ in pending])
        store.stage(WORKSPACE, EMBEDDER.name, [staged for _, staged in pending])
        publications += [publication for publication, _ in pending]
    store.publish(WORKSPACE, publications)
    return time.perf_counter() - started


# --------------------------------------------------------------------------- the measured steps


def steps(data: str) -> dict[str, Any]:
    """Seconds of each step by itself, in a process of its own."""
    seconds: dict[str, float] = {}
    cpu: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        started, worked = time.perf_counter(), time.process_time()
        result = step()
        seconds[name] = round(time.perf_counter() - started, 2)
        cpu[name] = round(time.process_time() - worked, 2)
        return result

    store = open_store(data)
    before = peak()
    with store.snapshot(WORKSPACE) as snapshot:
        graph = timed("read graph", snapshot.community_graph)
        tree = timed("cluster", lambda: cluster(graph.entities, graph.links))
        statements = timed("read statements", snapshot.community_statements)
        found = material(statements)
        leaves = timed("summarise", lambda: summarise(tree, found))
        chosen = timed("compose", lambda: compose(tree, leaves, found))
        timed("hash", lambda: input_hashes(tree, statements, []))
    store.close()
    return {
        "entities": len(graph.entities),
        "links": len(graph.links),
        "assertions": len(statements.subject),
        "sentences": len(statements.start),
        "communities": len(chosen),
        "with_summary": sum(bool(sentences) for sentences in chosen.values()),
        "steps_s": seconds,
        "steps_cpu_s": cpu,
        "tree_s": round(seconds["read graph"] + seconds["cluster"], 2),
        "peak_mb_before": before,
        "peak_mb": peak(),
    }


def whole(data: str) -> dict[str, Any]:
    """A build, a second one, and reads, through the engine."""
    with Evigraph(data, workspace=WORKSPACE, embedder=EMBEDDER) as engine:
        worked = time.process_time()
        report = engine.communities.build()
        worked = time.process_time() - worked
        again = engine.communities.build()
        started = time.perf_counter()
        listed = engine.communities.show(0, limit=10)
        shown = time.perf_counter() - started
        started = time.perf_counter()
        with engine.store.snapshot(WORKSPACE) as snapshot:
            open_tree(snapshot).community_of(0)
        opened = time.perf_counter() - started
    return {
        "build_s": round(report.seconds, 1),
        "build_cpu_s": round(worked, 1),
        "published": report.published,
        "again_s": round(again.seconds, 1),
        "again_published": again.published,
        "again_reused": again.cost.reused,
        "show_s": round(shown, 2),
        "shown": len(listed.communities),
        "open_tree_s": round(opened, 2),
        "levels": [
            {
                "level": level.level,
                "communities": level.communities,
                "largest": level.largest,
                "median": level.median,
                "smallest": level.smallest,
                "modularity": level.modularity,
            }
            for level in report.levels
        ],
        "peak_mb": peak(),
    }


def peak() -> int:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def table(figures: dict[str, Any]) -> str:
    first, second = figures["steps"], figures["whole"]
    lines = [
        f"{first['entities']} entities, {first['assertions']} assertions, {first['sentences']} sentences,"
        f" load {figures['load']}",
        *(
            f"{name:20} {value:>8} s   {first['steps_cpu_s'][name]:>6} s of CPU"
            for name, value in first["steps_s"].items()
        ),
        f"{'tree':20} {first['tree_s']:>8} s   (graph read and clustered)",
        f"{'build':20} {second['build_s']:>8} s   {second['build_cpu_s']:>6} s of CPU, peak {second['peak_mb']} MB",
        f"{'build again':20} {second['again_s']:>8} s   published {second['again_published']}",
        f"{'open tree':20} {second['open_tree_s']:>8} s   list ten communities {second['show_s']} s",
    ]
    lines += [
        f"level {level['level']}: {level['communities']:>7} communities of {level['smallest']} to {level['largest']},"
        f" median {level['median']}, modularity {level['modularity']:.3f}"
        for level in second["levels"]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--assertions", type=int, default=500_000)
    parser.add_argument("--documents", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    parser.add_argument("--data", default="./evigraph-bench-communities")
    parser.add_argument("--output", type=Path, help="write the figures here too")
    parser.add_argument("--part", choices=("fill", "steps", "whole"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part is not None:
        print(json.dumps(part(given)))
        return
    figures: dict[str, Any] = {"documents": given.documents}
    for name in ("fill", "steps", "whole"):
        command = [sys.executable, __file__, *sys.argv[1:], "--part", name]
        figures[name] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    figures["load"] = [round(value, 2) for value in os.getloadavg()]
    print(table(figures))
    print(json.dumps(figures, indent=2))
    if given.output is not None:
        given.output.write_text(json.dumps(figures, indent=2) + "\n")


def part(given: argparse.Namespace) -> dict[str, Any]:
    """One part of the measurement, in a process of its own, so that its memory is its own."""
    if given.part == "steps":
        return steps(given.data)
    if given.part == "whole":
        return whole(given.data)
    store = open_store(given.data)
    try:
        seconds = fill(
            store, entities=given.entities, assertions=given.assertions, count=given.documents, seed=given.seed
        )
    finally:
        store.close()
    return {"fill_s": round(seconds, 1)}


if __name__ == "__main__":
    main()
