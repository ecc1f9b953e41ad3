"""`evigraph import` and `evigraph export`, in this process and through a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import pytest

from evigraph import errors
from evigraph.cli.open import open_engine
from evigraph.cli.remote import RemoteEngine

from .conftest import Invoke, start

CORPUS = {"id": "p1", "title": "Tarn", "text": "Corrick Vane delivered pumps to Tarn."}
OPENIE = {"id": "p1", "entities": ["pumps"], "triples": [["Corrick Vane", "delivered pumps to", "Tarn"], ["x", "y"]]}


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(json.dumps(CORPUS) + "\n")
    (folder / "openie.jsonl").write_text(json.dumps(OPENIE) + "\n{bad\n")
    return folder


def test_import_says_what_was_made_and_what_was_not(invoke: Invoke, graph: Path) -> None:
    done = invoke("import", str(graph), "--metadata", "by=hand")
    assert done.code == 0
    assert "openie: 1 documents (0 unchanged), 1 passages" in done.out
    assert "malformed_triple" in done.out
    assert "openie.jsonl:1" in done.out
    assert "openie.jsonl:2" in done.out
    shown = invoke("documents", "--json").json["documents"]
    assert [(d["document_id"], d["metadata"]) for d in shown] == [("p1", {"by": "hand"})]
    again = invoke("import", str(graph), "--metadata", "by=hand", "--format", "openie", "--json")
    assert again.code == 0
    assert [d["status"] for d in again.json["documents"]] == ["unchanged"]
    assert {p["reason"]: p["count"] for p in again.json["problems"]} == {"bad_json": 1, "malformed_triple": 1}


def test_import_of_nothing_is_exit_code_1(invoke: Invoke, graph: Path) -> None:
    (graph / "corpus.jsonl").write_text("{bad\n")
    done = invoke("import", str(graph))
    assert done.code == 1
    assert "bad_json" in done.out
    failed = invoke("import", str(graph / "nothing"))
    assert failed.code == 1
    assert "hint:" in failed.err
    assert invoke("import", str(graph), "--format", "rdf").code == 1


def test_export_and_import_again(invoke: Invoke, graph: Path, tmp_path: Path) -> None:
    invoke("import", str(graph))
    done = invoke("export", "--output", str(tmp_path / "out.jsonl"))
    assert done.code == 0
    assert "out.jsonl" in done.err
    assert done.out == ""
    assert list(tmp_path.glob(".out*")) == []
    made = invoke("import", str(tmp_path / "out.jsonl"), "--workspace", "other", "--json")
    assert made.json["counts"]["assertions"] == 1
    shown = invoke(
        "export", "--format", "graphml", "-o", str(tmp_path / "out.graphml"), "--workspace", "other", "--json"
    )
    assert shown.json["format"] == "graphml"
    root = ElementTree.parse(tmp_path / "out.graphml").getroot()
    assert len([element for element in root.iter() if element.tag.endswith("}edge")]) == 1
    filtered = invoke("export", "-o", str(tmp_path / "none.jsonl"), "--document-id", "no", "--workspace", "other")
    assert filtered.code == 0
    assert [json.loads(line)["kind"] for line in (tmp_path / "none.jsonl").read_text().splitlines()] == ["graph"]


def test_export_refuses_what_it_cannot_write(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("export", "--format", "rdf", "-o", str(tmp_path / "x")).code == 1
    assert invoke("export", "-o", str(tmp_path / "no" / "x")).code == 1
    folder = invoke("export", "-o", str(tmp_path))
    assert folder.code == 1
    assert "Is a directory" in folder.err and "hint:" in folder.err and "fault" not in folder.err
    assert invoke("export", "--json").code == 2
    assert list(tmp_path.glob("x*")) == []


def test_export_writes_to_standard_output(graph: Path, tmp_path: Path) -> None:
    assert start("import", str(graph), cwd=tmp_path).code == 0
    done = start("export", cwd=tmp_path)
    assert done.code == 0, done.err
    kinds = [json.loads(line)["kind"] for line in done.out.splitlines()]
    assert kinds[:3] == ["graph", "document", "text"]
    assert "assertion" in kinds


def test_export_writes_through_links_and_into_pipes(invoke: Invoke, graph: Path, tmp_path: Path) -> None:
    invoke("import", str(graph))
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "g.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to("real/g.jsonl")
    assert invoke("export", "-o", "link.jsonl").code == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    written = (tmp_path / "real" / "g.jsonl").read_bytes()
    assert json.loads(written.splitlines()[0])["kind"] == "graph"
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    assert invoke("export", "-o", "pipe").code == 0
    reader.join()
    assert read == [written]
    assert (tmp_path / "pipe").is_fifo()


def test_export_to_the_name_of_standard_output_keeps_what_is_there(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("kept\n")
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")  # as /dev/stdout is, which a fault here would replace
    with (tmp_path / "log").open("ab") as log:
        command = [sys.executable, "-m", "evigraph.cli", "export", "-o", "stdout"]
        subprocess.run(command, cwd=tmp_path, stdout=log, stderr=subprocess.DEVNULL, timeout=120, check=True)
    kept, first = (tmp_path / "log").read_text().splitlines()
    assert kept == "kept"
    assert json.loads(first)["kind"] == "graph"


def test_both_go_through_a_server(graph: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "evigraph.cli", "serve", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "EVIGRAPH_MAX_FILE_BYTES": "20000"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        remote = open_engine(str(tmp_path / "evigraph-data"), "default")
        assert isinstance(remote, RemoteEngine)
        report = remote.import_graph(str(graph), format=None, metadata={"by": "hand"})
        assert (report["format"], report["counts"]["assertions"]) == ("openie", 1)
        alone = remote.import_graph(str(graph / "openie.jsonl"), format="openie", metadata={"by": "hand"})
        assert [d["status"] for d in alone["documents"]] == ["unchanged"]
        text = "".join(remote.export("jsonl", {"metadata_filter": {"by": "hand"}}))
        assert [json.loads(line)["kind"] for line in text.splitlines()].count("assertion") == 1
        assert len("".join(remote.export("jsonl", {"metadata_filter": {"by": "me"}})).splitlines()) == 1
        with pytest.raises(errors.InvalidValue):
            list(remote.export("rdf", {}))
        (graph / "corpus.jsonl").write_text("{bad\n")
        assert remote.import_graph(str(graph), format=None, metadata={})["documents"] == []
        (graph / "big.jsonl").write_text(" " * 30_000)
        with pytest.raises(errors.FileTooLarge):
            remote.import_graph(str(graph), format=None, metadata={})
        remote.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _remote(answer: Callable[[httpx2.Request], httpx2.Response]) -> RemoteEngine:
    client = httpx2.Client(base_url="http://gone", transport=httpx2.MockTransport(answer))
    return RemoteEngine("http://gone", "default", client=client)


def test_a_server_that_goes_away_during_an_export_is_a_store_error() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    def break_off(request: httpx2.Request) -> httpx2.Response:
        def body() -> Iterator[bytes]:
            yield b"{}"
            raise httpx2.ReadError("gone")

        return httpx2.Response(200, content=body())

    for answer in (refuse, break_off):
        with pytest.raises(errors.StoreUnavailable) as raised:
            list(_remote(answer).export("jsonl", {}))
        assert "http://gone" in str(raised.value)
        assert "evigraph serve" in raised.value.hint
    with pytest.raises(errors.StoreUnavailable, match="not as an evigraph server"):
        list(_remote(lambda request: httpx2.Response(502, text="bad gateway")).export("jsonl", {}))
