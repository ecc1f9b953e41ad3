"""What this engine can do, so that nobody has to find out by trying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evigraph.config import Settings
from evigraph.models.ports import ChatModel, Embedder
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


def capabilities(
    embedder: Callable[[], Embedder], extractor: Callable[[], str], chat: ChatModel | None, settings: Settings
) -> dict[str, Any]:
    """Active models, and each mode, method and enhancer with its limits. Never a secret or a path."""
    model = embedder()
    return {
        "embedder": {"name": model.name, "dimension": model.dimension, "max_tokens": model.max_tokens},
        "extractor": {"name": extractor(), "kind": settings.extractor},
        "chat": {"available": chat is not None, "model": None if chat is None else chat.name},
        "rerank": {"available": False, "backend": None},
        "answers": "model" if chat is not None else "extractive",
        "modes": {
            mode.value: {
                "available": mode is not Mode.BYPASS or chat is not None,
                "evidence": _MODES[mode],
                "needs": "EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL" if mode is Mode.BYPASS and chat is None else None,
            }
            for mode in Mode
            if mode in _MODES
        },
        "methods": {method.value: {"available": True} for method in Method},
        "enhancers": {
            "hybrid": {"available": True, "modes": [Mode.NAIVE.value]},
            "rerank": {"available": False, "effect": "degrades"},
            "compress": {"available": False, "effect": "degrades"},
            "parent_context": {"available": False, "effect": "degrades"},
        },
        "limits": {
            **{name: {"min": low, "max": high} for name, (low, high) in LIMITS.items()},
            "max_query_chars": settings.max_query_chars,
            "max_file_bytes": settings.max_file_bytes,
        },
    }
