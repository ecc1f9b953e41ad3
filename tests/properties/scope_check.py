"""How a world is played, what is asked of it, and how a response is judged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from scope_world import (
    Asked,
    Deletion,
    Document,
    Merging,
    Published,
    Schema,
    Unmerging,
    View,
    World,
    joined,
    matches,
    telling_words,
    undated,
)

from evigraph import Evigraph
from evigraph.errors import EvigraphError, StoreError
from evigraph.query.retrieve import RETRIEVERS
from evigraph.store import visibility
from evigraph.types import Mode
from evigraph.wire import answer_to_wire, plain

MODES = tuple(mode for mode in Mode if mode is not Mode.BYPASS and mode in RETRIEVERS)
"""All that retrieve; `bypass` reads nothing."""
SPECIAL = {
    Mode.TRAVERSE: lambda asked: {"seeds": list(asked.seeds), "direction": asked.direction},
    Mode.PLAN: lambda asked: {"plan": asked.plan},
}
"""Modes that need more than the question."""
NOT_COMPARED = {
    *("generation", "revision", "published_at", "merge_id", "merged_at", "merges"),
    "cached",
}
"""Numbers and times of the two histories, and how merges were recorded."""

Read = Callable[[Evigraph, Asked, Mapping[str, Any]], dict[str, Any]]
SURFACES: dict[str, Read] = {
    "search": lambda graph, asked, scope: plain(graph.entities.search(asked.seeds[0].lower(), **scope)),
    "list": lambda graph, asked, scope: plain(graph.entities.search(limit=50, **scope)),
    "list of a longer type": lambda graph, asked, scope: plain(graph.entities.search(type="ORGANIZATION", **scope)),
    "list of a type": lambda graph, asked, scope: plain(graph.entities.search(type="PERSON", **scope)),
    "page": lambda graph, asked, scope: plain(graph.entities.page(asked.seeds[0], **scope)),
    "page of a place": lambda graph, asked, scope: plain(graph.entities.page(asked.seeds[1], **scope)),
    "neighbourhood": lambda graph, asked, scope: plain(
        graph.entities.neighbourhood(
            asked.seeds[0],
            depth=2,
            per_node_limit=asked.options["per_node_limit"],
            predicates=asked.options.get("predicates"),
            direction=asked.direction,
            **scope,
        )
    ),
    "paths": lambda graph, asked, scope: plain(graph.entities.paths(asked.seeds[0], asked.seeds[2], **scope)),
    "contradictions": lambda graph, asked, scope: plain(graph.entities.contradictions(**scope)),
    "contradictions of one": lambda graph, asked, scope: plain(graph.entities.contradictions(asked.seeds[0], **scope)),
    "export": lambda graph, asked, scope: {
        "rows": [json.loads(line) for line in "".join(graph.export("jsonl", **scope)).splitlines()[1:]]
    },
    "export as GraphML": lambda graph, asked, scope: {
        "lines": [
            line for line in "".join(graph.export("graphml", **scope)).splitlines() if 'key="g_generation"' not in line
        ]
    },
    "schema": lambda graph, asked, scope: plain(graph.schema(**scope)),
    "merges": lambda graph, asked, scope: {"merges": plain(graph.entities.merges(**scope))},
    "history": lambda graph, asked, scope: plain(graph.entities.history(asked.seeds[0], **scope)),
}
"""What shows the graph beside the modes."""
UNFILTERED = {"schema", "merges"}
"""Those that take no filter."""
UNLIKE = {"history", "merges"}
"""Those that show the past, or how merges were recorded, which another history cannot equal: only their words count."""


@dataclass(slots=True)
class Played:
    """A world as recorded in a workspace."""

    graph: Evigraph
    published: dict[str, list[Published]] = field(default_factory=dict)
    merges: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    unmerged: list[tuple[int, int]] = field(default_factory=list)
    schemas: list[tuple[int, Schema]] = field(default_factory=list)
    moments: list[tuple[datetime, int]] = field(default_factory=list)

    @property
    def versions(self) -> int:
        """How many texts were ever published."""
        return sum(one[2] is not None for versions in self.published.values() for one in versions)

    def visible(self, generation: int, filters: Mapping[str, Any]) -> list[Document]:
        latest = [
            max((one for one in versions if one[0] <= generation), key=lambda one: one[0], default=None)
            for versions in self.published.values()
        ]
        documents = [one[2] for one in latest if one is not None and one[2] is not None]
        return [document for document in documents if matches(document, filters)]

    def ever(self, generation: int, filters: Mapping[str, Any]) -> list[Document]:
        """All that was visible at some time until then, whatever became of it."""
        versions = [one for versions in self.published.values() for one in versions if one[0] <= generation]
        return [one[2] for one in versions if one[2] is not None and matches(one[2], filters)]

    def revisions(self, generation: int, *, past: bool) -> frozenset[tuple[str, int]]:
        """Numbers of the revisions that are visible, or with `past` of all that were, filters aside."""
        shown = set()
        for document_id, versions in self.published.items():
            until = sorted(one[:2] for one in versions if one[0] <= generation)
            shown.update((document_id, revision) for _, revision in (until if past else until[-1:]))
        return frozenset(shown)

    def schema(self, generation: int) -> Schema | None:
        return next((schema for at, schema in reversed(self.schemas) if at <= generation), None)

    def standing(self, generation: int) -> list[tuple[str, ...]]:
        gone = {merge_id for at, merge_id in self.unmerged if at <= generation}
        return [entities for at, entities in self.merges if at <= generation and at not in gone]


# ------------------------------------------------------------------ playing a world


def play(world: World, graph: Evigraph) -> Played:
    played = Played(graph=graph)
    for operation in world.history:
        if isinstance(operation, Deletion):
            played.published[operation.document_id].append((graph.delete(operation.document_id), 0, None))
        elif isinstance(operation, Merging):
            played.merges.append((merge(graph, operation.entities), operation.entities))
        elif isinstance(operation, Schema):
            played.schemas.append((graph.set_schema(operation.fields), operation))
        elif isinstance(operation, Unmerging):
            merge_id = played.merges[operation.number][0]
            generation = graph.store.record_change(graph.workspace, "unmerge", {"merge_id": merge_id})
            played.unmerged.append((generation, merge_id))
        else:
            report = graph.index(operation)
            assert not report.errors
            for document in operation:
                _note(played, document)
        played.moments.append((datetime.now(UTC), graph.store.generation(graph.workspace)))
    return played


def merge(graph: Evigraph, entities: tuple[str, ...]) -> int:
    detail = {"canonical": entities[0], "entities": list(entities), "reason": ""}
    return graph.store.record_change(graph.workspace, "merge", detail)


def _note(played: Played, document: Document) -> None:
    newest = played.graph.revisions(document["document_id"])[-1]
    versions = played.published.setdefault(document["document_id"], [])
    if versions and versions[-1][0] == newest.generation:
        assert versions[-1][2] == document, "a change was not published"
    else:
        versions.append((newest.generation, newest.revision, document))


class Memory:
    """Answers a statement that was asked before from memory: the modes share most of theirs, and histories are over."""

    def __init__(self, graph: Evigraph) -> None:
        self._store = graph.store
        self._rows = graph.store.rows
        self._kept: dict[str, Any] = {}
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Memory:
        self._patch.setattr(self._store, "rows", self.rows)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def rows(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        key = repr((sql, parameters))
        if key not in self._kept:
            self._kept[key] = self._rows(sql, parameters)
        return list(self._kept[key])


class References:
    """Workspaces that hold what a scope shows and never held anything else, one for each set."""

    def __init__(self, graphs: Iterator[Evigraph]) -> None:
        self._graphs = graphs
        self._kept: dict[str, Evigraph] = {}

    def holding(self, documents: list[Document], merges: list[tuple[str, ...]], schema: Schema | None) -> Evigraph:
        key = repr((documents, merges, schema))
        if key not in self._kept:
            self._kept[key] = self._built(documents, merges, schema)
        return self._kept[key]

    def _built(self, documents: list[Document], merges: list[tuple[str, ...]], schema: Schema | None) -> Evigraph:
        graph = next(self._graphs)
        if documents:
            graph.index(documents[::-1])
        sql = "SELECT DISTINCT entity_id FROM mentions WHERE workspace = {workspace:String}"
        mentioned = {row[0] for row in graph.store.rows(sql, {"workspace": graph.workspace})}
        for entities in joined(merges, mentioned):
            merge(graph, entities)
        if schema is not None:
            graph.set_schema(schema.fields)
        return graph


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


# ------------------------------------------------------------------ judging


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One response to judge. `expected` is that of a workspace which holds nothing else; None where only the words are
    judged: all that may occur are `allowed`."""

    name: str
    where: str
    resolve: bool
    read: Callable[[], dict[str, Any]]
    expected: dict[str, Any] | None
    allowed: frozenset[str]
    revisions: frozenset[tuple[str, int]]
    undated: int

    def check(self) -> dict[str, Any]:
        """The response, once it was found in order. Raises `AssertionError`."""
        with pytest.MonkeyPatch.context() as patch:
            if not self.resolve:
                patch.setattr(visibility, "RESOLVED", 0)
            got = self.read()
        for echo in ("document_filter", "metadata_filter"):
            got.get("method_details", {}).pop(echo, None)
        left_out = got.get("stats", {}).pop("undated_left_out", self.undated)
        assert left_out == self.undated, f"{self.where}\nundated_left_out: {left_out} is not {self.undated}"
        if self.expected is not None:
            found = differences(comparable(got), self.expected)
            assert not found, "\n".join((self.where, *found[:20]))
        foreign = words(got) - self.allowed
        assert not foreign, f"{self.where}\n shows {sorted(foreign)}"
        unseen = set(cited(got)) - self.revisions
        assert not unseen, f"{self.where}\n shows {sorted(unseen)}"
        return got


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A question about a scope. `hiding`: something is seen, and something is not."""

    probes: tuple[Probe, ...]
    hiding: bool


class Stage:
    """Plays worlds in workspaces of one store."""

    def __init__(self, graphs: Iterator[Evigraph]) -> None:
        self._graphs = graphs

    def cases(self, world: World) -> Iterator[Case]:
        """Every view with every question; what is no mode is asked with the first question alone."""
        played = play(world, next(self._graphs))
        references = References(self._graphs)
        memory = Memory(played.graph)
        for view in world.views:
            as_of, generation = moment_of(played, view)
            documents = played.visible(generation, view.filters)
            reference = references.holding(documents, played.standing(generation), played.schema(generation))
            shown, past = words(documents), words(played.ever(generation, view.filters))
            with memory:
                for place, asked in enumerate(world.asked):
                    named = words([asked.question, list(asked.seeds), asked.plan])
                    reads = {mode.value: _of_mode(mode) for mode in MODES}
                    if not place:
                        reads |= {k: v for k, v in SURFACES.items() if not (k in UNFILTERED and view.filters)}
                    scope = {**view.filters, "as_of": as_of}
                    yield Case(
                        probes=tuple(
                            Probe(
                                name=name,
                                where=f"{name} under {scope}: {asked}",
                                resolve=world.resolve,
                                read=_bound(read, played.graph, asked, scope),
                                expected=None if name in UNLIKE else _expected(_bound(read, reference, asked, {})),
                                allowed=frozenset((past if name == "history" else shown) | named),
                                revisions=played.revisions(generation, past=name == "history"),
                                undated=undated(played.visible(generation, {}), view.filters),
                            )
                            for name, read in reads.items()
                        ),
                        hiding=bool(documents) and len(documents) < played.versions,
                    )


def _expected(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    got = read()
    for echo in ("document_filter", "metadata_filter"):
        got.get("method_details", {}).pop(echo, None)
    return cast(dict[str, Any], comparable(got))


def _of_mode(mode: Mode) -> Read:
    def read(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> dict[str, Any]:
        special = SPECIAL[mode](asked) if mode in SPECIAL else {}
        return answer_to_wire(graph.ask(asked.question, mode=mode.value, **{**asked.options, **special, **scope}))

    return read


def _bound(read: Read, graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """The response as sent, or the error."""

    def attempt() -> dict[str, Any]:
        try:
            return read(graph, asked, scope)
        except StoreError:
            raise
        except EvigraphError as error:
            return {"error": error.code, "message": str(error), "hint": error.hint}

    return attempt


def comparable(value: Any) -> Any:
    """Without what must differ between two histories."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if key not in NOT_COMPARED and not key.endswith("_ms")}
        return {key: comparable(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    # An empty scope and an empty workspace are told apart, which says nothing of what is outside.
    return "scope" if isinstance(value, str) and value.startswith("scope: ") else value


def differences(left: Any, right: Any, at: str = "") -> list[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        keys = sorted({*left, *right})
        return [found for key in keys for found in differences(left.get(key), right.get(key), f"{at}.{key}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [found for place, pair in pairs for found in differences(*pair, f"{at}[{place}]")]
    if isinstance(left, float) and isinstance(right, float) and math.isclose(left, right, rel_tol=0, abs_tol=1e-6):
        return []
    return [] if left == right else [f"{at}: {left!r} is not {right!r}"]


def said(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from (key, *said(item))
    elif isinstance(value, list):
        for item in value:
            yield from said(item)
    elif isinstance(value, str):
        yield value


def cited(value: Any) -> Iterator[tuple[str, int]]:
    """Every document revision that a JSON value names."""
    if isinstance(value, Mapping):
        if "document_id" in value and "revision" in value:
            yield value["document_id"], value["revision"]
        for item in value.values():
            yield from cited(item)
    elif isinstance(value, list):
        for item in value:
            yield from cited(item)


def words(value: Any) -> set[str]:
    return telling_words(" ".join(said(value)))
