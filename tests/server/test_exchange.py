"""Import and export over HTTP."""

from __future__ import annotations

import json
import threading
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest

from evigraph import Evigraph

from .serving import alive, problem_of

IMPORT, EXPORT = "/api/v1/graph/import", "/api/v1/graph/export"
CORPUS = {"id": "p1", "title": "Tarn", "text": "Corrick Vane delivered pumps to Tarn."}
OPENIE = {"id": "p1", "entities": ["pumps"], "triples": [["Corrick Vane", "delivered pumps to", "Tarn"], ["x", "y"]]}
FILES = [("corpus.jsonl", json.dumps(CORPUS)), ("openie.jsonl", json.dumps(OPENIE))]


def send(client: httpx2.Client, workspace: str, *files: tuple[str, str], **fields: str) -> httpx2.Response:
    parts = [("files", (name, text.encode(), "application/octet-stream")) for name, text in files]
    return client.post(IMPORT, files=parts, data=fields, headers={"X-Workspace-ID": workspace})


def exported(client: httpx2.Client, workspace: str = "default", **parameters: Any) -> list[dict[str, Any]]:
    response = client.get(EXPORT, params=parameters, headers={"X-Workspace-ID": workspace})
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.split("\n") if line]


def test_import_then_export_then_import(client: httpx2.Client) -> None:
    response = send(client, "first", *FILES, metadata='{"by": "hand"}')
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["format"] == "openie"
    assert body["counts"]["assertions"] == 1
    assert [(p["reason"], p["examples"][0]["row"]) for p in body["problems"]] == [("malformed_triple", 1)]
    got = client.get(EXPORT, headers={"X-Workspace-ID": "first"})
    assert got.headers["content-type"] == "application/x-ndjson"
    assert got.headers["content-disposition"] == 'attachment; filename="graph.jsonl"'
    again = send(client, "second", ("graph.jsonl", got.text))
    assert again.json()["format"] == "jsonl"
    without = [row for row in exported(client, "second") if row["kind"] != "graph"]
    assert without == [row for row in exported(client, "first") if row["kind"] != "graph"]


def test_graphml(client: httpx2.Client) -> None:
    response = client.get(EXPORT, params={"format": "graphml"})
    assert response.headers["content-type"].startswith("application/graphml+xml")
    root = ElementTree.fromstring(response.content)
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert tags.count("node") > 2
    assert tags.count("edge") > 2


def test_filters_and_as_of_hold_for_every_line(client: httpx2.Client, engine: Evigraph) -> None:
    some = exported(client, document_filter='{"document_ids": ["memo"]}')
    assert {row["document_id"] for row in some if row["kind"] == "document"} == {"memo"}
    assert "Tolland" not in json.dumps(some)
    north = exported(client, metadata_filter='{"region": "north"}')
    assert {row["document_id"] for row in north if row["kind"] == "document"} == {"notes/tarn"}
    assert "poor rods" not in json.dumps(north)
    assert [row["kind"] for row in exported(client, as_of=0)] == ["graph"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"format": "rdf"}, "invalid_value"),
        ({"document_filter": "{"}, "invalid_value"),
        ({"document_filter": '{"colour": 1}'}, "unknown_filter"),
        ({"colour": "red"}, "unknown_field"),
        ({"as_of": "soon"}, "invalid_value"),
    ],
)
def test_bad_export_requests(client: httpx2.Client, parameters: dict[str, str], code: str) -> None:
    problem_of(client.get(EXPORT, params=parameters), 422, code)


@pytest.mark.parametrize(
    ("files", "fields", "code"),
    [
        ([], {"format": "openie"}, "invalid_form"),
        (FILES, {"format": "rdf"}, "invalid_value"),
        (FILES, {"metadata": "["}, "invalid_form"),
        (FILES, {"metadata": '{"source": "x"}'}, "invalid_value"),
        (FILES, {"colour": "red"}, "invalid_form"),
        ([*FILES, ("CORPUS.jsonl", "{}")], {}, "invalid_form"),
        ([("..", "{}")], {}, "invalid_item"),
        ([("notes.txt", "text")], {}, "unknown_graph_format"),
        ([("graph.jsonl", '{"kind": "document", "document_id": "d"}')], {}, "nothing_imported"),
    ],
)
def test_bad_imports(client: httpx2.Client, files: list[tuple[str, str]], fields: dict[str, str], code: str) -> None:
    if files:
        response = send(client, "bad", *files, **fields)
    else:
        boundary = b'--B\r\nContent-Disposition: form-data; name="format"\r\n\r\nopenie\r\n--B--\r\n'
        kind = "multipart/form-data; boundary=B"
        response = client.post(IMPORT, content=boundary, headers={"Content-Type": kind})
    body = problem_of(response, 422, code)
    if code == "nothing_imported":
        assert body["report"]["problems"][0]["reason"] == "missing_field"
    assert "evigraph-import-" not in response.text
    assert len(exported(client, "bad")) == 1


def test_a_file_over_the_limit_is_cut_off(client: httpx2.Client) -> None:
    problem_of(send(client, "bad", ("graph.jsonl", "x" * 150_000)), 413, "file_too_large")


def test_an_export_broken_off_lets_its_generation_go(client: httpx2.Client, engine: Evigraph) -> None:
    texts = [f"Ann Lee number {number} met Bo Vane in Tarn." for number in range(400)]
    mine = engine.in_workspace("long")
    mine.index([{"document_id": f"d{number}", "text": text} for number, text in enumerate(texts)])
    with client.stream("GET", EXPORT, headers={"X-Workspace-ID": "long"}) as response:
        next(response.iter_bytes())
    assert alive(client)
    mine.delete("d0")
    done = threading.Event()
    threading.Thread(target=lambda: (mine.prune(), done.set()), daemon=True).start()
    assert done.wait(60)
