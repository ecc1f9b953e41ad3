"""Web search over HTTP: `POST {url}/search` as Tavily answers it (https://docs.tavily.com, "Search")."""

from __future__ import annotations

from pydantic import BaseModel, Field

from evigraph.models.advice import Advice
from evigraph.models.http import ModelServer
from evigraph.models.ports import WebResult

MOST_RESULTS = 20
"""What the service gives at most."""
MAX_RESPONSE_BYTES = 2 * 1024 * 1024
"""Twenty results without their pages are some 100 kB; more than this is not an answer."""

_REMEDY = "check that EVIGRAPH_WEB_SEARCH_URL answers `POST …/search` as Tavily does"
ADVICE = Advice(
    url="EVIGRAPH_WEB_SEARCH_URL",
    key="EVIGRAPH_WEB_SEARCH_KEY",
    server="a search service",
    wrong_shape=_REMEDY,
    not_found="check EVIGRAPH_WEB_SEARCH_URL: the base address, without `/search`",
    refused="the search service does not take the question; its message says why, such as a used-up plan",
    timeout="EVIGRAPH_WEB_SEARCH_TIMEOUT",
)


class _Result(BaseModel):
    title: str | None = Field(None, strict=True)
    url: str = Field(strict=True)
    content: str | None = Field(None, strict=True)


class _SearchBody(BaseModel):
    results: list[_Result]


class HttpWebSearch:
    """A `WebSearch` behind `{"query", "max_results", …}` → `{"results": [{"title", "url", "content"}]}`.

    `timeout` in seconds per attempt, `retries` = attempts, `concurrency` = calls under way at once. Raises
    `InvalidValue` for a malformed url or key.
    """

    name = "tavily"

    def __init__(
        self,
        url: str,
        api_key: str | None,
        *,
        timeout: float = 15.0,
        retries: int = 3,
        concurrency: int = 4,
        first_wait: float = 0.25,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._server = ModelServer(
            url,
            setting="EVIGRAPH_WEB_SEARCH",
            advice=ADVICE,
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
            first_wait=first_wait,
            max_response_bytes=max_response_bytes,
        )

    def __repr__(self) -> str:
        return f"HttpWebSearch({self._server.shown_url!r})"

    def search(self, query: str, limit: int) -> list[WebResult]:
        """At most `limit` (1-20) results in the service's order. Raises `ModelTimeout`, `ModelUnavailable` or
        `ModelBadResponse` (no JSON, no list of results, more of them than asked for)."""
        # Neither an answer written by the service nor whole pages: only what its results say.
        payload = {
            "query": query,
            "max_results": min(limit, MOST_RESULTS),
            "search_depth": "basic",
            "include_answer": False,
            "include_raw_content": False,
            "include_images": False,
        }
        found = self._server.ask("/search", payload, _SearchBody, otherwise=_REMEDY).results
        if len(found) > limit:
            raise self._server.unusable(f"{len(found)} results where at most {limit} were asked for", _REMEDY)
        return [WebResult(title=one.title or "", url=one.url, text=one.content or "") for one in found]

    def close(self) -> None:
        self._server.close()
