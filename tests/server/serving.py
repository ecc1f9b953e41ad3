"""A real server over a socket, and what tests look for in its answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.server.app import create_app

DOCUMENTS = [
    {
        "document_id": "notes/tarn",
        "title": "Tarn monthly note",
        "source": "notes/tarn.md",
        "date": "2014-05-02",
        "metadata": {"region": "north"},
        "text": "Corrick and Vane delivered four pumps to Tarn. Hana Sefu trained the mechanics in Tarn. "
        "The pumps at Tarn were paid for by the Tolland Foundation.",
    },
    {
        "document_id": "memo",
        "title": "Memo on rods",
        "source": "memo.txt",
        "date": "2017-03-01",
        "metadata": {"region": "south"},
        "text": "Hana Sefu wrote that Corrick and Vane sold poor rods. Joseph Amarra tested the rods.",
    },
    {
        "document_id": "undated",
        "title": "Letter",
        "source": "letters/lake.md",
        "text": "The ferry Halima crosses the lake twice a week, when the waves allow it.",
    },
]


@contextmanager
def running(source: Evigraph | Settings) -> Iterator[httpx2.Client]:
    """Serve in a thread; yield a client of that server."""
    config = uvicorn.Config(create_app(source), host="127.0.0.1", port=0, log_config=None, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def problem_of(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem of a response, checked to be a complete one."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["code"] == code, body
    assert body["status"] == status
    assert body["type"] == f"urn:evigraph:problem:{code}"
    assert body["title"] and body["detail"]
    response.content.decode("utf-8")
    return body


def alive(client: httpx2.Client) -> bool:
    """The server still answers questions."""
    response = client.post("/api/v1/query", json={"query": "Who trained the mechanics?"})
    return response.status_code == 200 and response.json()["answer"] is not None
