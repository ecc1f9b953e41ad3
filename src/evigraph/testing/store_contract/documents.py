"""Writing and listing documents, revisions, generations, jobs, embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from evigraph.errors import ConcurrentWrite, NotFound
from evigraph.store import Store, vectors
from evigraph.store.keys import revision_key
from evigraph.store.rows import KnownRevision
from evigraph.testing.models import HashEmbedder
from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen
from evigraph.testing.store_contract.material import Shelf, doc


class DocumentContract(Contract):
    """Documents come and go by publications; each takes the next generation of its workspace."""

    # ---------------------------------------------------------------- reserving

    def test_revisions_are_numbered_from_one_for_each_document(self, store: Store, workspace: str) -> None:
        assert store.reserve(workspace, ["a", "b"]) == {"a": 1, "b": 1}
        assert store.reserve(workspace, ["a"]) == {"a": 2}

    def test_a_reserved_number_is_never_given_again_published_or_not(self, shelf: Shelf) -> None:
        shelf.put("a", "acme")
        shelf.draft("a", "birch")
        shelf.delete("a")
        assert shelf.store.reserve(shelf.workspace, ["a"]) == {"a": 4}

    # ---------------------------------------------------------------- generations

    def test_an_unused_workspace_is_at_generation_zero_and_empty(self, store: Store, workspace: str) -> None:
        assert store.generation(workspace) == 0
        assert store.documents(workspace) == []
        assert store.embedder_at(workspace, 0) == ("", 0)
        with store.snapshot(workspace) as snapshot:
            assert snapshot.counts().documents == 0
            assert snapshot.model == ""

    def test_every_change_takes_the_next_generation(self, shelf: Shelf) -> None:
        start = shelf.store.generation(shelf.workspace)
        assert shelf.put("a", "acme") == start + 1
        assert shelf.put("a", "birch") == start + 2
        assert shelf.delete("a") == start + 3
        assert shelf.store.record_change(shelf.workspace, "note", {}) == start + 4
        assert shelf.store.generation(shelf.workspace) == start + 4

    def test_a_batch_takes_one_generation_a_document_in_its_order(self, shelf: Shelf) -> None:
        last = shelf.fill(*(doc(name, "acme") for name in ("c", "a", "b")))
        generations = {name: shelf.store.document(shelf.workspace, name).generation for name in "abc"}
        assert generations == {"c": last - 2, "a": last - 1, "b": last}

    def test_publishing_nothing_changes_nothing(self, shelf: Shelf) -> None:
        before = shelf.store.generation(shelf.workspace)
        assert shelf.publish() == before == shelf.store.generation(shelf.workspace)

    @pytest.mark.parametrize("clash", ["publication", "change"])
    def test_a_writer_that_took_the_same_generation_is_found_out(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, clash: str
    ) -> None:
        """One process writes a workspace at a time. Where two do, the later one raises `ConcurrentWrite`."""
        store = shelf.store
        other = Shelf(Store(store.connection), shelf.workspace)  # as another process would: it shares no lock
        drafts = [other.draft("theirs", "birch"), shelf.draft("mine", "acme")]
        insert = store.insert

        def interrupted(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
            if table == "publications":
                monkeypatch.undo()
                if clash == "change":
                    other.store.record_change(other.workspace, "note", {})
                else:
                    other.publish(drafts[0])
            insert(table, columns, rows)

        monkeypatch.setattr(store, "insert", interrupted)
        with pytest.raises(ConcurrentWrite) as caught:
            shelf.publish(drafts[1])
        assert caught.value.hint

    # ---------------------------------------------------------------- the catalogue

    def test_documents_are_listed_by_source_then_id_as_they_were_published(self, shelf: Shelf) -> None:
        before = datetime.now(UTC) - timedelta(seconds=1)
        shelf.put("z", "acme", source="a/1.txt", title="One", date=date(2020, 2, 29), metadata={"k": "v"}, origin="/o")
        shelf.put("b", "acme", "birch", source="b.txt")
        shelf.put("a", "acme", source="b.txt")
        listed = shelf.store.documents(shelf.workspace)
        assert [info.document_id for info in listed] == ["z", "a", "b"]
        first = listed[0]
        assert (first.source, first.title, first.date, first.metadata) == (
            "a/1.txt",
            "One",
            date(2020, 2, 29),
            {"k": "v"},
        )
        assert (first.revision, first.origin, first.media_type, first.language) == (1, "/o", "text/plain", "en")
        assert first.content_hash == "hash of z 1"
        assert before < first.published_at < datetime.now(UTC) + timedelta(seconds=1)
        assert [info.passages for info in listed] == [1, 1, 2]
        assert listed[1].date is None

    def test_dates_far_from_now_are_kept(self, shelf: Shelf) -> None:
        days = {
            day.isoformat(): day for day in (date(1, 1, 2), date(1066, 10, 14), date(1899, 12, 31), date(9999, 1, 1))
        }
        shelf.fill(*(doc(name, "acme", date=day) for name, day in days.items()))
        assert {info.document_id: info.date for info in shelf.store.documents(shelf.workspace)} == days

    def test_one_document_is_shown_as_it_is_visible(self, shelf: Shelf) -> None:
        shelf.put("a", "acme", title="Old")
        shelf.put("a", "acme", title="New")
        shown = shelf.store.document(shelf.workspace, "a")
        assert (shown.title, shown.revision) == ("New", 2)
        earlier = shelf.store.document(shelf.workspace, "a", as_of=shown.generation - 1)
        assert (earlier.title, earlier.revision) == ("Old", 1)

    @pytest.mark.parametrize("state", ["absent", "staged", "deleted", "elsewhere"])
    def test_what_is_not_visible_is_not_found(self, shelf: Shelf, new_shelf: ShelfMaker, state: str) -> None:
        if state == "staged":
            shelf.draft("a", "acme")
        if state == "deleted":
            shelf.put("a", "acme")
            shelf.delete("a")
        if state == "elsewhere":
            new_shelf().put("a", "acme")
        with pytest.raises(NotFound):
            shelf.store.document(shelf.workspace, "a")
        with pytest.raises(NotFound):
            shelf.delete("a")

    def test_known_tells_the_latest_publication_even_if_it_is_a_deletion(self, shelf: Shelf) -> None:
        shelf.put("a", "acme")
        shelf.put("b", "birch")
        shelf.put("b", "cedar")
        shelf.drafts(doc("b", "dorn"), doc("c", "elm"))
        shelf.delete("a")
        assert shelf.store.known(shelf.workspace, ["a", "b", "c", "d"]) == {
            "a": KnownRevision(revision=2, content_hash="", deleted=True),
            "b": KnownRevision(revision=2, content_hash="hash of b 2", deleted=False),
        }

    def test_history_keeps_every_publication_oldest_first(self, shelf: Shelf) -> None:
        shelf.put("a", "acme", title="One")
        shelf.draft("a", "never published")
        shelf.put("a", "acme", "birch", title="Two")
        shelf.delete("a")
        history = shelf.store.revisions(shelf.workspace, "a")
        assert [(item.revision, item.title, item.passages, item.deleted) for item in history] == [
            (1, "One", 1, False),
            (3, "Two", 2, False),
            (4, "", 0, True),
        ]
        assert [item.generation for item in history] == sorted(item.generation for item in history)
        assert all(item.published_at.utcoffset() == timedelta(0) for item in history)
        with pytest.raises(NotFound):
            shelf.store.revisions(shelf.workspace, "b")

    def test_a_deleted_document_can_come_back(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        shelf.put("a", "Acme supplies Birch")
        shelf.delete("a")
        shelf.put("a", "cedar")
        fresh = new_shelf()
        fresh.put("a", "cedar")
        assert seen(shelf, fresh) == seen(fresh, shelf)

    # ---------------------------------------------------------------- document text

    def test_text_is_whole_whatever_order_its_parts_were_staged_in(self, shelf: Shelf) -> None:
        draft = shelf.draft("a", "acme")
        key = revision_key("a", 1)
        shelf.store.stage_text(shelf.workspace, [(key, 10, "third"), (key, 4, "second")])
        shelf.publish(draft)
        assert shelf.store.document_text(shelf.workspace, "a", 1) == "acmesecondthird"

    def test_text_of_an_earlier_revision_stays_readable(self, shelf: Shelf) -> None:
        shelf.put("a", "acme", "birch")
        shelf.put("a", "cedar")
        shelf.delete("a")
        assert shelf.store.document_text(shelf.workspace, "a", 1) == "acme\n\nbirch"
        assert shelf.store.document_text(shelf.workspace, "a", 2) == "cedar"

    def test_text_of_a_revision_that_was_not_published_is_not_found(self, shelf: Shelf) -> None:
        shelf.put("a", "acme")
        shelf.draft("a", "birch")
        for revision in (-1, 0, 2, 3, 2**32 + 1, 2**40):
            with pytest.raises(NotFound):
                shelf.store.document_text(shelf.workspace, "a", revision)

    # ---------------------------------------------------------------- workspaces

    def test_workspaces_share_nothing(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        other = new_shelf()
        shelf.put("a", "Acme supplies Birch", title="Mine")
        other.put("a", "Acme sues Cedar", title="Theirs")
        other.put("b", "dorn")
        mine, theirs = seen(shelf, other), seen(other, shelf)
        assert [row[2] for row in mine["documents"]] == ["Mine"]
        assert [row[2] for row in theirs["documents"]] == ["Theirs", ""]
        other.delete("a")
        assert seen(shelf, other) == mine
        assert shelf.store.generation(shelf.workspace) == 2
        assert {shelf.workspace, other.workspace} <= set(shelf.store.workspaces())
        with pytest.raises(NotFound):
            shelf.store.document_text(shelf.workspace, "b", 1)
        with pytest.raises(NotFound):
            shelf.store.revisions(shelf.workspace, "b")

    # ---------------------------------------------------------------- jobs

    def test_jobs_show_their_latest_state_newest_first(self, store: Store, workspace: str) -> None:
        first = store.start_job(workspace, "index", {"inputs": 3})
        second = store.start_job(workspace, "prune", {})
        store.start_job(f"{workspace}-other", "index", {})
        store.update_job(workspace, first, "done", {"documents": 3, "note": "it's {done}"})
        listed = store.jobs(workspace)
        assert [(job.job_id, job.kind, job.state) for job in listed] == [
            (second.job_id, "prune", "running"),
            (first.job_id, "index", "done"),
        ]
        assert listed[1].detail == {"documents": 3, "note": "it's {done}"}
        assert listed[1].started_at == first.started_at
        assert listed[1].updated_at >= first.updated_at
        assert [job.job_id for job in store.jobs(workspace, limit=1)] == [second.job_id]

    # ---------------------------------------------------------------- embedding models

    def test_the_embedding_model_is_the_one_recorded_at_the_generation(self, store: Store, workspace: str) -> None:
        first = store.record_change(workspace, "embedder", {"model": "one", "dimension": 3})
        store.record_change(workspace, "note", {"model": "none"})
        second = store.record_change(workspace, "embedder", {"model": "two", "dimension": 5})
        assert store.embedder_at(workspace, first - 1) == ("", 0)
        assert store.embedder_at(workspace, first) == store.embedder_at(workspace, second - 1) == ("one", 3)
        assert store.embedder_at(workspace, second) == ("two", 5)
        with store.snapshot(workspace, as_of=first) as snapshot:
            assert snapshot.model == "one"

    def test_a_second_model_is_embedded_beside_the_first_and_switched_to_at_once(self, shelf: Shelf) -> None:
        """Until the switch is recorded queries use the old vectors; an earlier `as_of` uses them for ever."""
        shelf.fill(doc("a", "Acme supplies Birch", title="Report"), doc("b", "Cedar sues Dorn", "Elm"))
        before = seen(shelf)
        store, workspace, model = shelf.store, shelf.workspace, HashEmbedder(48)
        old_generation = store.generation(workspace)
        passages = vectors.passages_without_vectors(store, workspace, model.name, 100)
        facts = vectors.facts_without_vectors(store, workspace, model.name, 100)
        assert sorted(text for _, text in passages) == ["Cedar sues Dorn", "Elm", "Report\nAcme supplies Birch"]
        assert {"Acme supplies Birch", "Elm"} <= {text for _, text in facts}
        vectors.add_passage_vectors(
            store, workspace, model.name, passages[:2], model.embed([text for _, text in passages[:2]])
        )
        assert seen(shelf) == before
        rest = vectors.passages_without_vectors(store, workspace, model.name, 100)
        assert rest == passages[2:]
        vectors.add_passage_vectors(store, workspace, model.name, rest, model.embed([text for _, text in rest]))
        vectors.add_fact_vectors(store, workspace, model.name, facts, model.embed([text for _, text in facts]))
        assert vectors.passages_without_vectors(store, workspace, model.name, 100) == []
        assert vectors.facts_without_vectors(store, workspace, model.name, 100) == []
        assert seen(shelf) == before
        store.record_change(workspace, "embedder", {"model": model.name, "dimension": model.dimension})
        asked = model.embed(["Report\nAcme supplies Birch"])[0]
        with store.snapshot(workspace) as snapshot:
            assert snapshot.model == model.name
            assert snapshot.nearest_passages(asked, 1)[0].score == pytest.approx(1.0, abs=1e-5)
            assert len(snapshot.nearest_passages(asked, 100)) == 3
            assert len(snapshot.nearest_assertions(asked, 100)) == 2
            assert len(snapshot.nearest_entities(asked, 100)) == len(
                {"acme", "birch", "cedar", "dorn", "elm", "report"}
            )
        assert seen(shelf, as_of=old_generation) == before
