"""`evigraph communities`, and what `ask` shows of corpus-wide answers."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from community_fakes import COVERAGE, PAID, PUMPS, RODS, ROUTE, FakeCommunities
from evigraph import Evigraph, InvalidValue, NotFound
from evigraph.cli import themes
from evigraph.cli.local import LocalEngine
from evigraph.cli.remote import RemoteEngine
from evigraph.wire import plain
from server.serving import running
from small import PUMPS as DOCUMENTS
from small import OneStore

from .conftest import Invoke


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCommunities:
    fake = FakeCommunities()
    monkeypatch.setattr(Evigraph, "communities", property(lambda self: fake), raising=False)
    return fake


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Evigraph]:
    store = OneStore(tmp_path)
    engine = store.engine("default")
    engine.index(DOCUMENTS)
    yield engine
    store.close()


# --------------------------------------------------------------------- commands


def test_tables(invoke: Invoke, fake: FakeCommunities) -> None:
    built = invoke("communities", "build")
    assert built.code == 0, built.err
    for shown in ("built 2 communities of 9 entities", "1 summaries written, 1 reused", "0.41", "generation 7"):
        assert shown in built.out
    assert "warning: one summary is extractive" in built.out
    assert "nothing changed" in invoke("communities", "refresh").out
    status = invoke("communities", "status").out
    assert "1 newer and 1 gone of 3 documents (50.0 %)" in status
    assert "merges changed" in status and "since the summaries: nothing changed" in status
    assert "1 summaries to write, 1 reused; no model is asked" in status
    assert "no communities are built" in invoke("communities", "status", "--as-of", "1").out


def test_a_level_and_a_community(invoke: Invoke, fake: FakeCommunities) -> None:
    listed = invoke("communities", "show")
    assert "Corrick and Vane, Tarn" in listed.out and "0-1" in listed.out
    assert "1 of 2 communities are shown" in listed.err and "50% of documents are newer" in listed.err
    finer = invoke("communities", "show", "--level", "1", "--limit", "3", "--meta", "region=north", "--json")
    assert finer.json["communities"][0]["id"] == "c1"
    assert finer.json["staleness"]["documents"] == 0.5
    assert fake.asked[-1][:3] == ("show", 1, 3)
    assert fake.asked[-1][4]["metadata_filter"] == {"region": "north"}
    assert "clustered by themselves" in invoke("communities", "show", "--meta", "region=north").err
    one = invoke("communities", "show", "c0")
    for shown in ("Corrick and Vane, Tarn (c0), level 0-1", "north/tarn.md", "0-46", "person:corrick vane"):
        assert shown in one.out
    assert "part of c0" in invoke("communities", "show", "c1").out


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("extractive", "summarised by the extractive summariser;"),
        ("mixed", "summarised by the model in part, the rest by the extractive summariser;"),
        ("model", "summarised by the model summariser;"),
    ],
)
def test_who_summarised(invoke: Invoke, fake: FakeCommunities, by: Any, told: str) -> None:
    fake.summarised_by = by
    assert told in invoke("communities", "status").out
    assert invoke("communities", "status", "--json").json["summarised_by"] == by


def test_errors_have_a_remedy(invoke: Invoke, fake: FakeCommunities) -> None:
    unknown = invoke("communities", "show", "c99", "--json")
    assert unknown.code == 1
    assert unknown.json["error"]["code"] == "not_found" and "hint:" in unknown.err
    assert "valid levels: 0, 1" in invoke("communities", "show", "--level", "7").err
    assert invoke("communities", "show", "c0", "--level", "1").code == 2


# --------------------------------------------------------------------- what a build may cost


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_is_asked_where_there_is_no_terminal(invoke: Invoke, fake: FakeCommunities) -> None:
    fake.cost = PAID
    done = invoke("communities", "build")
    assert done.code == 0
    assert "about 3 calls of the chat model, 900 prompt and 90 completion tokens" in done.err
    assert "asked 3 times (1 failed): 900 + 90 tokens" in done.out
    assert invoke("communities", "build", "--json").json["cost"]["calls"] == 3


def test_a_terminal_is_asked_before_the_model_is(
    invoke: Invoke, fake: FakeCommunities, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.cost = PAID
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    refused = invoke("communities", "build")
    assert refused.code == 1
    assert ("build",) not in fake.asked
    assert invoke("communities", "build", "--yes").code == 0
    assert fake.asked[-1] == ("build",)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert invoke("communities", "build", "--json").json["action"] == "build"


def test_nobody_is_asked_where_no_model_is(
    invoke: Invoke, fake: FakeCommunities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    done = invoke("communities", "build")
    assert done.code == 0
    assert "calls of the chat model" not in done.err


# --------------------------------------------------------------------- through a server


def test_through_a_server_it_is_the_same(engine: Evigraph, fake: FakeCommunities) -> None:
    local = LocalEngine(engine).communities
    scope = {"metadata_filter": {"region": "south"}, "as_of": 3}
    with running(engine) as client:
        remote = RemoteEngine(str(client.base_url), "default", client=client).communities
        calls: list[tuple[str, tuple[Any, ...]]] = [
            ("build", ()),
            ("refresh", ()),
            ("status", ({"as_of": 1},)),
            ("status", ({},)),
            ("show", ({"level": 1, "limit": 2, "offset": 1, **scope},)),
            ("show", ({"level": None},)),
            ("community", ("c1", scope)),
        ]
        for name, arguments in calls:
            here = getattr(local, name)(*arguments)
            asked = fake.asked[-1]
            there = getattr(remote, name)(*arguments)
            assert json.dumps(here, sort_keys=True) == json.dumps(there, sort_keys=True), name
            assert _told(fake.asked[-1]) == _told(asked)
        with pytest.raises(NotFound, match="c99"):
            remote.community("c99", {})
        with pytest.raises(NotFound):
            remote.community("", {})
        with pytest.raises(InvalidValue, match="level 9"):
            remote.show({"level": 9})


def _told(asked: tuple[Any, ...]) -> list[Any]:
    """Without what was left to its default."""
    return [{k: v for k, v in one.items() if v is not None} if isinstance(one, dict) else one for one in asked]


# --------------------------------------------------------------------- answers


def test_an_answer_shows_themes_coverage_and_route(capsys: pytest.CaptureFixture[str]) -> None:
    wire = {"communities": plain((PUMPS, RODS)), "coverage": plain(COVERAGE), "route": plain(ROUTE)}
    themes.overview(wire)
    brief = capsys.readouterr().out
    assert "Joseph Amarra" in brief and "40" in brief
    assert (
        "coverage: 2 of 3 documents cited; 1 of 4 communities drawn on, 2 consulted; "
        "50.0 % of 10 assertions consulted; region: 1 of 11 (not r0, r1, r2, r3, r4, r5, r6, r7 and 2 more)"
    ) in brief
    assert "route: global (margin 0.31 over local), answered by thematic_overview" in brief
    assert "+1.50" not in brief
    themes.overview(wire, explain=True)
    explained = capsys.readouterr().out
    assert explained.index("+1.50") < explained.index("-0.25")
    assert "recurs" in explained


def test_an_answer_without_them_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    themes.overview({"communities": [], "coverage": None, "route": None}, explain=True)
    assert capsys.readouterr().out == ""


def test_a_fallback_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    fell = {**plain(ROUTE), "decided_by": "model", "fell_back": "the anchors were weak"}
    assert themes.route(fell).endswith("; the anchors were weak")
    assert "global by the model" in themes.route(fell)


# --------------------------------------------------------------------- with a store


def test_it_builds_shows_and_renews(invoke: Invoke) -> None:
    invoke("index", "reports")
    assert "no communities are built" in invoke("communities", "status").out
    assert "no tree has been built" in invoke("communities", "show").err
    assert invoke("communities", "refresh").code == 1
    built = invoke("communities", "build", "--json").json
    assert built["published"] and built["cost"]["calls"] == 0
    listed = invoke("communities", "show", "--json").json
    assert listed["origin"] == "built" and listed["total"] == len(listed["communities"])
    first = listed["communities"][0]
    assert invoke("communities", "show", first["id"], "--json").json == first
    for quote in first["quotes"]:
        text = invoke("documents", "show", quote["document_id"], "--text", "--json").json["text"]
        assert text[quote["start"] : quote["end"]] == quote["text"]
    assert "nothing is published" in invoke("communities", "refresh").out
    status = invoke("communities", "status", "--json").json
    assert status["built"] and status["tree"]["stale"] is False
    assert status["build_estimate"]["reused"] == status["build_estimate"]["communities"]
    assert "valid levels: " in invoke("communities", "show", "--level", "40").err


def test_an_overview_names_its_themes_and_coverage(invoke: Invoke) -> None:
    invoke("index", "reports")
    invoke("communities", "build")
    done = invoke("ask", "What recurs across all of the reports?", "--mode", "thematic_overview")
    assert done.code == 0, done.out + done.err
    assert "coverage: " in done.out and "theme" in done.out
