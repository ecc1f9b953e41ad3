"""`/api/v1/graph/…`: what the engine says, over HTTP; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from pydantic import TypeAdapter

from evigraph import Evigraph
from evigraph.views import ContradictionList, EntityList, EntityPage, History, Merge, Neighbourhood, PathList
from evigraph.wire import plain
from small import PUMPS, OneStore, RuleExtractor, item

from .serving import problem_of, running

GRAPH = "/api/v1/graph"
SEFU, VANE, TARN = "person:hana sefu", "person:corrick vane", "location:tarn"


class Slashed(RuleExtractor):
    """Adds an entity whose id is hard to put into a path."""

    AWKWARD = "odd/type:ä b%2F?#/history"

    def extract(self, passages: Any, **options: Any) -> Any:
        import dataclasses

        found = super().extract(passages, **options)
        awkward = tuple(
            dataclasses.replace(one, entity_id=self.AWKWARD) if one.key == "halima" else one for one in found.mentions
        )
        return dataclasses.replace(found, mentions=awkward)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    folder: Path = tmp_path_factory.mktemp("graph")
    store = OneStore(folder)
    engine = store.engine("default", extractor=Slashed())
    engine.index([*PUMPS, item("rival", "Hana Sefu accused Joseph Amarra.", title="Rival")])
    yield engine
    store.close()


@pytest.fixture(scope="module")
def client(engine: Evigraph) -> Iterator[httpx2.Client]:
    with running(engine) as client:
        yield client


@pytest.fixture
def get(client: httpx2.Client) -> Any:
    def call(path: str, headers: dict[str, str] | None = None, **parameters: Any) -> httpx2.Response:
        return client.get(f"{GRAPH}/{path}", params=parameters, headers=headers)

    return call


def entity(entity_id: str) -> str:
    return f"entities/{quote(entity_id, safe='')}"


def test_it_answers_what_the_engine_says(engine: Evigraph, get: Any) -> None:
    reads = engine.entities
    expected: list[tuple[str, dict[str, Any], Any, Any]] = [
        ("entities", {}, EntityList, reads.search()),
        ("entities", {"q": "hana", "limit": 1}, EntityList, reads.search("hana", limit=1)),
        ("entities", {"type": "PERSON", "offset": 1}, EntityList, reads.search(type="PERSON", offset=1)),
        (entity(SEFU), {}, EntityPage, reads.page(SEFU)),
        (entity("Hana Sefu"), {"limit": 1, "offset": 1}, EntityPage, reads.page(SEFU, limit=1, offset=1)),
        (f"{entity(SEFU)}/neighbourhood", {"depth": 2}, Neighbourhood, reads.neighbourhood(SEFU, depth=2)),
        (
            f"{entity(SEFU)}/neighbourhood",
            {"predicates": '["ACCUSED"]', "direction": "out"},
            Neighbourhood,
            reads.neighbourhood(SEFU, predicates=["ACCUSED"], direction="out"),
        ),
        (f"{entity(SEFU)}/history", {"limit": 2}, History, reads.history(SEFU, limit=2)),
        ("paths", {"from": TARN, "to": "Joseph Amarra"}, PathList, reads.paths(TARN, "Joseph Amarra")),
        ("contradictions", {}, ContradictionList, reads.contradictions()),
        ("contradictions", {"entity": SEFU, "kind": "possible"}, ContradictionList, reads.contradictions(SEFU)),
    ]
    for path, parameters, shape, found in expected:
        response = get(path, **parameters)
        assert response.status_code == 200, response.text
        assert response.json() == plain(found), (path, parameters)
        TypeAdapter(shape).validate_python(response.json())
    assert get("contradictions").json()["total"] == 1
    assert get("paths", **{"from": TARN, "to": "Joseph Amarra"}).json()["length"] == 2


@pytest.mark.parametrize(
    ("parameters", "scope"),
    [
        ({"document_filter": '{"document_ids": ["memo"]}'}, {"document_filter": {"document_ids": ["memo"]}}),
        ({"document_filter": '{"pattern": "*.txt"}'}, {"document_filter": {"pattern": "*.txt"}}),
        ({"document_filter": '{"date_from": "2017-01-01"}'}, {"document_filter": {"date_from": "2017-01-01"}}),
        ({"metadata_filter": '{"region": "south"}'}, {"metadata_filter": {"region": "south"}}),
        ({"as_of": "3"}, {"as_of": 3}),
    ],
)
def test_reads_can_be_narrowed(engine: Evigraph, get: Any, parameters: dict[str, str], scope: dict[str, Any]) -> None:
    assert get("entities", **parameters).json() == plain(engine.entities.search(**scope))
    assert get(entity(SEFU), **parameters).json() == plain(engine.entities.page(SEFU, **scope))
    narrowed = get(f"{entity(SEFU)}/history", **parameters).json()
    assert narrowed == plain(engine.entities.history(SEFU, **scope))
    assert narrowed["total"] < engine.entities.history(SEFU).total


def test_proposals(engine: Evigraph, get: Any) -> None:
    headers = {"X-Workspace-ID": "alike"}
    assert get("proposals").json() == {"proposals": plain(engine.entities.proposals())}
    alike = engine.in_workspace("alike")
    alike.index([item("a", "Catherine Howard visited Tarn."), item("b", "Catharine Howard visited Lowani.")])
    found = get("proposals", headers=headers, limit=1).json()["proposals"]
    assert set(found[0]["entities"]) == {"person:catherine howard", "person:catharine howard"}
    assert found[0]["evidence"]


def test_an_id_may_hold_anything(get: Any) -> None:
    assert get(entity(Slashed.AWKWARD)).json()["id"] == Slashed.AWKWARD
    assert get(f"{entity(Slashed.AWKWARD)}/history").json()["entity"] == Slashed.AWKWARD
    assert get(f"{entity(Slashed.AWKWARD)}/neighbourhood").json()["entity"] == Slashed.AWKWARD


@pytest.mark.parametrize(
    "given",
    [
        "person:hana sefo",
        "'; DROP TABLE mentions; --",
        "{workspace:String}",
        "../../etc/passwd",
        "%",
        "a\\'b",
        "/",
        "\n",
    ],
)
def test_unknown_ids(client: httpx2.Client, get: Any, given: str) -> None:
    for path in (entity(given), f"{entity(given)}/history", f"{entity(given)}/neighbourhood"):
        response = get(path)
        if given.strip():
            assert problem_of(response, 404, "not_found")["hint"]
        else:
            problem_of(response, 422, "invalid_value")
    if given.strip():
        problem_of(get("paths", **{"from": SEFU, "to": given}), 404, "not_found")
        problem_of(get("contradictions", entity=given), 404, "not_found")
        problem_of(client.post(f"{GRAPH}/merges", json={"entities": [SEFU, given]}), 404, "not_found")


def test_near_names_are_those_in_scope(get: Any) -> None:
    assert SEFU in problem_of(get(entity("person:hana sefo")), 404, "not_found")["hint"]
    narrowed = get(entity("person:hana sefo"), document_filter='{"document_ids": ["ferry"]}')
    assert "hana" not in problem_of(narrowed, 404, "not_found")["hint"]


@pytest.mark.parametrize(
    ("path", "parameters", "code"),
    [
        ("entities", {"limit": 0}, "invalid_value"),
        ("entities", {"limit": 10**9}, "invalid_value"),
        ("entities", {"limit": "many"}, "invalid_value"),
        ("entities", {"offset": -1}, "invalid_value"),
        ("entities", {"q": "x" * 5_000}, "invalid_value"),
        ("entities", {"q": "a\x00b"}, "invalid_query"),
        ("entities", {"type": ""}, "invalid_value"),
        ("entities", {"colour": "red"}, "unknown_field"),
        ("entities", {"document_ids": "memo"}, "unknown_field"),
        ("entities", {"as_of": "soon"}, "invalid_value"),
        ("entities", {"document_filter": "memo"}, "invalid_value"),
        ("entities", {"document_filter": "["}, "invalid_value"),
        ("entities", {"document_filter": "[" * 20_000}, "invalid_value"),
        ("entities", {"document_filter": '{"author": "x"}'}, "unknown_filter"),
        ("entities", {"document_filter": '{"document_ids": "memo"}'}, "invalid_value"),
        ("entities", {"metadata_filter": "[]"}, "invalid_value"),
        ("entities", {"metadata_filter": '{"a": NaN}'}, "invalid_value"),
        ("entities", {"metadata_filter": r'{"a": "\ud800"}'}, "invalid_query"),
        ("paths", {}, "invalid_value"),
        ("paths", {"from": SEFU}, "invalid_value"),
        ("paths", {"from": SEFU, "to": SEFU}, "invalid_value"),
        ("paths", {"from": SEFU, "to": TARN, "max_length": 7}, "invalid_value"),
        ("paths", {"from": SEFU, "to": TARN, "predicates": "ACCUSED"}, "invalid_value"),
        ("paths", {"from": SEFU, "to": TARN, "predicates": '{"a": 1}'}, "invalid_value"),
        ("paths", {"from": SEFU, "to": TARN, "direction": "up"}, "invalid_value"),
        ("contradictions", {"kind": "odd"}, "invalid_value"),
        (f"entities/{quote(SEFU)}/neighbourhood", {"depth": 6}, "invalid_value"),
        ("entities/%FF", {}, "invalid_value"),
        ("entities/%00", {}, "invalid_query"),
    ],
)
def test_bad_parameters(get: Any, path: str, parameters: dict[str, Any], code: str) -> None:
    assert len(problem_of(get(path, **parameters), 422, code)["detail"]) < 500


def test_a_parameter_given_twice(client: httpx2.Client) -> None:
    problem_of(client.get(f"{GRAPH}/entities?q=a&q=b"), 422, "invalid_value")


def test_merge_and_unmerge(client: httpx2.Client, get: Any) -> None:
    before = get(entity(SEFU)).json()
    done = client.post(f"{GRAPH}/merges", json={"entities": [SEFU, "Corrick Vane"], "reason": "one badge"})
    assert done.status_code == 200, done.text
    merge = done.json()
    TypeAdapter(Merge).validate_python(merge)
    assert set(merge["entities"]) == {SEFU, VANE}
    assert [one["merge_id"] for one in get("merges").json()["merges"]] == [merge["merge_id"]]
    page = get(entity(VANE)).json()
    assert page["id"] == merge["canonical"]
    assert {one["entity"] for one in page["names"]} == {SEFU, VANE}
    assert page["merges"][0]["reason"] == "one badge"
    assert f"DELETE {GRAPH}/merges/{merge['merge_id']}" in page["merges"][0]["undo"]
    earlier = get(entity(SEFU), as_of=str(merge["merge_id"] - 1)).json()
    assert earlier == before

    undone = client.delete(f"{GRAPH}/merges/{merge['merge_id']}")
    assert undone.json() == {"merge_id": merge["merge_id"], "generation": merge["merge_id"] + 1}
    after = get(entity(SEFU)).json()
    assert {**after, "generation": 0} == {**before, "generation": 0}
    problem_of(client.delete(f"{GRAPH}/merges/{merge['merge_id']}"), 404, "not_found")
    assert get("merges").json() == {"merges": []}
    assert len(get("merges", as_of=str(merge["merge_id"])).json()["merges"]) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_value"),
        ({"entities": []}, "invalid_value"),
        ({"entities": [SEFU]}, "invalid_value"),
        ({"entities": [SEFU, SEFU]}, "invalid_value"),
        ({"entities": SEFU}, "invalid_value"),
        ({"entities": [SEFU, 7]}, "invalid_value"),
        ({"entities": [SEFU, "x\x00"]}, "invalid_query"),
        ({"entities": [SEFU, VANE], "canonical": 7}, "invalid_value"),
        ({"entities": [SEFU, VANE], "reason": ["x"]}, "invalid_value"),
        ({"entities": [SEFU, VANE], "force": True}, "unknown_field"),
        ([SEFU, VANE], "invalid_json"),
    ],
)
def test_bad_merges(client: httpx2.Client, body: Any, code: str) -> None:
    problem_of(client.post(f"{GRAPH}/merges", json=body), 422, code)
    assert client.get(f"{GRAPH}/merges").json() == {"merges": []}


@pytest.mark.parametrize("merge_id", ["x", "-1", str(2**80)])
def test_bad_merge_ids(client: httpx2.Client, merge_id: str) -> None:
    problem_of(client.delete(f"{GRAPH}/merges/{merge_id}"), 422, "invalid_value")
    problem_of(client.delete(f"{GRAPH}/merges/1"), 404, "not_found")


def test_workspaces_and_methods(client: httpx2.Client) -> None:
    other = {"X-Workspace-ID": "empty"}
    assert client.get(f"{GRAPH}/entities", headers=other).json()["entities"] == []
    problem_of(client.get(f"{GRAPH}/{entity(SEFU)}", headers=other), 404, "not_found")
    problem_of(client.post(f"{GRAPH}/{entity(SEFU)}", json={}), 405, "method_not_allowed")
    problem_of(client.put(f"{GRAPH}/merges", json={}), 405, "method_not_allowed")


def test_an_earlier_state_that_was_pruned(engine: Evigraph, client: httpx2.Client) -> None:
    with_past = engine.in_workspace("pruned")
    with_past.index([item("note", "Hana Sefu visited Tarn.")])
    with_past.delete("note")
    with_past.prune()
    headers = {"X-Workspace-ID": "pruned"}
    for path in ("entities", entity(SEFU), f"{entity(SEFU)}/history", "contradictions", "merges"):
        response = client.get(f"{GRAPH}/{path}", params={"as_of": "1"}, headers=headers)
        problem_of(response, 410, "before_prune_horizon")


def test_the_api_is_described(client: httpx2.Client) -> None:
    described = client.get("/openapi.json").json()
    paths = {path: set(found) for path, found in described["paths"].items() if path.startswith(GRAPH)}
    assert paths[f"{GRAPH}/entities"] == {"get"}
    assert paths[f"{GRAPH}/entities/{{entity_id}}"] == {"get"}
    assert paths[f"{GRAPH}/merges"] == {"get", "post"}
    page = described["components"]["schemas"]["EntityPage"]
    assert {"mentions", "outgoing", "incoming", "contradictions", "names"} <= set(page["properties"])
    assert "date" in json.dumps(described["components"]["schemas"]["Statement"])
