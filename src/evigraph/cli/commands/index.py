"""`index`: files and folders into the graph."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.progress import bar
from evigraph.cli.render import emit, estimated, note, report
from evigraph.cli.session import Session, command
from evigraph.cli.values import key_values


def install(app: typer.Typer) -> None:
    command(app, "index")(index)


def index(
    session: Session,
    paths: Annotated[list[str], typer.Argument(help="Files, folders or quoted globs.", show_default=False)],
    metadata: Annotated[
        list[str] | None,
        typer.Option(help="key=value added to each document; may be repeated.", show_default=False),
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Also delete documents whose files are gone from the folders.")
    ] = False,
    root: Annotated[
        str | None,
        typer.Option(help="Folder that bounds what is read; sources are named relative to it.", show_default=False),
    ] = None,
    *,
    base: Annotated[str | None, typer.Option(help="Id of a knowledge base to index into.", show_default=False)] = None,
    build_tree: Annotated[
        bool,
        typer.Option(
            "--build-tree", help="Also make a tree of summaries of each document, which method raptor searches."
        ),
    ] = False,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Only tell what extraction by the chat model would cost; index nothing."),
    ] = False,
) -> None:
    """Index documents. Unchanged content costs nothing; what fails is listed and the rest goes on.

    Reads .txt .md .html .pdf .docx .csv .tsv .json .jsonl. Exit code 1 if any document failed.
    """
    added = key_values(metadata)
    if estimate:
        if build_tree:
            note("note: summaries of trees are not part of the estimate")
        with session.backend() as backend:
            expected = backend.estimate(paths, root=root, metadata=added)
        if session.as_json:
            emit(expected)
        else:
            estimated(expected)
        return
    with session.backend() as backend, bar("indexing", quiet=session.as_json) as progress:
        outcome = backend.index(
            paths,
            root=root,
            metadata=added,
            sync=sync,
            build_tree=build_tree,
            knowledge_base=base,
            progress=progress,
        )
    if session.as_json:
        emit(outcome)
    else:
        report(outcome)
    if outcome["errors"]:
        raise typer.Exit(1)
