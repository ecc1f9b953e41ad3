"""What is kept of the rows that were read, for how long, and that it is never another scope's."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.errors import StoreError
from evigraph.store import Snapshot, rowcache
from evigraph.store.keys import PassageKey, revision_key
from evigraph.store.rowcache import ENTRY_BYTES, RowCache, size_of
from evigraph.testing.models import HashEmbedder
from evigraph.types import DocumentFilter

TEXTS = {"a": "Acme Corp bought Birch Ltd in Oslo.", "b": "Acme Corp sold Birch Ltd to Cedar Inc."}


@pytest.fixture
def open_graph(tmp_path: Path) -> Iterator[Callable[..., Evigraph]]:
    opened: list[Evigraph] = []

    def open_(**settings: Any) -> Evigraph:
        opened.append(Evigraph(tmp_path, embedder=HashEmbedder(16), settings=Settings(**settings)))
        return opened[-1]

    yield open_
    for graph in opened:
        graph.close()


def _indexed(graph: Evigraph) -> Evigraph:
    graph.index([{"document_id": name, "title": name, "text": text} for name, text in TEXTS.items()])
    return graph


def _statements(graph: Evigraph, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fills up with the statements that the graph's store runs from now on."""
    seen: list[str] = []
    rows = graph.store.rows

    def counted(sql: str, parameters: Any) -> Any:
        seen.append(sql)
        return rows(sql, parameters)

    monkeypatch.setattr(graph.store, "rows", counted)
    return seen


def test_kinds_of_few_facts_do_not_outgrow_the_room() -> None:
    """As every filter and every generation makes kinds of its own."""
    room = 2_000_000
    tracemalloc.start()
    try:
        cache = RowCache(room)
        for number in range(50_000):
            cache.keep((f"{number:064}", "name"), {"tarn": None})
        assert 0 < tracemalloc.get_traced_memory()[0] < room
        assert 0 < cache.bytes <= room
    finally:
        tracemalloc.stop()


def test_what_is_used_stays_and_what_is_not_goes() -> None:
    each = ENTRY_BYTES + size_of(0) + size_of("x" * 100)
    cache = RowCache(20 * each)
    for number in range(100):
        cache.keep("kind", {number: "x" * 100})
        assert cache.found("kind", [0]) == {0: "x" * 100}
        assert cache.bytes <= cache.capacity
    left = cache.found("kind", range(100))
    assert {0, 99} <= left.keys()
    assert 5 < len(left) <= 20


def test_kinds_are_apart_and_keys_keep_their_order() -> None:
    cache = RowCache()
    cache.keep("one", {1: "a", 2: "b"})
    cache.keep("other", {1: "c"})
    assert list(cache.found("one", [2, 3, 1]).items()) == [(2, "b"), (1, "a")]
    assert cache.found("other", [1, 2]) == {1: "c"}
    cache.clear()
    assert cache.found("one", [1]) == {}
    assert cache.bytes == 0


def test_nothing_is_kept_without_room() -> None:
    cache = RowCache(0)
    cache.keep("kind", {1: "a"})
    assert cache.found("kind", [1]) == {}
    tiny = RowCache(10)
    tiny.keep("kind", {1: "a"})
    tiny.keep("kind", {2: "b"})
    assert tiny.found("kind", [1]) == {}


def test_a_vector_weighs_its_numbers() -> None:
    assert size_of(np.zeros(384, dtype=np.float32)) == 112 + 4 * 384
    assert size_of(("ab", 1.0)) > size_of("ab")


def test_many_threads_may_use_it() -> None:
    cache = RowCache(50_000)
    wrong: list[Any] = []

    def use(kind: int) -> None:
        for number in range(500):
            cache.keep(kind, {number: (kind, number)})
            wrong.extend(value for key, value in cache.found(kind, range(number)).items() if value != (kind, key))

    threads = [threading.Thread(target=use, args=(kind,)) for kind in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.bytes <= cache.capacity


def test_a_second_question_reads_less(open_graph: Callable[..., Evigraph], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _indexed(open_graph())
    seen = _statements(graph, monkeypatch)
    first = graph.retrieve("What did Acme Corp buy?")
    cold = len(seen)
    again = graph.retrieve("What did Acme Corp buy?")
    assert len(seen) - cold <= cold / 3
    assert again.chunks == first.chunks
    assert again.entities == first.entities
    assert again.relationships == first.relationships


def test_without_a_cache_every_question_reads_the_same(
    open_graph: Callable[..., Evigraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = _indexed(open_graph(cache_bytes=0))
    seen = _statements(graph, monkeypatch)
    graph.retrieve("What did Acme Corp buy?")  # which learns the state of the workspace, too
    counts = []
    for _ in range(2):
        seen.clear()
        graph.retrieve("What did Acme Corp buy?")
        counts.append(len(seen))
    assert counts[0] == counts[1] > 10
    assert graph.store.connection.shared.cache.bytes == 0


def test_what_is_kept_of_one_scope_is_not_told_in_another(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    whole = graph.retrieve("What did Acme Corp buy?")
    acme = next(entity for entity in whole.entities if entity.name == "Acme Corp")
    assert len(acme.source_chunks) == 2
    narrow = graph.retrieve("What did Acme Corp buy?", document_filter={"document_ids": ["a"]})
    assert [chunk.document_id for chunk in narrow.chunks] == ["a"]
    assert {chunk for entity in narrow.entities for chunk in entity.source_chunks} == {"a#0"}
    graph.delete("a")
    after = graph.retrieve("What did Acme Corp buy?")
    assert {chunk for entity in after.entities for chunk in entity.source_chunks} == {"b#0"}
    assert "Oslo" not in {entity.name for entity in after.entities}


def test_a_replaced_text_is_read_anew(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    graph.retrieve("What did Acme Corp buy?")
    graph.index({"document_id": "a", "title": "a", "text": "Acme Corp bought Dorn Works in Bergen."})
    found = graph.retrieve("What did Acme Corp buy?")
    texts = {chunk.document_id: chunk.text for chunk in found.chunks}
    assert texts["a"] == "Acme Corp bought Dorn Works in Bergen."


def test_pruning_leaves_no_text_in_memory(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    graph.retrieve("What did Acme Corp buy?")
    graph.delete("a")
    assert "Oslo" in repr(graph.store.connection.shared.cache._young)
    graph.prune()
    assert "Oslo" not in repr(vars(graph.store.connection.shared.cache))


def test_merges_are_seen_at_once(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    before = graph.retrieve("What did Acme Corp buy?")
    ids = {entity.name: entity.id for entity in before.entities}
    graph.entities.merge(sorted(ids[name] for name in ("Acme Corp", "Birch Ltd")), canonical=ids["Acme Corp"])
    after = graph.retrieve("What did Acme Corp buy?")
    assert ids["Birch Ltd"] not in {entity.id for entity in after.entities}
    assert {side for item in after.relationships for side in (item.source, item.target)}.isdisjoint({ids["Birch Ltd"]})


def test_the_default_is_that_of_the_settings() -> None:
    assert Settings().cache_bytes == rowcache.DEFAULT_BYTES


# --------------------------------------------------------------------------- what a fact depends on


KEYS = [PassageKey(revision_key(name, 1), 0) for name in sorted(TEXTS)]


def test_a_limit_is_that_of_the_reader(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    with graph.store.snapshot(graph.workspace) as snapshot:
        assert len(snapshot.assertions_in(KEYS, limit=1)) == 1
        assert len(snapshot.assertions_in(KEYS, limit=100)) > 1
        rows = snapshot.mentions_of(["acme corp"], per_name_limit=1, limit=9)
        assert len(rows) == 1 < len(snapshot.mentions_of(["acme corp"], per_name_limit=9, limit=9))
        light, heavy = snapshot.ties(KEYS), snapshot.ties(KEYS, least=1.1)
        assert light != heavy


def test_a_merge_changes_what_passages_name(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    with graph.store.snapshot(graph.workspace) as snapshot:
        ids = {row.name: row.entity_id for row in snapshot.mentions_in(KEYS)}
        before = _told(snapshot)
    merge = graph.entities.merge([ids["Acme Corp"], ids["Birch Ltd"]], canonical=ids["Acme Corp"])
    with graph.store.snapshot(graph.workspace) as snapshot:
        assert ids["Birch Ltd"] not in {row.entity_id for row in snapshot.mentions_in(KEYS)}
        assert "birch ltd" not in {tie.name for ties in snapshot.ties(KEYS).values() for tie in ties}
        sides = {side for item in snapshot.assertions_in(KEYS, limit=99) for side in (item.source, item.target)}
        assert ids["Birch Ltd"] not in sides
        assert snapshot.names(["birch ltd"]) == {}
    graph.entities.unmerge(merge.merge_id)
    with graph.store.snapshot(graph.workspace) as snapshot:
        assert _told(snapshot) == before


def test_a_vector_is_one_of_its_model_and_nobody_changes_it(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    with graph.store.snapshot(graph.workspace) as snapshot:
        vectors = snapshot.passage_vectors(KEYS)
        assert list(vectors) == KEYS
        with pytest.raises(ValueError, match="read-only"):
            vectors[KEYS[0]][:] = 0
        snapshot.model = "another"
        assert snapshot.passage_vectors(KEYS) == {}


@pytest.mark.parametrize("narrow", [{"document_filter": DocumentFilter(document_ids=("a",))}, {"as_of": 1}])
def test_names_and_profiles_are_those_of_the_scope(open_graph: Callable[..., Evigraph], narrow: dict[str, Any]) -> None:
    graph = open_graph()
    for name in sorted(TEXTS):  # a generation each
        graph.index({"document_id": name, "title": name, "text": TEXTS[name]})
    first = graph.store.documents(graph.workspace, as_of=None)[0]
    if "as_of" in narrow:
        narrow = {"as_of": first.generation}
    with graph.store.snapshot(graph.workspace) as snapshot:
        whole = _told(snapshot)
    with graph.store.snapshot(graph.workspace, **narrow) as snapshot:
        assert snapshot.names(["acme corp"])["acme corp"].passages == 1
        assert {row.passage for row in snapshot.mentions_of(["acme corp"], per_name_limit=9, limit=9)} == {KEYS[0]}
        assert [profile.passage_count for profile in snapshot.profiles([_acme(snapshot)]).values()] == [1]
    with graph.store.snapshot(graph.workspace) as snapshot:
        assert _told(snapshot) == whole
        assert snapshot.names(["acme corp"])["acme corp"].passages == 2
    with graph.store.snapshot("elsewhere") as snapshot:
        assert snapshot.names(["acme corp"]) == {}
        assert snapshot.mentions_in(KEYS) == []
        assert snapshot.chunks(KEYS) == {}


def _told(snapshot: Snapshot) -> tuple[Any, ...]:
    names = ["acme corp", "birch ltd"]
    return (
        snapshot.names(names),
        snapshot.mentions_of(names, per_name_limit=9, limit=9),
        snapshot.mentions_in(KEYS),
        snapshot.ties(KEYS),
        snapshot.assertions_in(KEYS, limit=99),
        snapshot.profiles([_acme(snapshot)]),
    )


def _acme(snapshot: Snapshot) -> str:
    return next(row.entity_id for row in snapshot.mentions_in(KEYS) if row.name == "Acme Corp")


# --------------------------------------------------------------------------- room and end


def test_a_key_weighs_its_text() -> None:
    cache = RowCache(100_000)
    cache.keep("kind", dict.fromkeys((f"{number}" * 10_000 for number in range(30)), None))
    assert cache.bytes <= cache.capacity
    assert len(cache.found("kind", (f"{number}" * 10_000 for number in range(30)))) < 10


def test_less_room_forgets(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    graph.retrieve("What did Acme Corp buy?")
    assert graph.store.connection.shared.cache.bytes > 0
    other = open_graph(cache_bytes=1_000)
    assert graph.store.connection.shared.cache is other.store.connection.shared.cache
    other.retrieve("What did Acme Corp buy?")
    assert other.store.connection.shared.cache.bytes == 0


def test_a_closed_engine_tells_nothing(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    other = open_graph()
    other.retrieve("What did Acme Corp buy?")
    other.close()
    with pytest.raises(StoreError, match="closed"):
        other.retrieve("What did Acme Corp buy?")
    graph.close()
    assert graph.store.connection.shared.cache.bytes == 0


def test_a_passage_has_one_cosine(open_graph: Callable[..., Evigraph]) -> None:
    graph = _indexed(open_graph())
    vector = graph.embedder.embed(["What did Acme Corp buy?"])[0]
    with graph.store.snapshot(graph.workspace) as snapshot:
        near = {hit.key: hit.score for hit in snapshot.nearest_passages(vector, 9)}
        assert near == {key: scores[0] for key, scores in snapshot.similarities([vector], list(near)).items()}
