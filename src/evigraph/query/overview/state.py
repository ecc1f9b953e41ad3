"""What the steps of a corpus-wide question leave for each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evigraph.communities import Community
from evigraph.community.read import TreeView
from evigraph.query.answer.sentences import Sentence
from evigraph.store.keys import PassageKey
from evigraph.types import Chunk

PART = 8
"""Passages that make a part: a report is one part, a book is many."""


def part_of(key: PassageKey) -> tuple[int, int]:
    """The part that a passage belongs to. Answers draw on parts, so that one long document is not heard once only."""
    return key.revision_key, key.passage_index // PART


def left_out(count: int) -> str:
    """How it is said that sentences which give orders to a model were left out."""
    told = "sentence that gives orders to a model was" if count == 1 else "sentences that give orders to a model were"
    return f"{count} {told} left out"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A sentence that may be quoted. `score` compares it with the others of its question; `worth` is that on a scale
    of 0 (the weakest part's best sentence) to 1 (the best of all)."""

    key: PassageKey
    chunk: Chunk
    sentence: Sentence
    score: float
    worth: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Relevance:
    """The scope ranked against a question: `passages` best first, `sentences` the best of each part, best first.

    `cited` are those good enough to be cited. `read` are the passages whose sentences were scored, `parts` counts the
    parts of all that were ranked, `cut` says that parts were left unread that may have been worth citing, and `orders`
    are sentences left out since they give orders to a model. `topical` is False where the question asks about
    everything. `cosine` is the best of any sentence with the question, `coverage` the weighted share of the topic's
    words that the best passage holds.
    """

    passages: tuple[tuple[PassageKey, float], ...] = ()
    sentences: tuple[Candidate, ...] = ()
    cited: tuple[Candidate, ...] = ()
    read: tuple[PassageKey, ...] = ()
    parts: int = 0
    cut: bool = False
    orders: tuple[str, ...] = ()
    topical: bool = False
    cosine: float = 0.0
    coverage: float = 0.0
    unseen: bool = False
    """Whether nothing of it could be compared with a vector."""
    judged: bool = False
    """Whether what is beside the point was left out already."""


@dataclass(kw_only=True, slots=True)
class Theme:
    """One community as the question's map step sees it. `usefulness` is 0-100; `number` its place in the tree."""

    number: int
    usefulness: int = 0
    mapped: bool = True
    """Whether its map step came to a result."""
    partial: str | None = None
    sentences: list[Candidate] = field(default_factory=list)
    """Sentences to cite under it, best first."""
    weight: float = 0.0
    """What its sentences are worth together: the order of themes."""


@dataclass(kw_only=True, slots=True)
class Overview:
    """A corpus-wide question under way. `themes` are all communities of the level, most useful first; `of_entity` tells
    the community of each entity; `communities` holds those that were fetched, by number."""

    view: TreeView
    level: int
    relevance: Relevance
    themes: list[Theme]
    affinity: Mapping[PassageKey, Mapping[int, float]]
    """How much each ranked passage speaks of each community."""
    of_entity: dict[str, int]
    stray: list[Candidate]
    """Sentences to cite that belong to no theme."""
    communities: dict[int, Community] = field(default_factory=dict)
    consulted: frozenset[int] = frozenset()
    """Numbers of the communities that were read for this question."""
    orders: set[str] = field(default_factory=set)
    """Sentences of passages and summaries that give orders to a model, and were left out."""

    def spoken_of(self, keys: Iterable[PassageKey]) -> frozenset[int]:
        """Numbers of the communities that ranked passages speak of."""
        return frozenset(number for key in keys for number in self.affinity.get(key, {}))
