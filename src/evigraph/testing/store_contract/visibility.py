"""What a query may see: the latest revision at its generation, whole, and nothing else, in every read."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta, timezone

from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen, shown
from evigraph.testing.store_contract.material import Doc, Shelf, Vocabulary, doc, view

OLD = ("Acme supplies Birch. Oldword.", "Birch sues Zorro. Zorro Yeti")
NEW = ("Acme audits Cedar. Newword.",)


class VisibilityContract(Contract):
    """`seen` asks every read for everything that was ever staged, by name, and compares whole answers."""

    def test_a_staged_revision_changes_no_read(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        plain = new_shelf()
        for target in (shelf, plain):
            target.fill(
                doc("a", *OLD, title="Zorro", metadata={"k": "old"}),
                doc("other", "Zorro supplies Acme", "Birch"),
            )
        _, draft = shelf.drafts(
            doc("a", *NEW, title="Yeti", metadata={"k": "new"}), doc("b", "Acme supplies Walnut. Oldword")
        )
        assert seen(shelf, plain) == seen(plain, shelf)
        shelf.publish(draft)
        assert "organization:walnut" in seen(shelf)["profiles"]

    def test_after_a_replacement_nothing_of_the_old_revision_is_left(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        fresh = new_shelf()
        shelf.fill(doc("a", *OLD, title="Zorro"), doc("other", "Birch supplies Dorn"))
        shelf.put("a", *NEW)
        fresh.fill(doc("other", "Birch supplies Dorn"), doc("a", *NEW))
        assert seen(shelf, fresh) == seen(fresh, shelf)

    def test_after_a_deletion_nothing_of_the_document_is_left(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        fresh = new_shelf()
        shelf.fill(doc("a", *OLD, title="Zorro"), doc("other", "Birch supplies Dorn"))
        shelf.delete("a")
        fresh.put("other", "Birch supplies Dorn")
        assert seen(shelf, fresh) == seen(fresh, shelf)

    def test_deleting_the_last_document_leaves_an_empty_scope(self, shelf: Shelf) -> None:
        shelf.put("a", *OLD)
        shelf.delete("a")
        left = seen(shelf)
        counts = left.pop("counts")
        assert (counts.documents, counts.passages, counts.average_terms, counts.languages) == (0, 0, 0.0, ())
        assert not any(left.values())

    def test_the_highest_revision_wins_whatever_the_order_of_publication(self, shelf: Shelf) -> None:
        first = shelf.draft("a", *OLD)
        second = shelf.draft("a", *NEW)
        shelf.publish(second)
        before = seen(shelf)
        shelf.publish(first)
        assert seen(shelf) == before

    def test_a_batch_becomes_visible_together(self, shelf: Shelf) -> None:
        drafts = shelf.drafts(*(doc(f"d{number:03}", "Acme supplies Birch") for number in range(200)))
        assert shown(shelf) == []
        shelf.publish(*drafts)
        assert shown(shelf) == [f"d{number:03}" for number in range(200)]

    def test_any_history_shows_what_publishing_its_outcome_alone_shows(
        self, shelf: Shelf, new_shelf: ShelfMaker
    ) -> None:
        """Only the visible revisions count: not how often, in what order or in what company they were written."""
        chance = random.Random(2)
        alive: dict[str, Doc] = {}
        states: list[tuple[int, dict[str, Doc]]] = []
        for _ in range(10):
            document = _random_document(chance)
            action = chance.choice(["put", "put", "put", "draft", "delete"])
            if action == "put":
                shelf.fill(document)
                alive[document.document_id] = document
            elif action == "draft":
                shelf.drafts(document)
            elif document.document_id in alive:
                shelf.delete(document.document_id)
                del alive[document.document_id]
            states.append((shelf.store.generation(shelf.workspace), dict(alive)))
        for generation, outcome in (states[-1], states[4]):
            fresh = new_shelf()
            fresh.fill(*outcome.values())
            assert seen(shelf, fresh, as_of=generation) == seen(fresh, shelf)

    # ---------------------------------------------------------------- earlier states

    def test_as_of_a_generation_is_the_state_of_then(self, shelf: Shelf) -> None:
        steps = (
            (shelf.put("a", *OLD, title="Zorro"), {"a"}, {"acme", "birch", "zorro", "oldword", "yeti"}),
            (shelf.put("b", "Birch supplies Dorn"), {"a", "b"}, {"acme", "birch", "zorro", "oldword", "yeti", "dorn"}),
            (shelf.put("a", *NEW), {"a", "b"}, {"acme", "cedar", "newword", "birch", "dorn"}),
            (shelf.delete("b"), {"a"}, {"acme", "cedar", "newword"}),
        )
        for generation, documents, names in steps:
            with shelf.store.snapshot(shelf.workspace, as_of=generation) as snapshot:
                assert {info.document_id for info in snapshot.documents()} == documents
                everyone = [f"organization:{word.lower()}" for word in shelf.vocabulary.words]
                assert set(snapshot.profiles(everyone)) == {f"organization:{name}" for name in names}
        assert seen(shelf, as_of=steps[-1][0] + 100) == seen(shelf)
        assert shown(shelf, as_of=0) == []

    def test_as_of_a_moment_is_the_state_of_then_and_naive_means_utc(self, shelf: Shelf) -> None:
        first = shelf.put("a", *OLD)
        moment = shelf.store.document(shelf.workspace, "a").published_at
        second = shelf.put("a", *NEW)
        at = shelf.store.generation_at
        assert at(shelf.workspace, moment) == first
        assert at(shelf.workspace, moment.replace(tzinfo=None)) == first
        assert at(shelf.workspace, moment.astimezone(timezone(timedelta(hours=9)))) == first
        assert at(shelf.workspace, moment - timedelta(microseconds=1)) == first - 1
        assert at(shelf.workspace, datetime.now(UTC) + timedelta(days=1)) == second
        assert at(shelf.workspace, datetime(1990, 1, 1)) == 0
        assert shelf.store.document(shelf.workspace, "a", as_of=moment).revision == 1
        assert [info.revision for info in shelf.store.documents(shelf.workspace, as_of=moment)] == [1]

    def test_a_pinned_snapshot_reads_one_generation_whatever_happens_meanwhile(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", *OLD, title="Zorro"), doc("b", "Birch supplies Dorn"))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            words = shelf.vocabulary | Vocabulary(words={"Cedar", "Newword"})
            before = view(snapshot, words)
            shelf.put("a", *NEW)
            shelf.delete("b")
            shelf.put("c", "Zorro supplies Birch")
            assert view(snapshot, words) == before
        assert shown(shelf) == ["a", "c"]

    def test_readers_never_see_a_mixture_while_a_writer_replaces(self, shelf: Shelf) -> None:
        """Every revision of a document states its number in each passage; a snapshot must see one number only."""
        rounds = 6
        shelf.put("a", *_numbered(0))
        failures: list[str] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                with shelf.store.snapshot(shelf.workspace) as snapshot:
                    counts = snapshot.counts()
                    hits = snapshot.lexical(["common"], counts, 100)
                    chunks = snapshot.chunks([hit.key for hit in hits])
                    told = snapshot.profiles(["organization:acme"])["organization:acme"]
                numbers = {chunk.text.split()[1] for chunk in chunks.values()}
                if len(numbers) != 1 or len(chunks) != 3 or counts.passages != 3 or told.passage_count != 3:
                    failures.append(f"{numbers} {len(chunks)} {counts} {told}")

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for number in range(1, rounds):
                shelf.put("a", *_numbered(number))
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        assert failures == []
        assert shelf.store.document(shelf.workspace, "a").revision == rounds


def _numbered(number: int) -> tuple[str, ...]:
    return tuple(f"common n{number} Acme part{part}" for part in range(3))


def _random_document(chance: random.Random) -> Doc:
    names = ("Acme", "Birch", "Cedar", "Dorn")
    texts = []
    for _ in range(chance.randint(1, 3)):
        one, other, third = (chance.choice(names) for _ in range(3))
        texts.append(f"{one} {chance.choice(('supplies', 'audits'))} {other} near {third}")
    return doc(chance.choice("abcd"), *texts, title=chance.choice(("", *names)), metadata={"k": chance.choice("xy")})
