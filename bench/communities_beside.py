"""Our communities beside those that came with a GraphRAG output folder, over the same relationships.

    python bench/communities_beside.py ../shared/data/christmas_carol_graphrag

Imports the folder into DATA, builds a tree, and prints for each level of either: communities, sizes, modularity
(Newman, 2006) over the folder's own relationships and weights, the share of relationships whose two ends both have a
community, and the share with both ends in the same one. Then asks an overview question of the imported text.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evigraph import Evigraph
from evigraph.community.cluster import modularity
from evigraph.text.names import name_key

QUESTION = "What are the main themes of the story?"
Labels = Mapping[str, int]
"""Community by entity title."""


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    with (folder / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def theirs(folder: Path) -> list[Labels]:
    """The folder's own communities, level by level; one that is not split further is carried down."""
    titles = {entity["id"]: entity["title"] for entity in rows(folder, "entities.jsonl")}
    communities = sorted(rows(folder, "communities.jsonl"), key=lambda item: (item["level"], item["community"]))
    levels: list[dict[str, int]] = []
    for item in communities:
        while item["level"] >= len(levels):
            levels.append(dict(levels[-1]) if levels else {})
        for entity in item["entity_ids"]:
            levels[item["level"]][titles[entity]] = item["community"]
    return list(levels)


def ours(graph: Evigraph, titles: Sequence[str]) -> list[Labels]:
    """The built tree, level by level, for the same titles."""
    with graph.store.snapshot(graph.workspace) as snapshot:
        paths = snapshot.tree_members()
        named: dict[str, list[str]] = {}
        for entity in sorted(paths):
            named.setdefault(entity.partition(":")[2], []).append(entity)
    found = {title: named.get(name_key(title), []) for title in titles}
    depth = len(next(iter(paths.values()), ()))
    return [{title: paths[ids[0]][level] for title, ids in found.items() if ids} for level in range(depth)]


def links(folder: Path, titles: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The folder's relationships as `(i, j, weight)` over the titles; those of one entity with itself are left out."""
    place = {title: at for at, title in enumerate(titles)}
    weights: dict[tuple[int, int], int] = {}
    for item in rows(folder, "relationships.jsonl"):
        ends = sorted((place[item["source"]], place[item["target"]]))
        if ends[0] != ends[1]:
            pair = ends[0], ends[1]
            weights[pair] = weights.get(pair, 0) + round(1000 * item["weight"])
    return np.array([(i, j, weight) for (i, j), weight in sorted(weights.items())], dtype=np.int64)


def titles(folder: Path) -> list[str]:
    """Titles of the folder's entities and of the ends of its relationships, sorted."""
    entities = {item["title"] for item in rows(folder, "entities.jsonl")}
    return sorted(
        entities | {item[end] for item in rows(folder, "relationships.jsonl") for end in ("source", "target")}
    )


def numbers(labels: Labels, titles: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The community of each title; -1 where it has none."""
    return np.array([labels.get(title, -1) for title in titles], dtype=np.int64)


def line(name: str, level: int, labels: Labels, titles: Sequence[str], edges: np.ndarray[Any, Any]) -> str:
    of = numbers(labels, titles)
    sizes = np.unique(of[of >= 0], return_counts=True)[1].tolist()
    one, other = of[edges[:, 0]], of[edges[:, 1]]
    reached = (one >= 0) & (other >= 0)
    inside = reached & (one == other)
    spread = f"{min(sizes)} / {statistics.median(sizes):g} / {max(sizes)}"
    return (
        f"| {name} | {level} | {len(sizes)} | {spread} | {modularity(of, edges):.3f} "
        f"| {reached.mean():.1%} | {inside.mean():.1%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="./evigraph-bench-beside")
    options = parser.parse_args()
    names = titles(options.folder)
    edges = links(options.folder, names)
    with Evigraph(options.data) as graph:
        if not graph.documents():
            graph.import_graph(options.folder)
        report = graph.communities.build()
        print(f"{len(names)} names, {len(edges)} pairs related; our tree: {report.entities} entities, ", end="")
        print(f"{report.assertions} assertions\n")
        print("| communities | level | number | sizes min / median / max | modularity | ends covered | inside one |")
        print("|---|---|---|---|---|---|---|")
        for name, levels in (("ours", ours(graph, names)), ("GraphRAG's", theirs(options.folder))):
            for level, labels in enumerate(levels):
                print(line(name, level, labels, names, edges))
        answer = graph.ask(QUESTION, mode="thematic_overview")
        print(f"\n{QUESTION}\n{answer.text}\n")
        for citation in answer.citations:
            print(f"[{citation.n}] {citation.source} {citation.start}-{citation.end} {citation.quote!r}")


if __name__ == "__main__":
    main()
