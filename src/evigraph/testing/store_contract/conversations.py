"""Conversations: whose they are, in which order turns stand, and what a snapshot withholds of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evigraph.ingest.prune import prune
from evigraph.store import scopes
from evigraph.store.conversations import (
    NewTurn,
    StoredTurn,
    append_turn,
    delete_thread,
    find_thread,
    set_shared,
    threads,
)
from evigraph.store.keys import revision_key
from evigraph.testing.store_contract.base import Contract, ShelfMaker
from evigraph.testing.store_contract.material import Shelf, doc


def said(answer: str, *documents: str, by: str = "ann", known_from: tuple[str, ...] = (), **fields: Any) -> NewTurn:
    """A turn whose answer rests on the first revision of these documents."""
    return NewTurn(
        asked_by=by,
        generation=fields.get("generation", 1),
        question=fields.get("question", "Who?"),
        standalone=fields.get("standalone", "Who is Acme?"),
        standalone_rests_on=[revision_key(document, 1) for document in known_from],
        abstained=not answer,
        answer=answer,
        names=[("Acme", "ORGANIZATION"), ("Birch", "")] if answer else [],
        answer_rests_on=[revision_key(document, 1) for document in documents],
    )


def add(shelf: Shelf, turn: NewTurn, owner: str = "ann", name: str = "c") -> int | None:
    """A turn of the conversation as it stands, or the first one of it."""
    thread = find_thread(shelf.store, shelf.workspace, owner, name, user=turn.asked_by)
    return append_turn(shelf.store, shelf.workspace, owner, name, thread=thread, turn=turn)


def told(shelf: Shelf, owner: str = "ann", name: str = "c", *, limit: int = 50, **pinned: Any) -> list[StoredTurn]:
    thread = find_thread(shelf.store, shelf.workspace, owner, name, user=owner)
    assert thread is not None
    with shelf.store.snapshot(shelf.workspace, **pinned) as snapshot:
        return snapshot.turns(thread.name, limit=limit)


class ConversationContract(Contract):
    """A conversation belongs to a workspace and a user; its turns are numbered from 1."""

    def test_turns_come_back_as_they_were_kept(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch"), doc("b", "Birch audits Acme"))
        text = 'It\'s "Acme" \\ {x:String} – 東京\n\t[1]'
        assert add(shelf, said(text, "a", "b", question=text, standalone=text, generation=2)) == 1
        assert add(shelf, said("", question="And then?")) == 2
        first, second = told(shelf)
        assert (first.turn, first.question, first.standalone, first.answer) == (1, text, text, text)
        assert (first.asked_by, first.generation, first.abstained, first.withheld) == ("ann", 2, False, False)
        assert first.names == (("Acme", "ORGANIZATION"), ("Birch", ""))
        assert first.answer_rests_on == tuple(sorted(revision_key(name, 1) for name in "ab"))
        assert first.documents == ("a", "b")
        assert (second.answer, second.abstained, second.withheld, second.names) == (None, True, False, ())
        assert [turn.turn for turn in told(shelf, limit=1)] == [2], "the newest ones"

    @pytest.mark.parametrize("kept", [0, scopes.KEPT])
    def test_a_text_is_withheld_unless_all_that_it_rests_on_is_in_scope(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, kept: int
    ) -> None:
        """Whether the scope is kept as a set or stays a subquery."""
        monkeypatch.setattr(scopes, "KEPT", kept)
        shelf.fill(
            doc("a", "Acme supplies Birch", metadata={"region": "north"}),
            doc("b", "Birch audits Acme", metadata={"region": "south"}),
        )
        add(shelf, said("Acme.", "a"))
        add(shelf, said("Acme and Birch.", "a", "b"))
        add(shelf, said("Birch.", "b", known_from=("a",)))
        before = shelf.store.generation(shelf.workspace)

        def shown(**pinned: Any) -> list[tuple[bool, bool, bool]]:
            return [
                (turn.answer is not None, turn.standalone is not None, bool(turn.names))
                for turn in told(shelf, **pinned)
            ]

        everything = [(True, True, True)] * 3
        assert shown() == everything
        south = [(False, True, False), (False, True, False), (True, False, True)]
        assert shown(metadata_filter={"region": "south"}) == south
        shelf.put("a", "Nobody supplies Birch")
        assert shown() == south
        assert shown(as_of=before) == everything
        shelf.delete("b")
        assert [turn.withheld for turn in told(shelf)] == [True] * 3
        assert [turn.question for turn in told(shelf)] == ["Who?"] * 3, "what was asked is the user's own"

    def test_only_the_owner_has_it_unless_it_is_shared(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        store, workspace = shelf.store, shelf.workspace
        add(shelf, said(""))
        assert find_thread(store, workspace, "ann", "c", user="bob") is None
        assert append_turn(store, workspace, "ann", "c", thread=None, turn=said("", by="bob")) is None
        assert not set_shared(store, workspace, "bob", "c", True)
        assert not delete_thread(store, workspace, "bob", "c")
        assert threads(store, workspace, "bob", limit=9) == ([], 0)
        assert set_shared(store, workspace, "ann", "c", True)
        assert add(shelf, said("", by="bob")) == 2
        assert [info.turns for info in threads(store, workspace, "bob", limit=9)[0]] == [2]
        assert threads(store, new_shelf().workspace, "ann", limit=9) == ([], 0)
        assert add(shelf, said("", by="bob"), owner="bob") == 1, "the same id of another user is another conversation"

    def test_a_deleted_one_is_gone_and_another_may_begin_under_its_id(self, shelf: Shelf) -> None:
        store, workspace = shelf.store, shelf.workspace
        add(shelf, said(""))
        old = find_thread(store, workspace, "ann", "c", user="ann")
        assert delete_thread(store, workspace, "ann", "c")
        assert threads(store, workspace, "ann", limit=9) == ([], 0)
        assert append_turn(store, workspace, "ann", "c", thread=old, turn=said("late")) is None
        assert add(shelf, said("", question="New?")) == 1
        assert append_turn(store, workspace, "ann", "c", thread=old, turn=said("late")) is None
        assert [turn.question for turn in told(shelf)] == ["New?"]
        prune(store, workspace)
        assert [turn.question for turn in told(shelf)] == ["New?"]

    def test_turns_added_at_once_are_numbered_apart(self, shelf: Shelf) -> None:
        with ThreadPoolExecutor(4) as pool:
            numbers = list(pool.map(lambda _: add(shelf, said("")), range(8)))
        assert set(numbers) == set(range(1, 9))
        assert threads(shelf.store, shelf.workspace, "ann", limit=9)[1] == 1

    def test_the_newest_conversation_is_listed_first(self, shelf: Shelf) -> None:
        for name in ("one", "two", "three", "one"):
            add(shelf, said(""), name=name)
        listed, total = threads(shelf.store, shelf.workspace, "ann", limit=2)
        assert ([info.id for info in listed], total) == (["one", "three"], 3)
        rest, _ = threads(shelf.store, shelf.workspace, "ann", limit=2, offset=2)
        assert [info.id for info in rest] == ["two"]
        assert listed[0].started_at < listed[1].started_at < listed[0].updated_at
