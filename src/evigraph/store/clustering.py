"""What communities are made of: the graph of a scope, and the sentences that state its assertions.

Both are read whole, so they come as columns. Entities are numbered by their place in the sorted list of those in scope;
on the way they travel as 64-bit hashes, which are checked to be distinct.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evigraph.once import once
from evigraph.store.entities import EntityReading
from evigraph.store.keys import PassageKey, revision_key
from evigraph.text.telling import is_telling
from evigraph.types import CO_OCCURS

WEIGHT = 1_000
"""Weight of a link that one assertion of confidence 1 makes. Weights are whole, so that sums depend on no order."""
WEAK = 0.2
"""What a co-occurrence is worth beside a stated assertion."""
NEIGHBOURS = 200
"""Weight of following each other in a passage, which keeps entities without assertions from being alone."""
PASSAGES_AT_ONCE = 20_000
DOCUMENTS_AT_ONCE = 1_000
"""How much is read at once when sentences are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceRef:
    """A sentence by its place: `[start, end)` of the document, in passage `key`."""

    key: PassageKey
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityGraph:
    """Ids of the entities in scope, sorted, and undirected links between them: `(i, j, weight)`, `i < j`, sorted."""

    entities: list[str]
    links: list[tuple[int, int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeDocument:
    """A document in scope."""

    document_id: str
    source: str
    title: str
    revision: int
    metadata: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statements:
    """Every assertion in scope with the sentence that makes it, as columns.

    Of an assertion: `subject` and `object` (places in `entities`, the same where both ends count as one), `stated`
    (False for a co-occurrence), `weight` (as of a link), `sentence`, and `assertion`, its id as a number. Rows are in
    the order of sentences, then of what they say.
    Of a sentence: `document` (place in `documents`), `passage` (index in it), `start`, `end`, and whether it is
    `telling` by itself. Sentences are by document id, passage and start.
    """

    entities: list[str]
    subject: NDArray[np.int32]
    object: NDArray[np.int32]
    stated: NDArray[np.bool_]
    weight: NDArray[np.int32]
    sentence: NDArray[np.int32]
    assertion: NDArray[np.uint64]
    document: NDArray[np.int32]
    passage: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    telling: NDArray[np.bool_]
    documents: list[ScopeDocument]

    def key(self, sentence: int) -> PassageKey:
        """The passage that a sentence is of."""
        document = self.documents[self.document[sentence]]
        return PassageKey(revision_key(document.document_id, document.revision), int(self.passage[sentence]))

    def reference(self, sentence: int) -> SentenceRef:
        return SentenceRef(key=self.key(sentence), start=int(self.start[sentence]), end=int(self.end[sentence]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    """Assertions as columns: ends (places in `entities`), weight as of a link, and a number for the document."""

    entities: list[str]
    subject: NDArray[np.int64]
    object: NDArray[np.int64]
    weight: NDArray[np.int64]
    document: NDArray[np.uint64]


class ClusteringReading(EntityReading):
    """The graph of a snapshot and its statements, whole."""

    def community_graph(self) -> CommunityGraph:
        """All entities in scope, and their links: assertions between two of them, and following each other in a
        passage. There titles, headings and aliases come first, then the place in the text counts, then the id."""
        numbers = self._numbers
        sql = f"""
            SELECT least(one, other) AS first, greatest(one, other) AS second, sum(weight) FROM (
                SELECT {self._hashed("subject_id")} AS one, {self._hashed("object_id")} AS other, {_WEIGHT} AS weight
                FROM assertions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                UNION ALL
                SELECT pair.1 AS one, pair.2 AS other, {NEIGHBOURS} AS weight FROM (
                    SELECT arrayJoin(arrayZip(arrayPopBack(row), arrayPopFront(row))) AS pair FROM (
                        SELECT arrayMap(mention -> {_hash("mention.2")}, arraySort(groupArray((rank, entity)))) AS row
                        FROM (
                            SELECT revision_key, passage_index, {self._representative("entity_id")} AS entity,
                                min((role = 'text', start)) AS rank
                            FROM mentions
                            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}
                            GROUP BY revision_key, passage_index, entity)
                        GROUP BY revision_key, passage_index)))
            GROUP BY first, second"""
        found = self._run_columns(sql, {**self.scope.parameters, **self._hash_bound})
        if not found:
            return CommunityGraph(entities=numbers.entities, links=[])
        one, other, weights = numbers.of(found[0]), numbers.of(found[1]), found[2]
        first, second = np.minimum(one, other), np.maximum(one, other)
        linked = np.flatnonzero((first != second) & (weights > 0))
        order = linked[np.argsort(first[linked] * len(numbers.entities) + second[linked])]
        links = zip(first[order].tolist(), second[order].tolist(), weights[order].tolist(), strict=True)
        return CommunityGraph(entities=numbers.entities, links=list(links))

    def community_statements(self) -> Statements:
        """Every assertion in scope with its sentence: the one that it begins in. A passage that is not cut into
        sentences is one."""
        documents, pages = self._document_pages()
        parts = [part for page in pages for part in self._page_statements(page)]
        return _joined(self._numbers.entities, documents, parts)

    def scope_entities(self) -> list[str]:
        """Ids of the entities in scope, sorted: those that the columns number."""
        return self._numbers.entities

    def community_claims(self) -> Claims:
        """Every assertion in scope without its sentence, for counting; in no order. Read once."""
        return self._claims

    @once
    def _claims(self) -> Claims:
        entities = self._numbers.entities
        sql = f"""
            SELECT {self._hashed("subject_id")}, {self._hashed("object_id")}, {_WEIGHT},
                toUInt64(bitShiftRight(revision_key, 32))
            FROM assertions
            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}"""
        found = self._run_columns(sql, {**self.scope.parameters, **self._hash_bound})
        if not found:
            none = np.zeros(0, np.int64)
            return Claims(entities=entities, subject=none, object=none, weight=none, document=none.astype(np.uint64))
        subject, object_ = self._numbers.of(found[0]), self._numbers.of(found[1])
        weight = found[2].astype(np.int64)
        return Claims(entities=entities, subject=subject, object=object_, weight=weight, document=found[3])

    @once
    def _numbers(self) -> _Numbers:
        """Entities in scope, representatives, numbered."""
        shown = f"SELECT DISTINCT {self._representative('entity')} AS shown FROM ({self._visible_entities})"
        sql = f"SELECT shown, {_hash('shown')} FROM ({shown}) ORDER BY shown"
        for salt in count():
            found = self._run_columns(sql, {**self.scope.parameters, **self._merged, "salt": salt})
            hashes = found[1] if found else np.zeros(0, np.uint64)
            if len(np.unique(hashes)) == len(hashes):
                break
        order = np.argsort(hashes)
        return _Numbers(found[0].tolist() if found else [], hashes[order], order, salt)

    def _hashed(self, column: str) -> str:
        """SQL for the hash of the representative of the entity in `column`; bind `_hash_bound` with it."""
        return _hash(self._representative(column))

    @property
    def _hash_bound(self) -> dict[str, Any]:
        return {**self._merged, "salt": self._numbers.salt}

    @property
    def _visible_entities(self) -> str:
        """SQL of every entity in scope, each for itself, more than once."""
        return " UNION ALL ".join(
            f"""
            SELECT {column} AS entity FROM {table}
            WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}"""
            for table, column in (("mentions", "entity_id"), ("assertions", "subject_id"), ("assertions", "object_id"))
        )

    def _document_pages(self) -> tuple[list[ScopeDocument], list[dict[int, int]]]:
        """Documents in scope by id, and pages of them to be read at once: revision keys with the document's place."""
        sql = f"""
            SELECT document_id, source, title, revision, metadata, revision_key, passages
            FROM {self._asked.documents} ORDER BY document_id"""
        documents: list[ScopeDocument] = []
        pages: list[dict[int, int]] = []
        left = 0
        for place, row in enumerate(self._run(sql, self._asked.parameters)):
            documents.append(scope_document(row))
            if not pages or left < row[6] or len(pages[-1]) == DOCUMENTS_AT_ONCE:
                pages.append({})
                left = PASSAGES_AT_ONCE
            pages[-1][row[5]] = place
            left -= row[6]
        return documents, pages

    def _page_statements(self, page: Mapping[int, int]) -> Iterator[_Part]:
        """Assertions of some documents with their sentences; nothing where they make none."""
        sql = f"""
            SELECT toUInt64(bitShiftRight(revision_key, 64)), toUInt64(revision_key), passage_index, start,
                {self._hashed("subject_id")}, {self._hashed("object_id")}, predicate != '{CO_OCCURS}', {_WEIGHT},
                reinterpretAsUInt64(unhex(assertion_id))
            FROM assertions
            WHERE workspace = {{workspace:String}} AND revision_key IN {{page:Array(UInt128)}}"""
        found = self._run_columns(sql, self._page_bound(page) | self._hash_bound)
        if not found:
            return
        high, low, passage, start, subjects, objects, *rest, assertion = found
        document = _places(high, low, page)
        order = np.lexsort((start, passage, document))
        said = zip(document[order].tolist(), passage[order].tolist(), start[order].tolist(), strict=True)
        sentence, sentences = _sentences(said, self._page_texts(page))
        ends = self._numbers.of(subjects), self._numbers.of(objects)
        columns = [column[order].astype(np.int64) for column in (*ends, *rest)]
        order, assertion = np.lexsort((assertion[order], *columns[::-1], sentence)), assertion[order]
        yield _Part([column[order] for column in (*columns, sentence)], assertion[order], sentences)

    def _page_texts(self, page: Mapping[int, int]) -> dict[tuple[int, int], _Text]:
        """Passages of some documents by the document's place and their index."""
        sql = """
            SELECT revision_key, passage_index, start, text, sentence_starts, sentence_ends FROM passages
            WHERE workspace = {workspace:String} AND revision_key IN {page:Array(UInt128)}"""
        return {(page[row[0]], row[1]): _Text(*row[2:]) for row in self._run(sql, self._page_bound(page))}

    def _page_bound(self, page: Mapping[int, int]) -> dict[str, Any]:
        return {"workspace": self.scope.workspace, "page": list(page)}


_WEIGHT = f"toInt64(round({WEIGHT} * confidence * if(predicate = '{CO_OCCURS}', {WEAK}, 1)))"


def _hash(entity: str) -> str:
    """SQL for the salted hash of an entity's id."""
    return f"cityHash64({{salt:UInt64}}, {entity})"


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Sorted entities; their hashes, sorted, with the places of what they are of; the salt that keeps these apart."""

    entities: list[str]
    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]
    salt: int

    def of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The places of entities in the sorted list."""
        return self.places[np.searchsorted(self.hashes, hashes)]


class _Text(NamedTuple):
    """A passage's place in the document, its text, and where sentences begin and end, if it is cut into any."""

    start: int
    text: str
    starts: Sequence[int]
    ends: Sequence[int]


class _Sentence(NamedTuple):
    document: int
    passage: int
    start: int
    end: int
    telling: bool


class _Part(NamedTuple):
    """Assertions of a page: subject, object, stated, weight and sentence; their ids; the sentences."""

    rows: list[NDArray[np.int64]]
    assertion: NDArray[np.uint64]
    sentences: list[_Sentence]


def _places(high: NDArray[np.uint64], low: NDArray[np.uint64], page: Mapping[int, int]) -> NDArray[np.int64]:
    """The place of each row's document, by the two halves of its revision key."""
    keys = np.stack([high, low], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    places = [page[int(first) << 64 | int(second)] for first, second in distinct]
    return np.asarray(places, dtype=np.int64)[which.ravel()]


def _sentences(
    said: Iterable[tuple[int, int, int]], texts: Mapping[tuple[int, int], _Text]
) -> tuple[NDArray[np.int64], list[_Sentence]]:
    """The sentence of each assertion `(document, passage, start)`, which come sorted, and all sentences met."""
    sentences: list[_Sentence] = []
    sentence_of = []
    current, last = (-1, -1), -1
    for document, passage, start in said:
        if current != (document, passage):
            current, last = (document, passage), -1
            first, text, starts, ends = texts[current]
            if not starts:
                starts, ends = [first], [first + len(text)]
        found = max(bisect_right(starts, start) - 1, 0)
        if found != last:
            last = found
            begin, end = starts[found], ends[found]
            telling = is_telling(text[begin - first : end - first])
            sentences.append(_Sentence(document, passage, begin, end, telling))
        sentence_of.append(len(sentences) - 1)
    return np.asarray(sentence_of, dtype=np.int64), sentences


def _joined(entities: list[str], documents: list[ScopeDocument], parts: Sequence[_Part]) -> Statements:
    """One table of all pages."""
    offsets = np.cumsum([0, *(len(part.sentences) for part in parts)])
    empty = np.zeros(0, np.int64)
    rows = [np.concatenate([empty, *(part.rows[place] for part in parts)]) for place in range(4)]
    numbered = [part.rows[4] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
    sentences = [
        np.asarray([sentence[place] for part in parts for sentence in part.sentences], dtype=np.int64)
        for place in range(5)
    ]
    return Statements(
        entities=entities,
        subject=rows[0].astype(np.int32),
        object=rows[1].astype(np.int32),
        stated=rows[2].astype(np.bool_),
        weight=rows[3].astype(np.int32),
        sentence=np.concatenate([empty, *numbered]).astype(np.int32),
        assertion=np.concatenate([np.zeros(0, np.uint64), *(part.assertion for part in parts)]),
        document=sentences[0].astype(np.int32),
        passage=sentences[1].astype(np.int32),
        start=sentences[2],
        end=sentences[3],
        telling=sentences[4].astype(np.bool_),
        documents=documents,
    )


def scope_document(row: Sequence[Any]) -> ScopeDocument:
    """From `document_id, source, title, revision, metadata`."""
    return ScopeDocument(document_id=row[0], source=row[1], title=row[2], revision=row[3], metadata=row[4])
