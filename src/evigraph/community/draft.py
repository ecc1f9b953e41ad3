"""All that a build works out of a scope before a model is asked: tree, extractive summaries, input hashes, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evigraph.community.cluster import Links, Tree, as_array, cluster, modularity
from evigraph.community.compose import children, compose
from evigraph.community.counted import Counted
from evigraph.community.hashes import input_hashes
from evigraph.community.prompt import PROMPT
from evigraph.community.summarise import PARAMETERS, Material, material, summarise
from evigraph.store import Snapshot
from evigraph.store.communities import Statements, TreeNode
from evigraph.store.trees import StagedSummary

SHOWN = 12
"""Sentences of a community that a chat model reads."""
PARTS = 20
"""Parts of a community whose summaries are read for its own, the largest."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A tree with what its summaries are made of. `writer` names the chat model, "" without one. `hashes` are of the
    inputs of each summary as `writer` makes it, `extractive_hashes` as it is without."""

    tree: Tree
    statements: Statements
    material: Material
    counted: Counted
    writer: str
    figures: tuple[Mapping[str, Any], ...]
    chosen: Mapping[int, tuple[int, ...]]
    hashes: Mapping[int, str]
    extractive_hashes: Mapping[int, str]

    @cached_property
    def shown(self) -> dict[int, tuple[int, ...]]:
        """Sentences of each undivided community that a chat model reads."""
        return summarise(self.tree, self.material, replace(PARAMETERS, sentences=SHOWN))

    @cached_property
    def nodes(self) -> dict[int, TreeNode]:
        return {node.number: node for node in self.tree.nodes}

    @cached_property
    def parts(self) -> dict[int, tuple[int, ...]]:
        """The parts of each divided community."""
        return children(self.tree)

    @cached_property
    def upwards(self) -> list[list[TreeNode]]:
        """Communities in the order in which summaries are written: none before its parts."""
        levels: list[list[TreeNode]] = [[] for _ in range(self.tree.levels)]
        for node in self.tree.nodes:
            levels[node.last_level].append(node)
        return levels[::-1]

    def extractive(self, number: int) -> StagedSummary:
        """The extractive summary of a community. Where a model could have written one it keeps the hash of what it is,
        so that the next run asks again."""
        hashes = self.extractive_hashes if self.chosen[number] else self.hashes
        references = [self.statements.reference(at) for at in self.chosen[number]]
        return StagedSummary(number=number, input_hash=hashes[number], references=references)

    def best(self, number: int, limit: int) -> tuple[str, ...]:
        """Ids of the best connected members."""
        return self.counted.best(self.nodes[number], limit)

    def read_parts(self, number: int, known: Mapping[int, StagedSummary]) -> list[int]:
        """The parts whose summaries a chat model reads for a community's: the largest that say anything."""
        parts = [part for part in self.parts.get(number, ()) if known[part].references]
        return sorted(parts, key=lambda part: (-self.nodes[part].size, part))[:PARTS]


def draft(snapshot: Snapshot, writer: str, tree: Tree | None = None) -> Draft:
    """Work out a tree, or take the one given (over the entities of the scope), and everything that follows from it."""
    graph = snapshot.community_graph()
    if tree is None:
        tree = cluster(graph.entities, graph.links)
    statements = snapshot.community_statements()
    keys = sorted(snapshot.group_counts())
    found = material(statements, keys)
    chosen = compose(tree, summarise(tree, found), found)
    settings = [PARAMETERS.text, *keys]
    extractive = input_hashes(tree, statements, ["extractive", *settings])
    hashes = extractive
    if writer:
        hashes = input_hashes(tree, statements, [writer, f"{PROMPT}/{SHOWN}/{PARTS}", *settings])
    return Draft(
        tree=tree,
        statements=statements,
        material=found,
        counted=Counted(snapshot.community_claims(), tree),
        writer=writer,
        figures=_figures(tree, graph.links, lengths(statements, chosen)),
        chosen=chosen,
        hashes=hashes,
        extractive_hashes=extractive,
    )


def lengths(statements: Statements, chosen: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Characters of the sentences chosen for each community."""
    long = statements.end - statements.start
    return {number: int(long[list(sentences)].sum()) for number, sentences in chosen.items()}


def _figures(tree: Tree, links: Links, characters: Mapping[int, int]) -> tuple[Mapping[str, Any], ...]:
    """Of each level: how many communities, their sizes, modularity, and the mean length of a summary."""
    edges = as_array(links)
    figures = []
    for level in range(tree.levels):
        column = tree.paths[:, level]
        numbers, sizes = np.unique(column[column >= 0], return_counts=True)
        figures.append(
            {
                "communities": len(numbers),
                "largest": int(sizes.max()),
                "median": float(np.median(sizes)),
                "smallest": int(sizes.min()),
                "modularity": round(modularity(column, edges), 6),
                "characters": round(sum(characters[int(number)] for number in numbers) / len(numbers)),
            }
        )
    return tuple(figures)
