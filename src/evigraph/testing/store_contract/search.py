"""Ranking of passages: BM25 and cosine against a few lines of Python over the visible texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest

from evigraph.store import Snapshot, Store
from evigraph.store.keys import PassageKey, revision_key
from evigraph.store.rows import Hit
from evigraph.testing.store_contract.base import Contract, unused_workspace
from evigraph.testing.store_contract.material import ALL, EMBEDDER, Shelf, doc
from evigraph.text.analysis import analyse
from evigraph.types import DocumentFilter

LIBRARY: Mapping[str, tuple[str, ...]] = {
    "a": ("pump repair at the Tarn station pump", "the pump failed", "unrelated words about bread"),
    "b": ("repair of a pump pump pump", "station"),
    "c": ("the pump failed", "Tarn Tarn station repair of the valve and of the pump with a long tail of other words"),
    "d": ("nothing to see",),
    "e": ("the pump failed", "the pump failed"),
}
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"document_filter": DocumentFilter(document_ids=("a", "c"))},
    {"document_filter": DocumentFilter(pattern="*[be].txt")},
    {"document_filter": DocumentFilter(date_from=date(2020, 1, 3))},
    {"metadata_filter": {"kind": "odd"}},
    {"metadata_filter": {"kind": "none"}},
)


class SearchContract(Contract):
    """Both searches are exact, over the scope alone, ties ordered by passage key."""

    @pytest.fixture(scope="class")
    @classmethod
    def library(cls, store: Store) -> Shelf:
        """Five documents, with superseded and unpublished revisions that use the same words."""
        shelf = Shelf(store, unused_workspace())
        shelf.fill(doc("a", "pump pump pump pump", "station pump"), doc("gone", "pump repair"))
        documents = []
        for number, (name, texts) in enumerate(LIBRARY.items(), start=1):
            kind = "odd" if number % 2 else "even"
            title = "Pump" if name == "d" else ""
            described = {"date": date(2020, 1, number), "metadata": {"kind": kind}, "title": title}
            documents.append(doc(name, *texts, **described))
        shelf.fill(*documents)
        shelf.draft("b", "pump")
        shelf.delete("gone")
        return shelf

    @pytest.mark.parametrize("scope", SCOPES)
    @pytest.mark.parametrize("question", ["Tarn", "the pump failed at the pump station", "absent"])
    def test_lexical_scores_are_bm25_of_the_scope(self, library: Shelf, scope: dict[str, Any], question: str) -> None:
        with library.store.snapshot(library.workspace, **scope) as snapshot:
            terms = analyse(question, "en")
            hits = snapshot.lexical(terms, snapshot.counts(), ALL)
            expected = _bm25(_visible(snapshot), terms)
        assert {hit.key: pytest.approx(hit.score, rel=1e-9) for hit in hits} == expected
        assert hits == _ordered(hits)

    def test_counts_are_those_of_the_scope(self, library: Shelf) -> None:
        for scope in SCOPES:
            with library.store.snapshot(library.workspace, **scope) as snapshot:
                counts, passages = snapshot.counts(), _visible(snapshot)
                frequencies = snapshot.term_frequencies(["pump", "tarn", "absent", "tarn"])
            assert counts.passages == len(passages)
            assert counts.documents == len({key.revision_key for key in passages})
            lengths = [sum(terms.values()) for terms in passages.values()]
            assert counts.average_terms == pytest.approx(sum(lengths) / len(lengths) if lengths else 0.0)
            expected = {term: sum(1 for found in passages.values() if term in found) for term in ("pump", "tarn")}
            assert frequencies == {term: count for term, count in expected.items() if count}

    @pytest.mark.parametrize("scope", SCOPES)
    def test_dense_scores_are_cosines_of_the_scope(self, library: Shelf, scope: dict[str, Any]) -> None:
        question = EMBEDDER.embed(["pump repair at the station"])[0]
        with library.store.snapshot(library.workspace, **scope) as snapshot:
            hits = snapshot.nearest_passages(question, ALL)
            stored = snapshot.passage_vectors(list(_visible(snapshot)))
        assert {hit.key: pytest.approx(hit.score, abs=1e-6) for hit in hits} == {
            key: float(np.dot(vector.astype(np.float64), question)) for key, vector in stored.items()
        }
        assert hits == _ordered(hits)

    def test_a_limit_keeps_the_best(self, library: Shelf) -> None:
        question = EMBEDDER.embed(["the pump failed"])[0]
        with library.store.snapshot(library.workspace) as snapshot:
            dense = snapshot.nearest_passages(question, ALL)
            lexical = snapshot.lexical(["pump", "fail"], snapshot.counts(), ALL)
            for limit in (0, 1, 3, 5):
                assert snapshot.nearest_passages(question, limit) == dense[:limit]
                assert snapshot.lexical(["pump", "fail"], snapshot.counts(), limit) == lexical[:limit]
        assert len({hit.score for hit in dense}) < len(dense), "the library holds equal passages, so ties occur"
        assert len({hit.score for hit in lexical}) < len(lexical)

    def test_ties_keep_their_order_when_a_document_is_replaced(self, shelf: Shelf) -> None:
        shelf.fill(*(doc(name, "the pump failed") for name in "abcdef"))
        question = EMBEDDER.embed(["the pump failed"])[0]
        orders = []
        for _ in range(2):
            with shelf.store.snapshot(shelf.workspace) as snapshot:
                for hits in (
                    snapshot.nearest_passages(question, ALL),
                    snapshot.lexical(["pump"], snapshot.counts(), ALL),
                ):
                    ids = snapshot.chunk_ids([hit.key for hit in hits])
                    orders.append([ids[hit.key] for hit in hits])
            shelf.put("c", "the pump failed")
        assert all(order == orders[0] for order in orders)

    def test_similarities_are_given_for_the_passages_asked_for(self, library: Shelf) -> None:
        questions = EMBEDDER.embed(["pump", "bread words"])
        with library.store.snapshot(library.workspace) as snapshot:
            keys = list(_visible(snapshot))[:4]
            found = snapshot.similarities(list(questions), keys)
            stored = snapshot.passage_vectors(keys)
            assert snapshot.similarities(list(questions), []) == {}
            assert snapshot.passage_vectors([]) == {}
        assert set(found) == set(stored) == set(keys)
        for key in keys:
            assert found[key] == pytest.approx(tuple(questions @ stored[key]), abs=1e-6)

    def test_capitalised_runs_are_those_of_the_passages_asked_for(self, shelf: Shelf) -> None:
        """Of this workspace alone: documents of the same id elsewhere have the same keys."""
        other = Shelf(shelf.store, unused_workspace())
        other.fill(doc("a", "Dorn sues Zorro"))
        shelf.fill(doc("a", "Acme supplies Birch Works", "nobody"), doc("b", "Cedar audits Acme"))
        key = revision_key("a", 1)
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            found = snapshot.capitalised([PassageKey(key, 0), PassageKey(key, 1)])
            assert snapshot.capitalised([]) == {}
        runs = ("acme", "birch", "birch works", "works")
        assert found == {PassageKey(key, 0): runs, PassageKey(key, 1): ()}

    def test_passages_listed_are_those_of_texts_in_scope(self, shelf: Shelf) -> None:
        """No summary of a tree, nothing deleted or replaced, and nothing of another workspace."""
        Shelf(shelf.store, unused_workspace()).fill(doc("a", "one", "two", "three"), doc("elsewhere", "Dorn"))
        shelf.fill(doc("a", "one", "two"), doc("b", "gone"), doc("c", "as it was"))
        shelf.put("c", "as it is")
        shelf.delete("b")
        shelf.draft("t", "staged and not published")
        shelf.store.insert(
            "passages",
            ("workspace", "revision_key", "passage_index", "document_id", "level", "text"),
            [[shelf.workspace, revision_key("a", 1), 2, "a", 1, "a summary"]],
        )
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            listed = snapshot.passage_keys(ALL)
            assert snapshot.passage_keys(1) == listed[:1]
            among = snapshot.among([revision_key(name, 1) for name in ("a", "b", "c", "elsewhere", "t")])
            assert snapshot.among([]) == set()
        kept = [(revision_key("a", 1), 0), (revision_key("a", 1), 1), (revision_key("c", 2), 0)]
        assert [tuple(key) for key in listed] == sorted(kept)
        assert among == {revision_key("a", 1)}

    def test_passages_come_back_as_they_were_staged(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "Acme supplies Birch", "second", title="Report", source="x/a.txt"), doc("b", "third"))
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            keys = list(_visible(snapshot))
            chunks = {chunk.id: chunk for chunk in snapshot.chunks(keys).values()}
            assert snapshot.chunk_ids(keys) == {key: chunk.id for key, chunk in snapshot.chunks(keys).items()}
            assert snapshot.chunks([]) == {}
            assert snapshot.chunk_ids([]) == {}
            text = shelf.store.document_text(shelf.workspace, "a", 1)
        assert sorted(chunks) == ["a#0", "a#1", "b#0"]
        first, last = chunks["a#0"], chunks["b#0"]
        assert (first.source, first.title, first.context, first.page) == ("x/a.txt", "Report", "Report", 1)
        assert (last.source, last.title, last.context, last.page) == ("b.txt", "", "", None)
        assert first.sentences == ((0, 19),)
        assert first.token_count == EMBEDDER.count_tokens("Acme supplies Birch")
        for name in ("a#0", "a#1"):
            assert chunks[name].text == text[chunks[name].start : chunks[name].end]

    def test_many_terms_and_many_keys_are_no_obstacle(self, shelf: Shelf) -> None:
        shelf.put("a", "pump repair")
        with shelf.store.snapshot(shelf.workspace) as snapshot:
            terms = [*(f"term{number}" for number in range(5_000)), "pump"]
            [hit] = snapshot.lexical(terms, snapshot.counts(), ALL)
            keys = [*(PassageKey(2**100 + number, number) for number in range(5_000)), hit.key]
            assert list(snapshot.chunks(keys)) == [hit.key]
            assert snapshot.term_frequencies(terms) == {"pump": 1}


def _visible(snapshot: Snapshot) -> dict[PassageKey, Counter[str]]:
    """Terms of every passage of the scope's documents, from the passages' own text."""
    keys = [
        PassageKey(revision_key(info.document_id, info.revision), index)
        for info in snapshot.documents()
        for index in range(info.passages)
    ]
    chunks = snapshot.chunks(keys)
    return {key: Counter(analyse(f"{chunks[key].context}\n{chunks[key].text}".strip(), "en")) for key in sorted(chunks)}


def _bm25(passages: Mapping[PassageKey, Counter[str]], terms: Sequence[str]) -> dict[PassageKey, float]:
    """Robertson and Zaragoza (2009) with k1 = 1.2, b = 0.75 and an idf that is never negative."""
    k1, b = 1.2, 0.75
    lengths = {key: sum(counts.values()) for key, counts in passages.items()}
    average = sum(lengths.values()) / max(len(passages), 1)
    scores: dict[PassageKey, float] = {}
    for term in set(terms):
        having = [key for key, counts in passages.items() if counts[term]]
        idf = math.log(1 + (len(passages) - len(having) + 0.5) / (len(having) + 0.5))
        for key in having:
            tf = passages[key][term]
            weight = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * lengths[key] / average))
            scores[key] = scores.get(key, 0.0) + weight
    return scores


def _ordered(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))
