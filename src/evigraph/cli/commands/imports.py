"""`import`: a graph made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from evigraph.cli.progress import bar
from evigraph.cli.render import emit, say, shorten, table
from evigraph.cli.session import Session, command
from evigraph.cli.values import key_values

SHOWN = 3
"""Examples of each problem in the table; `--json` has more."""


def install(app: typer.Typer) -> None:
    command(app, "import")(import_graph)


def import_graph(
    session: Session,
    path: Annotated[str, typer.Argument(help="A folder, or a file in it.", show_default=False)],
    format: Annotated[
        str | None,
        typer.Option("--format", help="graphrag, openie or jsonl. Default: found out.", show_default=False),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(help="key=value added to each document; may be repeated.", show_default=False),
    ] = None,
    extract: Annotated[
        bool,
        typer.Option("--extract", help="Also run the extractor over the passages, for what the graph lacks."),
    ] = False,
) -> None:
    """Import a graph: a GraphRAG output folder, a corpus with OpenIE triples, or what `export` wrote.

    Rows that cannot be used are listed with their reason and the rest goes on. Exit code 1 if nothing could be
    imported.
    """
    added = key_values(metadata)
    with session.backend() as backend, bar("importing", quiet=session.as_json) as progress:
        outcome = backend.import_graph(path, format=format, metadata=added, extract=extract, progress=progress)
    if session.as_json:
        emit(outcome)
    else:
        report(outcome)
    if not outcome["documents"]:
        raise typer.Exit(1)


def report(outcome: Mapping[str, Any]) -> None:
    """What was read, what was made of it, and what was not."""
    unchanged = sum(1 for document in outcome["documents"] if document["status"] == "unchanged")
    counts = outcome["counts"]
    say(
        f"{outcome['format']}: {counts['documents']} documents ({unchanged} unchanged), {counts['passages']} passages, "
        f"{counts['entities']} entities, {counts['assertions']} assertions in {outcome['seconds']:.1f} s; "
        f"generation {outcome['generation']}"
    )
    read = [(name, count, outcome["not_imported"].get(name, "")) for name, count in outcome["rows"].items()]
    table(("rows", "read", "not imported, because"), read)
    made = [(name.replace("_", " "), count) for name, count in counts.items() if count]
    if made:
        table(("made", "count"), made)
    rows = [
        (problem["reason"], problem["count"], _where(example), shorten(example["detail"], 100))
        for problem in outcome["problems"]
        for example in problem["examples"][:SHOWN]
    ]
    if rows:
        table(("problem", "rows", "for example", "detail"), rows)
    if outcome["errors"]:
        table(("failed", "code", "cause"), ((e["source"], e["code"], e["message"]) for e in outcome["errors"]))


def _where(example: Mapping[str, Any]) -> str:
    return f"{example['file']}:{example['row']}" if example["row"] else str(example["file"])
