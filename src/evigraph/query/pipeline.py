"""How a question becomes an answer: condense → understand → route → retrieve → assemble → enhance → budget → answer.

Each step takes the run of one question and leaves its result there; `QueryEngine` pins one generation for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from evigraph.config import Settings
from evigraph.errors import EvigraphError, StageFailed
from evigraph.models.embedders import Embedders
from evigraph.models.meter import Metered
from evigraph.models.ports import ChatModel, Embedder, Reranker, WebSearch
from evigraph.query.answer.answer import answer, require_model, settle
from evigraph.query.assemble import assemble, fit_budget
from evigraph.query.cache import ContextCache
from evigraph.query.capabilities import capabilities
from evigraph.query.converse.condense import condense
from evigraph.query.converse.exchange import enter
from evigraph.query.converse.record import record
from evigraph.query.coverage import cover
from evigraph.query.enhance import enhance
from evigraph.query.ledger import Boundary, Ledger
from evigraph.query.methods.attempt import attempt
from evigraph.query.methods.combinations import refusal
from evigraph.query.methods.corrective import correct
from evigraph.query.methods.decide import decide
from evigraph.query.methods.hyde import hypothesize
from evigraph.query.methods.multi_query import rephrase
from evigraph.query.methods.search import impossible, search
from evigraph.query.methods.self_rag import reflect
from evigraph.query.overview.mapped import with_map
from evigraph.query.predicates import spelled
from evigraph.query.route.step import reconsider, route
from evigraph.query.run import Retrieved, Run
from evigraph.query.spaces import divide, main_embedder, miss_models, models_of, settle_spaces
from evigraph.query.understand import understand
from evigraph.routing import Route
from evigraph.store import Store
from evigraph.store.knowledge_bases import standing_bases
from evigraph.types import Answer, Evidence, Method, Mode, QueryRequest


def perform(run: Run, steps: Sequence[Callable[[Run], None]]) -> None:
    """The steps in their order. Whatever one raises that is no `EvigraphError` becomes a `StageFailed`; what one
    changes of what it hands on, outside of its stages, the ledger reports."""
    for step in steps:
        try:
            with run.ledger.step(step.__name__):
                step(run)
        except EvigraphError:
            raise
        except Exception as error:
            raise StageFailed(step.__name__, f"{type(error).__name__} in it") from error


def choose(run: Run) -> None:
    """Settle the method: one that the chosen mode cannot use gives way, and `auto` decides."""
    reason = refusal(run.request.mode, run.method)
    if reason is not None:
        run.ledger.degrade(f"{run.method}: {reason}, which `auto` chose; asked as `standard`")
        run.method, run.wordings = Method.STANDARD, []
    if run.method is Method.AUTO and not attempt(run, "decide", lambda: decide(run), instead="asked as `standard`"):
        run.method = Method.STANDARD


def word(run: Run) -> None:
    """Put other words in the question's place, or beside it."""
    if run.method is Method.HYDE:
        hypothesize(run)
    elif run.method is Method.MULTI_QUERY:
        rephrase(run)


def retrieve(run: Run) -> None:
    """Run the mode's retriever over the scope."""
    with run.ledger.stage("retrieve") as stage:
        found = Retrieved(retrieval="none", empty="scope: it holds no passage")
        if run.counts.passages or run.request.mode is Mode.BYPASS:
            if run.request.mode not in (Mode.BYPASS, Mode.PLAN):
                miss_models(run)
            run.predicates = spelled(run)
            found = search(run)
        run.retrieved = stage.hand_on(
            found,
            because=found.empty or "no passage matched the question",
            kind=Retrieved,
            count=lambda one: len(one.passages) + len(one.summaries),
            check=impossible,
        )


def improve(run: Run) -> None:
    """Under `corrective`, search again where the evidence is weak, at last the web."""
    if run.method is Method.CORRECTIVE:
        attempt(run, "corrective", lambda: correct(run), instead="the evidence was left as it was")


def criticise(run: Run) -> None:
    """Under `self_rag`, have the answer graded and written again."""
    if run.method is Method.SELF_RAG:
        reflect(run)


def state_coverage(run: Run) -> None:
    """Say what of the scope a corpus-wide answer draws on."""
    attempt(run, "coverage", lambda: cover(run), instead="it is not stated")


_GATHER: tuple[Callable[[Run], None], ...] = (choose, word, retrieve, assemble, improve, enhance, fit_budget)


def fall_back(run: Run) -> None:
    """Under `auto`, gather evidence anew where the chosen mode found too little."""
    if reconsider(run):
        perform(run, _GATHER)


def fall_back_from_answer(run: Run) -> None:
    """The same where no answer could be made of it."""
    if reconsider(run):
        perform(run, (*_GATHER, answer, settle))


RETRIEVAL: tuple[Callable[[Run], None], ...] = (condense, understand, route, *_GATHER, fall_back)
ANSWER: tuple[Callable[[Run], None], ...] = (answer, settle, fall_back_from_answer, criticise, state_coverage, record)
STEPS: tuple[Callable[[Run], None], ...] = (require_model, *RETRIEVAL, *ANSWER)


class QueryEngine:
    """Answers questions over one workspace. `embedder` is made only when a question needs a vector; so are `embedders`,
    which are `embedder` and those of knowledge bases with a model of their own."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        *,
        embedder: Callable[[], Embedder],
        chat: ChatModel | None,
        settings: Settings,
        cache: ContextCache,
        reranker: Callable[[], Reranker | None] = lambda: None,
        web_search: Callable[[], WebSearch | None] = lambda: None,
        boundary: Boundary | None = None,
        embedders: Embedders | None = None,
    ) -> None:
        self.store = store
        self.workspace = workspace
        self.embedders = embedders or Embedders(embedder, {})
        self.chat = chat
        self.settings = settings
        self.cache = cache
        self.reranker = reranker
        self.web_search = web_search
        self.boundary = boundary

    def ask(self, request: QueryRequest) -> Answer:
        with self.open(request) as run:
            chat = "" if self.chat is None else self.chat.name
            key = self.cache.key(self.workspace, run.snapshot.generation, models_of(run), chat, request)
            looked_for = _kept(request) or (request.mode is Mode.AUTO and request.conversation_id is None)
            kept = self.cache.get(key) if looked_for else None
            if kept is not None:
                return replace(kept, stats={**kept.stats, "total_ms": run.ledger.stats()["total_ms"]})
            perform(run, STEPS)
            answered = _answer(run)
            if _kept(run.request) and run.repeatable:
                self.cache.put(key, answered)
            return answered

    def retrieve(self, request: QueryRequest) -> Evidence:
        with self.open(request) as run:
            perform(run, (*RETRIEVAL, state_coverage))
            return _evidence(run)

    def route(self, request: QueryRequest) -> Route | None:
        """What `auto` makes of the question, before anything is retrieved for it. None under other modes."""
        with self.open(request) as run:
            perform(run, (condense, understand, route))
            return run.route

    def capabilities(self, *, extractor: Callable[[], str]) -> dict[str, Any]:
        """What runs here, by name."""
        return capabilities(
            self.embedders,
            extractor,
            self.chat,
            reranker=self.reranker,
            web_search=self.web_search,
            settings=self.settings,
        )

    @contextmanager
    def open(self, request: QueryRequest) -> Iterator[Run]:
        """A run of one question with its generation pinned; the caller passes it through the steps."""
        with self.store.snapshot(
            self.workspace,
            as_of=request.as_of,
            document_filter=request.document_filter,
            metadata_filter=request.metadata_filter,
        ) as snapshot:
            ledger = Ledger(self.boundary)
            run = Run(
                request=request,
                snapshot=snapshot,
                counts=snapshot.counts(),
                embedder=lambda: main_embedder(self.embedders, snapshot.model),
                chat=None if self.chat is None else Metered(self.chat, degrade=ledger.degrade, account=ledger.account),
                reranker=self.reranker,
                web_search=self.web_search,
                settings=self.settings,
                ledger=ledger,
                exchange=enter(self.store, self.workspace, request),
            )
            ledger.watch(lambda: run.at_hand)
            self._miss_bases(run)
            if spaces := divide(snapshot, self.embedders):
                settle_spaces(run, spaces)
            run.ledger.count("documents_in_scope", run.counts.documents)
            run.ledger.count("passages_in_scope", run.counts.passages)
            dated = request.document_filter
            if dated is not None and (dated.date_from or dated.date_to):
                run.ledger.count("undated_left_out", snapshot.undated_left_out())
            yield run

    def _miss_bases(self, run: Run) -> None:
        """Say which knowledge bases the question is put to that are none."""
        asked = run.request.document_filter
        if asked is None or not asked.knowledge_bases or run.request.as_of is not None:
            return
        standing = {base.base_id for base in standing_bases(self.store, self.workspace)}
        for base_id in dict.fromkeys(asked.knowledge_bases):
            if base_id not in standing:
                run.ledger.degrade(f"scope: there is no knowledge base {base_id[:80]!r}; it was left out")


def _kept(request: QueryRequest) -> bool:
    """Whether the answer is worth keeping, and depends on nothing but the store, the models and the request."""
    # What a follow-up means depends on its conversation, and an answer in one is a turn of it.
    return request.conversation_id is None and (request.context_only or request.mode is Mode.THEMATIC_OVERVIEW)


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
        conversation=None if run.exchange is None else run.exchange.use(run.query),
        degraded=tuple(run.ledger.degraded),
        retrieval=run.retrieved.retrieval,
        stats=run.ledger.stats(),
    )


def _answer(run: Run) -> Answer:
    evidence = _evidence(run)
    tokens = run.chat
    calls = {
        "llm_calls": tokens.calls if tokens else 0,
        # A server that does not report one of them leaves it unknown, not zero.
        "prompt_tokens": tokens.prompt_tokens if tokens else 0,
        "completion_tokens": tokens.completion_tokens if tokens else 0,
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
        method=run.method,
        details=run.details,
        ledger=run.ledger.report(),
        context=run.context if run.request.context_only else None,
        prompt=run.prompt or None,
        stats={**evidence.stats, **calls},
    )
