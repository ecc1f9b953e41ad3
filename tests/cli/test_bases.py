"""`evigraph bases`, `pipelines`, `index --base`, `ask --pipeline`: here, and through a server that holds the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evigraph import Evigraph
from evigraph.cli.backend import Backend
from evigraph.cli.local import LocalEngine
from evigraph.cli.remote import RemoteEngine
from server.serving import running
from small import CountingEmbedder, OneStore

from .conftest import Invoke

QUESTION = "Who delivered four pumps to Tarn?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Evigraph]:
    store = OneStore(tmp_path)
    yield store.engine("default")
    store.close()


@pytest.fixture(params=["here", "through a server"])
def cli(
    request: pytest.FixtureRequest, invoke: Invoke, engine: Evigraph, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Invoke]:
    """The command on an empty store."""

    class KeptOpen(LocalEngine):
        def close(self) -> None:
            pass

    def opened(url: str | None) -> Callable[[str, str], Backend]:
        return lambda data, workspace: KeptOpen(engine) if url is None else RemoteEngine(url, workspace)

    if request.param == "here":
        monkeypatch.setattr("evigraph.cli.open.open_engine", opened(None))
        yield invoke
        return
    with running(engine) as client:
        monkeypatch.setattr("evigraph.cli.open.open_engine", opened(str(client.base_url)))
        yield invoke


def test_a_base_with_a_model_of_its_own(cli: Invoke, engine: Evigraph, tmp_path: Path) -> None:
    engine._models._given_embedders = {"fast": CountingEmbedder(32, name="fast")}
    note = tmp_path / "tarn.md"
    note.write_text("Corrick Vane delivered four pumps to Tarn.")
    made = cli("bases", "create", "north", "--embedding-model", "fast", "--json").json
    assert made["embedding_model"] == "fast-32"
    assert "fast-32" in cli("bases", "list").out
    assert cli("index", str(note), "--base", made["id"]).code == 0
    assert cli("ask", QUESTION).out.startswith("Corrick Vane delivered four pumps")
    assert "1 documents of bases with a model of their own were left alone" in cli("reembed").out
    wrong = cli("bases", "create", "south", "--embedding-model", "other")
    assert wrong.code and "unknown embedding model" in wrong.err and "EVIGRAPH_EMBEDDERS" in wrong.err


def test_from_an_empty_base_to_an_answer_and_back(cli: Invoke, tmp_path: Path) -> None:
    note = tmp_path / "tarn.md"
    note.write_text("Corrick Vane delivered four pumps to Tarn.")
    assert cli("bases", "list").out.strip() == "no knowledge bases"
    assert cli("pipelines", "list").out.strip() == "no pipelines"
    base = cli("bases", "create", "wells", "--description", "Of the north.", "--json").json["id"]
    assert base in cli("bases", "list").out
    assert cli("bases", "documents", base).out.strip() == "no documents"
    assert cli("index", str(note), "--base", base).code == 0
    assert "tarn.md" in cli("bases", "documents", base).out
    changed = cli("bases", "update", base, "--name", "springs", "--llm-model", "m", "--json").json
    assert (changed["name"], changed["description"], changed["llm_model"]) == ("springs", "Of the north.", "m")
    assert cli("bases", "update", base, "--llm-model", "", "--json").json["llm_model"] is None
    assert "springs" in cli("bases", "show", base).out
    made = cli("pipelines", "create", "water", "--base", base, "--default", "top_k=3", "--json").json
    assert made["defaults"] == {"top_k": 3}
    assert base in cli("pipelines", "list").out
    answered = cli("ask", QUESTION, "--pipeline", made["id"])
    assert answered.code == 0 and "Corrick Vane" in answered.out
    fields = ("--max-chunks", "4", "--method", "RAPTOR", "--user", "ann", "--conversation", "c")
    wire = cli("ask", QUESTION, "--pipeline", made["id"], *fields, "--json").json
    assert (wire["pipeline_id"], wire["mode"]) == (made["id"], "naive")
    assert wire["method_details"]["conversation"]["owner"] == "ann"
    assert cli("conversations", "share", "c", "--user", "ann").code == 0
    theirs = ("--user", "bob", "--conversation", "c", "--conversation-owner", "ann", "--json")
    shared = cli("ask", QUESTION, "--pipeline", made["id"], *theirs).json["method_details"]["conversation"]
    assert (shared["owner"], shared["turn"]) == ("ann", 2)
    refused = cli("ask", QUESTION, "--pipeline", made["id"], "--graph-depth", "1")
    assert refused.code == 1 and "graph_depth" in refused.err and "hint:" in refused.err
    changed = cli("pipelines", "update", made["id"], "--default", "hybrid=true", "--json").json
    assert (changed["name"], changed["defaults"]) == ("water", {"hybrid": True})
    assert "water" in cli("pipelines", "show", made["id"]).out
    document = cli("bases", "documents", base, "--json").json["documents"][0]["document_id"]
    assert cli("bases", "remove", base, document).code == 0
    assert cli("ask", QUESTION, "--pipeline", made["id"]).code == 3
    assert "with 0 documents" in cli("bases", "delete", base).out
    assert cli("pipelines", "delete", made["id"]).code == 0
    gone = cli("bases", "show", base)
    assert gone.code == 1 and f"no knowledge base '{base}'" in gone.err


def test_a_file_that_belongs_elsewhere_is_listed(cli: Invoke, tmp_path: Path, engine: Evigraph) -> None:
    engine.index({"document_id": "doc", "text": "Hana Sefu trained the mechanics."})
    records = tmp_path / "records.jsonl"
    records.write_text('{"id": "doc", "text": "Another text."}\n')
    base = cli("bases", "create", "wells", "--json").json["id"]
    report = cli("index", str(records), "--base", base, "--json")
    assert report.code == 1
    assert [error["code"] for error in report.json["errors"]] == ["other_base"]
