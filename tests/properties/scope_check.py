"""How a response of the scope-leak test is judged."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import pytest
from scope_decoys import FAR, Decoys
from scope_oracle import Life, Rows, telling_words, undated
from scope_play import Memory, Played, References, moment_of, play
from scope_surfaces import LARGE, MODES, PAST, STATE, SURFACES, TREED, TREES, UNFILTERED, UNLIKE, Read, of_mode
from scope_world import Asked, Document, View, World

from evigraph import Evigraph
from evigraph.errors import BeforePruneHorizon, EvigraphError, NotFound, StoreError
from evigraph.store import Store, exporting, scopes
from evigraph.store.keys import revision_key
from evigraph.store.rowcache import RowCache

NOT_COMPARED = {
    *("generation", "revision", "published_at", "merge_id", "merged_at", "merges"),
    *("cached", "origin", "staleness"),
}
"""Numbers and times of the two histories, how merges were recorded, and whether communities were built of the scope or
found in it."""
TEXTS, REVISIONS = "texts", "revisions"
"""What is asked by document rather than of a scope."""


_TIGHT = (
    (scopes, "KEPT", 0),
    (Store, "_row_cache", lambda _: RowCache()),
    (exporting, "PASSAGES", 3),
    (exporting, "ENTITIES", 4),
    (exporting, "TEXT_PARTS", 1),
)
"""Limits that change how a scope is read, and nothing of what it shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One response to judge: `expected` is that of a workspace which holds nothing else, `told` what is worked out from
    the world, of which a response may say more. `allowed` are all words that may occur. `stale`: communities were built
    of another state, so that what an answer says of them differs."""

    name: str
    where: str
    resolve: bool
    read: Callable[[], dict[str, Any]]
    expected: dict[str, Any] | None
    told: dict[str, Any] | None = None
    allowed: frozenset[str]
    revisions: frozenset[tuple[str, int]]
    undated: int
    generation: int
    pinned: bool
    stale: bool = False

    def check(self) -> dict[str, Any]:
        """The response, once it was found in order. Raises `AssertionError`."""
        with pytest.MonkeyPatch.context() as patch:
            if not self.resolve:
                for module, limit, value in _TIGHT:
                    patch.setattr(module, limit, value)
            if self.pinned:
                patch.setattr(Store, "prune_horizon", lambda *_: 0)
            got = self.read()
        for echo in ("document_filter", "metadata_filter"):
            got.get("method_details", {}).pop(echo, None)
        left_out = got.get("stats", {}).pop("undated_left_out", self.undated)
        assert left_out == self.undated, f"{self.where}\nundated_left_out: {left_out} is not {self.undated}"
        generation = got.get("generation", self.generation)
        assert generation == self.generation, f"{self.where}\ngeneration: {generation} is not {self.generation}"
        apart = _without_coverage if self.stale else dict
        found = [] if self.expected is None else differences(apart(comparable(got)), apart(self.expected))
        found += [] if self.told is None else differences(_narrowed(got, self.told), self.told)
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
        self._decoys = Decoys()

    def cases(self, world: World) -> Iterator[Case]:
        """Every view with every question; what is no mode is asked with the first question alone."""
        yield from self.judged(world, self.played(world))

    def played(self, world: World) -> Played:
        return play(world, next(self._graphs))

    def judged(self, world: World, played: Played) -> Iterator[Case]:
        rows = Rows(played.graph)
        assert rows.mentions and rows.assertions, "the world says nothing"
        self._decoys.add(played.graph, summaries=not world.trees)
        references = References(self._graphs, world.trees)
        memory = Memory(played.graph)
        for view in world.views:
            sight = _Sight(world=world, played=played, view=view, rows=rows)
            tree = played.tree(sight.generation)
            reference = references.holding(
                sight.documents, sight.merges, played.schema(sight.generation), communities=tree is not None
            )
            with memory:
                for place, asked in enumerate(world.asked):
                    probes = list(sight.probes(asked, reference, modes_alone=bool(place)))
                    hiding = bool(sight.documents) and len(sight.documents) < played.versions
                    yield Case(probes=tuple(probes), hiding=hiding)


class _Sight:
    """One view of a played world: what may be seen, and the probes for it."""

    def __init__(self, *, world: World, played: Played, view: View, rows: Rows) -> None:
        self._world, self._played, self._view, self._rows = world, played, view, rows
        self.as_of, self.generation = moment_of(played, view)
        self._current = played.current(self.generation, view.filters)
        self.documents: list[Document] = [document for _, document in self._current]
        self.merges = played.standing(self.generation)
        self._past: list[Life] = played.past(self.generation, view.filters)
        self._undated = undated(played.visible(self.generation, {}), view.filters)
        self._shown = words(self.documents)
        self._ever = words([played.version(one.document_id, one.revision) for one in self._past])
        self._revisions = frozenset((document["document_id"], revision) for revision, document in self._current)

    def probes(self, asked: Asked, reference: Evigraph, *, modes_alone: bool) -> Iterator[Probe]:
        reads = {mode.value: of_mode(mode) for mode in MODES}
        if not modes_alone:
            reads |= {k: v for k, v in SURFACES.items() if not (k in UNFILTERED and self._view.filters)}
            if not self._world.trees:
                reads = {name: read for name, read in reads.items() if name not in TREED}
        scope = {**self._played.named(self._view.filters), "as_of": self.as_of}
        for name, read in reads.items():
            expected = None if self._unlike(name) else _expected(_bound(read, reference, asked, {}))
            told = self._history(asked.seeds[PAST[name]]) if name in PAST else None
            told = self._changes() if name == STATE else told
            yield self._probe(
                name, asked, scope, _bound(read, self._played.graph, asked, scope), expected=expected, told=told
            )
        if not modes_alone:
            yield self._texts(asked, reference)
            yield self._numbers(asked)

    def _history(self, given: str) -> dict[str, Any]:
        visible = frozenset(revision_key(*one) for one in self._revisions)
        return self._rows.history(given, self._past, self.merges, visible)

    def _unlike(self, name: str) -> bool:
        """Whether a surface depends on more than what the scope shows."""
        tree = self._played.tree(self.generation)
        if name not in TREES or tree is None:
            return name in UNLIKE
        if self._view.filters:
            return name in LARGE
        return tree.by_model or not self._fresh

    @cached_property
    def _fresh(self) -> bool:
        return self._played.fresh(self.generation)

    def _changes(self) -> dict[str, Any]:
        """What the state of communities must say has changed."""
        tree = self._played.tree(self.generation)
        if tree is None:
            return {"built": False, "tree": None, "summaries": None}
        since = {"tree": tree.built, "summaries": tree.summarised}
        return {"built": True, **{part: self._played.changed(self.generation, at) for part, at in since.items()}}

    def _texts(self, asked: Asked, reference: Evigraph) -> Probe:
        graph = self._played.graph
        shown = sorted(self._revisions)

        def read() -> dict[str, Any]:
            for name, _ in shown:
                with contextlib.suppress(NotFound):
                    graph.document_text(name, revision=FAR + 1)
                    raise AssertionError(f"shows the text of {name} that was never published")
            return {TEXTS: {name: graph.document_text(name, revision=number) for name, number in shown}}

        told = {TEXTS: {name: reference.document_text(name) for name, _ in shown}}
        return self._probe(TEXTS, asked, {}, read, told=told)

    def _numbers(self, asked: Asked) -> Probe:
        """Every revision of every document, which no scope limits."""
        graph, published = self._played.graph, self._played.published

        def read() -> dict[str, Any]:
            histories = {name: graph.revisions(name) for name in published}
            numbers = {
                name: [[one.revision, one.generation, one.deleted] for one in of] for name, of in histories.items()
            }
            return {REVISIONS: numbers}

        told = {
            name: [[place, at, document is None] for place, (at, _, document) in enumerate(versions, start=1)]
            for name, versions in published.items()
        }
        return self._probe(REVISIONS, asked, {}, read, told={REVISIONS: told})

    def _probe(
        self,
        name: str,
        asked: Asked,
        scope: Mapping[str, Any],
        read: Callable[[], dict[str, Any]],
        *,
        expected: dict[str, Any] | None = None,
        told: dict[str, Any] | None = None,
    ) -> Probe:
        named = words([asked.question, *asked.seeds, *asked.named, asked.plan])
        past = name in PAST
        free = words(sorted(self._played.published)) if name == REVISIONS else set[str]()
        return Probe(
            name=name,
            where=f"{name} under {scope}: {asked}",
            resolve=self._world.resolve,
            read=read,
            expected=expected,
            told=told,
            allowed=frozenset((self._ever if past else self._shown) | named | free),
            revisions=frozenset((one.document_id, one.revision) for one in self._past) if past else self._revisions,
            undated=self._undated,
            generation=self.generation,
            pinned=self._view.pinned,
            stale=not self._view.filters and not self._fresh,
        )


def _expected(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    got = read()
    for echo in ("document_filter", "metadata_filter"):
        got.get("method_details", {}).pop(echo, None)
    return cast(dict[str, Any], comparable(got))


def _bound(read: Read, graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """The response as sent, or the error."""

    def attempt() -> dict[str, Any]:
        try:
            return read(graph, asked, scope)
        except EvigraphError as error:
            if isinstance(error, StoreError) and not isinstance(error, BeforePruneHorizon):
                raise
            return {"error": error.code, "message": str(error), "hint": error.hint}

    return attempt


def _narrowed(got: Any, told: Any) -> Any:
    """Of a response what the world tells of it."""
    if isinstance(got, dict) and isinstance(told, dict):
        return {key: _narrowed(got[key], value) for key, value in told.items() if key in got}
    if isinstance(got, list) and isinstance(told, list) and len(got) == len(told):
        return [_narrowed(*pair) for pair in zip(got, told, strict=True)]
    return got


def comparable(value: Any) -> Any:
    """Without what must differ between two histories."""
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if key not in NOT_COMPARED and not key.endswith("_ms")}
        return {key: comparable(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    # An empty scope and an empty workspace are told apart, which says nothing of what is outside.
    return "scope" if isinstance(value, str) and value.startswith("scope: ") else value


def _without_coverage(value: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without the share of communities that it draws on, which its text ends with, and what is said of their
    age, in the ledger too."""
    kept = {key: item for key, item in value.items() if key not in ("coverage", "ledger")}
    if isinstance(kept.get("answer"), str):
        kept["answer"] = kept["answer"].partition("\n\nDrawn from ")[0]
    if "method_details" in kept:
        said = [one for one in kept["method_details"]["degraded"] if not one.startswith("communities: ")]
        kept["method_details"] = {**kept["method_details"], "degraded": said}
        kept["degraded"] = bool(said)
    return kept


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
    """Every document revision that a JSON value names. A summary is of none."""
    if isinstance(value, Mapping):
        if "document_id" in value and "revision" in value and not value.get("level"):
            yield value["document_id"], value["revision"]
        for item in value.values():
            yield from cited(item)
    elif isinstance(value, list):
        for item in value:
            yield from cited(item)


def words(value: Any) -> set[str]:
    return telling_words(" ".join(said(value)))
