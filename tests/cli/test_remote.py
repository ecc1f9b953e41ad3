"""While a server holds the store, the commands go through it; and how a server starts and stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from evigraph import errors
from evigraph.cli.open import open_engine
from evigraph.cli.remote import RemoteEngine, _error
from evigraph.store.connect import lock_holder

from .conftest import TEXTS, start


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("remote")
    for name, text in TEXTS.items():
        path = place / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (place / "reports/2017/memo.txt.meta.json").write_text('{"title": "Memo on rods"}')
    (place / "reports/empty.md").write_text("")
    return place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[str]:
    """`evigraph serve` as a process of its own; its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evigraph.cli", "serve", "--port", "0"],
        cwd=place,
        env={**os.environ, "EVIGRAPH_MAX_FILE_BYTES": "200000"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    yield line.split()[2]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert "url" not in lock_holder(place / "evigraph-data")


@pytest.fixture(scope="module")
def remote(server: str, place: Path) -> Iterator[RemoteEngine]:
    opened = open_engine(str(place / "evigraph-data"), "default")
    assert isinstance(opened, RemoteEngine)
    assert opened.url == server
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def indexed(remote: RemoteEngine, place: Path) -> dict[str, str]:
    """Source to document id."""
    steps: list[int] = []
    report = remote.index(
        [str(place / "reports")],
        metadata={"region": "north"},
        progress=lambda step: steps.append(step.documents_done),
    )
    assert [error["code"] for error in report["errors"]] == ["empty_document"]
    assert steps == [3]
    return {document["source"]: document["document_id"] for document in report["documents"]}


def test_sources_are_relative_and_sidecars_count(remote: RemoteEngine, indexed: dict[str, str]) -> None:
    assert set(indexed) == set(TEXTS)
    found = {document["source"]: document for document in remote.documents()}
    assert found["2017/memo.txt"]["title"] == "Memo on rods"
    assert found["2014/tarn.md"]["metadata"] == {"region": "north"}


def test_every_method_goes_through(remote: RemoteEngine, indexed: dict[str, str]) -> None:
    tarn = indexed["2014/tarn.md"]
    answer = remote.ask("Who trained the mechanics in Tarn?", {"max_chunks": 3})
    assert "Hana Sefu" in answer["answer"]
    assert remote.document(tarn)["source"] == "2014/tarn.md"
    assert remote.document_text(tarn) == TEXTS["2014/tarn.md"]
    assert [r["revision"] for r in remote.revisions(tarn)] == [1]
    assert remote.documents(as_of="0") == []
    assert remote.jobs()[0]["kind"] == "index"
    assert "modes" in remote.capabilities()
    assert remote.reembed()["generation"] > 0


def test_errors_come_back_as_what_they_were(remote: RemoteEngine, place: Path) -> None:
    with pytest.raises(errors.UnknownMode) as unknown:
        remote.ask("x", {"mode": "vector"})
    assert "naive" in unknown.value.hint
    with pytest.raises(errors.NotFound):
        remote.document("a/b?c#d%")
    with pytest.raises(errors.ModelNotConfigured):
        remote.ask("x", {"mode": "bypass"})
    with pytest.raises(errors.NotSupported):
        remote.index([str(place / "reports")], metadata={}, sync=True)


def test_a_file_over_the_server_s_limit_fails_alone(remote: RemoteEngine, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("word " * 50_000)
    (tmp_path / "small.txt").write_text("Small text.")
    report = remote.index([str(tmp_path)], metadata={})
    assert [document["source"] for document in report["documents"]] == ["small.txt"]
    assert [(error["source"], error["code"]) for error in report["errors"]] == [("big.txt", "file_too_large")]
    only = remote.index([str(tmp_path / "big.txt"), str(tmp_path / "gone.txt")], metadata={})
    assert sorted(error["code"] for error in only["errors"]) == ["file_too_large", "missing_file"]


def test_commands_find_the_server(server: str, place: Path, indexed: dict[str, str]) -> None:
    asked = start("ask", "Who trained the mechanics in Tarn?", cwd=place)
    assert asked.code == 0, asked.err
    assert "Hana Sefu" in asked.out
    assert start("ask", "x", "--mode", "vector", cwd=place).code == 1
    failed = start("index", "reports", cwd=place)
    assert failed.code == 1
    assert "empty_document" in failed.out
    second = start("serve", "--port", "0", cwd=place)
    assert second.code == 1
    assert server in second.err


def test_a_taken_port_is_an_error(server: str, place: Path, tmp_path: Path) -> None:
    port = server.rpartition(":")[2]
    done = start("serve", "--port", port, cwd=tmp_path)
    assert done.code == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.err
    assert "Traceback" not in done.err


def test_a_server_that_is_gone_or_something_else() -> None:
    with pytest.raises(errors.StoreUnavailable):
        RemoteEngine("http://127.0.0.1:9", "default").documents()
    strange = httpx2.Client(
        base_url="http://strange", transport=httpx2.MockTransport(lambda request: httpx2.Response(200, text="hi"))
    )
    with pytest.raises(errors.StoreUnavailable, match="not as an evigraph server"):
        RemoteEngine("http://strange", "default", client=strange).jobs()


def test_problems_become_errors_by_code() -> None:
    error = _error({"code": "before_prune_horizon", "detail": "gone", "hint": "later"})
    assert isinstance(error, errors.BeforePruneHorizon)
    assert (str(error), error.hint) == ("gone", "later")
    unknown = _error({"code": "brand_new", "detail": "x"})
    assert type(unknown) is errors.EvigraphError
