"""`evigraph conversations`, and `ask --conversation`: here, and through a server that holds the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evigraph import Evigraph, InvalidValue, NotFound
from evigraph.cli.local import LocalEngine
from evigraph.cli.remote import RemoteEngine
from server.serving import running
from small import OneStore
from typed_names import FIRMS, TypedExtractor

from .conftest import Invoke

FIRST = "Who delivered four pumps to Tarn?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Evigraph]:
    store = OneStore(tmp_path)
    engine = store.engine("default", extractor=TypedExtractor())
    engine.index(FIRMS)
    yield engine
    store.close()


@pytest.fixture
def ask(invoke: Invoke, engine: Evigraph, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """The command on a store with documents."""

    class KeptOpen(LocalEngine):
        def close(self) -> None:
            pass

    monkeypatch.setattr("evigraph.cli.open.open_engine", lambda data, workspace: KeptOpen(engine))
    return invoke


def test_a_follow_up_and_the_turns(ask: Invoke) -> None:
    assert ask("conversations", "list").out.strip() == "no conversations"
    assert ask("ask", FIRST, "--conversation", "c", "--user", "ann").code == 0
    follow = ask("ask", "Where is its seat?", "--conversation", "c", "--user", "ann")
    assert "Dembure" in follow.out
    assert "understood as: Where is Corrick Vane's seat?" in follow.out
    shown = ask("conversations", "show", "c", "--user", "ann")
    for line in (f"1. (ann) {FIRST}", "2. (ann) Where is its seat?", "meant: Where is Corrick Vane's seat?"):
        assert line in shown.out
    listed = ask("conversations", "list", "--user", "ann", "--json").json
    assert [(one["id"], one["owner"], one["turns"]) for one in listed["conversations"]] == [("c", "ann", 2)]
    assert "ann" in ask("conversations", "list", "--user", "ann").out
    assert "1 of 2 turns are shown" in ask("conversations", "show", "c", "--user", "ann", "--limit", "1").err


def test_another_user_finds_nothing_unless_it_is_shared(ask: Invoke) -> None:
    ask("ask", FIRST, "--conversation", "c", "--user", "ann")
    for command in (
        ("conversations", "show", "c", "--user", "bob"),
        ("conversations", "show", "c", "--user", "bob", "--owner", "ann"),
        ("conversations", "share", "c", "--user", "bob"),
        ("conversations", "delete", "c", "--user", "bob"),
        ("ask", "Where is its seat?", "--conversation", "c", "--conversation-owner", "ann", "--user", "bob"),
    ):
        refused = ask(*command)
        assert refused.code == 1 and "no conversation 'c'" in refused.err and "hint:" in refused.err
    assert "shared with the workspace" in ask("conversations", "share", "c", "--user", "ann").out
    assert ask("conversations", "show", "c", "--user", "bob", "--owner", "ann").code == 0
    assert "alone" in ask("conversations", "share", "c", "--user", "ann", "--off").out
    assert ask("conversations", "show", "c", "--user", "bob", "--owner", "ann").code == 1


def test_deleting_and_withholding(ask: Invoke, engine: Evigraph) -> None:
    ask("ask", FIRST, "--conversation", "c")
    engine.delete("pumps")
    shown = ask("conversations", "show", "c").out
    assert "withheld" in shown and "Corrick" not in shown
    assert "prune" in ask("conversations", "delete", "c").out
    assert ask("conversations", "show", "c").code == 1
    assert ask("conversations", "delete", "c", "--json").json["error"]["code"] == "not_found"


def test_through_a_server(engine: Evigraph) -> None:
    with running(engine) as client:
        remote = RemoteEngine("http://served", "default", client=client)
        local = LocalEngine(engine)
        remote.ask(FIRST, {"conversation_id": "c", "user": "ann"})
        answer = remote.ask("Where is its seat?", {"conversation_id": "c", "user": "ann"})
        assert answer["chunks"][0]["document_id"] == "seat"
        for backend in (remote.conversations, local.conversations):
            assert [one["id"] for one in backend.list("ann", {})["conversations"]] == ["c"]
            assert backend.list("bob", {"limit": 5})["total"] == 0
            assert len(backend.show("c", "ann", {"limit": 1, "offset": None})["turns"]) == 1
            with pytest.raises(NotFound):
                backend.show("c", "bob", {"owner": "ann"})
            with pytest.raises(NotFound):
                backend.delete("c", "bob")
            with pytest.raises(InvalidValue):
                backend.show("../documents", "ann", {})
            with pytest.raises(InvalidValue):
                backend.list("a b", {})
        assert remote.conversations.share("c", "ann", True) == local.conversations.share("c", "ann", True)
        asked = remote.ask("Who sold rods?", {"conversation_id": "c", "conversation_owner": "ann", "user": "bob"})
        assert asked["method_details"]["conversation"]["owner"] == "ann"
        assert remote.conversations.delete("c", "ann") == {"id": "c", "owner": "ann", "deleted": True}
