"""The tree of one document, from its passages upwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evigraph.ingest.extractors.base import ReplyCache
from evigraph.ingest.tree.cluster import clusters
from evigraph.ingest.tree.extractive import Extractive
from evigraph.ingest.tree.model import ModelSummaries
from evigraph.ingest.tree.nodes import Draft, Node, Subject
from evigraph.models.ports import Embedder
from evigraph.store.rows import StagedPassages
from evigraph.types import Passage

LEVELS = 3
"""Levels of summaries at most."""
FEWEST_LEAVES = 4
"""Passages of which a tree is made: fewer are read as fast as a summary of them."""
STRETCH = 1_024
"""Passages that are clustered together at the first level, in document order; at the end of a document up to twice as
many. Bounds memory and time, whatever the document's length."""
STAGED_TOGETHER = 128


class TreeBuilder:
    """Takes a document's passages with their vectors as they are made; `nodes` ends it.

    `made` counts summaries by level, `outcome` what became of those that a model was to write and did not, and of
    groups that got none.
    """

    def __init__(self, subject: Subject, embedder: Embedder, model: ModelSummaries | None, replies: ReplyCache) -> None:
        self.subject = subject
        self._embedder = embedder
        self._model = model
        self._replies = replies
        self._extractive = Extractive(embedder, subject)
        self._waiting: list[Node] = []
        self._first_level: list[Node] = []
        self.leaves = 0
        self.made: Counter[int] = Counter()
        self.outcome: Counter[str] = Counter()

    @property
    def orders(self) -> int:
        """Sentences left out of extractive summaries since they give orders to a model."""
        return self._extractive.orders

    @property
    def incomplete(self) -> bool:
        """Whether asking the model again may give other summaries."""
        return bool(self.outcome["failed"] or self.outcome["not asked"])

    def add(self, passages: Sequence[Passage], vectors: NDArray[np.float32]) -> None:
        """The next passages of the document, all of level 0; row `i` of `vectors` is passage `i`."""
        self._waiting += [
            Node(text=passage.text, vector=vector, supports=(passage.index,), leaf=passage)
            for passage, vector in zip(passages, vectors, strict=True)
        ]
        self.leaves += len(passages)
        while len(self._waiting) >= 2 * STRETCH:
            self._first_level += self._above(self._waiting[:STRETCH])
            del self._waiting[:STRETCH]

    def nodes(self) -> Iterator[StagedPassages]:
        """All summaries, level by level, numbered on from the passages; none of a document of few passages."""
        if self.leaves < FEWEST_LEAVES:
            return
        index = self.leaves
        nodes = self._first_level + self._above(self._waiting)
        self._first_level, self._waiting = [], []
        for level in range(1, LEVELS + 1):
            for first in range(0, len(nodes), STAGED_TOGETHER):
                part = nodes[first : first + STAGED_TOGETHER]
                yield self._staged(part, level, index + first)
            index += len(nodes)
            self.made[level] = len(nodes)
            below, nodes = nodes, self._above(nodes) if level < LEVELS else []
            # A level that is no shorter than the one below says nothing new.
            if not nodes or len(nodes) >= len(below):
                return

    def _above(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes that summarise these, in document order."""
        if len(nodes) < 2:
            return []
        groups = [[nodes[row] for row in rows] for rows in clusters(np.stack([node.vector for node in nodes]))]
        drafts = self._extractive.summaries(groups)
        kept = [(draft, group) for draft, group in zip(drafts, groups, strict=True) if draft is not None]
        self.outcome["without a sentence"] += len(groups) - len(kept)
        return self._embedded(self._written([draft for draft, _ in kept], [group for _, group in kept]))

    def _written(self, drafts: list[Draft], groups: list[list[Node]]) -> list[Draft]:
        if self._model is None or not drafts:
            return drafts
        return self._model.rewritten(
            drafts, groups, self.subject, self._replies, embedder=self._embedder, outcome=self.outcome
        )

    def _embedded(self, drafts: Sequence[Draft]) -> list[Node]:
        if not drafts:
            return []
        texts = [self.subject.searchable(draft.text) for draft in drafts]
        vectors = self._embedder.embed(texts)
        return [
            Node(
                text=draft.text,
                vector=vector,
                supports=draft.supports,
                told=draft.told,
                tokens=self._embedder.count_tokens(text),
            )
            for draft, text, vector in zip(drafts, texts, vectors, strict=True)
        ]

    def _staged(self, nodes: Sequence[Node], level: int, index: int) -> StagedPassages:
        """Rows of summaries: no span, no terms, no mentions."""
        return StagedPassages(
            passages=[
                Passage(
                    document_id=self.subject.document_id,
                    revision=self.subject.revision,
                    index=index + place,
                    start=0,
                    end=0,
                    text=node.text,
                    context=self.subject.context,
                    token_count=node.tokens,
                    level=level,
                    supports=node.supports,
                )
                for place, node in enumerate(nodes)
            ],
            vectors=np.stack([node.vector for node in nodes]),
            terms=[{} for _ in nodes],
        )
