"""Knowledge bases with an embedding model of their own over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.testing.models import HashEmbedder

from .serving import problem_of, running


@pytest.fixture
def http(tmp_path: Path) -> Iterator[httpx2.Client]:
    settings = Settings(data=str(tmp_path / "store"))
    embedders = {"fast": HashEmbedder(32, name="fast")}
    with Evigraph(settings=settings, embedder=HashEmbedder(), embedders=embedders) as engine, running(engine) as client:
        yield client


def test_from_a_base_of_another_model_to_an_answer_of_both(http: httpx2.Client) -> None:
    listed = http.get("/capabilities").json()["knowledge_bases"]
    assert listed["embedding_models"] == [
        {"name": "fast", "available": True, "needs": None, "model": "fast-32", "dimension": 32, "max_tokens": 256}
    ]
    refused = http.post("/knowledge-bases", json={"name": "x", "embedding_model": "/models/secret"})
    assert "valid: hash-64, fast, fast-32" in problem_of(refused, 422, "unknown_embedder")["hint"]
    base = http.post("/knowledge-bases", json={"name": "north", "embedding_model": "fast"}).json()
    assert base["embedding_model"] == "fast-32"
    other = http.post("/knowledge-bases", json={"name": "south"}).json()
    assert other["embedding_model"] == "hash-64"
    for one, text in ((base, "Corrick Vane delivered four pumps."), (other, "Hana Sefu delivered nine pumps.")):
        done = http.post(f"/knowledge-bases/{one['id']}/upload", files={"files": ("note.md", text)})
        assert done.status_code == 200, done.text
    pipeline = http.post("/pipeline", json={"name": "p", "knowledge_bases": [base["id"], other["id"]]}).json()
    asked = http.post(f"/pipeline/{pipeline['id']}/query", json={"question": "Who delivered pumps?"}).json()
    assert {chunk["text"][:5] for chunk in asked["chunks"]} == {"Corri", "Hana "}
    assert asked["method_details"]["embedding_models"] == [
        {"model": "hash-64", "documents": 1, "searched_by_vector": True, "passages_ranked": 1},
        {"model": "fast-32", "documents": 1, "searched_by_vector": True, "passages_ranked": 1},
    ]
    assert asked["degraded"] is False and asked["method_details"]["retrieval"] == "dense"
    named = {"question": "Who delivered pumps?", "embedding_model": "fast"}
    problem_of(http.post(f"/pipeline/{pipeline['id']}/query", json=named), 422, "unknown_field")
    assert http.post("/api/v1/reembed").json()["left_alone"] == 1
