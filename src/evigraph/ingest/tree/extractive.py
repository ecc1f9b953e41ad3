"""Summaries without a model: sentences of the leaves, word for word, near the middle of their cluster and unlike each
other.

The choice is greedy by maximal marginal relevance (Carbonell and Goldstein, 1998) on cosines. A level above the first
chooses among the sentences that the level below chose, so that no sentence is embedded twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evigraph.ingest.tree.cluster import DIGITS, centroid
from evigraph.ingest.tree.nodes import Draft, Node, Subject, Told
from evigraph.models.ports import Embedder
from evigraph.text.analysis import analyse
from evigraph.text.instructions import gives_orders
from evigraph.text.telling import is_rule, is_telling
from evigraph.types import Passage

SENTENCES = 6
"""Sentences of a summary at most."""
SUMMARY_TOKENS = 128
"""Tokens after which no sentence is added: about a tenth of eight full passages, and half of what a small embedder
reads."""
PER_LEAF = 3
"""Sentences of one passage that are embedded: those with most of the words that its cluster shares."""
NEARNESS = 0.7
"""Weight of being near the middle, against being unlike what is chosen already."""
SAME_LEAF = 0.1
"""What a sentence loses for each one chosen from its passage."""


_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts written without spaces, and Korean."""
FEWEST_UNSPACED = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    leaf: int
    start: int
    text: str


class Extractive:
    """Writes the summaries of one document. `orders` counts sentences left out since they give orders to a model."""

    def __init__(self, embedder: Embedder, subject: Subject) -> None:
        self._embedder = embedder
        self._subject = subject
        self.orders = 0

    def summaries(self, groups: Sequence[Sequence[Node]]) -> list[Draft | None]:
        """One for each group of nodes, all of one level; None where no sentence can stand for a group."""
        told = self._told_by_leaves(groups) if groups and groups[0][0].leaf else _told_below(groups)
        return [self._summary(nodes, candidates) for nodes, candidates in zip(groups, told, strict=True)]

    def _summary(self, nodes: Sequence[Node], candidates: Sequence[Told]) -> Draft | None:
        chosen = self._chosen(nodes, candidates)
        if not chosen:
            return None
        return Draft(text=_text(chosen), supports=supports_of(nodes), told=tuple(chosen))

    # ---------------------------------------------------------------- candidates

    def _told_by_leaves(self, groups: Sequence[Sequence[Node]]) -> list[list[Told]]:
        """Sentences of leaves with their vectors, embedded together."""
        candidates = [self._candidates([node.leaf for node in nodes if node.leaf is not None]) for nodes in groups]
        texts = list(dict.fromkeys(item.text for group in candidates for item in group))
        vectors = dict(zip(texts, self._embedder.embed(texts), strict=True)) if texts else {}
        return [
            [Told(leaf=item.leaf, start=item.start, text=item.text, vector=vectors[item.text]) for item in group]
            for group in candidates
        ]

    def _candidates(self, leaves: Sequence[Passage]) -> list[_Candidate]:
        """At most `PER_LEAF` sentences of each passage, in document order."""
        listed = [list(self._sentences(leaf)) for leaf in leaves]
        terms = [[frozenset(analyse(item.text, self._subject.language)) for item in group] for group in listed]
        shared = Counter(term for group in terms for term in frozenset[str]().union(*group))
        found: list[_Candidate] = []
        for group, held in zip(listed, terms, strict=True):
            # What the cluster's passages share, for the length of the sentence: long ones hold more of everything.
            worth = [round(sum(shared[term] for term in own) / max(1, len(own)) ** 0.5, DIGITS) for own in held]
            best = sorted(range(len(group)), key=lambda at: (-worth[at], at))[:PER_LEAF]
            found += [group[at] for at in sorted(best)]
        return found

    def _sentences(self, leaf: Passage) -> Iterator[_Candidate]:
        """Sentences of a passage that tell something, table rows only where there are no others; of one that has none,
        its first line that is written."""
        spans = leaf.sentences or ((leaf.start, leaf.end),)
        lines = [
            _Candidate(leaf=leaf.index, start=start, text=leaf.text[start - leaf.start : end - leaf.start])
            for start, end in spans
        ]
        honest = [line for line in lines if not gives_orders(line.text)]
        self.orders += len(lines) - len(honest)
        written = [line for line in honest if line.text.strip() and not is_rule(line.text)]
        telling = [line for line in written if _tells(line.text)]
        prose = [line for line in telling if not line.text.lstrip().startswith("|")]
        yield from prose or telling or written[:1]

    # ---------------------------------------------------------------- the choice

    def _chosen(self, nodes: Sequence[Node], candidates: Sequence[Told]) -> list[Told]:
        """The sentences of a summary, in document order. Ties go to the earlier sentence."""
        if not candidates:
            return []
        vectors = np.stack([item.vector for item in candidates])
        near = vectors @ centroid([node.vector for node in nodes])
        like = np.zeros(len(candidates))
        taken: Counter[int] = Counter()
        open_ = list(range(len(candidates)))
        chosen: list[Told] = []
        while open_ and len(chosen) < SENTENCES:
            heard = np.array([taken[item.leaf] for item in candidates])
            gain = np.round(NEARNESS * near - (1 - NEARNESS) * like - SAME_LEAF * heard, DIGITS)
            best = open_.pop(int(np.argmax(gain[open_])))
            told = candidates[best]
            if any(told.text == other.text for other in chosen) or not self._fits([*chosen, told]):
                continue
            chosen.append(told)
            taken[told.leaf] += 1
            like = np.maximum(like, vectors @ told.vector)
        return sorted(chosen, key=_place)

    def _fits(self, told: Sequence[Told]) -> bool:
        """Within the length of a summary; a single sentence within what the embedder reads."""
        count = self._embedder.count_tokens
        cost = count(self._subject.searchable(_text(told)))
        if len(told) == 1:
            return cost <= self._embedder.max_tokens
        return cost <= min(self._embedder.max_tokens, SUMMARY_TOKENS + count(self._subject.context))


def _tells(text: str) -> bool:
    """Whether a line says something by itself. Without spaces, what looks like one word may be a sentence."""
    if is_telling(text):
        return True
    return len(_UNSPACED.findall(text)) >= FEWEST_UNSPACED and not text.lstrip().startswith(("#", "|"))


def supports_of(nodes: Sequence[Node]) -> tuple[int, ...]:
    """The leaves below nodes, rising."""
    return tuple(sorted({leaf for node in nodes for leaf in node.supports}))


def _told_below(groups: Sequence[Sequence[Node]]) -> list[list[Told]]:
    return [sorted((told for node in nodes for told in node.told), key=_place) for nodes in groups]


def _place(told: Told) -> tuple[int, int]:
    return told.start, told.leaf


def _text(told: Sequence[Told]) -> str:
    """Sentences in document order, a line each."""
    return "\n".join(item.text for item in sorted(told, key=_place))
