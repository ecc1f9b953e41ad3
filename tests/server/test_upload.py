"""Uploads: several files, names, metadata, limits."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import httpx2
import pytest

from evigraph.errors import InvalidItem
from evigraph.server.upload import _relative_name, bare_name

from .serving import problem_of

PATH = "/api/v1/documents/upload"


def upload(client: httpx2.Client, workspace: str, *files: tuple[str, bytes], **fields: str) -> httpx2.Response:
    parts = [("files", (name, content, "application/octet-stream")) for name, content in files]
    return client.post(PATH, files=parts, data=fields, headers={"X-Workspace-ID": workspace})


def sources(client: httpx2.Client, workspace: str) -> list[str]:
    found = client.get("/api/v1/documents", headers={"X-Workspace-ID": workspace}).json()["documents"]
    return sorted(document["source"] for document in found)


def test_several_files_with_metadata(client: httpx2.Client) -> None:
    response = upload(
        client,
        "up",
        ("a.md", b"# First\n\nOne text."),
        ("b.txt", "Zweiter Text, größer.".encode()),
        metadata='{"region": "north"}',
    )
    assert response.status_code == 200, response.text
    assert [d["status"] for d in response.json()["documents"]] == ["added", "added"]
    found = client.get("/api/v1/documents", headers={"X-Workspace-ID": "up"}).json()["documents"]
    assert [(d["source"], d["metadata"]) for d in found] == [
        ("a.md", {"region": "north"}),
        ("b.txt", {"region": "north"}),
    ]
    again = upload(client, "up", ("a.md", b"# First\n\nOne text."), metadata='{"region": "north"}')
    assert [d["status"] for d in again.json()["documents"]] == ["unchanged"]


def test_sources_are_labels_with_sidecars_beside(client: httpx2.Client) -> None:
    response = upload(
        client,
        "labels",
        ("x", b"Text of the report."),
        ("y", b'{"title": "Given title"}'),
        sources=json.dumps(["2014/north/a.md", "2014/north/a.md.meta.json"]),
    )
    assert response.status_code == 200, response.text
    assert sources(client, "labels") == ["2014/north/a.md"]
    found = client.get("/api/v1/documents", headers={"X-Workspace-ID": "labels"}).json()["documents"]
    assert found[0]["title"] == "Given title"


def test_build_tree_makes_trees_of_what_is_long_enough(client: httpx2.Client) -> None:
    long = "\n\n".join(f"# Part {n}\n\n" + f"Crew {n} repaired the pump at Tarn. " * 30 for n in range(6)).encode()
    response = upload(client, "tree", ("a.md", b"Some text."), ("long.md", long), build_tree="true")
    assert response.status_code == 200
    body = response.json()
    assert body["degraded"] == []
    made = {document["source"]: document for document in body["documents"]}
    assert made["a.md"]["summaries"] == 0 and "too few" in made["a.md"]["warnings"][0]
    assert made["long.md"]["summaries"] == body["trees"]["summaries"] > 0
    assert (body["trees"]["trees"], body["trees"]["too_short"], body["trees"]["model"]) == (1, 1, None)
    again = upload(client, "tree", ("long.md", long), build_tree="false").json()
    assert again["documents"][0]["status"] == "unchanged" and again["trees"] is None
    problem_of(upload(client, "tree", ("a.md", b"Text."), build_tree="perhaps"), 422, "invalid_form")


def test_bad_files_fail_alone_and_all_bad_is_a_problem(client: httpx2.Client) -> None:
    binary = bytes(range(256)) * 40
    response = upload(client, "mixed", ("good.md", b"Good text."), ("empty.md", b""), ("b.pdf", binary))
    assert response.status_code == 200
    failed = {error["source"]: error["code"] for error in response.json()["errors"]}
    assert failed["empty.md"] == "empty_document"
    assert failed["b.pdf"] == "corrupt_document"
    body = problem_of(upload(client, "mixed", ("empty.md", b"")), 422, "nothing_indexed")
    assert body["report"]["errors"][0]["code"] == "empty_document"
    body = problem_of(upload(client, "mixed", ("photo.md", binary)), 422, "nothing_indexed")
    assert body["report"]["errors"][0]["code"] == "undecodable_text"
    body = problem_of(upload(client, "mixed", ("tool.exe", binary)), 422, "nothing_indexed")
    assert body["report"]["errors"][0]["code"] == "unsupported_format"


def test_a_file_over_the_limit_is_cut_off(client: httpx2.Client) -> None:
    body = problem_of(upload(client, "big", ("big.txt", b"word " * 30_000)), 413, "file_too_large")
    assert "EVIGRAPH_MAX_FILE_BYTES" in body["hint"]
    assert sources(client, "big") == []


@pytest.mark.parametrize(
    ("files", "fields", "code"),
    [
        ([], {"metadata": "{}"}, "invalid_form"),
        ([("a.md", b"x")], {"metadata": "{"}, "invalid_form"),
        ([("a.md", b"x")], {"metadata": "[]"}, "invalid_form"),
        ([("a.md", b"x")], {"sources": '["a.md", "b.md"]'}, "invalid_form"),
        ([("a.md", b"x")], {"sources": "[7]"}, "invalid_item"),
        ([("a.md", b"x")], {"colour": "red"}, "invalid_form"),
        ([("a.md", b"x"), ("A.md", b"y")], {}, "invalid_form"),
        ([("a.md", b"x")], {"metadata": '{"source": "y"}'}, "invalid_value"),
    ],
)
def test_malformed_forms(
    client: httpx2.Client, files: list[tuple[str, bytes]], fields: dict[str, str], code: str
) -> None:
    if files:
        response = upload(client, "malformed", *files, **fields)
    else:
        boundary = b'--B\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n--B--\r\n'
        kind = "multipart/form-data; boundary=B"
        response = client.post(PATH, content=boundary, headers={"Content-Type": kind})
    problem_of(response, 422, code)
    assert sources(client, "malformed") == []


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd.md", "..\\..\\windows\\system.md", "/etc/cron.d/job.md", "a/b/../../c.md"],
)
def test_a_path_in_a_file_name_is_dropped(client: httpx2.Client, name: str) -> None:
    workspace = f"path{len(name)}"
    response = upload(client, workspace, (name, b"Harmless text."))
    assert response.status_code == 200, response.text
    assert sources(client, workspace) == [name.replace("\\", "/").rpartition("/")[2]]


@pytest.mark.parametrize(
    "source",
    ["../x.md", "a/../x.md", "/etc/passwd", "a//b.md", "", ".", "a\\b.md", "a\nb", "x" * 300, "a/" * 40],
)
def test_a_source_that_is_no_relative_name_is_refused(client: httpx2.Client, source: str) -> None:
    with pytest.raises(InvalidItem):
        _relative_name(source)
    response = upload(client, "refused", ("a.md", b"Text."), sources=json.dumps([source]))
    problem_of(response, 422, "invalid_item")
    assert sources(client, "refused") == []


def test_names() -> None:
    assert bare_name("C:\\Users\\x\\report.pdf") == "report.pdf"
    assert _relative_name("2014/north/ä b.md") == ("2014", "north", "ä b.md")
    with pytest.raises(InvalidItem):
        bare_name("folder/")


def test_nothing_is_left_in_the_temporary_folder(client: httpx2.Client) -> None:
    upload(client, "left", ("a.md", b"Some text."))
    upload(client, "left", ("big.txt", b"word " * 30_000))
    assert list(Path(tempfile.gettempdir()).glob("evigraph-upload-*")) == []
