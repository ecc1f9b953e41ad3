"""Which retrieval strategy a request gets, and which enhancers act under its mode. What is asked for and does not act
is said in the sentences of this module, and nowhere else.

| modes | rerank | parent_context, compress | hybrid |
|---|---|---|---|
| naive | candidates | yes | yes |
| mix, local, global, hybrid | candidates | yes | ignored |
| keyword_lookup, entity_connections, traverse | passages shown | yes | ignored |
| plan, thematic_overview, bypass | ignored | ignored | ignored |

"Candidates": more passages are looked at than are kept (`candidates`), so that a good one from further down can come
up. Under the modes of the third line the rest of the evidence is *about* the passages shown (their entities, what they
assert, the hops they make), so these are put in another order but not exchanged. Under `mix` entities and relationships
stay those of the passages that retrieval ranked first. Of the last line, `plan` answers with bindings,
`thematic_overview` with summaries of communities, and `bypass` with nothing but the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from evigraph.types import Method, Mode, QueryRequest

Strategy = Literal["parent_context", "hybrid", "raptor", "dense"]

PRECEDENCE: tuple[Strategy, ...] = ("parent_context", "hybrid", "raptor", "dense")
"""Which strategy `naive` follows where several are asked for."""

EXCHANGED = (Mode.NAIVE, Mode.MIX, Mode.LOCAL, Mode.GLOBAL, Mode.HYBRID)
"""Modes in which re-ranking chooses among more passages than are kept."""
REORDERED = (Mode.KEYWORD_LOOKUP, Mode.ENTITY_CONNECTIONS, Mode.TRAVERSE)
"""Modes in which it puts those that are kept in another order."""
ENHANCED = (*EXCHANGED, *REORDERED)
"""Modes whose answers are made of passages."""

CANDIDATES = 30
CANDIDATES_PER_CHUNK = 3
MOST_CANDIDATES = 200
"""Without `rerank_top_k`, three candidates for each passage kept are re-ranked, at least 30 and at most 200."""

NEIGHBOURS = 1
"""Passages on each side of a match that `parent_context` returns with it."""

_INSTEAD = {
    Mode.PLAN: "answers with what a plan's steps bind, not with ranked passages",
    Mode.THEMATIC_OVERVIEW: "answers from summaries of communities, not from passages",
    Mode.BYPASS: "has no passages",
}


def strategy(request: QueryRequest) -> Strategy:
    """How `naive` retrieves. Under other modes `parent_context` widens what these found, and the rest has no meaning:
    "dense"."""
    asked = _asked(request)
    return asked[0] if asked else "dense"


def reranks(request: QueryRequest) -> bool:
    """Whether re-ranking acts."""
    return request.rerank and request.mode in ENHANCED


def candidates(request: QueryRequest) -> int:
    """How many of the retrieved passages are fetched, best first: more than `max_chunks` where re-ranking chooses among
    them."""
    if not reranks(request) or request.mode in REORDERED:
        return request.max_chunks
    return max(request.max_chunks, reranked(request))


def reranked(request: QueryRequest) -> int:
    """How many of them are re-ranked; what follows keeps its order."""
    default = min(MOST_CANDIDATES, max(CANDIDATES, CANDIDATES_PER_CHUNK * request.max_chunks))
    wanted = request.rerank_top_k or default
    return min(wanted, request.max_chunks) if request.mode in REORDERED else wanted


def ignored(request: QueryRequest) -> Iterator[str]:
    """What was asked for and does not act, in sentences. `request.mode` is the one that is carried out."""
    mode = request.mode
    if request.hybrid and mode is not Mode.NAIVE:
        yield f"hybrid: it turns `naive` into dense+BM25; ignored under `{mode.value}`"
    asked = _asked(request)
    if mode is Mode.NAIVE:
        for other in asked[1:]:
            yield f"{other}: {asked[0]} was asked for as well and comes first; ignored"
    if mode in _INSTEAD:
        for name in ("rerank", "parent_context", "compress"):
            if getattr(request, name):
                yield f"{name}: mode `{mode.value}` {_INSTEAD[mode]}; ignored"
    if request.web_search and "web_search" in request.given and request.method is not Method.CORRECTIVE:
        yield f"web_search: only method `corrective` searches the web; ignored under `{request.method.value}`"
    if request.rerank_top_k is not None and not request.rerank:
        yield "rerank_top_k: rerank was not asked for; ignored"


def _asked(request: QueryRequest) -> list[Strategy]:
    """Strategies that the request asks for and its mode knows, by precedence."""
    naive = request.mode is Mode.NAIVE
    wanted = {
        "parent_context": request.parent_context and request.mode in ENHANCED,
        "hybrid": naive and request.hybrid,
        "raptor": naive and request.method is Method.RAPTOR,
    }
    return [name for name in PRECEDENCE if wanted.get(name)]
