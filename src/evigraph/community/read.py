"""The communities of one scope, as a query reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evigraph.communities import Community, Origin, Staleness
from evigraph.community.cluster import Numbers, Tree, cluster
from evigraph.community.components import components
from evigraph.community.counted import Counted
from evigraph.community.show import Shown
from evigraph.once import once
from evigraph.store import Snapshot
from evigraph.store.communities import TreeNode, nodes_of

RECLUSTERED = 50_000
"""Assertions up to which a filtered scope is clustered anew."""
QUOTES = 5


class TreeView:
    """Communities of a snapshot's scope, by number.

    `origin` says where they come from, `staleness` what changed since a tree was built (for the tree as `built` alone:
    the figures count what a filter hides), `notes` lists, as sentences, what differs from a tree in force over the
    whole of what is asked.
    Entities that a built tree does not know yet are in no community.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        tree: Tree,
        *,
        origin: Origin,
        staleness: Staleness | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.origin: Origin = origin
        self.staleness = staleness
        self.tree = tree
        self._notes = list(notes)
        self._snapshot = snapshot
        self._nodes = {node.number: node for node in tree.nodes}
        self._shown = Shown(snapshot, tree, stored=origin in {"built", "restricted"})

    @property
    def notes(self) -> tuple[str, ...]:
        """Grows while communities are fetched: a stored summary may have to be worked out anew."""
        return (*self._notes, *self._shown.notes)

    @property
    def levels(self) -> int:
        """How many there are; 0 where the scope holds no entity."""
        return self.tree.levels

    def at(self, level: int) -> list[TreeNode]:
        """Communities of a level (the finest, where there is no such level), largest first."""
        if not self.levels:
            return []
        numbers = np.unique(self._column(level))
        found = [self._nodes[int(number)] for number in numbers if number >= 0]
        return sorted(found, key=lambda node: (-node.size, node.number))

    def node(self, number: int) -> TreeNode | None:
        return self._nodes.get(number)

    def members(self, number: int) -> tuple[str, ...]:
        """Ids of the entities of a community, sorted; none of one that is not there."""
        node = self._nodes.get(number)
        if node is None:
            return ()
        return tuple(self.tree.entities[at] for at in np.flatnonzero(self._column(node.level) == number))

    def community_of(self, level: int) -> Mapping[str, int]:
        """The community of each entity at a level (the finest, where there is no such level)."""
        if not self.levels:
            return {}
        return {
            entity: number
            for entity, number in zip(self.tree.entities, self._column(level).tolist(), strict=True)
            if number >= 0
        }

    def communities(self, numbers: Sequence[int], *, quotes: int = QUOTES) -> list[Community]:
        """The given communities in their order, each with its summary and at most so many of its sentences. Numbers
        that are not there are left out."""
        nodes = [self._nodes[number] for number in numbers if number in self._nodes]
        return self._shown.communities(nodes, self._counted, quotes)

    @once
    def _counted(self) -> Counted:
        return Counted(self._snapshot.community_claims(), self.tree)

    def _column(self, level: int) -> Numbers:
        column: Numbers = self.tree.paths[:, max(0, min(level, self.levels - 1))]
        return column


def open_tree(snapshot: Snapshot) -> TreeView:
    """The communities that a query over this scope is answered from.

    Without filters, the tree in force. A filtered scope is clustered anew, so that nothing outside it decides what is
    together; one too large for that uses the tree in force, cut down to it. Without a tree, or with one that has none
    of the entities in scope, the connected parts of the scope stand in. Every deviation is in `notes`.
    """
    record = snapshot.state.tree
    if record is None:
        return _without_tree(snapshot, "no tree has been built")
    made = len(snapshot.community_claims().subject) if snapshot.scope.filtered else 0
    if snapshot.scope.filtered and made <= RECLUSTERED:
        graph = snapshot.community_graph()
        return TreeView(snapshot, cluster(graph.entities, graph.links), origin="scope")
    tree = tree_in_force(snapshot)
    if not tree.levels:
        return _without_tree(snapshot, "the tree that was built has none of the entities in scope")
    if snapshot.scope.filtered:
        note = (
            f"communities: the filtered scope holds {made:,} assertions, more than are clustered for one question"
            f" ({RECLUSTERED:,}); the tree of the whole workspace was used, cut down to the scope"
        )
        return TreeView(snapshot, tree, origin="restricted", notes=(note,))
    staleness = snapshot.tree_staleness(record)[0]
    return TreeView(snapshot, tree, origin="built", staleness=staleness, notes=_stale(staleness))


def tree_in_force(snapshot: Snapshot) -> Tree:
    """The stored tree over all entities in scope; those it does not know have no community (-1)."""
    members = snapshot.tree_members()
    entities = snapshot.scope_entities()
    levels = len(next(iter(members.values()), ()))
    paths = np.full((len(entities), levels), -1, dtype=np.int32)
    for at, entity in enumerate(entities):
        if entity in members:
            paths[at] = members[entity]
    return Tree(entities=tuple(entities), paths=paths, nodes=tuple(nodes_of(members.values())))


def _without_tree(snapshot: Snapshot, why: str) -> TreeView:
    graph = snapshot.community_graph()
    notes = []
    if graph.entities:
        notes.append(
            f"communities: {why}; the connected parts of the scope stand in for it"
            " (build one with `evigraph communities build`)"
        )
    return TreeView(snapshot, components(graph.entities, graph.links), origin="components", notes=notes)


def _stale(staleness: Staleness) -> tuple[str, ...]:
    if not staleness.stale:
        return ()
    merges = "; merges of entities changed" if staleness.merges_changed else ""
    return (
        f"communities: {staleness.documents:.0%} of documents and {staleness.assertions:.0%} of assertions are newer"
        f" than the tree or gone since{merges} (rebuild it with `evigraph communities build`)",
    )
