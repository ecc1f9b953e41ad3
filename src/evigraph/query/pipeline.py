"""How a question becomes an answer: understand → route → retrieve → assemble → enhance → budget → answer.

Each step takes the run of one question and leaves its result there; `QueryEngine` pins one generation for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evigraph.config import Settings
from evigraph.errors import EmbedderMismatch
from evigraph.models.meter import Metered
from evigraph.models.ports import ChatModel, Embedder
from evigraph.query.answer.answer import answer, require_model
from evigraph.query.assemble import assemble, fit_budget
from evigraph.query.cache import ContextCache
from evigraph.query.capabilities import capabilities
from evigraph.query.coverage import cover
from evigraph.query.enhance import enhance
from evigraph.query.ledger import Ledger
from evigraph.query.overview.mapped import with_map
from evigraph.query.predicates import spelled
from evigraph.query.retrieve import RETRIEVERS
from evigraph.query.route.step import reconsider, route
from evigraph.query.run import Run
from evigraph.query.understand import understand
from evigraph.routing import Route
from evigraph.store import Store
from evigraph.types import Answer, Evidence, Mode, QueryRequest


def retrieve(run: Run) -> None:
    """Run the mode's retriever over the scope."""
    with run.ledger.stage("retrieve") as record:
        if run.counts.passages or run.request.mode is Mode.BYPASS:
            run.predicates = spelled(run)
            run.retrieved = RETRIEVERS[run.request.mode](run)
        record.items_out = len(run.retrieved.passages)


_GATHER: tuple[Callable[[Run], None], ...] = (retrieve, assemble, enhance, fit_budget)


def fall_back(run: Run) -> None:
    """Under `auto`, gather evidence anew where the chosen mode found too little."""
    if reconsider(run):
        for step in _GATHER:
            step(run)


def fall_back_from_answer(run: Run) -> None:
    """The same where no answer could be made of it."""
    if reconsider(run):
        for step in (*_GATHER, answer):
            step(run)


RETRIEVAL: tuple[Callable[[Run], None], ...] = (understand, route, *_GATHER, fall_back)
STEPS: tuple[Callable[[Run], None], ...] = (require_model, *RETRIEVAL, answer, fall_back_from_answer, cover)


class QueryEngine:
    """Answers questions over one workspace. `embedder` is made only when a question needs a vector."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        *,
        embedder: Callable[[], Embedder],
        chat: ChatModel | None,
        settings: Settings,
        cache: ContextCache,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.embedder = embedder
        self.chat = chat
        self.settings = settings
        self.cache = cache

    def ask(self, request: QueryRequest) -> Answer:
        with self.open(request) as run:
            chat = "" if self.chat is None else self.chat.name
            key = self.cache.key(self.workspace, run.snapshot.generation, run.snapshot.model, chat, request)
            kept = self.cache.get(key) if _kept(request) or request.mode is Mode.AUTO else None
            if kept is not None:
                return kept
            for step in STEPS:
                step(run)
            answered = _answer(run)
            if _kept(run.request) and run.repeatable:
                self.cache.put(key, answered)
            return answered

    def retrieve(self, request: QueryRequest) -> Evidence:
        with self.open(request) as run:
            for step in (*RETRIEVAL, cover):
                step(run)
            return _evidence(run)

    def route(self, request: QueryRequest) -> Route | None:
        """What `auto` makes of the question, before anything is retrieved for it. None under other modes."""
        with self.open(request) as run:
            for step in (understand, route):
                step(run)
            return run.route

    def capabilities(self, *, extractor: Callable[[], str]) -> dict[str, Any]:
        """What runs here, by name."""
        return capabilities(self.embedder, extractor, self.chat, self.settings)

    @contextmanager
    def open(self, request: QueryRequest) -> Iterator[Run]:
        """A run of one question with its generation pinned; the caller passes it through the steps."""
        with self.store.snapshot(
            self.workspace,
            as_of=request.as_of,
            document_filter=request.document_filter,
            metadata_filter=request.metadata_filter,
        ) as snapshot:
            ledger = Ledger()
            run = Run(
                request=request,
                snapshot=snapshot,
                counts=snapshot.counts(),
                embedder=lambda: self._checked_embedder(snapshot.model),
                chat=None if self.chat is None else Metered(self.chat, degrade=ledger.degrade),
                settings=self.settings,
                ledger=ledger,
            )
            run.ledger.count("documents_in_scope", run.counts.documents)
            run.ledger.count("passages_in_scope", run.counts.passages)
            dated = request.document_filter
            if dated is not None and (dated.date_from or dated.date_to):
                run.ledger.count("undated_left_out", snapshot.undated_left_out())
            yield run

    def _checked_embedder(self, model: str) -> Embedder:
        """The embedder, if it is the one the workspace was embedded with."""
        embedder = self.embedder()
        if model and embedder.name != model:
            raise EmbedderMismatch(model, embedder.name)
        return embedder


def _kept(request: QueryRequest) -> bool:
    """Whether the answer is worth keeping, and depends on nothing but the store, the models and the request."""
    return request.context_only or request.mode is Mode.THEMATIC_OVERVIEW


def _evidence(run: Run) -> Evidence:
    return Evidence(
        question=run.request.query,
        mode=run.request.mode,
        generation=run.snapshot.generation,
        chunks=tuple(run.chunks),
        entities=tuple(run.entities),
        relationships=tuple(run.relationships),
        paths=run.retrieved.paths,
        connections=run.retrieved.connections,
        plan=run.retrieved.plan,
        communities=() if run.overview is None else tuple(with_map(run.overview)),
        coverage=run.coverage,
        route=run.route,
        degraded=tuple(run.ledger.degraded),
        retrieval=run.retrieved.retrieval,
        stats=run.ledger.stats(),
    )


def _answer(run: Run) -> Answer:
    evidence = _evidence(run)
    tokens = run.chat
    calls = {
        "llm_calls": tokens.calls if tokens else 0,
        # A server that reports no usage leaves the counts unknown, not zero.
        "prompt_tokens": None if tokens and tokens.unreported else tokens.prompt_tokens if tokens else 0,
        "completion_tokens": None if tokens and tokens.unreported else tokens.completion_tokens if tokens else 0,
    }
    return Answer(
        text=None if run.abstain_reason else run.text,
        citations=() if run.abstain_reason else tuple(run.citations),
        evidence=evidence,
        request=run.requested,
        abstained=run.abstain_reason is not None,
        abstain_reason=run.abstain_reason,
        unsupported=tuple(run.unsupported),
        removed_citations=tuple(run.removed_citations),
        degraded=tuple(run.ledger.degraded),
        answered_by=run.answered_by,  # type: ignore[arg-type]
        context=run.context if run.request.context_only else None,
        prompt=run.prompt or None,
        stats={**evidence.stats, **calls},
    )
