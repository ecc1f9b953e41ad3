"""Faults to order: what a stage of a query, or a model, may do wrong.

    broken = with_fault(graph, "rerank", "times_out")
    answer = broken.ask("Who supplied the pumps?", rerank=True)
    assert answer.degraded

Stages are those of a response's `ledger`. `FAULTS` lists what can go wrong with each. `with_store_fault` has a
statement of a query fail instead.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar, cast

import numpy as np

from evigraph.engine import Evigraph
from evigraph.errors import ModelTimeout, ModelUnavailable
from evigraph.models.ports import ChatModel, ChatReply, Embedder, Message, Vectors, WebResult, WebSearch
from evigraph.query.cache import ContextCache
from evigraph.query.ledger import LONGEST_REPLY, Boundary
from evigraph.store.connect import Connection
from evigraph.store.scopes import KeptScopes

Fault = Literal["raises", "times_out", "empties", "garbage", "over_long"]
FAULTS: tuple[Fault, ...] = ("raises", "times_out", "empties", "garbage", "over_long")

NOISE = "\ufffd}{[ %%% ]~"
REPEATED = 1_000
"""Times that an over-long collection repeats what it should hold."""

T = TypeVar("T")


class InjectedFault(Exception):
    """What a stage raises that was told to."""


class FaultyBoundary(Boundary):
    """Puts one fault into the stages whose name matches `stage` (a glob). `changed` counts how often it had an effect:
    what is empty cannot be emptied, and what is no collection does not get too long."""

    def __init__(self, stage: str, fault: Fault) -> None:
        self.stage = stage
        self.fault = fault
        self.changed = 0

    def enter(self, stage: str) -> None:
        if not fnmatchcase(stage, self.stage) or self.fault not in ("raises", "times_out"):
            return
        self.changed += 1
        if self.fault == "raises":
            raise InjectedFault(stage)
        raise TimeoutError(stage)

    def leave(self, stage: str, value: T) -> T:
        if not fnmatchcase(stage, self.stage) or self.fault in ("raises", "times_out"):
            return value
        spoilt = {"empties": emptied, "garbage": garbled, "over_long": lengthened}[self.fault](value)
        if spoilt is value:
            return value
        self.changed += 1
        return cast(T, spoilt)


def with_fault(graph: Evigraph, stage: str, fault: Fault) -> Evigraph:
    """A view of a graph in which a stage goes wrong in this way. Its answers are never taken from a cache."""
    return with_boundary(graph, FaultyBoundary(stage, fault))


def with_boundary(graph: Evigraph, boundary: Boundary) -> Evigraph:
    """A view of a graph whose stages pass this boundary."""
    view = graph.in_workspace(graph.workspace)
    view._boundary = boundary
    view._cache = ContextCache()
    return view


# --------------------------------------------------------------------------- the store


class Statements:
    """Counts the statements of a query and has number `failing`, from 0, fail; none where that is None. `failed` tells
    whether it was reached."""

    def __init__(self, fault: Literal["raises", "times_out"] = "raises", *, failing: int | None = None) -> None:
        self.fault = fault
        self.failing = failing
        self.seen = 0
        self.failed = False
        self._lock = threading.Lock()

    def enter(self) -> None:
        """May raise, as the driver might."""
        with self._lock:
            number, self.seen = self.seen, self.seen + 1
            if number != self.failing:
                return
            self.failed = True
        if self.fault == "times_out":
            raise TimeoutError("the statement took too long")
        import clickhouse_connect.driver.exceptions as driver

        raise driver.OperationalError("the server went away")


def with_store_fault(graph: Evigraph, statements: Statements) -> Evigraph:
    """A view of a graph whose statements pass here on their way to the store. Nothing that an earlier query learnt is
    taken from a cache, so that the same question makes the same statements each time."""
    view = graph.in_workspace(graph.workspace)
    view.store = copy.copy(graph.store)
    view.store.connection = cast(Connection, _FaultyConnection(graph.store.connection, statements))
    view.store._states, view.store._generations = {}, {}
    view.store.scopes = KeptScopes(view.store)
    view._cache = ContextCache()
    return view


class _FaultyConnection:
    folder = None
    """As on a server, where nothing is kept between queries."""

    def __init__(self, connection: Connection, statements: Statements) -> None:
        self._connection, self._statements = connection, statements

    @property
    def client(self) -> _FaultyClient:
        return _FaultyClient(self._connection.client, self._statements)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class _FaultyClient:
    """A client of ClickHouse; what sends a statement passes `Statements.enter`."""

    SENDING = ("query", "query_np", "insert", "command")

    def __init__(self, client: Any, statements: Statements) -> None:
        self._client, self._statements = client, statements

    def __getattr__(self, name: str) -> Any:
        held = getattr(self._client, name)
        return self._passing(held) if name in self.SENDING else held

    def _passing(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def sent(*positional: Any, **named: Any) -> Any:
            self._statements.enter()
            return send(*positional, **named)

        return sent


# --------------------------------------------------------------------------- spoilt values


def emptied(value: Any) -> Any:
    """The same kind of value with nothing in it; the value itself where it holds nothing."""
    if isinstance(value, np.ndarray):
        return value[:0] if len(value) else value
    if isinstance(value, str | list | tuple | dict | set | frozenset):
        return type(value)() if value else value
    if is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, one.name) for one in fields(value)]
        return _each_field(value, emptied) if any(map(_holds_items, held)) else value
    return None if isinstance(value, int | float) else value


def _holds_items(value: Any) -> bool:
    return isinstance(value, str | list | tuple | dict | set | frozenset | np.ndarray) and len(value) > 0


def garbled(value: Any) -> Any:
    """What no stage can make anything of, in the outer shape of the value."""
    if isinstance(value, str):
        return NOISE
    if isinstance(value, np.ndarray):
        return np.full(value.shape, np.nan)
    if isinstance(value, dict):
        return {key: object() for key in value} or {"": object()}
    if isinstance(value, list | tuple):
        return type(value)([object()] * max(1, len(value)))
    return object()


def lengthened(value: Any) -> Any:
    """The value many times over; the value itself where there is nothing to repeat."""
    if isinstance(value, np.ndarray):
        return np.tile(value, REPEATED) if len(value) else value
    if isinstance(value, str):
        return (value or NOISE) * (2 * LONGEST_REPLY // len(value or NOISE) + 2)
    if isinstance(value, list | tuple):
        return value * REPEATED if value else value
    if isinstance(value, dict):
        return {**value, **{f"{place} {key}": item for place in range(REPEATED) for key, item in value.items()}}
    if is_dataclass(value) and not isinstance(value, type):
        return _each_field(value, lambda held: lengthened(held) if isinstance(held, list | tuple) else held)
    return value


def _each_field(value: Any, change: Any) -> Any:
    changed = {}
    for one in fields(value):
        held = getattr(value, one.name)
        other = held if isinstance(held, bool | int | float) else change(held)
        if other is not held:
            changed[one.name] = other
    return replace(value, **changed) if changed else value


# --------------------------------------------------------------------------- models


class FaultyChat:
    """A chat model with one fault in every call (`after` so many good ones)."""

    def __init__(self, chat: ChatModel, fault: Fault, *, after: int = 0) -> None:
        self._chat, self._fault, self._good = chat, fault, after

    @property
    def name(self) -> str:
        return self._chat.name

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        if self._good > 0:
            self._good -= 1
            return self._chat.complete(messages, model=model)
        if self._fault == "raises":
            raise ModelUnavailable("the chat model refused", hint="injected by a test")
        if self._fault == "times_out":
            raise ModelTimeout("the chat model did not answer in time", hint="injected by a test")
        text = {"empties": "", "garbage": NOISE, "over_long": lengthened("so on ")}[self._fault]
        return ChatReply(text=text, model=self.name)


class FaultyEmbedder:
    """An embedder with one fault in every call (`after` so many good ones)."""

    def __init__(self, embedder: Embedder, fault: Fault, *, after: int = 0) -> None:
        self._embedder, self._fault, self._good = embedder, fault, after
        self.name, self.dimension, self.max_tokens = embedder.name, embedder.dimension, embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embedder.embed(texts)
        if self._good > 0:
            self._good -= 1
            return vectors
        if self._fault == "raises":
            raise ModelUnavailable("the embedding model refused", hint="injected by a test")
        if self._fault == "times_out":
            raise ModelTimeout("the embedding model did not answer in time", hint="injected by a test")
        spoilt: Mapping[str, Vectors] = {
            "empties": vectors[:0],
            "garbage": np.full_like(vectors, np.nan),
            "over_long": np.repeat(vectors, 3, axis=0),
        }
        return spoilt[self._fault]


class FaultyWebSearch:
    """A web search with one fault in every call. `empties` gives results without text: a search that finds nothing is
    none."""

    def __init__(self, search: WebSearch, fault: Fault) -> None:
        self._search, self._fault = search, fault

    @property
    def name(self) -> str:
        return self._search.name

    def search(self, query: str, limit: int) -> Sequence[WebResult]:
        if self._fault == "raises":
            raise ModelUnavailable("the search service refused", hint="injected by a test")
        if self._fault == "times_out":
            raise ModelTimeout("the search service did not answer in time", hint="injected by a test")
        found = list(self._search.search(query, limit))
        if self._fault == "empties":
            return [replace(one, title="", text="") for one in found]
        spoilt: list[WebResult] = lengthened(found) if self._fault == "over_long" else garbled(found)
        return spoilt
