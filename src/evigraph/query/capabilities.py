"""What this engine can do, so that nobody has to find out by trying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evigraph.config import Settings
from evigraph.errors import EvigraphError
from evigraph.models.embedders import Embedders
from evigraph.models.ports import ChatModel, Reranker, WebSearch
from evigraph.query import strategy
from evigraph.query.converse.exchange import TURNS_READ
from evigraph.query.methods.combinations import refusal
from evigraph.query.request import LIMITS
from evigraph.types import Method, Mode

_MODES: dict[Mode, str] = {
    Mode.NAIVE: "dense passages",
    Mode.LOCAL: "entities of the question, traversal, their passages, dense passages",
    Mode.GLOBAL: "assertions by vector, their entities and passages",
    Mode.HYBRID: "local, global and naive, merged round-robin",
    Mode.MIX: "dense, BM25 and graph arms behind a gate; weights switch to reciprocal rank fusion",
    Mode.BYPASS: "the chat model alone",
    Mode.PLAN: "assertions that the steps of a typed plan rest on; the plan is given, or proposed by the chat model",
    Mode.ENTITY_CONNECTIONS: "BM25 and dense passages, the entities in them, all relationships of those",
    Mode.TRAVERSE: "paths from seeds along allowed predicates, and the passages that make their hops",
    Mode.THEMATIC_OVERVIEW: "summaries of communities, their entities and relationships; answered by map and reduce",
    Mode.AUTO: "that of the mode which the question's class asks for: naive, local, hybrid or thematic_overview",
    Mode.KEYWORD_LOOKUP: "BM25 and dense passages, the entities in them, relationships among those",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What a method does with a chat model and without one, and what would be needed for the former."""

    with_model: str
    without: str
    needs: str | None = None


_CHAT = "EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL"
METHODS: dict[Method, Done] = {
    Method.STANDARD: Done(
        with_model="retrieves for the question; the model answers from the evidence",
        without="retrieves for the question; the answer is made of sentences of the evidence",
    ),
    Method.HYDE: Done(
        with_model="searches by vector with a hypothetical answer that the model writes",
        without="degraded: the question itself is searched for, as under `standard`",
        needs=_CHAT,
    ),
    Method.SELF_RAG: Done(
        with_model="the model grades its answer and writes a poor one again, twice at most; the best stays",
        without="degraded: a single pass, as under `standard`; `evaluated` is false and `threshold_met` null",
        needs=_CHAT,
    ),
    Method.AUTO: Done(
        with_model="rules choose top_k, rerank, hyde and self_rag; `method_details.decision` says why",
        without="rules choose top_k and rerank; `method_details.decision` says why",
    ),
    Method.CORRECTIVE: Done(
        with_model="the model grades the best 20 passages; irrelevant ones are left out, or it refines the question and"
        " evidence is sought again; at last on the web, where a search is configured",
        without="rules: graded by the strength that answers need; refined by other names, other verbs, or keywords;"
        " at last the web, where a search is configured",
    ),
    Method.RAPTOR: Done(
        with_model="searches the summary trees of documents that were indexed with `build_tree`, by vector",
        without="the same; summaries were made of the documents' own sentences",
    ),
    Method.MULTI_QUERY: Done(
        with_model="searches for up to three rephrasings too, which the model writes and which share a word or a name"
        " with the question or lie near it; the best score of a passage counts",
        without="rules write the rephrasings: other names of what is named, other verbs, bare keywords",
    ),
}


def capabilities(
    embedders: Embedders,
    extractor: Callable[[], str],
    chat: ChatModel | None,
    *,
    reranker: Callable[[], Reranker | None],
    web_search: Callable[[], WebSearch | None],
    settings: Settings,
) -> dict[str, Any]:
    """Active models, and each mode, method and enhancer with its limits. Never a secret or a path."""
    model = embedders.main
    return {
        "embedder": {"name": model.name, "dimension": model.dimension, "max_tokens": model.max_tokens},
        "extractor": {"name": extractor(), "kind": settings.extractor},
        "chat": {"available": chat is not None, "model": None if chat is None else chat.name},
        "rerank": rerank_capability(reranker, chat, settings),
        "answers": "model" if chat is not None else "extractive",
        "web_search": web_capability(web_search),
        "knowledge_bases": {"available": True, "embedding_model": model.name, "embedding_models": embedders.told()},
        "conversations": {
            "available": True,
            "condensed_by": "rules" if chat is None else "model",
            "turns_read": TURNS_READ,
        },
        "modes": {
            mode.value: {
                "available": mode is not Mode.BYPASS or chat is not None,
                "evidence": _MODES[mode],
                "needs": "EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL" if mode is Mode.BYPASS and chat is None else None,
            }
            for mode in Mode
            if mode in _MODES
        },
        "methods": {
            method.value: {
                "available": True,
                "needs": METHODS[method].needs if chat is None else None,
                "done": METHODS[method].with_model if chat is not None else METHODS[method].without,
                "modes": [mode.value for mode in Mode if refusal(mode, method) is None],
            }
            for method in Method
        },
        "enhancers": {
            "hybrid": {"available": True, "modes": [Mode.NAIVE.value]},
            "rerank": {
                "available": True,
                "modes": [mode.value for mode in strategy.EXCHANGED],
                "modes_reordered": [mode.value for mode in strategy.REORDERED],
                "candidates_per_chunk": strategy.CANDIDATES_PER_CHUNK,
                "min_candidates": strategy.CANDIDATES,
                "max_candidates": strategy.MOST_CANDIDATES,
            },
            "compress": {"available": True, "modes": [mode.value for mode in strategy.ENHANCED]},
            "parent_context": {
                "available": True,
                "modes": [mode.value for mode in strategy.ENHANCED],
                "neighbours": strategy.NEIGHBOURS,
            },
        },
        "limits": {
            **{name: {"min": low, "max": high} for name, (low, high) in LIMITS.items()},
            "max_query_chars": settings.max_query_chars,
            "max_file_bytes": settings.max_file_bytes,
        },
    }


def web_capability(given: Callable[[], WebSearch | None]) -> dict[str, Any]:
    """The search service that `corrective` may turn to, and what is lacking where there is none."""
    needs: str | None = "EVIGRAPH_WEB_SEARCH_KEY"
    try:
        service = given()
    except EvigraphError as error:
        service, needs = None, error.hint
    instead = "evidence comes from indexed documents alone; `corrective` seeks again among these"
    return {
        "available": service is not None,
        "service": None if service is None else service.name,
        "methods": [Method.CORRECTIVE.value],
        "needs": None if service is not None else needs,
        "instead": None if service is not None else instead,
    }


def rerank_capability(
    given: Callable[[], Reranker | None], chat: ChatModel | None, settings: Settings
) -> dict[str, Any]:
    """The rerank backend in force, and why there is none where the settings name one that cannot be made."""
    try:
        reranker = given()
    except EvigraphError as error:
        return {"available": False, "backend": None, "needs": error.hint}
    if reranker is not None:
        return {"available": True, "backend": reranker.name, "needs": None}
    by_model = settings.reranker == "llm" and chat is not None
    lacking = "EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL" if settings.reranker == "llm" and chat is None else None
    return {"available": True, "backend": f"llm:{chat.name}" if by_model and chat else "rules", "needs": lacking}
