"""`documents` and `delete`."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.render import emit, say, table
from evigraph.cli.session import Session, command

AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", help="An earlier state: a generation, or a time.", show_default=False),
]
IdArgument = Annotated[str, typer.Argument(help="The document's id.", metavar="ID", show_default=False)]


def install(app: typer.Typer) -> None:
    group = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command(group)(list_all)
    command(group, "list")(list_all)
    command(group, "show")(show)
    command(group, "revisions")(revisions)
    app.add_typer(group, name="documents")
    command(app, "delete")(delete)


def list_all(session: Session, as_of: AsOfOption = None) -> None:
    """List the visible documents, by source; `show` and `revisions` tell more of one."""
    with session.backend() as backend:
        found = backend.documents(as_of=as_of)
    if session.as_json:
        emit({"documents": found})
        return
    if not found:
        say("no documents")
        return
    table(
        ("document", "source", "title", "date", "revision", "passages"),
        ((d["document_id"], d["source"], d["title"], d["date"], d["revision"], d["passages"]) for d in found),
    )


def show(
    session: Session,
    document_id: IdArgument,
    text: Annotated[bool, typer.Option("--text", help="Print the extracted text as well.")] = False,
    as_of: AsOfOption = None,
) -> None:
    """Show one document."""
    with session.backend() as backend:
        found = backend.document(document_id, as_of=as_of)
        content = backend.document_text(document_id, revision=found["revision"]) if text else None
    if session.as_json:
        emit(found if content is None else {**found, "text": content})
        return
    table(("field", "value"), ((name, value) for name, value in _flat(found)))
    if content is not None:
        say(content)


def revisions(session: Session, document_id: IdArgument) -> None:
    """Show a document's history, deletions included, oldest first."""
    with session.backend() as backend:
        found = backend.revisions(document_id)
    if session.as_json:
        emit({"revisions": found})
        return
    table(
        ("revision", "generation", "published (UTC)", "state", "passages", "title"),
        (
            (
                r["revision"],
                r["generation"],
                r["published_at"][:19],
                "deleted" if r["deleted"] else "published",
                r["passages"],
                r["title"],
            )
            for r in found
        ),
    )


def delete(session: Session, document_id: IdArgument) -> None:
    """Delete a document: nothing shows it any more. `prune` removes its text for good."""
    with session.backend() as backend:
        done = backend.delete(document_id)
    if session.as_json:
        emit(done)
    else:
        say(f"deleted {document_id}; generation {done['generation']}")


def _flat(found: dict[str, object]) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            rows += [(f"{name}.{key}", item) for key, item in value.items()]
        else:
            rows.append((name, value))
    return rows
