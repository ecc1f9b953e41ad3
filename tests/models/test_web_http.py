"""A search service over a real socket, and every way in which it can fail."""

from __future__ import annotations

import gc
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph.config import Settings
from evigraph.errors import InvalidValue, ModelBadResponse, ModelError, ModelTimeout, ModelUnavailable
from evigraph.models.factory import make_web_search
from evigraph.models.ports import WebResult
from evigraph.models.web import HttpWebSearch
from evigraph.testing.models import Fault, ScriptedOpenAIServer

KEY = "tvly-very-secret-0123456789"
QUESTION = "who repaired the pump"
PAGES = [
    WebResult(title=f"Page {n}", url=f"https://pages.example/{n}", text=f"Joseph Amarra repaired pump {n}.")
    for n in range(8)
]


@pytest.fixture(autouse=True)
def _no_leaked_connections() -> Iterator[None]:
    yield
    gc.collect()  # an unclosed socket becomes a warning here, in the test that left it


def search(server: ScriptedOpenAIServer, limit: int = 5, **options: Any) -> list[WebResult]:
    port = HttpWebSearch(server.url, KEY, **{"timeout": 5.0, "first_wait": 0.01, **options})
    try:
        return port.search(QUESTION, limit)
    finally:
        port.close()


def failure(fault: Fault, **options: Any) -> tuple[ModelError, int]:
    """The error of one call, and how many requests it took."""
    with ScriptedOpenAIServer(faults=[fault] * 3) as server:
        with pytest.raises(ModelError) as caught:
            search(server, **options)
        return caught.value, len(server.requests)


def test_the_question_alone_is_sent_and_results_come_in_their_order() -> None:
    with ScriptedOpenAIServer(results=PAGES) as server:
        assert search(server) == PAGES[:5]
        (request,) = server.requests
    assert request.path == "/v1/search"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "query": QUESTION,
        "max_results": 5,
        "search_depth": "basic",
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
    }


def test_nothing_found_is_no_error() -> None:
    with ScriptedOpenAIServer() as server:
        assert search(server) == []


def test_what_passes_by_itself_is_tried_again() -> None:
    with ScriptedOpenAIServer(results=PAGES, faults=[Fault(status=503), Fault(drop=True)]) as server:
        assert len(search(server, 2)) == 2
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "options", "kind", "requests", "hint"),
    [
        (Fault(status=500), {}, ModelUnavailable, 3, "EVIGRAPH_WEB_SEARCH_URL"),
        (Fault(status=429), {}, ModelUnavailable, 3, "EVIGRAPH_MODEL_CONCURRENCY"),
        (Fault(status=401), {}, ModelUnavailable, 1, "EVIGRAPH_WEB_SEARCH_KEY"),
        (Fault(status=404), {}, ModelUnavailable, 1, "EVIGRAPH_WEB_SEARCH_URL"),
        (Fault(status=432), {}, ModelUnavailable, 1, "plan"),
        (Fault(delay=30), {"timeout": 0.2, "retries": 1}, ModelTimeout, 1, "EVIGRAPH_WEB_SEARCH_TIMEOUT"),
        (Fault(trickle=0.05), {"timeout": 0.2, "retries": 1}, ModelTimeout, 1, "EVIGRAPH_WEB_SEARCH_TIMEOUT"),
        (Fault(body="<html>Sign in</html>"), {}, ModelBadResponse, 1, "POST …/search"),
        (Fault(body="x" * 5_000), {"max_response_bytes": 4_000}, ModelBadResponse, 1, "a search service"),
    ],
)
def test_a_failing_service_is_a_typed_error(
    fault: Fault, options: dict[str, Any], kind: type[ModelError], requests: int, hint: str
) -> None:
    error, asked = failure(fault, **options)
    assert type(error) is kind
    assert asked == requests
    assert hint in error.hint
    assert KEY not in f"{error} {error.hint} {error!r}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}", "results"),
        ("[]", "not a JSON object"),
        ('{"results": {}}', "results"),
        ('{"results": ["page"]}', "results.0"),
        ('{"results": [{"title": "t", "content": "c"}]}', "results.0.url"),
        ('{"results": [{"url": 7, "content": "c"}]}', "results.0.url"),
        ('{"results": [{"url": "https://a.example", "content": ["c"]}]}', "results.0.content"),
        (json.dumps({"results": [{"url": "https://a.example", "content": "c"}] * 6}), "6 results where at most 5"),
    ],
)
def test_a_malformed_reply_is_refused(body: str, said: str) -> None:
    error, asked = failure(Fault(body=body))
    assert type(error) is ModelBadResponse
    assert said in str(error)
    assert "EVIGRAPH_WEB_SEARCH_URL" in error.hint
    assert asked == 1


def test_what_a_result_may_lack_is_empty() -> None:
    body = '{"results": [{"url": "https://a.example", "title": null}]}'
    with ScriptedOpenAIServer(faults=[Fault(body=body)]) as server:
        assert search(server) == [WebResult(title="", url="https://a.example", text="")]


def test_the_key_goes_nowhere_else() -> None:
    """Not after a redirect, whatever host it leads to."""
    with ScriptedOpenAIServer(results=PAGES) as other:
        away = Fault(status=307, headers=(("location", f"{other.url}/search"),))
        error, asked = failure(away)
        assert other.requests == []
    assert (type(error), asked) == (ModelUnavailable, 1)
    assert "redirects are not followed; set EVIGRAPH_WEB_SEARCH_URL" in error.hint


def test_the_key_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"detail": {"error": f"the key {KEY} is over its limit"}})
    error, _ = failure(Fault(status=433, body=echo))
    failure(Fault(status=503))
    shown = HttpWebSearch("https://user:pass@search.example/base?k=1", KEY)
    settings = Settings(web_search_key=KEY)  # type: ignore[arg-type]
    everything = f"{error} {error!r} {error.hint} {shown!r} {settings!r} {settings.model_dump_json()} {caplog.text}"
    assert "over its limit" in everything
    assert KEY not in everything
    assert "pass@" not in everything


@pytest.mark.parametrize("url", ["not an address", "ftp://search.example", "file:///etc/passwd", "https://"])
def test_only_http_addresses_will_do(url: str) -> None:
    with pytest.raises(InvalidValue, match="EVIGRAPH_WEB_SEARCH_URL is not an http"):
        HttpWebSearch(url, KEY)


def test_a_key_that_no_header_carries_names_its_setting() -> None:
    with pytest.raises(InvalidValue, match="EVIGRAPH_WEB_SEARCH_KEY holds characters") as refused:
        HttpWebSearch("https://search.example", "a key")
    assert "a key" not in str(refused.value)


def test_without_a_key_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"EVIGRAPH_{name.upper()}", raising=False)
    monkeypatch.setenv("EVIGRAPH_CONFIG", os.devnull)
    assert make_web_search(Settings()) is None
    assert make_web_search(Settings(web_search_key=" ", web_search_url="https://search.example")) is None  # type: ignore[arg-type]
    monkeypatch.setenv("EVIGRAPH_WEB_SEARCH_KEY", KEY)
    found = make_web_search(Settings())
    assert repr(found) == "HttpWebSearch('https://api.tavily.com')"
