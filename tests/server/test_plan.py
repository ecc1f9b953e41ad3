"""`POST /api/v1/plan`, mode `plan` of `/api/v1/query`, and `/api/v1/schema`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.server.answers import PlanShape, QueryAnswer, SchemaAnswer
from evigraph.testing.models import HashEmbedder, ScriptedChat
from triples import FAMILY, TripleExtractor, hop, match, steps

from .serving import problem_of, running

PLAN = steps(match("Ada"), hop("b", "a", "mother"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    store: Path = tmp_path_factory.mktemp("served_plans") / "store"
    options: dict[str, Any] = {"embedder": HashEmbedder(), "extractor": TripleExtractor()}
    with Evigraph(settings=Settings(data=str(store)), **options) as engine:
        assert engine.index(FAMILY).ok
        with running(engine) as client:
            yield client


@pytest.fixture(scope="module")
def talking(served: httpx2.Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    chat = ScriptedChat([json.dumps(PLAN)] * 9)
    data = str(next(tmp_path_factory.getbasetemp().glob("served_plans*")) / "store")
    options: dict[str, Any] = {"embedder": HashEmbedder(), "extractor": TripleExtractor(), "chat": chat}
    with Evigraph(settings=Settings(data=data), **options) as engine, running(engine) as client:
        yield client


def test_a_plan_is_answered_in_the_one_shape(served: httpx2.Client) -> None:
    body = served.post("/api/v1/plan", json={"plan": PLAN}).json()
    QueryAnswer.model_validate(body, strict=True)
    assert set(body) == set(QueryAnswer.model_fields)
    assert body["mode"] == "plan" and body["answer"] == "Bea [1]"
    found = body["plan"]
    PlanShape.model_validate(found, strict=True)
    assert found["plan"]["steps"][1] == {"id": "b", "op": "hop", "source": "a", "predicates": ["mother"]}
    assert [(s["in"], s["out"], s["rows"], s["truncated"]) for s in found["steps"]] == [
        (0, 1, 0, False),
        (1, 1, 1, False),
    ]
    assert found["steps"][1]["step_ms"] > 0
    assert found["steps"][1]["relationships"][0]["targetName"] == "Bea"
    assert found["steps"][1]["bindings"][0]["origins"] == ["person:ada"]


def test_a_query_in_mode_plan_is_the_same(served: httpx2.Client) -> None:
    asked = served.post("/api/v1/query", json={"query": "Ada's mother?", "mode": "plan", "plan": PLAN}).json()
    assert asked["answer"] == "Bea [1]"
    problem_of(served.post("/api/v1/query", json={"query": "q", "plan": PLAN}), 422, "invalid_value")
    assert served.post("/api/v1/query", json={"query": "q"}).json()["plan"] is None


def test_an_abstention_is_an_answer(served: httpx2.Client) -> None:
    body = served.post("/api/v1/plan", json={"plan": steps(match("Adda"))}).json()
    QueryAnswer.model_validate(body, strict=True)
    assert body["abstained"] and body["answer"] is None
    assert body["plan"]["failed_step"] == "a"
    assert body["plan"]["alternatives"] == ["person:ada"]


def test_filters_and_as_of_hold(served: httpx2.Client) -> None:
    filtered = {"plan": PLAN, "document_filter": {"document_ids": ["letters"]}}
    assert "unknown predicate" in served.post("/api/v1/plan", json=filtered).json()["abstain_reason"]
    assert served.post("/api/v1/plan", json={"plan": PLAN, "as_of": 0}).json()["abstained"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_plan"),
        ({"plan": []}, "invalid_plan"),
        ({"plan": "who?"}, "invalid_plan"),
        ({"plan": {"steps": [{"id": "a", "op": "sql"}]}}, "invalid_plan"),
        ({"plan": PLAN, "mode": "mix"}, "unknown_field"),
        ({"plan": PLAN, "self": 1}, "unknown_field"),
        ({"plan": PLAN, "max_chunks": "many"}, "invalid_value"),
        ({"plan": PLAN, "query": 5}, "invalid_query"),
        ({"query": ""}, "invalid_query"),
    ],
)
def test_a_wrong_request_is_a_problem(served: httpx2.Client, body: dict[str, Any], code: str) -> None:
    problem_of(served.post("/api/v1/plan", json=body), 422, code)


def test_a_question_needs_a_model(served: httpx2.Client) -> None:
    refused = problem_of(served.post("/api/v1/plan", json={"query": "Ada's mother?"}), 409, "model_not_configured")
    assert "EVIGRAPH_CHAT_URL" in refused["hint"]


def test_a_model_proposes(talking: httpx2.Client) -> None:
    body = talking.post("/api/v1/plan", json={"query": "Who is Ada's mother?"}).json()
    assert body["answer"] == "Bea [1]" and body["plan"]["proposed_by"] == "model"
    asked = talking.post("/api/v1/query", json={"query": "Who is Ada's mother?", "mode": "plan"}).json()
    assert asked["answer"] == "Bea [1]"


def test_the_schema_is_shown_set_and_removed(served: httpx2.Client) -> None:
    inferred = served.get("/api/v1/schema").json()
    SchemaAnswer.model_validate(inferred, strict=True)
    assert inferred["inferred"] and inferred["predicates"][0]["count"]
    given = {"predicates": [{"name": "mother", "domain": ["PERSON"], "synonyms": ["mum"]}]}
    generation = served.put("/api/v1/schema", json=given).json()["generation"]
    found = served.get("/api/v1/schema").json()
    SchemaAnswer.model_validate(found, strict=True)
    assert not found["inferred"] and found["predicates"][0]["name"] == "MOTHER"
    mum = served.post("/api/v1/plan", json={"plan": steps(match("Ada"), hop("b", "a", "mum"))}).json()
    assert mum["answer"] == "Bea [1]"
    assert served.delete("/api/v1/schema").json()["generation"] == generation + 1
    assert served.get("/api/v1/schema").json() == inferred
    assert not served.get("/api/v1/schema", params={"as_of": generation}).json()["inferred"]
    problem_of(
        served.put("/api/v1/schema", json={"predicates": [{"name": "P", "domain": ["X"]}]}), 422, "invalid_schema"
    )
    problem_of(served.put("/api/v1/schema", json=[]), 422, "invalid_json")
    other = served.get("/api/v1/schema", headers={"X-Workspace-ID": "nobody"}).json()
    assert other == {"types": [], "predicates": [], "inferred": True, "omitted": 0}
