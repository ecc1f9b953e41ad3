"""All that a build works out of a scope before a model is asked: tree, extractive summaries, input hashes, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evigraph.community.cluster import Links, Tree, as_array, cluster, modularity
from evigraph.community.compose import children, compose
from evigraph.community.counted import Counted
from evigraph.community.hashes import by_writer, input_hashes
from evigraph.community.prompt import PROMPT
from evigraph.community.summarise import PARAMETERS, Material, material, summarise
from evigraph.once import once
from evigraph.store import Snapshot
from evigraph.store.communities import Statements, TreeNode
from evigraph.store.trees import StagedSummary

SHOWN = 12
"""Sentences of a community that a chat model reads."""
PARTS = 20
"""Parts of a community whose summaries are read for its own, the largest."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A tree with what its summaries are made of. `writer` names the chat model, "" without one. `inputs` has the hash
    of each community's own inputs."""

    tree: Tree
    statements: Statements
    material: Material
    counted: Counted
    writer: str
    figures: tuple[Mapping[str, Any], ...]
    chosen: Mapping[int, tuple[int, ...]]
    inputs: Mapping[int, str]

    @once
    def shown(self) -> dict[int, tuple[int, ...]]:
        """Sentences of each undivided community that a chat model reads."""
        return summarise(self.tree, self.material, replace(PARAMETERS, sentences=SHOWN))

    @once
    def nodes(self) -> dict[int, TreeNode]:
        return {node.number: node for node in self.tree.nodes}

    @once
    def parts(self) -> dict[int, tuple[int, ...]]:
        """The parts of each divided community."""
        return children(self.tree)

    @once
    def upwards(self) -> list[list[TreeNode]]:
        """Communities in the order in which summaries are written: none before its parts."""
        levels: list[list[TreeNode]] = [[] for _ in range(self.tree.levels)]
        for node in self.tree.nodes:
            levels[node.last_level].append(node)
        return levels[::-1]

    def input_hash(self, number: int, writer: str) -> str:
        """Hash of what a community's summary by a chat model is a function of; of the extractive one for ""."""
        settings = [writer, f"{PROMPT}/{SHOWN}/{PARTS}"] if writer else []
        return by_writer(self.inputs[number], settings)

    def extractive(self, number: int, *, declined_by: str = "") -> StagedSummary:
        """The extractive summary of a community. One that a model declined to write has the hash of the model's, so
        that it is not asked again; where a call failed, the hash tells that no model wrote it, so that the next run
        asks."""
        return StagedSummary(
            number=number,
            input_hash=self.input_hash(number, declined_by),
            references=[self.statements.reference(at) for at in self.chosen[number]],
            model=declined_by,
        )

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
    found = material(statements)
    chosen = compose(tree, summarise(tree, found), found)
    return Draft(
        tree=tree,
        statements=statements,
        material=found,
        counted=Counted(snapshot.community_claims(), tree),
        writer=writer,
        figures=_figures(tree, graph.links, lengths(statements, chosen)),
        chosen=chosen,
        inputs=input_hashes(tree, statements, [PARAMETERS.text]),
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
