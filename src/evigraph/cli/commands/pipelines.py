"""`pipelines`: ways of questioning knowledge bases. `ask --pipeline` asks one."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.commands.bases import ModelOption, NameOption, changes, shown
from evigraph.cli.render import emit, say, table
from evigraph.cli.session import Session, command
from evigraph.cli.values import json_values

IdArgument = Annotated[str, typer.Argument(help="The pipeline's id.", metavar="ID", show_default=False)]
BaseOption = Annotated[
    list[str] | None,
    typer.Option("--base", help="Id of a knowledge base to ask; may be repeated.", show_default=False),
]
DefaultOption = Annotated[
    list[str] | None,
    typer.Option(
        "--default",
        help="field=value for its questions: mode, method, top_k, rerank, rerank_top_k, compress, hybrid, "
        "parent_context or web_search; may be repeated.",
        show_default=False,
    ),
]


def install(app: typer.Typer) -> None:
    group = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="Make, list, change and delete pipelines: how knowledge bases are questioned. `ask --pipeline` asks one.",
    )
    command(group, "list")(list_)
    for function in (create, show, update, delete):
        command(group, function.__name__)(function)
    app.add_typer(group, name="pipelines")


def list_(session: Session) -> None:
    """List the pipelines, by name."""
    with session.backend() as backend:
        found = backend.pipelines.list()
    if session.as_json:
        emit(found)
    elif not found["pipelines"]:
        say("no pipelines")
    else:
        table(
            ("id", "name", "knowledge bases", "chat model"),
            ((p["id"], p["name"], ", ".join(p["knowledge_bases"]), p["llm_model"] or "") for p in found["pipelines"]),
        )


def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Its name, unique in the workspace.", show_default=False)],
    *,
    base: BaseOption = None,
    llm_model: ModelOption = None,
    default: DefaultOption = None,
) -> None:
    """Make a pipeline over one knowledge base or more."""
    fields = {"name": name, "knowledge_bases": base or [], **changes(llm_model=llm_model)}
    with session.backend() as backend:
        made = backend.pipelines.create({**fields, "defaults": json_values(default)})
    if session.as_json:
        emit(made)
    else:
        say(f"made {made['id']}; `evigraph ask --pipeline {made['id']}` asks it")


def show(session: Session, pipeline_id: IdArgument) -> None:
    """Show one pipeline."""
    with session.backend() as backend:
        found = backend.pipelines.show(pipeline_id)
    shown(session, found)


def update(
    session: Session,
    pipeline_id: IdArgument,
    *,
    name: NameOption = None,
    base: BaseOption = None,
    llm_model: ModelOption = None,
    default: DefaultOption = None,
) -> None:
    """Change a pipeline. Bases, and defaults, take the place of all there were."""
    fields = changes(name=name, knowledge_bases=base or None, llm_model=llm_model)
    with session.backend() as backend:
        changed = backend.pipelines.update(
            pipeline_id, {**fields, **({"defaults": json_values(default)} if default else {})}
        )
    shown(session, changed)


def delete(session: Session, pipeline_id: IdArgument) -> None:
    """Delete a pipeline; its knowledge bases stay as they are."""
    with session.backend() as backend:
        done = backend.pipelines.delete(pipeline_id)
    if session.as_json:
        emit(done)
    else:
        say(f"deleted {pipeline_id}")
