"""From plain fields to a validated `QueryRequest`: the same rules for Python, command line and HTTP."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from evigraph.errors import (
    InvalidCombination,
    InvalidQuery,
    InvalidValue,
    UnknownField,
    UnknownFilter,
    UnknownMethod,
    UnknownMode,
)
from evigraph.query.checks import check_text
from evigraph.query.checks import shown as _shown
from evigraph.query.converse.names import check_conversation_id, check_user
from evigraph.query.methods.combinations import refusal
from evigraph.query.plan.parse import parse_plan
from evigraph.types import DocumentFilter, Method, Mode, QueryRequest

LIMITS: Mapping[str, tuple[int, int]] = {
    "max_chunks": (1, 200),
    "max_entities": (0, 500),
    "max_relationships": (0, 5_000),
    "max_context_tokens": (64, 200_000),
    "graph_depth": (0, 5),
    "per_node_limit": (1, 1_000),
    "limit": (1, 1_000),
    "community_level": (0, 20),
    "rerank_top_k": (1, 200),
}
"""Inclusive bounds of the integer fields."""

MAX_PATTERN = 1_000
MAX_STARS = 50
"""Bounds of a glob."""

EMBEDDING_FIXED = (
    "a question is embedded by the model that embedded the documents; no query can choose another (`llm_model` chooses"
    " the chat model)"
)
"""Why no query has a field for the embedding model."""

_FLAGS = (
    "include_sources",
    "hybrid",
    "parent_context",
    "rerank",
    "compress",
    "context_only",
    "prompt_only",
    "web_search",
)
_WEIGHTS = ("vector_weight", "graph_weight")
_ARMS = ("local", "global", "naive")
_FIELDS = (
    "query",
    "mode",
    "method",
    *LIMITS,
    *_FLAGS,
    *_WEIGHTS,
    "enable_rerank",
    "predicates",
    "direction",
    "seeds",
    "plan",
    "min_score",
    "fusion",
    "params",
    "mix_weights",
    "document_filter",
    "metadata_filter",
    "llm_model",
    "as_of",
    "user",
    "conversation_id",
    "conversation_owner",
)
_PARAMS = (*_WEIGHTS, "mix_weights", "fusion")
_DOCUMENT_FILTER = ("document_ids", "pattern", "date_from", "date_to", "knowledge_bases")


def parse(fields: Mapping[str, Any], *, max_query_chars: int = 8_000) -> QueryRequest:
    """Validate request fields (SPEC 4 and 5 name them). Fields that are None count as absent.

    Raises `UnknownField`, `UnknownMode`, `UnknownMethod`, `UnknownFilter`, `InvalidQuery` or `InvalidValue`.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    _known(given, _FIELDS, UnknownField)
    given = _lift_params(given)
    fields_given = tuple(sorted(given))
    values: dict[str, Any] = {
        "query": _question(given.pop("query", None), max_query_chars),
        "mode": _choice(given.pop("mode", Mode.MIX), Mode, UnknownMode),
        "method": _choice(given.pop("method", Method.STANDARD), Method, UnknownMethod),
        "fusion": _fusion(given),
    }
    given.pop("fusion", None)
    if values["method"] is Method.RAPTOR and "mode" not in fields_given:
        values["mode"] = Mode.NAIVE
    reason = refusal(values["mode"], values["method"])
    if reason is not None:
        raise InvalidCombination(
            f"method `{values['method']}` makes no sense under mode `{values['mode']}`: {reason}",
            hint="leave out `method`, or choose another mode; GET /capabilities lists what goes together",
        )
    if "plan" in given and values["mode"] is not Mode.PLAN:
        raise InvalidValue(f"a plan has no meaning under mode `{values['mode']}`", hint="set mode to plan")
    if "conversation_owner" in given and "conversation_id" not in given:
        raise InvalidValue("conversation_owner has no meaning without conversation_id", hint="give both")
    if "enable_rerank" in given:
        spellings = _flag("enable_rerank", given.pop("enable_rerank")), _flag("rerank", given.get("rerank", False))
        given["rerank"] = any(spellings)
    values |= {name: _PARSERS[name](value) for name, value in given.items()}
    return QueryRequest(**values, given=fields_given)


def _lift_params(given: dict[str, Any]) -> dict[str, Any]:
    params = given.pop("params", {})
    if not isinstance(params, Mapping):
        raise InvalidValue("params must be an object", hint=f"with fields of: {', '.join(_PARAMS)}")
    _known(params, _PARAMS, UnknownField)
    lifted = {name: value for name, value in params.items() if value is not None}
    for name in sorted(given.keys() & lifted.keys()):
        if given[name] != lifted[name]:
            raise InvalidValue(f"{name} is given twice, with different values", hint=f"leave out params.{name}")
    return {**given, **lifted}


def _known(given: Mapping[str, Any], valid: tuple[str, ...], error: type[UnknownField | UnknownFilter]) -> None:
    for name in sorted(map(str, given)):
        if name not in valid:
            raise error(name, valid, hint=EMBEDDING_FIXED if name.lower().startswith("embed") else "")


def check_question(value: Any, *, field: str) -> str:
    """A question, of any length, as the field of this name has it. Raises `InvalidQuery`."""
    if value is not None and not isinstance(value, str):
        raise InvalidQuery("the question must be text", hint=f"send text in `{field}`; got {_shown(value)}")
    if value is None or not value.strip():
        raise InvalidQuery("the question is empty", hint=f"send text in `{field}`")
    return str(value)


def _question(value: Any, max_chars: int) -> str:
    value = check_question(value, field="query")
    if len(value) > max_chars:
        raise InvalidQuery(
            f"the question has {len(value)} characters; at most {max_chars} are read",
            hint="ask a shorter question, index long text as a document, or raise EVIGRAPH_MAX_QUERY_CHARS",
        )
    return check_text("the question", value)


def _choice(value: Any, kind: type[Mode] | type[Method], error: type[UnknownMode | UnknownMethod]) -> Any:
    valid = [item.value for item in kind]
    if not isinstance(value, str) or value.lower() not in valid:
        raise error(value if isinstance(value, str) else _shown(value), valid)
    return kind(value.lower())


def _fusion(given: Mapping[str, Any]) -> str:
    """Explicit weights switch `mix` from the gate to weighted RRF."""
    weighted = any(name in given for name in (*_WEIGHTS, "mix_weights"))
    value = given.get("fusion", "rrf" if weighted else "gate")
    if value not in ("gate", "rrf"):
        raise InvalidValue(f"unknown fusion {_shown(value)}", hint="valid: gate, rrf")
    if value == "gate" and weighted:
        raise InvalidValue("weights have no meaning under fusion `gate`", hint="leave out fusion, or set it to rrf")
    if "mix_weights" in given and any(name in given for name in _WEIGHTS):
        raise InvalidValue(
            "mix_weights and vector_weight/graph_weight weigh different things", hint="give one kind of weights"
        )
    if given.get("vector_weight") == 0 and given.get("graph_weight") == 0:
        raise InvalidValue("all weights are 0", hint="give at least one weight above 0")
    return str(value)


def _integer(name: str, value: Any) -> int:
    low, high = LIMITS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidValue(f"{name} must be a whole number from {low} to {high}", hint=f"got {_shown(value)}")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not low <= value <= high or not math.isfinite(value):
        raise InvalidValue(f"{name} must be a number from {low:g} to {high:g}", hint=f"got {_shown(value)}")
    return float(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} must be true or false", hint=f"got {_shown(value)}")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue(f"{name} must be text", hint=f"got {_shown(value)}")
    return check_text(name, value)


def check_model(value: Any) -> str:
    """A chat model's name. Raises `InvalidValue`."""
    name = _text("llm_model", value)
    if not name.strip() or len(name) > 200:
        raise InvalidValue("llm_model must be a model's name, at most 200 characters", hint=f"got {_shown(value)}")
    return name


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or len(value) > 10_000:
        raise InvalidValue(f"{name} must be a list of texts, at most 10,000", hint=f"got {_shown(value)}")
    return tuple(_text(name, item) for item in value)


def _direction(value: Any) -> str:
    if value not in ("out", "in", "both"):
        raise InvalidValue(f"unknown direction {_shown(value)}", hint="valid: out, in, both")
    return str(value)


def _mix_weights(value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise InvalidValue("mix_weights must be an object", hint=f"with fields of: {', '.join(_ARMS)}")
    _known(value, _ARMS, UnknownField)
    weights = {name: _number(f"mix_weights.{name}", value.get(name, 0.0), 0.0, 1_000.0) for name in _ARMS}
    if not any(weights.values()):
        raise InvalidValue("all weights are 0", hint="give at least one weight above 0")
    return weights


def _document_filter(value: Any) -> DocumentFilter:
    if isinstance(value, DocumentFilter):
        value = {name: getattr(value, name) for name in _DOCUMENT_FILTER}
    if not isinstance(value, Mapping):
        raise InvalidValue("document_filter must be an object", hint=f"with: {', '.join(_DOCUMENT_FILTER)}")
    given = {name: item for name, item in value.items() if item is not None}
    _known(given, _DOCUMENT_FILTER, UnknownFilter)
    dates = {name: _date(f"document_filter.{name}", given[name]) for name in ("date_from", "date_to") if name in given}
    pattern = given.get("pattern")
    return DocumentFilter(
        document_ids=_strings("document_filter.document_ids", given["document_ids"])
        if "document_ids" in given
        else None,
        pattern=None if pattern is None else _pattern(pattern),
        knowledge_bases=_strings("document_filter.knowledge_bases", given["knowledge_bases"])
        if "knowledge_bases" in given
        else None,
        **dates,
    )


def _pattern(value: Any) -> str:
    """A glob of bounded size: the engine turns it into a regular expression."""
    pattern = _text("document_filter.pattern", value)
    if len(pattern) > MAX_PATTERN or pattern.count("*") > MAX_STARS:
        raise InvalidValue(
            f"document_filter.pattern has {len(pattern)} characters and {pattern.count('*')} stars",
            hint=f"use at most {MAX_PATTERN} characters and {MAX_STARS} stars",
        )
    return pattern


def _metadata_filter(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > 50:
        raise InvalidValue("metadata_filter must be an object of at most 50 keys", hint=f"got {_shown(value)}")
    checked = {}
    for key, item in value.items():
        name = _text("a metadata_filter key", key)
        checked[name] = _text(f"metadata_filter.{name[:40]}", _as_stored(item))
    return checked


def _as_stored(value: Any) -> Any:
    """A scalar as metadata stores it; anything else unchanged, to be refused."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) and value.bit_length() > 256:
        return value
    return str(value) if isinstance(value, int | float) else value


def _date(name: str, value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    shown = value if isinstance(value, str) else ""
    try:
        return date.fromisoformat(shown) if len(shown) <= 10 else datetime.fromisoformat(shown[:80]).date()
    except ValueError:
        raise InvalidValue(f"{name} is no date: {_shown(value)}", hint="write it as YYYY-MM-DD") from None


def moment(value: Any) -> int | datetime:
    """A generation, or a timestamp in ISO 8601 (UTC where it names no zone)."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value)[:80])
    except ValueError:
        raise InvalidValue(
            f"as_of is neither a generation nor a timestamp: {_shown(value)}",
            hint="give a generation number, or a time such as 2026-01-31T12:00:00+00:00",
        ) from None
    if not 1970 < found.year < 2200:
        raise InvalidValue(f"as_of lies in the year {found.year}", hint="give a time from 1971 to 2199")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    **{name: partial(_integer, name) for name in LIMITS},
    **{name: partial(_flag, name) for name in _FLAGS},
    **{name: partial(_number, name, low=0.0, high=1_000.0) for name in _WEIGHTS},
    "min_score": partial(_number, "min_score", low=-1.0, high=1.0),
    "mix_weights": _mix_weights,
    "predicates": partial(_strings, "predicates"),
    "seeds": partial(_strings, "seeds"),
    "direction": _direction,
    "plan": parse_plan,
    "document_filter": _document_filter,
    "metadata_filter": _metadata_filter,
    "llm_model": check_model,
    "as_of": moment,
    "user": check_user,
    "conversation_id": check_conversation_id,
    "conversation_owner": check_user,
}
"""How each remaining field is read."""
