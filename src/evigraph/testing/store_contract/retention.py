"""Pruning: what nobody can see is removed for good, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from evigraph.errors import BeforePruneHorizon, ConflictError, NotFound
from evigraph.ingest.prune import prune
from evigraph.store.retention import superseded
from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen
from evigraph.testing.store_contract.material import Shelf, doc, view


class RetentionContract(Contract):
    """`prune` first publishes its horizon, then waits for older snapshots of this process, then removes rows."""

    def test_prune_removes_what_nobody_can_see_and_nothing_else(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        other = new_shelf()
        for target in (shelf, other):
            target.put("a", "Acme supplies Oldco")
            target.fill(
                doc("a", "Acme supplies Birch"), doc("kept", "Cedar audits Dorn"), doc("gone", "Goner sues Acme")
            )
            target.delete("gone")
        before, theirs = seen(shelf), other.store.documents(other.workspace, as_of=2)
        generation = shelf.store.generation(shelf.workspace)
        report = prune(shelf.store, shelf.workspace)
        assert report.horizon == generation + 1 == shelf.store.generation(shelf.workspace)
        assert seen(shelf, as_of=report.horizon) == before
        assert other.store.documents(other.workspace, as_of=2) == theirs, "another workspace is left alone"
        assert other.store.document_text(other.workspace, "a", 1) == "Acme supplies Oldco"
        assert superseded(shelf.store, shelf.workspace, report.horizon) == []
        with pytest.raises(NotFound):
            shelf.store.document_text(shelf.workspace, "a", 1)
        assert [item.revision for item in shelf.store.revisions(shelf.workspace, "a")] == [2]
        assert [item.deleted for item in shelf.store.revisions(shelf.workspace, "gone")] == [True]
        for early in (0, 1, generation, shelf.store.document(shelf.workspace, "a").published_at):
            with pytest.raises(BeforePruneHorizon) as caught:
                shelf.store.documents(shelf.workspace, as_of=early)
            assert str(report.horizon) in caught.value.hint
        shelf.delete("kept")
        assert [info.document_id for info in shelf.store.documents(shelf.workspace, as_of=report.horizon)] == [
            "a",
            "kept",
        ]
        numbers = shelf.store.reserve(shelf.workspace, ["a", "gone", "kept"])
        assert numbers == {"a": 3, "gone": 3, "kept": 3}, "a revision number is never used twice"

    def test_prune_of_nothing_removes_nothing(self, shelf: Shelf) -> None:
        shelf.put("a", "Acme supplies Birch")
        before = seen(shelf)
        report = prune(shelf.store, shelf.workspace)
        assert (report.documents, report.revisions) == (0, 0)
        assert seen(shelf) == before

    def test_superseded_names_revisions_as_of_the_horizon(self, shelf: Shelf) -> None:
        """A revision replaced after the horizon is still seen by queries at the horizon."""
        shelf.put("a", "Acme")
        second = shelf.put("a", "Birch")
        shelf.put("b", "Cedar")
        third = shelf.delete("b")
        published = [("a", 1), ("b", 1)]
        at_second = superseded(shelf.store, shelf.workspace, second)
        assert at_second[:1] == published[:1]
        assert superseded(shelf.store, shelf.workspace, third - 1)[:1] == published[:1]
        assert superseded(shelf.store, shelf.workspace, third) == published

    def test_prune_waits_for_snapshots_of_an_earlier_generation(self, shelf: Shelf) -> None:
        shelf.put("a", "Acme supplies Oldco")
        shelf.put("a", "Acme supplies Birch")
        done: list[Any] = []
        pruning = threading.Thread(target=lambda: done.append(prune(shelf.store, shelf.workspace)))
        with shelf.store.snapshot(shelf.workspace, as_of=2) as snapshot:
            before = view(snapshot, shelf.vocabulary)
            assert "organization:oldco" in before["profiles"]
            pruning.start()
            while shelf.store.prune_horizon(shelf.workspace) == 0:
                pass  # from here on the prune waits for this snapshot alone
            with pytest.raises(BeforePruneHorizon):
                shelf.store.generation_at(shelf.workspace, 2)
            assert view(snapshot, shelf.vocabulary) == before
            assert done == []
        pruning.join()
        assert done[0].revisions == 1
        assert "organization:oldco" not in seen(shelf)["profiles"]

    def test_prune_does_not_wait_without_end(self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf.put("a", "Acme supplies Oldco")
        shelf.put("a", "Acme supplies Birch")
        monkeypatch.setattr("evigraph.store.pins.PIN_SECONDS", 0.05)
        with shelf.store.snapshot(shelf.workspace):
            with pytest.raises(ConflictError, match="has read an earlier state"):
                prune(shelf.store, shelf.workspace)
            assert shelf.store.document_text(shelf.workspace, "a", 1) == "Acme supplies Oldco"
        assert prune(shelf.store, shelf.workspace).revisions == 1

    def test_a_snapshot_of_the_horizon_or_later_is_not_waited_for(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        shelf.put("a", "Acme")
        other = new_shelf()
        other.put("a", "Acme")
        with shelf.store.snapshot(shelf.workspace), other.store.snapshot(other.workspace, as_of=1):
            shelf.store.wait_for_pins(shelf.workspace, shelf.store.generation(shelf.workspace))
        assert shelf.store.prune_horizon(shelf.workspace) == 0
