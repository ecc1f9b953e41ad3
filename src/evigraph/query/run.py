"""The working state of one question as it passes through the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evigraph.communities import Coverage
from evigraph.config import Settings
from evigraph.models.meter import Metered
from evigraph.models.ports import Embedder, Reranker, WebSearch
from evigraph.query.ledger import Ledger
from evigraph.routing import Route
from evigraph.store import Snapshot
from evigraph.store.keys import PassageKey
from evigraph.store.rows import Hit, ScopeCounts
from evigraph.text.fence import defuse
from evigraph.types import Chunk, Citation, Connections, Entity, Method, Path, PlanOutcome, QueryRequest, Relationship

if TYPE_CHECKING:
    from evigraph.query.converse.exchange import Exchange
    from evigraph.query.overview.state import Overview


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingSpace:
    """Documents of the scope whose vectors are of one model. `snapshot` is narrowed to them; `embedder` makes vectors
    to compare with theirs, and is None where the model is not configured."""

    model: str
    documents: int
    snapshot: Snapshot
    embedder: Callable[[], Embedder] | None
    missing: str = ""
    """Why there is none, as the end of a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """A name in the question that the scope knows: `[start, end)` in the question, `weight` its rarity in 0-1.

    `via` tells how: it is the `name` itself, a `form` of it, or `similar` to it. What may stand for several names makes
    an anchor of each, at the same place; `keys` then lists them all.
    """

    key: str
    text: str
    start: int
    end: int
    passages: int
    alias_weight: float
    weight: float
    via: Literal["name", "form", "similar"] = "name"
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question as understood: lexical terms, unit vector, anchors, and the names that nothing in scope carries."""

    text: str
    terms: tuple[str, ...]
    vector: NDArray[np.float32]
    anchors: tuple[Anchor, ...]
    unknown_names: tuple[str, ...]
    residual: str
    """The question without its anchors: what is asked *about* them."""
    vector_of: str = ""
    """The text that the vector is made of, where it is another."""


@dataclass(kw_only=True, slots=True)
class Signals:
    """What each arm says of one passage; None where an arm did not rank it."""

    vector_score: float | None = None
    vector_rank: int | None = None
    bm25_score: float | None = None
    bm25_rank: int | None = None
    graph_score: float | None = None
    graph_rank: int | None = None
    fused: float | None = None
    score: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieved:
    """A mode's result before it is fetched and cut: passages best first, entities and assertions likewise."""

    passages: tuple[tuple[PassageKey, Signals], ...] = ()
    entities: tuple[tuple[str, float | None], ...] = ()
    relationships: tuple[Relationship, ...] = ()
    paths: tuple[Path, ...] = ()
    connections: Connections | None = None
    plan: PlanOutcome | None = None
    summaries: tuple[Chunk, ...] = ()
    """Summaries of communities, where these are the evidence instead of passages."""
    retrieval: str = ""
    relationships_found: int | None = None
    """How many there are, where only those that can be shown were fetched."""
    empty: str | None = None
    """Why there is nothing, as `stage: reason`, where the mode knows."""


@dataclass(kw_only=True)
class Run:
    """One question on its way. Steps read what earlier steps left and leave their own."""

    request: QueryRequest
    """What is done: under `auto`, with the mode that was chosen."""
    snapshot: Snapshot
    counts: ScopeCounts
    embedder: Callable[[], Embedder]
    chat: Metered | None
    settings: Settings
    ledger: Ledger
    spaces: tuple[EmbeddingSpace, ...] = ()
    """The embedding spaces of the scope, where it is not the whole of one that is searched by vector."""
    space: EmbeddingSpace | None = None
    """The one of them that is being searched."""
    question_vectors: dict[tuple[str, str], NDArray[np.float32]] = field(default_factory=dict)
    """Vectors of questions by models of other spaces, by model and text."""
    reranker: Callable[[], Reranker | None] = field(default=lambda: None)
    """The reranker that was handed in or is configured; None where rules or the chat model re-rank."""
    web_search: Callable[[], WebSearch | None] = field(default=lambda: None)
    """The search service that was handed in or is configured."""
    requested: QueryRequest = field(init=False)
    """What was asked for."""
    query: str = field(init=False)
    """The question to retrieve with: as it was asked, or what it means in its conversation."""
    exchange: Exchange | None = None
    """The conversation that the question is a turn of."""
    method: Method = field(init=False)
    """The effective one."""
    wordings: list[Question] = field(default_factory=list)
    """What is searched for instead of the question, if the method says so."""
    details: dict[str, Any] = field(default_factory=dict)
    """What the method did and decided."""
    route: Route | None = None
    question: Question | None = None
    predicates: tuple[str, ...] | None = None
    """The request's predicates as the scope's assertions spell them; None: any."""
    dense_hits: list[Hit] | None = None
    retrieved: Retrieved = field(default_factory=Retrieved)
    chunks: list[Chunk] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    relationships: list[Relationship] = field(default_factory=list)
    overview: Overview | None = None
    corpus_wide: bool = False
    """Whether the question asks about the scope as a whole, so that its answer states what it covers."""
    coverage: Coverage | None = None
    numbered: list[Chunk] | None = None
    """The passages that a model saw by number, where these are not the evidence's chunks."""
    repeatable: bool = True
    """Whether the same question would be answered the same way; not after a failed call to a model, or a search of the
    web."""
    context: str = ""
    prompt: str = ""
    text: str | None = None
    citations: list[Citation] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    removed_citations: list[int] = field(default_factory=list)
    answered_by: str = "none"
    abstain_reason: str | None = None

    def __post_init__(self) -> None:
        self.requested = self.request
        self.query = self.request.query
        self.method = self.request.method

    @property
    def at_hand(self) -> dict[str, tuple[Any, ...]]:
        """What steps hand to each other, by kind, as the ledger watches it."""
        return {
            "passages": (*self.retrieved.passages, *self.retrieved.summaries),
            "chunks": tuple(self.chunks),
            "entities": tuple(self.entities),
            "relationships": tuple(self.relationships),
        }

    @property
    def citable(self) -> list[Chunk]:
        """Passages by the numbers under which an answer cites them, from 1."""
        return self.chunks if self.numbered is None else self.numbered

    @property
    def posed(self) -> str:
        """The question as a chat model that answers reads it: as it was asked, and what it means in its
        conversation."""
        asked, meant = self.request.query.strip(), self.query.strip()
        if asked == meant:
            return asked
        # A name in it may be from a document, which must not write our tags.
        return f"{asked}\n(In the conversation so far, this means: {defuse(meant)})"

    @property
    def divided(self) -> bool:
        """Whether what is at hand lies in several embedding spaces, or in one that is not searched by vector."""
        return bool(self.spaces) and self.space is None

    def sights(self) -> list[tuple[Snapshot, Embedder]]:
        """What can be searched by vector, and with which model."""
        if not self.divided:
            return [] if self.blind else [(self.snapshot, self.embedder())]
        return [(space.snapshot, space.embedder()) for space in self.spaces if space.embedder is not None]

    @property
    def blind(self) -> bool:
        """Whether nothing of what is at hand can be compared with a vector."""
        spaces = self.spaces if self.space is None else (self.space,)
        return bool(spaces) and all(space.embedder is None for space in spaces)

    @property
    def asked(self) -> Question:
        """The understood question; steps after `understand` may rely on it."""
        assert self.question is not None
        return self.question
