"""Hostile and broken requests: each a typed problem or a defined answer, and the server lives on."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from .serving import alive, problem_of

QUERY = "/api/v1/query"
DOCUMENTS = "/api/v1/documents"


@pytest.fixture(autouse=True, scope="module")
def survives(client: httpx2.Client) -> Any:
    yield
    assert alive(client)


@pytest.fixture(autouse=True)
def stays_up(client: httpx2.Client) -> Any:
    yield
    assert client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": ""}, "invalid_query"),
        ({"query": " \n "}, "invalid_query"),
        ({"query": None}, "invalid_query"),
        ({"query": 7}, "invalid_query"),
        ({}, "invalid_query"),
        ({"query": "x" * 100_000}, "invalid_query"),
        ({"query": "nul \x00 byte"}, "invalid_query"),
        ({"query": "x", "mode": "clairvoyant"}, "unknown_mode"),
        ({"query": "x", "mode": ["mix"]}, "unknown_mode"),
        ({"query": "x", "method": "divination"}, "unknown_method"),
        ({"query": "x", "colour": "red"}, "unknown_field"),
        ({"query": "x", "question": "y"}, "unknown_field"),
        ({"query": "x", "self": "y"}, "unknown_field"),
        ({"query": "x", "embedding_model": "other"}, "unknown_field"),
        ({"query": "x", "params": {"weight": 1}}, "unknown_field"),
        ({"query": "x", "document_filter": {"author": "y"}}, "unknown_filter"),
        ({"query": "x", "document_filter": {"date_from": "soon"}}, "invalid_value"),
        ({"query": "x", "document_filter": []}, "invalid_value"),
        ({"query": "x", "metadata_filter": {"region": ["a"]}}, "invalid_value"),
        ({"query": "x", "max_chunks": 10**9}, "invalid_value"),
        ({"query": "x", "max_chunks": -1}, "invalid_value"),
        ({"query": "x", "max_chunks": "10"}, "invalid_value"),
        ({"query": "x", "max_chunks": True}, "invalid_value"),
        ({"query": "x", "min_score": 10**400}, "invalid_value"),
        ({"query": "x", "as_of": -1}, "invalid_value"),
        ({"query": "x", "include_sources": "yes"}, "invalid_value"),
    ],
)
def test_bad_fields(client: httpx2.Client, body: dict[str, Any], code: str) -> None:
    found = problem_of(client.post(QUERY, json=body), 422, code)
    assert len(found["detail"]) < 500


def test_the_valid_values_are_listed(client: httpx2.Client) -> None:
    found = problem_of(client.post(QUERY, json={"query": "x", "mode": "vector"}), 422, "unknown_mode")
    assert "mix" in found["valid"] and "naive" in found["valid"]
    assert "keyword_lookup" in found["hint"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"query=x",
        b'{"query": NaN}',
        b'{"query": "x", "min_score": Infinity}',
        b'{"query": "\xff\xfe"}',
        b"[" * 100_000,
        b'{"query": "x", "max_chunks": ' + b"9" * 10_000 + b"}",
        b'"just text"',
        b"[]",
        b"null",
    ],
    ids=range(11),
)
def test_broken_json(client: httpx2.Client, body: bytes) -> None:
    response = client.post(QUERY, content=body, headers={"Content-Type": "application/json"})
    problem_of(response, 422, "invalid_json")


@pytest.mark.parametrize(
    "body",
    [
        rb'{"query": "half \ud800 pair"}',
        rb'{"query": "x", "mode": "\ud800"}',
        rb'{"query": "x", "\ud800": 1}',
        rb'{"query": "x", "max_chunks": "\udfff"}',
        rb'{"query": "x", "metadata_filter": {"\ud800": "a"}}',
        rb'{"query": "x", "document_filter": {"document_ids": ["\ud800"]}}',
        rb'{"query": "x", "document_filter": {"pattern": "a\u0000b"}}',
    ],
)
def test_lone_surrogates_never_reach_the_answer(client: httpx2.Client, body: bytes) -> None:
    response = client.post(QUERY, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    response.content.decode("utf-8")
    assert response.json()["code"] in (
        "invalid_query",
        "invalid_value",
        "unknown_mode",
        "unknown_field",
    )
    assert "\ud800" not in response.json()["detail"] + response.json()["hint"]


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "nonsense"],
)
def test_wrong_content_types(client: httpx2.Client, kind: str) -> None:
    headers = {"Content-Type": kind}
    problem_of(client.post(QUERY, content=b'{"query": "x"}', headers=headers), 415, "unsupported_media_type")
    problem_of(client.post(DOCUMENTS, content=b"{}", headers=headers), 415, "unsupported_media_type")


def test_wrong_content_types_of_uploads(client: httpx2.Client) -> None:
    path = f"{DOCUMENTS}/upload"
    problem_of(client.post(path, json={"files": []}), 415, "unsupported_media_type")
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        response = client.post(path, content=b"garbage", headers={"Content-Type": kind})
        problem_of(response, 422, "invalid_form")


@pytest.mark.parametrize("name", ["'; DROP TABLE passages", "", "../x", "a" * 65, "a b", "-x", "ä", "a/b"])
def test_bad_workspaces(client: httpx2.Client, name: str) -> None:
    for method, path in (("POST", QUERY), ("GET", DOCUMENTS), ("POST", "/api/v1/prune")):
        headers = [(b"X-Workspace-ID", name.encode()), (b"Content-Type", b"application/json")]
        problem_of(client.request(method, path, content=b'{"query": "x"}', headers=headers), 422, "invalid_value")


def test_an_injected_id_is_only_an_id(client: httpx2.Client) -> None:
    ids = ["'; DROP TABLE passages; --", "{workspace:String}", "%(x)s", "\\'"]
    for document_id in ids:
        response = client.post(QUERY, json={"query": "Hana Sefu", "document_filter": {"document_ids": [document_id]}})
        assert response.status_code == 200
        assert response.json()["chunks"] == []


def test_an_empty_id_list_is_an_empty_scope(client: httpx2.Client) -> None:
    body = client.post(QUERY, json={"query": "Hana Sefu", "document_filter": {"document_ids": []}}).json()
    assert body["chunks"] == body["entities"] == body["relationships"] == []
    assert body["abstained"]


def test_a_json_body_over_the_limit(client: httpx2.Client) -> None:
    body = {"documents": [{"text": "x" * 11_000_000}]}
    problem_of(client.post(DOCUMENTS, json=body), 413, "body_too_large")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([], "invalid_item"),
        ({"documents": []}, "invalid_item"),
        ({"documents": {}}, "invalid_json"),
        ({"documents": ["text"]}, "invalid_json"),
        ({"documents": [], "more": 1}, "invalid_json"),
        ("text", "invalid_json"),
        ({"text": "nul \x00"}, "invalid_item"),
        ({"text": ""}, "nothing_indexed"),
        ({"text": 7}, "nothing_indexed"),
        ({"text": "x", "path": "/etc/passwd"}, "nothing_indexed"),
        ({"text": "x", "metadata": {"a": {"b": 1}}}, "nothing_indexed"),
        ({"text": "x", "date": "soon"}, "nothing_indexed"),
    ],
)
def test_bad_documents(client: httpx2.Client, body: Any, code: str) -> None:
    headers = {"X-Workspace-ID": "attacked"}
    problem_of(client.post(DOCUMENTS, json=body, headers=headers), 422, code)
    assert client.get(DOCUMENTS, headers=headers).json()["documents"] == []


def test_surrogates_in_documents(client: httpx2.Client) -> None:
    for body in (rb'{"text": "a \ud800"}', rb'{"text": "a", "metadata": {"\udc00": "b"}}'):
        response = client.post(DOCUMENTS, content=body, headers={"Content-Type": "application/json"})
        problem_of(response, 422, "invalid_item")


def test_unknown_paths_and_methods(client: httpx2.Client) -> None:
    problem_of(client.get("/nope"), 404, "unknown_path")
    problem_of(client.get("/api/v1/../../etc/passwd"), 404, "unknown_path")
    assert "POST" in problem_of(client.get(QUERY), 405, "method_not_allowed")["hint"]
    assert client.get(QUERY).headers["allow"] == "POST"
    problem_of(client.put("/api/v1/documents/x"), 405, "method_not_allowed")
