"""`bases`: knowledge bases. `index --base` fills one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from evigraph.cli.render import emit, say, table
from evigraph.cli.session import Session, command

IdArgument = Annotated[str, typer.Argument(help="The knowledge base's id.", metavar="ID", show_default=False)]
NameOption = Annotated[str | None, typer.Option("--name", help="Another name.", show_default=False)]
DescriptionOption = Annotated[str | None, typer.Option("--description", help="What it holds.", show_default=False)]
ModelOption = Annotated[
    str | None,
    typer.Option("--llm-model", help='Chat model instead of the configured one; "" for none.', show_default=False),
]


def install(app: typer.Typer) -> None:
    group = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="Make, list, change and delete knowledge bases: named sets of documents. `index --base` fills one.",
    )
    command(group, "list")(list_)
    for function in (create, show, update, delete, documents, remove):
        command(group, function.__name__)(function)
    app.add_typer(group, name="bases")


def list_(session: Session) -> None:
    """List the knowledge bases, by name."""
    with session.backend() as backend:
        found = backend.knowledge_bases.list()
    if session.as_json:
        emit(found)
    elif not found["knowledge_bases"]:
        say("no knowledge bases")
    else:
        table(
            ("id", "name", "documents", "passages", "embedding model", "chat model"),
            (
                (b["id"], b["name"], b["documents"], b["passages"], b["embedding_model"], b["llm_model"] or "")
                for b in found["knowledge_bases"]
            ),
        )


def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Its name, unique in the workspace.", show_default=False)],
    *,
    description: DescriptionOption = None,
    llm_model: ModelOption = None,
    embedding_model: Annotated[
        str | None,
        typer.Option(
            "--embedding-model",
            help="One of EVIGRAPH_EMBEDDERS instead of the workspace's; for good.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make an empty knowledge base."""
    fields = changes(description=description, llm_model=llm_model, embedding_model=embedding_model)
    with session.backend() as backend:
        made = backend.knowledge_bases.create({"name": name, **fields})
    if session.as_json:
        emit(made)
    else:
        say(f"made {made['id']}; `evigraph index --base {made['id']}` fills it")


def show(session: Session, base_id: IdArgument) -> None:
    """Show one knowledge base."""
    with session.backend() as backend:
        found = backend.knowledge_bases.show(base_id)
    shown(session, found)


def update(
    session: Session,
    base_id: IdArgument,
    *,
    name: NameOption = None,
    description: DescriptionOption = None,
    llm_model: ModelOption = None,
) -> None:
    """Change a knowledge base's name, description or chat model."""
    with session.backend() as backend:
        fields = changes(name=name, description=description, llm_model=llm_model)
        changed = backend.knowledge_bases.update(base_id, fields)
    shown(session, changed)


def delete(session: Session, base_id: IdArgument) -> None:
    """Delete a knowledge base with its documents, and nothing else. `prune` removes the text for good."""
    with session.backend() as backend:
        done = backend.knowledge_bases.delete(base_id)
    if session.as_json:
        emit(done)
    else:
        say(f"deleted {base_id} with {done['documents']} documents; generation {done['generation']}")


def documents(session: Session, base_id: IdArgument) -> None:
    """List a knowledge base's visible documents, by source."""
    with session.backend() as backend:
        found = backend.knowledge_bases.documents(base_id)
    if session.as_json:
        emit(found)
    elif not found["documents"]:
        say("no documents")
    else:
        table(
            ("document", "source", "title", "date", "revision", "passages"),
            (
                (d["document_id"], d["source"], d["title"], d["date"], d["revision"], d["passages"])
                for d in found["documents"]
            ),
        )


def remove(
    session: Session,
    base_id: IdArgument,
    document_id: Annotated[str, typer.Argument(help="The document's id.", metavar="DOCUMENT", show_default=False)],
) -> None:
    """Delete one of a knowledge base's documents."""
    with session.backend() as backend:
        done = backend.knowledge_bases.remove(base_id, document_id)
    if session.as_json:
        emit(done)
    else:
        say(f"deleted {document_id}; generation {done['generation']}")


def changes(**given: Any) -> dict[str, Any]:
    """Fields for which an option was given; an empty chat model takes back the one there is."""
    return {
        name: None if name == "llm_model" and value == "" else value
        for name, value in given.items()
        if value is not None
    }


def shown(session: Session, found: dict[str, Any]) -> None:
    """One base or pipeline, field by field."""
    if session.as_json:
        emit(found)
    else:
        table(("field", "value"), ((name, "" if value is None else value) for name, value in found.items()))
