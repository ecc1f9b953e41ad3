"""Re-ranking: the candidates that retrieval found, put in the order in which a reranker judges them; then the cut to
those that are kept. Whatever goes wrong with the reranker leaves them in the order that they had, and they are cut all
the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from evigraph.errors import EvigraphError, ModelBadResponse
from evigraph.models.ports import Reranker
from evigraph.models.rerank_chat import ChatReranker
from evigraph.query.answer.support import question_weights
from evigraph.query.enhance.rules import Near, RuleReranker
from evigraph.query.ledger import repeated
from evigraph.query.relevance import Words, cosines
from evigraph.query.run import Run
from evigraph.query.spaces import near
from evigraph.query.strategy import reranked
from evigraph.types import Chunk


def rerank(run: Run) -> None:
    """Re-rank the first candidates and keep `max_chunks` of all.

    `rerank_score` is the reranker's; `score`, which tells the order, is `1 / place`, since candidates that were not
    judged have no score of that kind. Ties keep the order before.
    """
    backend = _backend(run)
    before, most = run.chunks, run.request.max_chunks
    judged, rest = before[: reranked(run.request)], before[reranked(run.request) :]
    try:
        with run.ledger.stage("rerank", given=len(before), of="chunks") as stage:
            scores = checked(backend.score(run.asked.text, [_searched(chunk) for chunk in judged]), len(judged))
            ordered = _ordered(judged, scores) + [
                replace(chunk, score=_place(place)) for place, chunk in enumerate(rest, start=len(judged) + 1)
            ]
            run.chunks = stage.hand_on(ordered, kind=Chunk, most=len(before), check=_repeated)
        failure = None
    except EvigraphError as error:  # anything else that a reranker may raise has become a `StageFailed`
        failure = f"{error.code}: {error}"
        run.repeatable = False
        run.ledger.degrade(f"rerank: the reranker `{backend.name}` failed ({failure}); the order before it was kept")
    run.ledger.count("rerank", {"backend": backend.name, "candidates": len(judged), "applied": failure is None})
    with run.ledger.stage("keep_best", given=len(run.chunks), of="chunks") as stage:
        stage.lose(len(run.chunks) - most, f"beyond max_chunks {most}")
        run.chunks = stage.hand_on(run.chunks[:most], kind=Chunk, most=most)


def _repeated(chunks: Sequence[Chunk]) -> str | None:
    return repeated("passage", ((chunk.web, chunk.id) for chunk in chunks))


def checked(scores: object, count: int) -> list[float]:
    """What a reranker returned, as one finite number a text. Raises `ModelBadResponse`: a reranker may be anybody's."""
    try:
        numbers = [float(score) for score in scores]  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        raise ModelBadResponse("the reranker returned something other than numbers") from None
    if len(numbers) != count:
        raise ModelBadResponse(f"the reranker returned {len(numbers)} scores for {count} passages")
    if not all(map(math.isfinite, numbers)):
        raise ModelBadResponse("the reranker returned a score that is not finite")
    return numbers


def _backend(run: Run) -> Reranker:
    """The reranker that was handed in or that the settings name. Raises what `make_reranker` raises."""
    given = run.reranker()
    if given is not None:
        return given
    if run.settings.reranker == "llm":
        if run.chat is not None:
            return ChatReranker(run.chat, model=run.request.llm_model, language=(*run.counts.languages, "en")[0])
        run.ledger.degrade(
            "rerank: EVIGRAPH_RERANKER is `llm` and no chat model is configured (EVIGRAPH_CHAT_URL); the passages were "
            "re-ranked by rules instead"
        )
    words = Words(weights=question_weights(run), languages=run.counts.languages)
    return RuleReranker(run.embedder(), words, near=_near(run) if run.divided else None)


def _near(run: Run) -> Near:
    """Cosines of sentences by the models of the candidates that they are from."""
    candidates = run.chunks

    def compared(question: str, owners: Sequence[int], sentences: Sequence[str]) -> list[float]:
        return near(run, [candidates[owner] for owner in owners], sentences, cosines)

    return compared


def _searched(chunk: Chunk) -> str:
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def _ordered(chunks: Sequence[Chunk], scores: Sequence[float]) -> list[Chunk]:
    rounded = [round(score, 9) for score in scores]
    order = sorted(range(len(chunks)), key=lambda at: (-rounded[at], at))
    return [
        replace(chunks[at], rerank_score=rounded[at], score=_place(place)) for place, at in enumerate(order, start=1)
    ]


def _place(place: int) -> float:
    return round(1.0 / place, 9)
