"""What holds for every route: methods, HEAD, and query parameters."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from .serving import problem_of

DOCUMENTS = "/api/v1/documents"


NAMED = {
    "document_id": "memo",
    "entity_id": "person:hana%20sefu",
    "merge_id": 1,
    "community_id": "c0",
    "conversation_id": "c",
    "base_id": "b",
    "pipeline_id": "p",
}
"""Something in the place of each parameter of a path."""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (DOCUMENTS, "GET, HEAD, POST"),
        (f"{DOCUMENTS}/a%2Fb", "DELETE, GET, HEAD"),
        ("/api/v1/query", "POST"),
        ("/health", "GET, HEAD"),
    ],
)
def test_405_names_every_method_of_the_path(client: httpx2.Client, path: str, allowed: str) -> None:
    refused = client.put(path)
    assert problem_of(refused, 405, "method_not_allowed")["hint"] == f"allowed: {allowed}"
    assert refused.headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/health", "/ready", DOCUMENTS, "/docs", "/openapi.json"])
def test_head_is_get_without_the_body(client: httpx2.Client, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"]
    assert client.head("/nope").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "valid"),
    [
        ("GET", f"{DOCUMENTS}?foo=1", ["as_of"]),
        ("GET", f"{DOCUMENTS}?as-of=3", ["as_of"]),
        ("GET", f"{DOCUMENTS}?as_of=3&foo", ["as_of"]),
        ("GET", f"{DOCUMENTS}/memo?foo=1", ["as_of"]),
        ("GET", f"{DOCUMENTS}/memo/text?as_of=1", ["revision"]),
        ("HEAD", f"{DOCUMENTS}?foo=1", ["as_of"]),
        ("POST", "/api/v1/query?mode=naive", []),
        ("DELETE", f"{DOCUMENTS}/memo?dry_run=1", []),
        ("POST", "/api/v1/prune?x=1", []),
        ("GET", "/docs?x=1", []),
    ],
)
def test_unknown_query_parameters_are_refused(client: httpx2.Client, method: str, path: str, valid: list[str]) -> None:
    refused = client.request(method, path)
    assert refused.status_code == 422
    if method != "HEAD":
        found = problem_of(refused, 422, "unknown_field")
        assert found["valid"] == valid
        assert found["hint"]
    assert client.get(f"{DOCUMENTS}/memo").status_code == 200


def test_every_route_refuses_unknown_query_parameters(client: httpx2.Client) -> None:
    described: dict[str, Any] = client.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        for method in operations:
            filled = path.format(**NAMED)
            refused = client.request(method, filled, params={"no_such": "1"})
            assert problem_of(refused, 422, "unknown_field")["detail"] == "unknown field 'no_such'"


@pytest.mark.parametrize("path", ["/api/v1/prune", "/api/v1/communities/build", "/api/v1/communities/refresh"])
@pytest.mark.parametrize("body", [b'{"level": 3}', b'{"bad":', b"x"])
def test_a_body_where_none_is_read_is_refused(client: httpx2.Client, path: str, body: bytes) -> None:
    jobs = client.get("/api/v1/jobs").json()
    refused = client.post(path, content=body, headers={"content-type": "application/json"})
    assert problem_of(refused, 422, "invalid_value")["detail"] == "this operation takes no body"
    assert client.get("/api/v1/jobs").json() == jobs


def test_a_parameter_given_twice_is_refused(client: httpx2.Client) -> None:
    problem_of(client.get(f"{DOCUMENTS}?as_of=1&as_of=2"), 422, "invalid_value")


@pytest.mark.parametrize("as_of", ["1000000000000000000", "2190-01-01T00:00:00+00:00"])
def test_a_list_says_which_generation_it_read(client: httpx2.Client, as_of: str) -> None:
    newest = client.get(DOCUMENTS).json()
    assert newest["generation"] > 0
    assert client.get(DOCUMENTS, params={"as_of": as_of}).json() == newest
    assert client.get(f"{DOCUMENTS}/memo", params={"as_of": as_of}).json()["document_id"] == "memo"
    assert client.get(DOCUMENTS, params={"as_of": "0"}).json() == {"generation": 0, "documents": []}
    first = client.get(DOCUMENTS, params={"as_of": "1971-01-01"}).json()
    assert first["generation"] == 0
