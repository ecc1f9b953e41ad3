"""Query parameters that several routes share: `as_of`, and the filters, spelled as in the query API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Query

from evigraph.errors import InvalidValue
from evigraph.query.checks import check_text
from evigraph.query.request import parse
from evigraph.server.routes.documents import AsOf

MAX_FILTER_CHARS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadScope:
    """Which state and which documents a read sees."""

    as_of: Any
    document_filter: Any
    metadata_filter: Any

    def fields(self) -> dict[str, Any]:
        """Arguments of the engine's reads."""
        return {
            "as_of": self.as_of,
            "document_filter": self.document_filter,
            "metadata_filter": self.metadata_filter,
        }


def json_parameter(name: str, text: str | None) -> Any:
    """The JSON value of a query parameter. Raises `InvalidValue`."""
    if text is None:
        return None
    try:
        if len(text) > MAX_FILTER_CHARS:
            raise ValueError("too long")
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidValue(
            f"the query parameter {name} is not JSON", hint=f"for example {name}={EXAMPLES[name]}, percent-encoded"
        ) from None


EXAMPLES = {
    "document_filter": '{"document_ids": ["memo"], "date_from": "2014-01-01"}',
    "metadata_filter": '{"region": "north"}',
    "predicates": '["DELIVERED"]',
}


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def decoded(what: str, raw: str) -> str:
    """A percent-encoded piece of a path. Raises `InvalidValue` or `InvalidQuery`."""
    try:
        return check_text(what, unquote_to_bytes(raw).decode())
    except UnicodeDecodeError:
        raise InvalidValue(f"{what} is not UTF-8", hint="percent-encode its UTF-8 bytes") from None


async def _scope(
    as_of: AsOf,
    document_filter: Annotated[
        str | None,
        Query(
            description="A JSON object, as in the query API: `document_ids`, `pattern`, `date_from`, `date_to`, "
            "`knowledge_bases`.",
            examples=[EXAMPLES["document_filter"]],
        ),
    ] = None,
    metadata_filter: Annotated[
        str | None,
        Query(
            description="A JSON object: `source` (file name), `document_id`, or any metadata key; all must match.",
            examples=[EXAMPLES["metadata_filter"]],
        ),
    ] = None,
) -> ReadScope:
    documents = json_parameter("document_filter", document_filter)
    metadata = json_parameter("metadata_filter", metadata_filter)
    read = parse({"query": "-", "document_filter": documents, "metadata_filter": metadata})
    return ReadScope(as_of=as_of, document_filter=read.document_filter, metadata_filter=read.metadata_filter)


async def _predicates(
    predicates: Annotated[
        str | None,
        Query(
            description="A JSON list of the predicates to follow; all where left out.",
            examples=[EXAMPLES["predicates"]],
        ),
    ] = None,
) -> tuple[str, ...] | None:
    return parse({"query": "-", "predicates": json_parameter("predicates", predicates)}).predicates


ScopeOf = Annotated[ReadScope, Depends(_scope)]
PredicatesOf = Annotated[tuple[str, ...] | None, Depends(_predicates)]
