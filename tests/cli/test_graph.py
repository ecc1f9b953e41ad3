"""`evigraph graph`: tables and JSON, on an engine of its own and through a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from evigraph import Evigraph, InvalidValue, NotFound, UnknownFilter
from evigraph.cli.commands.graph_options import ScopeOptions
from evigraph.cli.local import LocalEngine
from evigraph.cli.remote import RemoteEngine
from server.serving import running
from small import PUMPS, OneStore, item

from .conftest import Invoke

SEFU, VANE, TARN = "person:hana sefu", "person:corrick vane", "location:tarn"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    folder: Path = tmp_path_factory.mktemp("graph-cli")
    store = OneStore(folder)
    engine = store.engine("default")
    engine.index([*PUMPS, item("rival", "Hana Sefu accused Joseph Amarra.", title="Rival")])
    engine.index([item("lowani", "Joseph Amarra chaired Tolland.", title="New", source="south/lowani.md")])
    yield engine
    store.close()


@pytest.fixture
def run(engine: Evigraph, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """`invoke` on the module's engine."""

    class KeptOpen(LocalEngine):
        def close(self) -> None:
            pass

    monkeypatch.setattr("evigraph.cli.open.open_engine", lambda data, workspace: KeptOpen(engine))
    return invoke


def test_tables(run: Invoke) -> None:
    listed = run("graph", "search", "hana")
    assert listed.code == 0, listed.err
    assert SEFU in listed.out and "documents" in listed.out
    page = run("graph", "show", "Hana Sefu").out
    for shown in (
        SEFU,
        "Hana Sefu -[ACCUSED]-> Corrick Vane",
        "south/memo.txt",
        "2017-03-01",
        "possible contradiction",
    ):
        assert shown in page
    around = run("graph", "neighbours", TARN, "--depth", "2", "--per-node-limit", "1")
    assert "Corrick Vane" in around.out
    assert "cut: 1 of 3 neighbours of location:tarn" in around.err
    between = run("graph", "path", TARN, "Joseph Amarra")
    assert "Tarn - Hana Sefu - Joseph Amarra" in between.out
    assert "Hana Sefu accused Joseph Amarra." in between.out
    assert "no path of at most 1 hops" in run("graph", "path", TARN, "Joseph Amarra", "--max-length", "1").out
    history = run("graph", "history", "Joseph Amarra").out
    assert "replaced" in history and "visible" in history and "south/lowani.md" in history
    assert "Hana Sefu accused Corrick Vane" in run("graph", "contradictions").out
    assert "no contradictions" in run("graph", "contradictions", "--kind", "negation").out
    assert "no merges" in run("graph", "merges").out
    assert run("graph", "proposals").code == 0
    assert "no entities" in run("graph", "search", "nobody").out
    assert "1 of 2 statements are shown" in run("graph", "history", VANE, "--limit", "1").err


def test_json_is_that_of_http(run: Invoke, engine: Evigraph) -> None:
    commands = {
        "entities": ("search", "hana", "--type", "PERSON"),
        "outgoing": ("show", SEFU, "--document-id", "tarn"),
        "relationships": ("neighbours", SEFU, "--predicate", "ACCUSED", "--direction", "out"),
        "paths": ("path", SEFU, TARN),
        "contradictions": ("contradictions", SEFU),
        "statements": ("history", SEFU, "--meta", "region=south"),
        "merges": ("merges",),
        "proposals": ("proposals", "--limit", "3"),
    }
    for field, arguments in commands.items():
        found = run("graph", *arguments, "--json")
        assert found.code == 0, found.err
        assert isinstance(found.json[field], list)
    narrowed = run("graph", "show", SEFU, "--document-id", "tarn", "--json").json
    assert {one["document_id"] for one in narrowed["mentions"]} == {"tarn"}
    earlier = run("graph", "search", "--as-of", "2", "--json").json
    assert earlier["generation"] == 2


def test_merge_and_unmerge(run: Invoke) -> None:
    done = run("graph", "merge", SEFU, "Corrick Vane", "--canonical", SEFU, "--reason", "one badge", "--json").json
    assert done["canonical"] == SEFU
    listed = run("graph", "merges").out
    assert "one badge" in listed and str(done["merge_id"]) in listed
    assert f"graph unmerge {done['merge_id']}" in run("graph", "show", VANE, "--json").json["merges"][0]["undo"]
    assert "is undone" in run("graph", "unmerge", str(done["merge_id"])).out
    assert run("graph", "unmerge", str(done["merge_id"])).code == 1
    said = run("graph", "merge", SEFU, VANE).out
    assert "undo with `graph unmerge" in said
    assert run("graph", "unmerge", said.split()[-1].rstrip("`")).code == 0


@pytest.mark.parametrize(
    "arguments",
    [("show", "nobody at all"), ("path", SEFU, SEFU), ("merge", SEFU), ("history", ""), ("search", "--limit", "0")],
)
def test_errors_have_a_remedy(run: Invoke, arguments: tuple[str, ...]) -> None:
    failed = run("graph", *arguments, "--json")
    assert failed.code == 1
    assert set(failed.json["error"]) == {"code", "message", "hint"}
    assert "hint:" in failed.err


def test_bad_pairs_are_wrong_usage(run: Invoke) -> None:
    assert run("graph", "show", SEFU, "--meta", "region").code == 2
    with pytest.raises(typer.BadParameter):
        ScopeOptions(meta=["region"]).fields()


def test_through_a_server_it_is_the_same(engine: Evigraph) -> None:
    local = LocalEngine(engine).graph
    scope = {"metadata_filter": {"region": "south"}, "as_of": engine.entities.search().generation}
    with running(engine) as client:
        remote = RemoteEngine(str(client.base_url), "default", client=client).graph
        calls: list[tuple[str, tuple[Any, ...]]] = [
            ("search", ("hana", {"limit": 3, **scope})),
            ("search", ("", {})),
            ("page", (SEFU, scope)),
            ("neighbourhood", (SEFU, {"depth": 2, "predicates": ["ACCUSED"], "direction": None})),
            ("paths", (TARN, "Joseph Amarra", {"max_length": 3})),
            ("contradictions", (None, {"kind": "possible"})),
            ("contradictions", (SEFU, {})),
            ("history", (VANE, {"document_filter": {"document_ids": ["memo", "tarn"]}})),
            ("merges", ({},)),
            ("proposals", ({"limit": 3},)),
        ]
        for name, arguments in calls:
            here, there = getattr(local, name)(*arguments), getattr(remote, name)(*arguments)
            assert json.dumps(here, sort_keys=True) == json.dumps(there, sort_keys=True), name
        merge = remote.merge([SEFU, VANE], {"canonical": VANE, "reason": None})
        assert local.merges({}) == {"merges": [merge]}
        assert remote.unmerge(merge["merge_id"])["merge_id"] == merge["merge_id"]
        with pytest.raises(NotFound) as raised:
            remote.page("person:hana sefo", {})
        assert SEFU in raised.value.hint
        with pytest.raises(UnknownFilter):
            remote.search("", {"document_filter": {"author": "x"}})
        with pytest.raises(InvalidValue, match="too long"):
            remote.search("", {"document_filter": {"document_ids": ["x" * 100] * 200}})
