"""Fields of knowledge bases and pipelines, checked alike for Python, command line and HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evigraph.errors import InvalidValue, UnknownField
from evigraph.query.checks import check_text, shown
from evigraph.query.request import LIMITS, check_model, parse

MAX_NAME = 200
MAX_DESCRIPTION = 2_000
MAX_BASES = 100
"""Knowledge bases of one pipeline."""

DEFAULTS = ("mode", "method", "top_k", "rerank", "rerank_top_k", "compress", "hybrid", "parent_context", "web_search")
"""Fields of a pipeline's queries that the pipeline may set."""

TOP_K = LIMITS["max_chunks"]


def check_name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        raise InvalidValue(f"name must be a line of 1 to {MAX_NAME} characters", hint=f"got {shown(value)}")
    return check_text("name", value).strip()


def check_description(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_DESCRIPTION:
        raise InvalidValue(f"description must be text of at most {MAX_DESCRIPTION} characters", hint="shorten it")
    return check_text("description", value)


def check_llm_model(value: Any) -> str | None:
    return None if value is None else check_model(value)


def check_embedding_model(value: Any) -> str | None:
    """Only that it may be a name; which ones there are is known to `Embedders`."""
    if value is not None and (not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME):
        raise InvalidValue(f"embedding_model must be a name of 1 to {MAX_NAME} characters", hint=f"got {shown(value)}")
    return None if value is None else check_text("embedding_model", value)


def check_base_ids(value: Any) -> tuple[str, ...]:
    """Ids of one base or more, each once, in the order given: the first that names a chat model has its say."""
    if isinstance(value, str) or not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_BASES:
        raise InvalidValue(
            f"knowledge_bases must be a list of 1 to {MAX_BASES} ids of knowledge bases", hint=f"got {shown(value)}"
        )
    for item in value:
        if not isinstance(item, str) or len(item) > MAX_NAME:
            raise InvalidValue("an id of a knowledge base must be text", hint=f"got {shown(item)}")
        check_text("knowledge_bases", item)
    return tuple(dict.fromkeys(value))


def check_top_k(value: Any) -> int:
    low, high = TOP_K
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidValue(f"top_k must be a whole number from {low} to {high}", hint=f"got {shown(value)}")
    return value


def check_defaults(value: Any) -> dict[str, Any]:
    """Fields of a query, as a question would be asked with them alone. What is None is left out."""
    if not isinstance(value, Mapping):
        raise InvalidValue("defaults must be an object", hint=f"with fields of: {', '.join(DEFAULTS)}")
    given = {str(name): item for name, item in value.items() if item is not None}
    for name in sorted(given):
        if name not in DEFAULTS:
            raise UnknownField(name, DEFAULTS)
    if "top_k" in given:
        check_top_k(given["top_k"])
    asked = {name: item for name, item in given.items() if name != "top_k"}
    request = parse({"query": "-", **asked})
    # In the spelling of the response.
    return {**given, **{name: getattr(request, name).value for name in ("mode", "method") if name in given}}
