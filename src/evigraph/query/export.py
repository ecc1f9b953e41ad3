"""The visible, filtered graph of a workspace as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evigraph.errors import InvalidValue, UnknownField
from evigraph.graph.export import graphml, jsonl
from evigraph.query.request import parse
from evigraph.store import Snapshot, Store
from evigraph.wire import plain

FORMATS = ("jsonl", "graphml")
FILTERS = ("as_of", "document_filter", "metadata_filter")


def export_graph(store: Store, workspace: str, format: str, filters: Mapping[str, Any]) -> Iterator[str]:
    """The graph in pieces of text. The generation is pinned at the call and let go when the last piece was taken, or
    the iterator is closed. Raises `InvalidValue`, `UnknownField` and `BeforePruneHorizon` at once."""
    if format not in FORMATS:
        raise InvalidValue(f"unknown export format {str(format)[:40]!r}", hint=f"valid: {', '.join(FORMATS)}")
    unknown = sorted(set(filters) - set(FILTERS))
    if unknown:
        raise UnknownField(unknown[0], FILTERS)
    request = parse({"query": "export", **filters})
    pieces = _pieces(store, workspace, format, request)
    next(pieces)  # opens the snapshot
    return pieces


def _pieces(store: Store, workspace: str, format: str, request: Any) -> Iterator[str]:
    with store.snapshot(
        workspace,
        as_of=request.as_of,
        document_filter=request.document_filter,
        metadata_filter=request.metadata_filter,
    ) as snapshot:
        yield ""
        yield from _graphml(snapshot) if format == "graphml" else _jsonl(snapshot, request)


def _graphml(snapshot: Snapshot) -> Iterator[str]:
    return graphml(snapshot.generation, snapshot.export_entities(), snapshot.export_assertions())


def _jsonl(snapshot: Snapshot, request: Any) -> Iterator[str]:
    header = {
        "generation": snapshot.generation,
        "model": snapshot.model,
        "document_filter": plain(request.document_filter),
        "metadata_filter": plain(request.metadata_filter),
    }
    return jsonl(header, snapshot.export_documents(), snapshot.export_descriptions(), snapshot.export_entities())
