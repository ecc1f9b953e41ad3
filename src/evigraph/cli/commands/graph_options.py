"""Options that the reading `graph` commands share, and the fields of the API they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from evigraph.cli.values import generation_or_time, key_values

_FILTER = "Which documents"


def _filter(help_text: str) -> Any:
    return typer.Option(help=help_text, show_default=False, rich_help_panel=_FILTER)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeOptions:
    """Which state and which documents a command sees."""

    document_id: Annotated[list[str] | None, _filter("Only this document; may be repeated.")] = None
    pattern: Annotated[str | None, _filter("Only sources matching this glob, in union with ids.")] = None
    date_from: Annotated[str | None, _filter("Only documents from this day, YYYY-MM-DD.")] = None
    date_to: Annotated[str | None, _filter("Only documents up to this day.")] = None
    meta: Annotated[list[str] | None, _filter("Only documents with this metadata, key=value; may be repeated.")] = None
    as_of: Annotated[str | None, _filter("An earlier state: a generation, or a time in ISO 8601.")] = None

    def fields(self) -> dict[str, Any]:
        """The fields that were given."""
        documents = {
            "document_ids": self.document_id or None,
            "pattern": self.pattern,
            "date_from": self.date_from,
            "date_to": self.date_to,
        }
        given = {name: value for name, value in documents.items() if value is not None}
        return {
            "document_filter": given or None,
            "metadata_filter": key_values(self.meta) or None,
            "as_of": None if self.as_of is None else generation_or_time(self.as_of),
        }
