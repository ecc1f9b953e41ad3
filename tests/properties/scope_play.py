"""Playing a world of the scope-leak test into a workspace, and building what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from scope_oracle import Life, Rows, joined, lives, matches
from scope_world import Building, Deletion, Document, Merging, Pruning, Published, Schema, Unmerging, View, World

from evigraph import Evigraph
from evigraph.models.ports import Message
from evigraph.testing.models import ScriptedChat
from evigraph.wiring import Models


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """Communities as published at `since`: of what was visible at `built`, with summaries of what was at
    `summarised`."""

    since: int
    built: int
    summarised: int
    by_model: bool


@dataclass(slots=True)
class Played:
    """A world as recorded in a workspace."""

    graph: Evigraph
    published: dict[str, list[Published]] = field(default_factory=dict)
    merges: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    unmerged: list[tuple[int, int]] = field(default_factory=list)
    schemas: list[tuple[int, Schema]] = field(default_factory=list)
    horizons: list[int] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)
    moments: list[tuple[datetime, int]] = field(default_factory=list)
    base: str = ""
    other_base: str = ""

    def named(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """Filters with the id of the base in the place of `BASE`."""
        narrowed = filters.get("document_filter", {})
        if "knowledge_bases" not in narrowed:
            return dict(filters)
        return {**filters, "document_filter": {**narrowed, "knowledge_bases": [self.base]}}

    @property
    def versions(self) -> int:
        """How many texts were ever published."""
        return sum(one[2] is not None for versions in self.published.values() for one in versions)

    def current(self, generation: int, filters: Mapping[str, Any]) -> list[tuple[int, Document]]:
        """Visible revision numbers with their documents."""
        latest = [
            max((one for one in versions if one[0] <= generation), key=lambda one: one[0], default=None)
            for versions in self.published.values()
        ]
        shown = [(one[1], one[2]) for one in latest if one is not None and one[2] is not None]
        return [(revision, document) for revision, document in shown if matches(document, filters)]

    def visible(self, generation: int, filters: Mapping[str, Any]) -> list[Document]:
        return [document for _, document in self.current(generation, filters)]

    def past(self, generation: int, filters: Mapping[str, Any]) -> list[Life]:
        """All that was visible at some time until then and is not pruned."""
        horizon = max((one for one in self.horizons if one <= generation), default=0)
        return list(lives(self.published, generation, horizon, filters))

    def version(self, document_id: str, revision: int) -> Document | None:
        return next(one[2] for one in self.published[document_id] if one[1] == revision)

    def schema(self, generation: int) -> Schema | None:
        return next((schema for at, schema in reversed(self.schemas) if at <= generation), None)

    def tree(self, generation: int) -> Tree | None:
        """The tree in force."""
        return next((tree for tree in reversed(self.trees) if tree.since <= generation), None)

    def fresh(self, generation: int) -> bool:
        """Whether the tree in force is of what is visible, and its summaries too, or there is none."""
        tree = self.tree(generation)
        return tree is None or all(self._whole(at) == self._whole(generation) for at in (tree.built, tree.summarised))

    def changed(self, generation: int, since: int) -> dict[str, Any]:
        """Documents that were visible at an earlier generation, and are new or gone since; whether merges differ."""
        then, now = (dict(self._published(at)) for at in (since, generation))
        return {
            "documents_then": len(then),
            "documents_newer": sum(at > since for at in now.values()),
            "documents_gone": len(then) - sum(at <= since for at in now.values()),
            "merges_changed": sorted(self._standing(since)) != sorted(self._standing(generation)),
        }

    def _whole(self, generation: int) -> tuple[Any, ...]:
        return sorted(self._published(generation)), self._standing(generation)

    def _published(self, generation: int) -> Iterator[tuple[str, int]]:
        """Visible documents with the generation that their revision was published at."""
        for document_id, versions in self.published.items():
            known = [one for one in versions if one[0] <= generation]
            if known and max(known, key=lambda one: one[0])[2] is not None:
                yield document_id, max(one[0] for one in known)

    def _standing(self, generation: int) -> list[int]:
        gone = {merge_id for at, merge_id in self.unmerged if at <= generation}
        return [at for at, _ in self.merges if at <= generation and at not in gone]

    def standing(self, generation: int) -> list[tuple[str, ...]]:
        gone = {merge_id for at, merge_id in self.unmerged if at <= generation}
        return [entities for at, entities in self.merges if at <= generation and at not in gone]


def play(world: World, graph: Evigraph) -> Played:
    played = Played(graph=graph)
    if world.based:
        played.base, played.other_base = (graph.knowledge_bases.create(name).id for name in ("base", "other"))
    for operation in world.history:
        if isinstance(operation, Deletion):
            versions = played.published[operation.document_id]
            versions.append((graph.delete(operation.document_id), len(versions) + 1, None))
        elif isinstance(operation, Merging):
            played.merges.append((merge(graph, operation.entities), operation.entities))
        elif isinstance(operation, Schema):
            played.schemas.append((graph.set_schema(operation.fields), operation))
        elif isinstance(operation, Unmerging):
            merge_id = played.merges[operation.number][0]
            generation = graph.store.record_change(graph.workspace, "unmerge", {"merge_id": merge_id})
            played.unmerged.append((generation, merge_id))
        elif isinstance(operation, Pruning):
            played.horizons.append(graph.store.record_change(graph.workspace, "prune", {}))
        elif isinstance(operation, Building):
            build(played, operation)
        else:
            index(graph, operation, world.trees, based(world, operation, played))
            for document in operation:
                _note(played, document)
        played.moments.append((datetime.now(UTC), graph.store.generation(graph.workspace)))
    return played


def based(world: World, documents: Sequence[Document], played: Played) -> dict[str, str]:
    """The base of each document, where the world has bases: the one that filters name, or another."""
    ids = [document["document_id"] for document in documents] if world.based else []
    return {name: played.base if name in world.based else played.other_base for name in ids}


def index(
    graph: Evigraph, documents: Sequence[Document], trees: Collection[str], bases: Mapping[str, str] | None = None
) -> None:
    """Documents with a tree apart from those without, and those of a base from those of none."""
    for treed, base in sorted({_kept_as(document, trees, bases or {}) for document in documents}):
        chosen = [document for document in documents if _kept_as(document, trees, bases or {}) == (treed, base)]
        if chosen:
            report = graph.index(chosen, build_tree=treed, knowledge_base=base or None)
            assert not report.errors
            assert (report.trees is not None and report.trees.trees > 0) is treed, "no document is long enough"


def _kept_as(document: Document, trees: Collection[str], bases: Mapping[str, str]) -> tuple[bool, str]:
    return document["document_id"] in trees, bases.get(document["document_id"], "")


def build(played: Played, operation: Building) -> None:
    graph = played.graph
    before = played.trees[-1] if operation.refresh and played.trees else None
    at = graph.store.generation(graph.workspace)
    view = with_chat(graph, repeats) if operation.by_model else graph
    report = view.communities.refresh() if before else view.communities.build()
    if report.published:
        played.trees.append(
            Tree(
                since=report.generation,
                built=before.built if before else at,
                summarised=at,
                by_model=operation.by_model or bool(before and before.by_model),
            )
        )


def repeats(messages: Sequence[Message]) -> str:
    """A model that says again whatever it was shown."""
    return messages[-1].content


def with_chat(graph: Evigraph, reply: Callable[[Sequence[Message]], str]) -> Evigraph:
    """A view of the same workspace with a chat model."""
    return with_model(graph, ScriptedChat(reply))


def with_model(graph: Evigraph, chat: ScriptedChat) -> Evigraph:
    view = graph.in_workspace(graph.workspace)
    view._models = Models(graph.settings, embedder=graph.embedder, chat=chat, extractor=graph.extractor)
    return view


def merge(graph: Evigraph, entities: tuple[str, ...]) -> int:
    detail = {"canonical": entities[0], "entities": list(entities), "reason": ""}
    return graph.store.record_change(graph.workspace, "merge", detail)


def _note(played: Played, document: Document) -> None:
    newest = played.graph.revisions(document["document_id"])[-1]
    versions = played.published.setdefault(document["document_id"], [])
    if versions and versions[-1][0] == newest.generation:
        assert versions[-1][2] == document, "a change was not published"
    else:
        assert not versions or versions[-1][2] != document, "what did not change was published again"
        # A gap would tell of what other workspaces hold.
        assert newest.revision == len(versions) + 1, f"revision {newest.revision} follows {len(versions)}"
        versions.append((newest.generation, newest.revision, document))


def moment_of(played: Played, view: View) -> tuple[int | str | None, int]:
    """What to say as `as_of`, and the generation that it means."""
    last = played.moments[-1][1]
    if view.moment is None:
        return None, last
    if view.by_time:
        moment, generation = played.moments[round(view.moment * (len(played.moments) - 1))]
        return moment.isoformat(), generation
    generation = round(view.moment * last)
    return generation, generation


class Memory:
    """Answers a statement that was asked before from memory: the modes share most of theirs, and histories are over.
    Only conversations go on."""

    def __init__(self, graph: Evigraph) -> None:
        self._store = graph.store
        self._rows = graph.store.rows
        self._columns = graph.store.columns
        self._kept: dict[str, Any] = {}
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Memory:
        self._patch.setattr(self._store, "rows", self.rows)
        self._patch.setattr(self._store, "columns", self.columns)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def rows(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        if "conversation" in sql:
            return self._rows(sql, parameters)
        key = repr((sql, parameters))
        if key not in self._kept:
            self._kept[key] = self._rows(sql, parameters)
        return list(self._kept[key])

    def columns(self, sql: str, parameters: Mapping[str, Any]) -> list[Any]:
        key = repr(("columns", sql, parameters))
        if key not in self._kept:
            self._kept[key] = self._columns(sql, parameters)
        return [column.copy() for column in self._kept[key]]


class References:
    """Workspaces that hold what a scope shows and never held anything else, one for each set."""

    def __init__(self, graphs: Iterator[Evigraph], trees: Collection[str]) -> None:
        self._graphs = graphs
        self._trees = trees
        self._kept: dict[str, Evigraph] = {}

    def holding(
        self, documents: list[Document], merges: list[tuple[str, ...]], schema: Schema | None, *, communities: bool
    ) -> Evigraph:
        key = repr((documents, merges, schema, communities))
        if key not in self._kept:
            self._kept[key] = self._built(documents, merges, schema)
            if communities:
                self._kept[key].communities.build()
        return self._kept[key]

    def _built(self, documents: list[Document], merges: list[tuple[str, ...]], schema: Schema | None) -> Evigraph:
        graph = next(self._graphs)
        if documents:
            index(graph, documents[::-1], self._trees)
        mentioned = {row[1] for row in Rows(graph).mentions}
        for entities in joined(merges, mentioned):
            merge(graph, entities)
        if schema is not None:
            graph.set_schema(schema.fields)
        return graph
