"""`plan`: execute a typed plan, or one proposed for a question."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from evigraph.cli.commands.ask import ABSTAINED
from evigraph.cli.render import answer, emit, say, table
from evigraph.cli.session import Session, command
from evigraph.cli.themes import overview
from evigraph.cli.values import generation_or_time, key_values
from evigraph.errors import CorruptDocument, MissingFile


def install(app: typer.Typer) -> None:
    command(app, "plan")(plan)


def _option(help_text: str, *names: str) -> Any:
    return typer.Option(*names, help=help_text, show_default=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """One field an option."""

    document_id: Annotated[list[str] | None, _option("Only this document; may be repeated.")] = None
    pattern: Annotated[str | None, _option("Only sources matching this glob, in union with ids.")] = None
    date_from: Annotated[str | None, _option("Only documents from this day, YYYY-MM-DD.")] = None
    date_to: Annotated[str | None, _option("Only documents up to this day.")] = None
    meta: Annotated[list[str] | None, _option("Only documents with this metadata, key=value; may be repeated.")] = None
    as_of: Annotated[str | None, _option("An earlier state: a generation, or a time in ISO 8601.")] = None
    max_chunks: Annotated[int | None, _option("Passages at most. Default: 10.")] = None
    llm_model: Annotated[str | None, _option("Chat model instead of the configured one.")] = None

    def request(self) -> dict[str, Any]:
        """The fields of the query API that were given."""
        chosen = {
            "document_ids": self.document_id or None,
            "pattern": self.pattern,
            "date_from": self.date_from,
            "date_to": self.date_to,
        }
        given = {
            "document_filter": {name: value for name, value in chosen.items() if value is not None} or None,
            "metadata_filter": key_values(self.meta) or None,
            "as_of": None if self.as_of is None else generation_or_time(self.as_of),
            "max_chunks": self.max_chunks,
            "llm_model": self.llm_model,
        }
        return {name: value for name, value in given.items() if value is not None}


def plan(
    session: Session,
    options: PlanOptions,
    file: Annotated[
        str | None, typer.Argument(help="The plan as JSON; - reads standard input.", metavar="FILE", show_default=False)
    ] = None,
    question: Annotated[
        str | None, _option("Have the chat model propose a plan for this question.", "--question")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also show what each step did.")] = False,
) -> None:
    """Execute a typed plan over the graph: match, hop, intersect, filter, count. Each binding is cited.

    Exit code 0: answered; 3: abstained, naming the step, the reason and what would have been valid; 1: error.
    """
    if (file is None) == (question is None):
        raise typer.BadParameter("give either a plan as FILE, or --question")
    asked: dict[str, Any] | str = question if question is not None else read_json(str(file))
    with session.backend() as backend:
        outcome = backend.plan(asked, options.request())
    if session.as_json:
        emit(outcome)
    else:
        answer(outcome)
        overview(outcome)
        found = outcome["plan"]
        if found and found["alternatives"]:
            say(f"valid instead: {', '.join(found['alternatives'])}")
        if explain and found:
            explained(found)
    if outcome["abstained"]:
        raise typer.Exit(ABSTAINED)


def explained(found: Mapping[str, Any]) -> None:
    """Who wrote the plan, the plan where that was a model, and a row for each step."""
    if found["proposed_by"] == "model" and found["plan"] is not None:
        say(f"plan proposed by the model: {json.dumps(found['plan'], ensure_ascii=False)}")
    table(
        ("step", "op", "in", "out", "rows", "truncated", "ms"),
        (
            (
                step["id"],
                step["op"],
                step["in"],
                step["out"],
                step["rows"],
                "yes" if step["truncated"] else "no",
                round(step["step_ms"] or 0.0, 1),
            )
            for step in found["steps"]
        ),
    )


def read_json(name: str) -> dict[str, Any]:
    """The JSON object of a file, or of standard input for `-`."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
        found = json.loads(text)
    except OSError as error:
        raise MissingFile(f"{name}: {error.strerror}", hint="name a file of JSON, or - for standard input") from None
    except (ValueError, RecursionError) as error:
        raise CorruptDocument(f"{name} is not valid JSON: {error}", hint="write it as UTF-8 JSON") from None
    if not isinstance(found, dict):
        raise CorruptDocument(f"{name} holds no JSON object", hint="it must begin with {")
    return found
