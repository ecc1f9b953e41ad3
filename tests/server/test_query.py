"""`POST /api/v1/query`: every mode, the shape of the answer, filters and workspaces."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.server.answers import QueryAnswer
from evigraph.testing.models import HashEmbedder, ScriptedChat

from .serving import problem_of, running

MODES = ("naive", "local", "global", "hybrid", "mix", "keyword_lookup")


@pytest.fixture(scope="module")
def talkative(engine: Evigraph) -> Iterator[httpx2.Client]:
    """The same store, with a chat model that answers anything."""
    assert engine.data is not None
    with (
        Evigraph(
            settings=Settings(data=engine.data), embedder=HashEmbedder(), chat=ScriptedChat(["Four."] * 50)
        ) as other,
        running(other) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_answers_in_one_shape(client: httpx2.Client, mode: str) -> None:
    response = client.post("/api/v1/query", json={"query": "Who trained the mechanics in Tarn?", "mode": mode})
    assert response.status_code == 200, response.text
    body = response.json()
    QueryAnswer.model_validate(body)
    assert set(body) == set(QueryAnswer.model_fields)
    assert body["mode"] == mode
    assert body["degraded"] == bool(body["method_details"]["degraded"])
    assert body["chunks"]


def test_a_citation_is_the_document_s_text(client: httpx2.Client) -> None:
    body = client.post("/api/v1/query", json={"query": "Who trained the mechanics in Tarn?"}).json()
    assert "Hana Sefu" in body["answer"]
    cited = body["citations"][0]
    path = f"/api/v1/documents/{cited['document_id'].replace('/', '%2F')}/text"
    text = client.get(path).json()["text"]
    assert text[cited["start"] : cited["end"]] == cited["quote"]


def test_bypass_needs_a_model(client: httpx2.Client, talkative: httpx2.Client) -> None:
    asked = {"query": "What is two and two?", "mode": "bypass"}
    refused = problem_of(client.post("/api/v1/query", json=asked), 409, "model_not_configured")
    assert "EVIGRAPH_CHAT_URL" in refused["hint"] + refused["detail"]
    answered = talkative.post("/api/v1/query", json=asked)
    assert answered.status_code == 200
    assert answered.json()["answer"] == "Four."
    assert answered.json()["citations"] == []


def test_an_unknown_workspace_is_an_empty_one(client: httpx2.Client) -> None:
    response = client.post("/api/v1/query", json={"query": "pumps?"}, headers={"X-Workspace-ID": "nobody"})
    assert response.status_code == 200
    body = response.json()
    assert body["abstained"] and body["abstain_reason"]
    assert body["chunks"] == []


def test_filters_hold(client: httpx2.Client) -> None:
    def ids(**fields: object) -> set[str]:
        response = client.post("/api/v1/query", json={"query": "Hana Sefu", "mode": "naive", **fields})
        assert response.status_code == 200, response.text
        return {chunk["document_id"] for chunk in response.json()["chunks"]}

    assert ids(metadata_filter={"region": "south"}) == {"memo"}
    assert ids(document_filter={"document_ids": ["memo"]}) == {"memo"}
    assert ids(document_filter={"date_to": "2015-01-01"}) == {"notes/tarn"}
    assert ids(document_filter={"document_ids": []}) == set()
    assert ids(document_filter={"pattern": "notes/*"}) == {"notes/tarn"}


def test_nested_weights_are_understood(client: httpx2.Client) -> None:
    weights = {"vector_weight": 0.7, "graph_weight": 0.3}
    nested = client.post("/api/v1/query", json={"query": "Hana Sefu", "mode": "mix", "params": weights}).json()
    flat = client.post("/api/v1/query", json={"query": "Hana Sefu", "mode": "mix", **weights}).json()
    assert nested["chunks"] == flat["chunks"]
    assert nested["chunks"][0]["fusedScore"] is not None


def test_an_earlier_state_can_be_asked(client: httpx2.Client) -> None:
    body = client.post("/api/v1/query", json={"query": "Hana Sefu", "as_of": 0}).json()
    assert body["generation"] == 0
    assert body["abstained"]


def curl_lines(shared_data: Path) -> list[str]:
    """The curl lines of the reference, with the line breaks put back that its extraction lost."""
    reference = shared_data.parent / "reference" / "query-modes.txt"
    found = re.findall(r"curl -X POST .*?\}'(?!\\)", reference.read_text())
    return [re.sub(r" \\ -", " \\\n-", line) for line in found]


@pytest.mark.shared
@pytest.mark.parametrize("number", range(9))
def test_every_curl_line_of_the_reference_works(talkative: httpx2.Client, shared_data: Path, number: int) -> None:
    words = shlex.split(curl_lines(shared_data)[number].replace("\\\n", ""))
    url = next(word for word in words if word.startswith("http"))
    headers = dict(words[i + 1].split(": ", 1) for i, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1]
    response = talkative.post(url.partition("8080")[2], content=body, headers=headers)
    assert response.status_code == 200, response.text
    answer = response.json()
    QueryAnswer.model_validate(answer)
    if "context_only" in body:
        assert answer["answer"] is None
    if "prompt_only" in body:
        assert answer["prompt"] or answer["abstained"]
    if "rerank" in body:
        assert answer["abstained"] or any(chunk["rerankScore"] is not None for chunk in answer["chunks"])
    if "X-Workspace-ID" in headers:
        assert answer["abstained"]


@pytest.mark.shared
def test_no_curl_line_was_missed(shared_data: Path) -> None:
    assert len(curl_lines(shared_data)) == 9
