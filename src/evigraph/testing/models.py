"""Models for tests, shipped so that users can test without a network or a key.

    chat = ScriptedChat(["Northwind supplied it [1]."])
    graph = Evigraph(path, chat=chat, embedder=HashEmbedder())

`ScriptedOpenAIServer` speaks the OpenAI interface over a real socket on 127.0.0.1, faults included.
"""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np

from evigraph.errors import EvigraphError, ModelBadResponse
from evigraph.models.ports import ChatReply, Message, Vectors, WebResult

_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class HashEmbedder:
    """An `Embedder` without a model: hashed words, counted and normalised.

    Texts that share words are similar, equal texts have equal vectors, on every machine. A text without words
    gets a fixed unit vector.
    """

    def __init__(self, dimension: int = 64, max_tokens: int = 256, name: str = "hash") -> None:
        self.name = f"{name}-{dimension}"
        self.dimension = dimension
        self.max_tokens = max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _words(text)[: self.max_tokens - 2]:
                code = zlib.crc32(word.encode())
                # The sign bit keeps unrelated texts near a cosine of zero.
                rows[row, code % self.dimension] += 1.0 if code & 0x8000_0000 else -1.0
            if not rows[row].any():
                rows[row, 0] = 1.0
        norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        unit: Vectors = (rows / norms).astype(np.float32)
        return unit

    def count_tokens(self, text: str) -> int:
        """Words, and two more, as for a model with opening and closing tokens."""
        return len(_words(text)) + 2


def _within(text: str, max_tokens: int | None) -> tuple[str, str]:
    """As much of a reply as a limit on its words lets through, and the `finish_reason` that goes with it."""
    words = text.split()
    if max_tokens is None or len(words) <= max_tokens:
        return text, "stop"
    return " ".join(words[:max_tokens]), "length"


Script = str | EvigraphError | Callable[[Sequence[Message]], str]


class ScriptedChat:
    """A `ChatModel` that replies what it is told to.

    `script` is a sequence of replies given in order (a text, an error to raise, or a function of the
    messages), or one function for all calls. A call beyond the script raises `ModelBadResponse`. `calls`
    records all messages received, `models` the model each call asked for.
    """

    def __init__(self, script: Sequence[Script] | Callable[[Sequence[Message]], str], name: str = "scripted") -> None:
        self.name = name
        self.calls: list[tuple[Message, ...]] = []
        self.models: list[str | None] = []
        self._script = script
        self._lock = threading.Lock()

    @classmethod
    def by_content(cls, rules: Iterable[tuple[str, str]], default: str = "") -> ScriptedChat:
        """Replies with the text of the first `(needle, reply)` whose needle occurs in any message, else
        `default`."""
        fixed = tuple(rules)

        def reply(messages: Sequence[Message]) -> str:
            everything = "\n".join(message.content for message in messages)
            return next((text for needle, text in fixed if needle in everything), default)

        return cls(reply)

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        with self._lock:
            number = len(self.calls)
            self.calls.append(tuple(messages))
            self.models.append(model)
        text = self._reply(number, messages)
        return ChatReply(
            text=text,
            model=model or self.name,
            prompt_tokens=sum(len(_words(message.content)) for message in messages),
            completion_tokens=len(_words(text)),
        )

    def _reply(self, number: int, messages: Sequence[Message]) -> str:
        if callable(self._script):
            return self._script(messages)
        if number >= len(self._script):
            raise ModelBadResponse(
                f"the script has {len(self._script)} replies, call {number + 1} has none",
                hint="add a reply to the ScriptedChat",
            )
        step = self._script[number]
        if isinstance(step, EvigraphError):
            raise step
        return step if isinstance(step, str) else step(messages)


class ScriptedWebSearch:
    """A `WebSearch` that finds what it is given, whatever the question. `asked` records questions and limits."""

    def __init__(self, results: Sequence[WebResult], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[tuple[str, int]] = []
        self._results = tuple(results)

    def search(self, query: str, limit: int) -> list[WebResult]:
        self.asked.append((query, limit))
        return list(self._results[:limit])


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What the server does to one request instead of answering it well.

    `status` other than 200 answers that; `delay` in seconds comes first; `body` replaces the reply as it is;
    `truncate` announces the whole body and sends that many bytes; `drop` closes the connection without an
    answer; `trickle` sends the body byte by byte with that many seconds between.
    """

    status: int = 200
    delay: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    truncate: int | None = None
    drop: bool = False
    trickle: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str] = field(repr=False)
    body: dict[str, Any]


class ScriptedOpenAIServer:
    """`/v1/chat/completions`, `/v1/embeddings`, `/v1/rerank` and a web search's `/v1/search` on a free port of
    127.0.0.1, for use in a `with` block.

    `replies` are chat texts in order (the last one repeats) or a function of the request; `faults` are used
    up one per request before any reply is given, None standing for a good answer. Embeddings are those of
    `HashEmbedder`, in reverse order to show that `index` counts; rerank scores are the share of the question's
    words that a document holds, best first; `results` is what a search finds. `requests` holds what was received,
    `most_at_once` the highest number of requests under way together.
    """

    def __init__(
        self,
        replies: Sequence[str] | Callable[[dict[str, Any]], str] = ("ok",),
        *,
        faults: Sequence[Fault | None] = (),
        dimension: int = 16,
        usage: bool = True,
        results: Sequence[WebResult] = (),
    ) -> None:
        self.requests: list[Received] = []
        self.most_at_once = 0
        self._replies = replies
        self._faults = list(faults)
        self._embedder = HashEmbedder(dimension)
        self._usage = usage
        self._results = tuple(results)
        self._replied = 0
        self._under_way = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL, up to and including `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedOpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _receive(self, received: Received) -> Fault | None:
        with self._lock:
            self.requests.append(received)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            return self._faults.pop(0) if self._faults else None

    def _done(self) -> None:
        with self._lock:
            self._under_way -= 1

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _answer(self, received: Received) -> tuple[int, dict[str, Any]]:
        if received.path == "/v1/chat/completions":
            return 200, self._chat(received.body)
        if received.path == "/v1/embeddings":
            return 200, self._embeddings(received.body)
        if received.path == "/v1/rerank":
            return 200, self._rerank(received.body)
        if received.path == "/v1/search":
            return 200, self._search(received.body)
        return 404, {"error": {"message": f"no such path: {received.path}"}}

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            number = self._replied
            self._replied += 1
        text = self._replies(body) if callable(self._replies) else self._replies[min(number, len(self._replies) - 1)]
        text, ended = _within(text, body.get("max_tokens"))
        reply: dict[str, Any] = {
            "id": f"chat-{number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": ended}],
        }
        if self._usage:
            asked = sum(len(_words(message["content"])) for message in body["messages"])
            said = len(_words(text))
            reply["usage"] = {
                "prompt_tokens": asked,
                "completion_tokens": said,
                "total_tokens": asked + said,
            }
        return reply

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        vectors = self._embedder.embed(body["input"])
        data = [
            # Twice the length, so that a client that forgets to normalise is found out.
            {"object": "embedding", "index": at, "embedding": [2.0 * float(x) for x in vector]}
            for at, vector in enumerate(vectors)
        ]
        return {"object": "list", "data": data[::-1], "model": body.get("model", "")}

    def _rerank(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = set(_words(body["query"]))
        shares = [len(asked & set(_words(text))) / max(1, len(asked)) for text in body["documents"]]
        order = sorted(range(len(shares)), key=lambda at: -shares[at])[: body.get("top_n", len(shares))]
        results = [{"index": at, "relevance_score": shares[at]} for at in order]
        return {"results": results, "model": body.get("model", "")}

    def _search(self, body: dict[str, Any]) -> dict[str, Any]:
        found = self._results[: body.get("max_results", 5)]
        results = [{"title": one.title, "url": one.url, "content": one.text, "score": 0.5} for one in found]
        return {"query": body["query"], "answer": None, "images": [], "results": results, "response_time": "0.01"}


def _handler(server: ScriptedOpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(path=self.path, headers=headers, body=json.loads(raw))
            fault = server._receive(received) or Fault()
            try:
                self._reply(received, fault)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up, which some tests are about
            finally:
                server._done()

        def _reply(self, received: Received, fault: Fault) -> None:
            if fault.delay:
                server._wait(fault.delay)
            if fault.drop:
                self.close_connection = True
                return
            status, content = server._answer(received) if fault.status == 200 else (fault.status, _REFUSED)
            body = (json.dumps(content) if fault.body is None else fault.body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in fault.headers:
                self.send_header(name, value)
            self.end_headers()
            if fault.truncate is not None:
                self.wfile.write(body[: fault.truncate])
                self.close_connection = True
            elif fault.trickle is not None:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    server._wait(fault.trickle)
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are recorded, not printed."""

    return Handler


_REFUSED = {"error": {"message": "refused as scripted"}}
