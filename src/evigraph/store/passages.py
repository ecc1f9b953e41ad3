"""Reads of passages: search by vector and by term, and fetching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evigraph.store.keys import PassageKey
from evigraph.store.reading import BY_KEY, Reading
from evigraph.store.rows import Hit, ScopeCounts
from evigraph.types import Chunk

K1 = 1.2
B = 0.75
"""BM25 parameters (Robertson and Zaragoza, 2009)."""
DIGITS = 6
"""Of a cosine: the engine adds in single precision, we in double, and a passage has but one cosine."""


class _Label(NamedTuple):
    """What a revision was published as."""

    document_id: str
    source: str
    title: str


class PassageReading(Reading):
    """Passages of a snapshot."""

    def nearest_passages(self, vector: NDArray[np.float32], limit: int, *, summaries: bool = False) -> list[Hit]:
        """Exact cosine over the scope, best first, ties by key. `vector` has L2 norm 1. With `summaries`, those of the
        documents' trees are ranked among the passages that they rest on; otherwise none is seen."""
        sql = f"""
            SELECT revision_key, passage_index, dotProduct(vector, {{vector:Array(Float32)}}) AS score
            FROM passage_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}}
              AND (level = 0 OR {{summaries:Bool}}) AND revision_key IN {self.scope.revisions}
            ORDER BY score DESC, revision_key, passage_index LIMIT {{limit:UInt32}}"""
        bound = {"vector": vector.tolist(), "limit": limit, "summaries": summaries}
        hits = _hits(self._rows(sql, model=self.model, **bound))
        return [Hit(key=hit.key, score=round(hit.score, DIGITS)) for hit in hits]

    def passage_keys(self, limit: int) -> list[PassageKey]:
        """Passages of document text, by key."""
        sql = f"""
            SELECT revision_key, passage_index FROM passages
            WHERE workspace = {{workspace:String}} AND level = 0 AND revision_key IN {self.scope.revisions}
            ORDER BY revision_key, passage_index LIMIT {{limit:UInt32}}"""
        return [PassageKey(*row) for row in self._rows(sql, limit=limit)]

    def documents_with_trees(self) -> int:
        """How many documents of the scope have summaries."""
        sql = f"""
            SELECT uniqExact(revision_key) FROM passage_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND level > 0
              AND revision_key IN {self.scope.revisions}"""
        return int(self._rows(sql, model=self.model)[0][0])

    def similarities(
        self, vectors: Sequence[NDArray[np.float32]], keys: Sequence[PassageKey]
    ) -> dict[PassageKey, tuple[float, ...]]:
        """Cosines of the given passages with each unit vector, for passages that another arm ranked."""
        stored = self.passage_vectors(keys)
        if not stored or not len(vectors):
            return dict.fromkeys(stored, ())
        cosines = np.array(list(stored.values()), dtype=np.float64) @ np.array(vectors, dtype=np.float64).T
        return dict(zip(stored, map(tuple, cosines.round(DIGITS).tolist()), strict=True))

    def passage_vectors(self, keys: Sequence[PassageKey]) -> dict[PassageKey, NDArray[np.float32]]:
        """Stored unit vectors of the given passages."""
        return self._of_revisions(("vector", self.model), keys, self._fetch_vectors)

    def _fetch_vectors(self, keys: list[PassageKey]) -> dict[PassageKey, NDArray[np.float32]]:
        sql = f"""
            SELECT revision_key, passage_index, vector FROM passage_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND {BY_KEY}"""
        rows = self._rows(sql, model=self.model, keys=keys)
        vectors = {PassageKey(key, index): np.asarray(vector, dtype=np.float32) for key, index, vector in rows}
        for vector in vectors.values():
            vector.setflags(write=False)  # every query is handed the same one
        return vectors

    def lexical(self, terms: Sequence[str], counts: ScopeCounts, limit: int) -> list[Hit]:
        """BM25 with the statistics of the scope, best first, ties by key."""
        if not terms or not counts.passages:
            return []
        # Summing a sorted array keeps the last bits of a score independent of the order threads finish in.
        sql = f"""
            SELECT revision_key, passage_index, arraySum(arraySort(groupArray(weight))) AS score FROM (
                SELECT revision_key, passage_index, count() OVER (PARTITION BY term) AS df,
                    log(1 + ({{passages:Float64}} - df + 0.5) / (df + 0.5)) * tf * ({K1} + 1)
                        / (tf + {K1} * (1 - {B} + {B} * length / {{average:Float64}})) AS weight
                FROM terms
                WHERE workspace = {{workspace:String}} AND term IN {{terms:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY revision_key, passage_index
            ORDER BY score DESC, revision_key, passage_index LIMIT {{limit:UInt32}}"""
        parameters = {"passages": float(counts.passages), "average": max(counts.average_terms, 1e-9)}
        return _hits(self._rows(sql, terms=sorted(set(terms)), limit=limit, **parameters))

    def term_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many passages of the scope each term occurs; absent terms are left out."""
        sql = f"""
            SELECT term, count() FROM terms
            WHERE workspace = {{workspace:String}} AND term IN {{terms:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY term ORDER BY term"""
        return dict(self._rows(sql, terms=sorted(set(terms)))) if terms else {}

    def capitalised(self, keys: Sequence[PassageKey]) -> dict[PassageKey, tuple[str, ...]]:
        """Of each given passage the runs of capitalised words, as name keys: names that the extractor may have
        missed."""
        return self._of_revisions("capitalised", keys, self._fetch_capitalised)

    def _fetch_capitalised(self, keys: list[PassageKey]) -> dict[PassageKey, tuple[str, ...]]:
        sql = f"""
            SELECT revision_key, passage_index, capitalised FROM passages
            WHERE workspace = {{workspace:String}} AND {BY_KEY}"""
        return {PassageKey(key, index): tuple(runs) for key, index, runs in self._rows(sql, keys=keys)}

    def chunks(self, keys: Sequence[PassageKey]) -> dict[PassageKey, Chunk]:
        """The passages themselves, unranked."""
        return self._of_revisions("chunk", keys, self._fetch_chunks)

    def _fetch_chunks(self, keys: list[PassageKey]) -> dict[PassageKey, Chunk]:
        sql = f"""
            SELECT revision_key, passage_index, document_id, revision, text, start, end, context, page, token_count,
                sentence_starts, sentence_ends, level, supports
            FROM passages WHERE workspace = {{workspace:String}} AND {BY_KEY}"""
        rows = self._rows(sql, keys=keys)
        labels = self._labels(row[0] for row in rows)
        return {
            PassageKey(row[0], row[1]): Chunk(
                id=f"{row[2]}#{row[1]}",
                document_id=row[2],
                revision=row[3],
                source=labels[row[0]].source,
                title=labels[row[0]].title,
                text=row[4],
                start=row[5],
                end=row[6],
                context=row[7],
                page=row[8],
                token_count=row[9],
                sentences=tuple(zip(row[10], row[11], strict=True)),
                level=row[12],
                supports=tuple(f"{row[2]}#{index}" for index in row[13]),
            )
            for row in rows
        }

    def chunk_ids(self, keys: Sequence[PassageKey]) -> dict[PassageKey, str]:
        """Public ids of passages."""
        labels = self._labels(key.revision_key for key in keys)
        return {key: f"{labels[key.revision_key].document_id}#{key.passage_index}" for key in keys}

    def _labels(self, revision_keys: Iterable[int]) -> dict[int, _Label]:
        return self._of_revisions("label", sorted(set(revision_keys)), self._fetch_labels)

    def _fetch_labels(self, revision_keys: list[int]) -> dict[int, _Label]:
        sql = """
            SELECT revision_key, document_id, source, title FROM publications
            WHERE workspace = {workspace:String} AND revision_key IN {revisions:Array(UInt128)}"""
        return {row[0]: _Label(*row[1:]) for row in self._rows(sql, revisions=revision_keys)}


def _hits(rows: list[tuple[Any, ...]]) -> list[Hit]:
    return [Hit(key=PassageKey(key, index), score=float(score)) for key, index, score in rows]
