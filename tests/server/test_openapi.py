"""The described API is the one that runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import httpx2
import pytest

from evigraph.query import request
from evigraph.server import schemas
from evigraph.server.answers import QueryAnswer
from evigraph.types import QueryRequest


@pytest.fixture(scope="module")
def described(client: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_the_body_has_the_fields_and_defaults_that_are_validated() -> None:
    # Who asks is said by a header, never in the body.
    assert set(schemas.QueryBody.model_fields) == set(request._FIELDS) - {"user"}
    assert set(schemas.Params.model_fields) == set(request._PARAMS)
    assert set(schemas.DocumentFilterBody.model_fields) == set(request._DOCUMENT_FILTER)
    for field in dataclasses.fields(QueryRequest):
        if field.name not in ("query", "fusion", "user", "given"):
            assert schemas.QueryBody.model_fields[field.name].default == field.default, field.name


def test_bounds_are_those_that_are_checked() -> None:
    shown = schemas.QueryBody.model_json_schema()["properties"]
    for name, (low, high) in request.LIMITS.items():
        found = shown[name].get("anyOf", [shown[name]])[0]
        assert (found["minimum"], found["maximum"]) == (low, high), name


def test_every_operation_is_described(described: dict[str, Any]) -> None:
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)
            assert "200" in operation["responses"], (method, path)


def test_every_reference_resolves(described: dict[str, Any]) -> None:
    known = described["components"]["schemas"]

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert value["$ref"].removeprefix("#/components/schemas/") in known
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(described)
    assert {"QueryBody", "ProblemBody", "QueryAnswer", "UploadBody"} <= set(known)
    assert known["QueryBody"]["additionalProperties"] is False


def test_answers_have_the_described_fields(client: httpx2.Client) -> None:
    body = client.post("/api/v1/query", json={"query": "Hana Sefu"}).json()
    QueryAnswer.model_validate(body, strict=True)
    assert body["entities"] and body["relationships"]
