"""`export`: the visible graph as a file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Annotated, BinaryIO

import typer

from evigraph.cli.commands.graph_options import ScopeOptions
from evigraph.cli.render import emit, note
from evigraph.cli.session import Session, command
from evigraph.errors import InvalidValue


def install(app: typer.Typer) -> None:
    command(app, "export")(export)


def export(
    session: Session,
    scope: ScopeOptions,
    *,
    format: Annotated[str, typer.Option("--format", help="jsonl, which `import` reads, or graphml.")] = "jsonl",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File to write. Default: standard output.", show_default=False),
    ] = None,
) -> None:
    """Write the visible graph as JSON Lines or GraphML.

    JSON Lines can be imported again. Not in it are the domain schema (see `schema show`), earlier revisions, and single
    merges with their reasons: merged entities are written as the groups that they make.
    """
    given = {name: value for name, value in scope.fields().items() if value is not None}
    if session.as_json and output is None:
        raise typer.BadParameter("--json needs --output, since the graph itself goes to standard output")
    with session.backend() as backend:
        pieces = backend.export(format, given)
        with _target(output) as target:
            written = 0
            for piece in pieces:
                written += target.write(piece.encode("utf-8", "replace"))
    if session.as_json:
        emit({"output": output, "format": format, "bytes": written})
    elif output is not None:
        note(f"wrote {written:,} bytes to {output}")


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that takes its name only when it is complete. Raises `InvalidValue`."""
    from evigraph.files import writing

    if output is not None:
        with writing(output) as file:
            yield file
    elif sys.stdout is None:  # the shell's `>&-`
        raise InvalidValue("standard output is closed", hint="name a file with --output")
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
