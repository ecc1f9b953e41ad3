"""`/api/v1/documents`: index, list, show, history, text, delete, in workspaces of their own."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest

from .serving import problem_of

PATH = "/api/v1/documents"


def workspace(name: str) -> dict[str, str]:
    return {"X-Workspace-ID": name}


def test_one_document_or_several(client: httpx2.Client) -> None:
    mine = workspace("several")
    one = client.post(PATH, json={"document_id": "a", "text": "The bridge is open."}, headers=mine)
    assert one.status_code == 200, one.text
    assert [(d["document_id"], d["status"]) for d in one.json()["documents"]] == [("a", "added")]
    assert one.json()["degraded"] == []
    items = [{"document_id": "a", "text": "The bridge is open."}, {"document_id": "b", "text": "It rains."}]
    several = client.post(PATH, json={"documents": items}, headers=mine).json()
    assert [(d["document_id"], d["status"]) for d in several["documents"]] == [
        ("a", "unchanged"),
        ("b", "added"),
    ]
    listed = client.get(PATH, headers=mine).json()["documents"]
    assert sorted(d["document_id"] for d in listed) == ["a", "b"]
    earlier = client.get(PATH, headers=mine, params={"as_of": one.json()["generation"]}).json()["documents"]
    assert [d["document_id"] for d in earlier] == ["a"]


def test_trees_are_made_where_they_are_asked_for(client: httpx2.Client) -> None:
    mine = workspace("trees")
    parts = [f"# Part {n}\n\n" + f"Crew {n} repaired the pump at Tarn. " * 40 for n in range(8)]
    long = {"document_id": "long", "text": "\n\n".join(parts)}
    plain = client.post(PATH, json=long, headers=mine).json()
    assert (plain["trees"], plain["documents"][0]["summaries"]) == (None, 0)
    for body in (long | {"build_tree": True}, {"documents": [long | {"title": "Again"}], "build_tree": True}):
        made = client.post(PATH, json=body, headers=mine).json()
        assert made["trees"]["summaries"] == made["documents"][0]["summaries"] > 0
        assert made["degraded"] == []
    problem_of(client.post(PATH, json=long | {"build_tree": "yes"}, headers=mine), 422, "invalid_json")


def test_some_fail_and_all_fail(client: httpx2.Client) -> None:
    mine = workspace("failing")
    good, bad = {"document_id": "good", "text": "Fine text."}, {"document_id": "bad"}
    mixed = client.post(PATH, json={"documents": [good, bad]}, headers=mine)
    assert mixed.status_code == 200
    assert [error["code"] for error in mixed.json()["errors"]] == ["invalid_item"]
    body = problem_of(client.post(PATH, json={"documents": [bad]}, headers=mine), 422, "nothing_indexed")
    assert body["report"]["errors"][0]["source"] == "bad"
    assert body["report"]["documents"] == []


@pytest.mark.parametrize(
    "document_id",
    [
        "plain",
        "with/slash",
        "a/revisions",
        "a/b/text",
        "ünï çode",
        "50%",
        "q?x=1#frag",
        "a+b&c",
        "..%2F",
        "~",
    ],
)
def test_ids_of_any_characters(client: httpx2.Client, document_id: str) -> None:
    mine = workspace("ids")
    url = f"{PATH}/{quote(document_id, safe='')}"
    made = client.post(PATH, json={"document_id": document_id, "text": "Some text."}, headers=mine)
    assert made.status_code == 200, made.text
    assert client.get(url, headers=mine).json()["document_id"] == document_id
    assert client.get(f"{url}/text", headers=mine).json()["text"] == "Some text."
    assert [r["revision"] for r in client.get(f"{url}/revisions", headers=mine).json()["revisions"]] == [1]
    deleted = client.delete(url, headers=mine)
    assert deleted.status_code == 200
    assert deleted.json()["document_id"] == document_id
    problem_of(client.get(url, headers=mine), 404, "not_found")
    history = client.get(f"{url}/revisions", headers=mine).json()["revisions"]
    assert [r["deleted"] for r in history] == [False, True]


def test_a_changed_document_has_two_revisions(client: httpx2.Client) -> None:
    mine = workspace("changed")
    for text in ("First wording.", "Second wording."):
        client.post(PATH, json={"document_id": "d", "text": text}, headers=mine)
    assert client.get(f"{PATH}/d", headers=mine).json()["revision"] == 2
    assert client.get(f"{PATH}/d/text", headers=mine).json()["text"] == "Second wording."
    first = client.get(f"{PATH}/d/text", headers=mine, params={"revision": 1}).json()
    assert first == {"document_id": "d", "revision": 1, "text": "First wording."}


def test_what_is_not_there(client: httpx2.Client) -> None:
    for url in (f"{PATH}/nope", f"{PATH}/nope/text", f"{PATH}/nope/revisions"):
        problem_of(client.get(url), 404, "not_found")
    problem_of(client.delete(f"{PATH}/nope"), 404, "not_found")
    problem_of(client.get(f"{PATH}/memo", params={"as_of": "yesterday"}), 422, "invalid_value")
    problem_of(client.get(f"{PATH}/memo/text", params={"revision": "x"}), 422, "invalid_value")
    problem_of(client.get(f"{PATH}/memo/text", params={"revision": 99}), 404, "not_found")
    problem_of(client.get(f"{PATH}/%FF%FE"), 422, "invalid_value")
    problem_of(client.get(f"{PATH}/a%00b"), 422, "invalid_query")


def test_workspaces_are_apart(client: httpx2.Client) -> None:
    client.post(PATH, json={"document_id": "secret", "text": "Only here."}, headers=workspace("one"))
    problem_of(client.get(f"{PATH}/secret", headers=workspace("two")), 404, "not_found")
    assert client.get(PATH, headers=workspace("two")).json()["documents"] == []
