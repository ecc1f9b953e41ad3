"""Every way a model server can fail, over real sockets."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from evigraph.errors import InvalidValue, ModelBadResponse, ModelError, ModelTimeout, ModelUnavailable
from evigraph.models.http import ModelServer
from evigraph.models.openai_compatible import OpenAIChat, OpenAIEmbedder
from evigraph.models.ports import Message
from evigraph.testing.models import Fault, HashEmbedder, ScriptedOpenAIServer

KEY = "sk-very-secret-0123456789"
HELLO = (Message(role="user", content="Hello there"),)


@pytest.fixture(autouse=True)
def _no_leaked_connections() -> Iterator[None]:
    yield
    gc.collect()  # an unclosed socket becomes a warning here, in the test that left it


def _server(url: str, **options: object) -> ModelServer:
    settings: dict[str, object] = {
        "setting": "EVIGRAPH_CHAT",
        "api_key": KEY,
        "timeout": 5.0,
        "first_wait": 0.01,
    }
    return ModelServer(url, **{**settings, **options})  # type: ignore[arg-type]


def _ask(server: ScriptedOpenAIServer, **options: object) -> str:
    port = _server(server.url, **options)
    try:
        return OpenAIChat(server.url, "tiny", server=port).complete(HELLO).text
    finally:
        port.close()


def _failure(faults: list[Fault | None], **options: object) -> tuple[ModelError, int]:
    """The error of one call, and how many requests it took."""
    with ScriptedOpenAIServer(faults=faults) as server:
        with pytest.raises(ModelError) as caught:
            _ask(server, **options)
        return caught.value, len(server.requests)


def test_chat_sends_what_the_interface_asks_for() -> None:
    with ScriptedOpenAIServer(["Good day."]) as server:
        chat = OpenAIChat(server.url, "tiny", KEY, timeout=5)
        reply = chat.complete(HELLO, model="other")
        chat.close()
        (request,) = server.requests
    assert (reply.text, reply.model, reply.prompt_tokens, reply.completion_tokens) == (
        "Good day.",
        "other",
        2,
        2,
    )
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "other",
        "messages": [{"role": "user", "content": "Hello there"}],
        "temperature": 0,
        "stream": False,
    }


def test_tokens_not_reported_stay_unknown() -> None:
    with ScriptedOpenAIServer(usage=False) as server:
        chat = OpenAIChat(server.url + "/", "tiny")
        reply = chat.complete(HELLO)
        chat.close()
        assert "authorization" not in server.requests[0].headers
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=503, headers=(("retry-after", "0"),)),
        Fault(status=429, headers=(("retry-after", format_datetime(datetime.now(UTC) - timedelta(hours=1))),)),
        Fault(drop=True),
        Fault(truncate=20),
    ],
)
def test_transient_faults_are_tried_again(fault: Fault) -> None:
    with ScriptedOpenAIServer(["fine"], faults=[fault, fault]) as server:
        assert _ask(server, retries=3) == "fine"
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 302])
def test_permanent_faults_are_not(status: int) -> None:
    error, requests = _failure([Fault(status=status)], retries=3)
    assert isinstance(error, ModelUnavailable)
    assert requests == 1
    assert str(status) in str(error)
    assert "EVIGRAPH_CHAT_" in error.hint


def test_attempts_are_bounded_and_counted() -> None:
    error, requests = _failure([Fault(status=500)] * 9, retries=3)
    assert isinstance(error, ModelUnavailable)
    assert requests == 3
    assert "3 attempts" in str(error)


def test_a_long_retry_after_is_reported_rather_than_waited_for() -> None:
    error, requests = _failure([Fault(status=429, headers=(("retry-after", "3600"),))])
    assert requests == 1
    assert "3600 s" in str(error)
    assert "EVIGRAPH_MODEL_TIMEOUT" in error.hint


@pytest.mark.parametrize("fault", [Fault(delay=3.0), Fault(trickle=0.03)])
def test_silence_and_trickle_time_out(fault: Fault) -> None:
    error, requests = _failure([fault, fault], retries=2, timeout=0.2)
    assert isinstance(error, ModelTimeout)
    assert requests == 2
    assert "EVIGRAPH_MODEL_TIMEOUT" in error.hint


def test_no_server_at_all() -> None:
    with ScriptedOpenAIServer() as gone:
        url = gone.url
    with pytest.raises(ModelUnavailable, match="no connection") as caught:
        _server(url, retries=2).post("/chat/completions", {})
    assert "EVIGRAPH_CHAT_URL" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[1]",
        "{",
        "{}",
        '{"choices": []}',
        '{"choices": [{"message": {"content": null}}]}',
        '{"choices": [{"text": "old interface"}]}',
        "[" * 100_000,
    ],
)
def test_unusable_replies_are_not_tried_again(body: str) -> None:
    error, requests = _failure([Fault(body=body)])
    assert isinstance(error, ModelBadResponse)
    assert requests == 1
    assert len(str(error)) < 500
    assert error.hint


def test_an_endless_body_is_refused() -> None:
    error, _ = _failure([Fault(body="x" * 100_000)], max_response_bytes=10_000)
    assert isinstance(error, ModelBadResponse)
    assert "10,000 bytes" in str(error)


def test_calls_at_once_are_limited() -> None:
    with ScriptedOpenAIServer(faults=[Fault(delay=0.05)] * 6) as server:
        port = _server(server.url, concurrency=2)
        chat = OpenAIChat(server.url, "tiny", server=port)
        with ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda _: chat.complete(HELLO).text, range(6)))
        chat.close()
        assert replies == ["ok"] * 6
        assert server.most_at_once == 2


def test_the_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"message": f"bad key {KEY}"}})
    shown = []
    for status in (400, 401, 500, 200):
        body = echo if status != 200 else f"not json {KEY}"
        error, _ = _failure([Fault(status=status, body=body)] * 2, retries=2)
        shown += [str(error), repr(error), error.hint, repr(error.__cause__)]
    port = _server("http://user:hidden-pass@127.0.0.1:9/v1", retries=1)
    with pytest.raises(ModelUnavailable) as caught:
        port.post("/x", {})
    chat = OpenAIChat("http://127.0.0.1:9/v1", "tiny", KEY)
    shown += [repr(port), str(caught.value), repr(chat), caplog.text]
    port.close()
    assert KEY not in "\n".join(shown)
    assert "hidden-pass" not in "\n".join(shown)


@pytest.mark.parametrize("url", ["", "127.0.0.1:11434", "ftp://host/v1", "http://", "http://[::1"])
def test_a_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="EVIGRAPH_CHAT_URL"):
        OpenAIChat(url, "tiny")


def test_a_malformed_key_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidValue) as caught:
        OpenAIChat("http://127.0.0.1/v1", "tiny", "sk-\nsecret")
    assert "secret" not in str(caught.value) + caught.value.hint


# --------------------------------------------------------------------------- embeddings


def _embedder(server: ScriptedOpenAIServer, **options: object) -> OpenAIEmbedder:
    port = _server(server.url, setting="EVIGRAPH_EMBEDDING")
    return OpenAIEmbedder(server.url, "small", server=port, **options)  # type: ignore[arg-type]


def test_embeddings_are_ordered_by_index_and_normalised() -> None:
    texts = [f"ship number {i}" for i in range(130)]
    with ScriptedOpenAIServer(dimension=16) as server:
        embedder = _embedder(server)
        vectors = embedder.embed(texts)
        embedder.close()
        sizes = [len(request.body["input"]) for request in server.requests]
    assert sizes == [64, 64, 2]
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, HashEmbedder(16).embed(texts), atol=1e-6)


def test_dimension_is_asked_for_once() -> None:
    with ScriptedOpenAIServer(dimension=24) as server:
        embedder = _embedder(server)
        assert embedder.dimension == embedder.dimension == 24
        assert embedder.embed([]).shape == (0, 24)
        embedder.close()
        assert len(server.requests) == 1


def _vectors(*rows: object) -> str:
    return json.dumps({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (_vectors([1.0, 0.0]), "1 vectors for 2 texts"),
        (_vectors([1.0, 0.0], [1.0]), "1 numbers where 2"),
        (_vectors([0.0, 0.0], [1.0, 0.0]), "zero or not finite"),
        (_vectors([float("nan"), 0.0], [1.0, 0.0]), "zero or not finite"),
        (_vectors([1e300, 1e300], [1.0, 0.0]), "zero or not finite"),
        (_vectors([], []), "0 numbers"),
        (_vectors(["a"], ["b"]), "malformed"),
        ('{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}', "index"),
        ('{"object": "list"}', "data"),
    ],
)
def test_unusable_embeddings(body: str, said: str) -> None:
    with ScriptedOpenAIServer(faults=[Fault(body=body)]) as server:
        embedder = _embedder(server)
        with pytest.raises(ModelBadResponse, match=said) as caught:
            embedder.embed(["one", "two"])
        embedder.close()
    assert "EVIGRAPH_EMBEDDING_MODEL" in caught.value.hint


def test_a_change_of_dimension_between_calls_is_noticed() -> None:
    with ScriptedOpenAIServer(dimension=8, faults=[None, Fault(body=_vectors([1.0, 2.0]))]) as server:
        embedder = _embedder(server)
        embedder.embed(["one"])
        with pytest.raises(ModelBadResponse, match="where 8 are expected"):
            embedder.embed(["two"])
        embedder.close()


def test_text_beyond_the_limit_is_not_sent() -> None:
    with ScriptedOpenAIServer() as server:
        embedder = _embedder(server, max_tokens=32)
        embedder.embed(["ship " * 500, "", "東京" * 100])
        embedder.close()
        sent = server.requests[0].body["input"]
    assert [embedder.count_tokens(text) for text in sent] == [32, 2, 32]
    assert sent[1] == " "


def test_token_estimate_is_an_upper_bound_for_the_default_models_vocabulary() -> None:
    from evigraph.models.onnx import OnnxEmbedder

    known = OnnxEmbedder.minilm()
    embedder = OpenAIEmbedder("http://127.0.0.1:9/v1", "small")
    for text in (
        "",
        "The harbour master logged nine ships before noon, 1987.",
        "SKU-8847 costs $1,234.50",
        "東京タワー",
    ):
        assert embedder.count_tokens(text) >= known.count_tokens(text)
