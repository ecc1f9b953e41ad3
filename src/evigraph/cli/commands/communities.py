"""`communities`: build, renew and show the communities that corpus-wide questions use."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from evigraph.cli import themes
from evigraph.cli.commands.documents import AsOfOption
from evigraph.cli.commands.graph_options import ScopeOptions
from evigraph.cli.progress import bar
from evigraph.cli.render import emit, note
from evigraph.cli.session import Session, command

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the chat model is called; no terminal is never asked.")
]


def install(app: typer.Typer) -> None:
    group = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="Build, renew and show communities: the themes that corpus-wide questions are answered from.",
    )
    for function in (build, refresh, status, show):
        command(group, function.__name__)(function)
    app.add_typer(group, name="communities")


def build(session: Session, *, yes: YesOption = False) -> None:
    """Cluster the graph anew and summarise its communities; summaries whose inputs are the same are kept.

    Says beforehand what that asks of the chat model, if one is configured, and afterwards what it did.
    """
    with session.backend() as backend:
        expected = backend.communities.status({})["build_estimate"]
        if expected is not None and expected["calls"]:
            _confirm(themes.estimate(expected), yes=yes, quiet=session.as_json)
        with bar("building communities", quiet=session.as_json) as progress:
            done = backend.communities.build(progress=progress)
    if session.as_json:
        emit(done)
    else:
        themes.built(done)


def refresh(session: Session) -> None:
    """Keep the communities and renew the summaries whose inputs changed."""
    with session.backend() as backend, bar("renewing summaries", quiet=session.as_json) as progress:
        done = backend.communities.refresh(progress=progress)
    if session.as_json:
        emit(done)
    else:
        themes.built(done)


def status(session: Session, as_of: AsOfOption = None) -> None:
    """Say what is built, how much has changed since, and what a build would cost."""
    with session.backend() as backend:
        found = backend.communities.status(ScopeOptions(as_of=as_of).fields())
    if session.as_json:
        emit(found)
    else:
        themes.status(found)


def show(
    session: Session,
    scope: ScopeOptions,
    *,
    community_id: Annotated[
        str | None,
        typer.Argument(help="One community, such as c3; a whole level where left out.", metavar="ID"),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option("--level", help="0 is the broadest; larger is finer. Default: 0.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="How many at most. Default: 50.", show_default=False)
    ] = None,
    offset: Annotated[int | None, typer.Option("--offset", help="How many to skip.", show_default=False)] = None,
) -> None:
    """Show the communities of a level, largest first, or one whole.

    With filters, the communities are those of the documents in scope, and their ids hold within that scope.
    """
    listed = {"level": level, "limit": limit, "offset": offset}
    if community_id is not None and any(value is not None for value in listed.values()):
        raise typer.BadParameter("--level, --limit and --offset choose from a level; leave them out with an ID")
    with session.backend() as backend:
        if community_id is None:
            found = backend.communities.show({**listed, **scope.fields()})
        else:
            found = backend.communities.community(community_id, scope.fields())
    if session.as_json:
        emit(found)
    elif community_id is None:
        themes.communities(found)
    else:
        themes.community(found)


def _confirm(expected: str, *, yes: bool, quiet: bool) -> None:
    """Tell the cost; where somebody sits at a terminal, ask whether to go on. Ends the command if not."""
    asked = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if asked or not quiet:
        note(expected)
    if asked:
        typer.confirm("Go on?", abort=True, err=True)
