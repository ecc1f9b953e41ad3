"""Re-ranking over HTTP: `POST {url}/rerank` as Cohere, Jina, vLLM and the llama.cpp server answer it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import BaseModel, Field

from evigraph.errors import ModelBadResponse
from evigraph.models.http import ModelServer

_REMEDY = "check EVIGRAPH_RERANK_MODEL and that EVIGRAPH_RERANK_URL answers `POST …/rerank`"


class _Result(BaseModel):
    index: int = Field(strict=True)
    relevance_score: float = Field(strict=True)


class _RerankBody(BaseModel):
    results: list[_Result]


class HttpReranker:
    """A cross-encoder behind `{"model", "query", "documents", "top_n"}` → `{"results": [{"index",
    "relevance_score"}]}`.

    `timeout` in seconds per attempt, `retries` = attempts, `concurrency` = calls under way at once. Raises
    `InvalidValue` for a malformed url or key.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        concurrency: int = 4,
        server: ModelServer | None = None,
    ) -> None:
        self.name = model
        self._server = server or ModelServer(
            url,
            setting="EVIGRAPH_RERANK",
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
        )

    def __repr__(self) -> str:
        return f"HttpReranker({self._server.shown_url!r}, {self.name!r})"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, as the server gives it. Raises `ModelTimeout`, `ModelUnavailable` or `ModelBadResponse`
        (scores missing, repeated, of other texts, or not finite)."""
        if not texts:
            return []
        # All are asked for: what a server leaves out would have no score.
        documents = [text or " " for text in texts]
        payload = {"model": self.name, "query": question, "documents": documents, "top_n": len(documents)}
        results = self._server.ask("/rerank", payload, _RerankBody, otherwise=_REMEDY).results
        if len(results) != len(texts):
            raise self._bad(f"{len(results)} scores for {len(texts)} texts")
        scores = {result.index: result.relevance_score for result in results}
        if sorted(scores) != list(range(len(texts))):
            raise self._bad("the `index` fields are not those of the texts, each once")
        if not all(math.isfinite(score) for score in scores.values()):
            raise self._bad("a score that is not finite")
        return [scores[at] for at in range(len(texts))]

    def close(self) -> None:
        self._server.close()

    def _bad(self, what: str) -> ModelBadResponse:
        return self._server.unusable(what, _REMEDY)
