"""Runs an engine over a labelled dataset: index, retrieve in every mode, ask where an answer is judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal, Protocol

from evigraph.communities import Coverage
from evigraph.errors import EvigraphError, InvalidValue, UnknownMode
from evigraph.evaluate.cases import AnswerCase, RankingCase
from evigraph.evaluate.datasets import ABSENT, CORPUS_WIDE, LAYOUTS, Dataset, Question, sample
from evigraph.evaluate.explain import found_documents, notes
from evigraph.evaluate.metrics import answer_recall, distinct, recall_at, score
from evigraph.evaluate.report import EvalReport
from evigraph.reports import IndexReport
from evigraph.types import Answer, Chunk, Citation, Evidence, Mode

BASELINES: Mapping[str, Mapping[str, Any]] = {
    "dense": {"mode": "naive"},
    "bm25": {"mode": "keyword_lookup"},
    "hybrid-rrf": {"mode": "naive", "hybrid": True},
}
"""Baselines by the names the literature uses, as options of `retrieve`."""

CHUNKS_PER_DOCUMENT = 2
"""Passages asked for per document to rank: several passages of one document share one place in the
ranking."""

TOKENS_PER_CHUNK = 1_000
"""Context budget per passage, far above any passage's size: what is measured is the ranking, not the cut."""

LIMITS = {"max_chunks": 200, "max_context_tokens": 200_000}


class Engine(Protocol):
    """What is measured; `evigraph.Evigraph` is one."""

    def index(self, items: Any, /) -> IndexReport: ...

    def retrieve(self, question: str, **options: Any) -> Evidence: ...

    def ask(self, question: str, **options: Any) -> Answer: ...


def valid_modes() -> tuple[str, ...]:
    """Modes that rank passages, and the baselines."""
    return (*(mode.value for mode in Mode if mode is not Mode.BYPASS), *BASELINES)


def evaluate(
    engine: Engine,
    dataset: Dataset,
    *,
    modes: Sequence[str] = ("mix",),
    k: int = 10,
    limit: int | None = None,
    sampled: int | None = None,
    answers: Literal["all", "absent", "none"] = "absent",
    answer_mode: str | None = None,
    index: bool = True,
    embedder: str = "not recorded",
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> EvalReport:
    """Measures `engine` on `dataset`.

    Every mode ranks `k` documents for each question that has gold, of the first `limit` questions or of `sampled` drawn
    by their ids (`datasets.sample`). `answers` says which questions are also asked: those of type `absent`, all, or
    none; `answer_mode` in which mode (default: `mix` where it is measured, else the first of `modes`). `options` go to
    every `retrieve` and `ask`. A question that fails is recorded and scores 0; a failing `index` raises, and documents
    it refused become a warning. `index=False` measures what the engine already holds. Raises `UnknownMode`, and
    `InvalidValue` also where there is no question.
    """
    _check(modes, answer_mode, k)
    questions = _chosen(dataset, limit, sampled)
    if not dataset.questions:
        raise InvalidValue(f"{dataset.name} holds no question", hint=f"write some: {LAYOUTS}")
    ranked = [question for question in questions if question.gold]
    asked = [q for q in questions if answers == "all" or (answers == "absent" and _is_absent(q))]
    warnings = list(dataset.warnings)
    indexed: dict[str, Any] = {}
    if index:
        indexed, refused = _index(engine, dataset)
        warnings += refused
    skipped = sum(1 for q in questions if not q.gold and not _is_absent(q))
    if skipped:
        warnings.append(f"{skipped} questions have no gold and are not ranked")

    total = len(ranked) * len(modes) + len(asked)
    runner = _Runner(engine=engine, dataset=dataset, k=k, options=dict(options or {}))
    done = 0
    rankings, answered = [], []
    for mode in modes:
        for question in ranked:
            rankings.append(runner.rank(question, mode))
            done += 1
            _tell(on_progress, done, total)
    for question in asked:
        answered.append(runner.ask(question, answer_mode or (Mode.MIX.value if Mode.MIX.value in modes else modes[0])))
        done += 1
        _tell(on_progress, done, total)
    return EvalReport(
        dataset=dataset.name,
        corpus_documents=len(dataset.corpus_ids),
        run=_run_record(dataset, embedder, k, {"limit": limit, "sample": sampled}),
        rankings=tuple(rankings),
        answers=tuple(answered),
        warnings=tuple(warnings),
        index=indexed,
    )


def rerank_by_bm25(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The passages BM25 ranked, in its order: the lexical arm alone."""
    ranked = [(chunk.bm25_rank, chunk.id, chunk) for chunk in chunks if chunk.bm25_rank is not None]
    return [chunk for _, _, chunk in sorted(ranked, key=lambda entry: entry[:2])]


class _Runner:
    """Puts questions to the engine and turns what comes back into cases."""

    def __init__(self, *, engine: Engine, dataset: Dataset, k: int, options: dict[str, Any]) -> None:
        self.engine = engine
        self.dataset = dataset
        self.k = k
        self.options = options
        self._ids: dict[str, str] = {}

    def rank(self, question: Question, mode: str) -> RankingCase:
        options = self.retrieve_options(mode)
        started = time.perf_counter()
        evidence: Evidence | None = None
        error = ""
        try:
            evidence = self.engine.retrieve(question.text, **options)
        except EvigraphError as problem:
            error = f"{problem.code}: {problem}"
        seconds = time.perf_counter() - started
        chunks = evidence.chunks if evidence else ()
        if mode == "bm25":
            chunks = tuple(rerank_by_bm25(chunks))
        named = [(self._gold_id(chunk), chunk) for chunk in chunks]
        ranked = distinct(name for name, _ in named)[: self.k]
        return RankingCase(
            mode=mode,
            question_id=question.id,
            question=question.text,
            type=question.type,
            gold=tuple(question.gold),
            ranked=ranked,
            metrics=score(ranked, question.gold, self.k),
            seconds=seconds,
            options=options,
            degraded=evidence.degraded if evidence else (),
            error=error,
            retrieval=evidence.retrieval if evidence else "",
            found=found_documents(named, self.k, question.gold),
            notes=notes(evidence.stats) if evidence else {},
        )

    def ask(self, question: Question, mode: str) -> AnswerCase:
        started = time.perf_counter()
        try:
            answer = self.engine.ask(question.text, **self.ask_options(mode))
        except EvigraphError as problem:
            return self._answer_case(question, mode, started, error=f"{problem.code}: {problem}")
        return self._answer_case(question, mode, started, answer=answer)

    def retrieve_options(self, mode: str) -> dict[str, Any]:
        """Wide enough that neither passages of one document nor the budget keep `k` documents from being
        ranked."""
        # The lexical arm alone is cut out of a fused list, which holds about as many passages from the
        # dense one.
        arms = 2 if mode == "bm25" else 1
        wanted = min(LIMITS["max_chunks"], self.k * CHUNKS_PER_DOCUMENT * arms)
        budget = min(LIMITS["max_context_tokens"], wanted * TOKENS_PER_CHUNK)
        widths = {"max_chunks": wanted, "max_context_tokens": budget}
        return {**widths, **self.options, **BASELINES.get(mode, {"mode": mode})}

    def ask_options(self, mode: str) -> dict[str, Any]:
        """An answer is judged under the budgets a user would have."""
        return {**self.options, **BASELINES.get(mode, {"mode": mode})}

    def _answer_case(
        self, question: Question, mode: str, started: float, *, answer: Answer | None = None, error: str = ""
    ) -> AnswerCase:
        citations = answer.citations if answer else ()
        cited = distinct(self._gold_id(citation) for citation in citations)
        text = (answer.text or "") if answer else ""
        return AnswerCase(
            mode=mode,
            question_id=question.id,
            question=question.text,
            type=question.type,
            abstained=answer.abstained if answer else False,
            abstain_reason=(answer.abstain_reason or "") if answer else "",
            text=text,
            citations=cited,
            longest_quote=max((len(citation.quote) for citation in citations), default=0),
            cites_gold=any(name in question.gold for name in cited) if question.gold else None,
            answer_recall=answer_recall(text, question.answers) if question.answers else None,
            seconds=time.perf_counter() - started,
            options=self.ask_options(mode),
            error=error,
            **(_breadth(cited, question, answer) if question.type == CORPUS_WIDE and question.gold else {}),
        )

    def _gold_id(self, item: Chunk | Citation) -> str:
        """The corpus id of the document an item comes from."""
        if item.web or self.dataset.gold_by == "document_id":
            return item.document_id
        if item.source not in self._ids:
            # A source may carry the folder's own path in front of the relative one gold names.
            fits = [i for i in self.dataset.corpus_ids if item.source == i or item.source.endswith(f"/{i}")]
            self._ids[item.source] = max(fits, key=len, default=item.source)
        return self._ids[item.source]


def _breadth(cited: Sequence[str], question: Question, answer: Answer | None) -> dict[str, Any]:
    """How much of what a corpus-wide question is about its answer draws on."""
    return {
        "gold_recall": recall_at(cited, question.gold, len(cited)),
        "gold_precision": sum(1 for name in cited if name in question.gold) / len(cited) if cited else None,
        "groups": _represented(answer.evidence.coverage) if answer and not answer.abstained else {},
    }


def _represented(coverage: Coverage | None) -> dict[str, float]:
    """By metadata key, the share of its values that cited documents have."""
    groups = coverage.groups if coverage is not None else {}
    totals = {key: len(found.represented) + len(found.missing) for key, found in groups.items()}
    return {key: len(groups[key].represented) / total for key, total in sorted(totals.items()) if total}


def _index(engine: Engine, dataset: Dataset) -> tuple[dict[str, Any], list[str]]:
    report = engine.index(list(dataset.items))
    counts = {"documents": len(report.documents), "errors": len(report.errors), "seconds": report.seconds}
    return counts, [f"not indexed: {error.source}: {error.message}" for error in report.errors]


def _check(modes: Sequence[str], answer_mode: str | None, k: int) -> None:
    for mode in [*modes, *([answer_mode] if answer_mode else [])]:
        if mode not in valid_modes():
            raise UnknownMode(mode, valid_modes())
    if not modes or len(set(modes)) < len(modes):
        raise InvalidValue("modes must name at least one mode, each once", hint=f"valid: {', '.join(valid_modes())}")
    if not 1 <= k <= LIMITS["max_chunks"]:
        raise InvalidValue(f"k is {k}", hint=f"choose 1 to {LIMITS['max_chunks']}; 10 gives every metric")


def _chosen(dataset: Dataset, limit: int | None, sampled: int | None) -> tuple[Question, ...]:
    if sampled is None:
        return dataset.questions[:limit]
    if limit is not None:
        raise InvalidValue("limit and sample choose different questions", hint="give one of them")
    if sampled < 1:
        raise InvalidValue(f"a sample of {sampled} questions is none", hint="choose 1 or more")
    return sample(dataset.questions, sampled)


def _is_absent(question: Question) -> bool:
    return question.type == ABSENT and not question.gold


def _tell(on_progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if on_progress is not None:
        on_progress(done, total)


def _run_record(dataset: Dataset, embedder: str, k: int, chosen: Mapping[str, int | None]) -> dict[str, Any]:
    """What the numbers depend on; `limit` or `sample` where not all questions were asked."""
    return {
        "corpus_hash": dataset.corpus_hash,
        "embedder": embedder,
        "k": k,
        **{name: number for name, number in chosen.items() if number is not None},
        "evigraph": version("evigraph"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
