"""`/api/v1/communities`: its answers are those of the facade, in the described shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from community_fakes import COVERAGE, PUMPS, ROUTE, FakeCommunities
from evigraph import Evigraph
from evigraph.communities import BuildReport, Community
from evigraph.server.answers import QueryAnswer
from evigraph.server.communities_shapes import CommunitiesAnswer, CoverageShape, RouteShape, TreeStatusAnswer
from evigraph.wire import plain

from .serving import problem_of

PATH = "/api/v1/communities"


@pytest.fixture
def fake() -> Iterator[FakeCommunities]:
    fake = FakeCommunities()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evigraph, "communities", property(lambda self: fake), raising=False)
        yield fake


def described(kind: Any, body: str) -> None:
    """Strictly of this shape, without a field more."""
    TypeAdapter(kind).validate_json(body, strict=True)


def test_it_answers_what_the_facade_says(client: httpx2.Client, fake: FakeCommunities) -> None:
    listed = client.get(PATH, params={"level": 1, "limit": 2, "offset": 1, "metadata_filter": '{"region": "north"}'})
    described(CommunitiesAnswer, listed.text)
    assert listed.json()["communities"][0]["id"] == "c1"
    assert fake.asked[-1][:4] == ("show", 1, 2, 1)
    assert fake.asked[-1][4]["metadata_filter"] == {"region": "north"}
    status = client.get(f"{PATH}/status", params={"as_of": 7})
    described(TreeStatusAnswer, status.text)
    tree = status.json()["tree"]
    assert (tree["stale"], tree["documents"], tree["assertions"]) == (True, 0.5, 0.4)
    assert status.json()["summaries"]["stale"] is False
    assert fake.asked[-1] == ("status", 7)
    unbuilt = client.get(f"{PATH}/status", params={"as_of": 1})
    described(TreeStatusAnswer, unbuilt.text)
    assert unbuilt.json()["tree"] is None
    one = client.get(f"{PATH}/c0", params={"document_filter": '{"document_ids": ["memo"]}'})
    described(Community, one.text)
    assert one.json() == json.loads(json.dumps(plain(PUMPS)))
    assert fake.asked[-1][2]["document_filter"].document_ids == ("memo",)


@pytest.mark.parametrize("action", ["build", "refresh"])
def test_it_builds_and_refreshes(client: httpx2.Client, fake: FakeCommunities, action: str) -> None:
    done = client.post(f"{PATH}/{action}")
    assert done.status_code == 200
    described(BuildReport, done.text)
    assert done.json()["action"] == action
    assert fake.asked == [(action,)]
    assert client.get(f"{PATH}/{action}").status_code == 404, "there is no community of this name"


def test_problems_have_a_remedy(client: httpx2.Client, fake: FakeCommunities) -> None:
    assert problem_of(client.get(f"{PATH}/c99"), 404, "not_found")["hint"]
    assert "valid levels" in problem_of(client.get(PATH, params={"level": 7}), 422, "invalid_value")["hint"]
    for name, value in (("limit", 0), ("limit", 1_001), ("offset", -1), ("level", "broad")):
        assert client.get(PATH, params={name: value}).status_code == 422
    assert problem_of(client.get(PATH, params={"depth": 1}), 422, "unknown_field")
    assert problem_of(client.get(f"{PATH}/c0", params={"level": 1}), 422, "unknown_field")
    assert problem_of(client.get(PATH, params={"document_filter": "{"}), 422, "invalid_value")
    assert problem_of(client.get(f"{PATH}/c%00"), 422, "invalid_query")
    assert client.post(PATH).status_code == 405


def test_a_workspace_is_chosen_by_its_header(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def facade(engine: Evigraph) -> FakeCommunities:
        seen.append(engine.workspace)
        return FakeCommunities()

    monkeypatch.setattr(Evigraph, "communities", property(facade), raising=False)
    for call in (client.get(PATH, headers={"X-Workspace-ID": "one"}), client.post(f"{PATH}/build")):
        assert call.status_code == 200
    assert seen == ["one", "default"]


def test_what_an_answer_adds_is_described() -> None:
    described(CoverageShape, json.dumps(plain(COVERAGE)))
    assert plain(COVERAGE)["assertion_share"] == 0.5
    described(RouteShape, json.dumps(plain(ROUTE)))


def test_with_a_store(client: httpx2.Client, engine: Evigraph) -> None:
    assert problem_of(client.post(f"{PATH}/refresh"), 404, "not_found")["hint"]
    before = client.get(f"{PATH}/status").json()
    assert (before["built"], before["tree"]) == (False, None)
    assert client.get(PATH).json()["origin"] == "components"
    assert client.post(f"{PATH}/build").json()["published"] is True
    listed = client.get(PATH)
    described(CommunitiesAnswer, listed.text)
    assert listed.json()["origin"] == "built"
    one = client.get(f"{PATH}/{listed.json()['communities'][0]['id']}").json()
    assert one == listed.json()["communities"][0]
    assert one["quotes"]
    scoped = client.get(PATH, params={"metadata_filter": '{"region": "south"}'}).json()
    assert scoped["origin"] == "scope"
    assert {quote["document_id"] for found in scoped["communities"] for quote in found["quotes"]} == {"memo"}
    assert client.get(PATH, params={"as_of": before["generation"]}).json()["origin"] == "components"
    refreshed = client.post(f"{PATH}/refresh").json()
    assert (refreshed["published"], refreshed["cost"]["written"]) == (False, 0)
    asked = client.post("/api/v1/query", json={"query": "What recurs across all notes?", "mode": "thematic_overview"})
    QueryAnswer.model_validate_json(asked.text, strict=True)
    assert asked.json()["coverage"]["documents_in_scope"] == 3
    assert {job["kind"] for job in client.get("/api/v1/jobs").json()["jobs"]} >= {"communities"}
