"""`conversations`: list, show, share and delete what `ask --conversation` keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from evigraph.cli.render import emit, note, say, table
from evigraph.cli.session import Session, command

IdArgument = Annotated[str, typer.Argument(help="The conversation's id.", metavar="ID", show_default=False)]
UserOption = Annotated[
    str, typer.Option("--user", help="Who asks: conversations are each user's own.", show_default=False)
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", help="How many at most, the newest. Default: 50.", show_default=False)
]
OffsetOption = Annotated[
    int | None, typer.Option("--offset", help="How many to skip, from the newest.", show_default=False)
]


def install(app: typer.Typer) -> None:
    group = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="List, show, share and delete conversations: the questions that `ask --conversation` keeps.",
    )
    command(group, "list")(list_)
    for function in (show, share, delete):
        command(group, function.__name__)(function)
    app.add_typer(group, name="conversations")


def list_(session: Session, *, user: UserOption = "", limit: LimitOption = None, offset: OffsetOption = None) -> None:
    """List the user's conversations and those shared with the workspace, those with the newest turn first."""
    with session.backend() as backend:
        found = backend.conversations.list(user, {"limit": limit, "offset": offset})
    if session.as_json:
        emit(found)
        return
    listed = found["conversations"]
    if not listed:
        say("no conversations")
        return
    rows = ((c["id"], c["owner"], "yes" if c["shared"] else "no", c["turns"], c["updated_at"]) for c in listed)
    table(("conversation", "owner", "shared", "turns", "last turn"), rows)
    if found["total"] > len(listed):
        note(f"{len(listed)} of {found['total']} conversations are shown")


def show(
    session: Session,
    conversation_id: IdArgument,
    *,
    user: UserOption = "",
    owner: Annotated[
        str | None,
        typer.Option("--owner", help="Whose it is, where another user shared it.", show_default=False),
    ] = None,
    limit: LimitOption = None,
    offset: OffsetOption = None,
) -> None:
    """Show the turns of a conversation, oldest first.

    What was taken from a document that has been deleted or replaced since is withheld.
    """
    with session.backend() as backend:
        found = backend.conversations.show(conversation_id, user, {"owner": owner, "limit": limit, "offset": offset})
    if session.as_json:
        emit(found)
        return
    for turn in found["turns"]:
        _turn(turn)
    if found["total"] > len(found["turns"]):
        note(f"{len(found['turns'])} of {found['total']} turns are shown")


def share(
    session: Session,
    conversation_id: IdArgument,
    *,
    user: UserOption = "",
    off: Annotated[bool, typer.Option("--off", help="End that: the owner's alone again.")] = False,
) -> None:
    """Let the whole workspace read and continue one's conversation."""
    with session.backend() as backend:
        done = backend.conversations.share(conversation_id, user, not off)
    if session.as_json:
        emit(done)
    else:
        say(f"{conversation_id} is {'shared with the workspace' if done['shared'] else 'its owner’s alone'}")


def delete(session: Session, conversation_id: IdArgument, *, user: UserOption = "") -> None:
    """Delete one's conversation. Nobody finds it from now on; `prune` removes its text from the store."""
    with session.backend() as backend:
        done = backend.conversations.delete(conversation_id, user)
    if session.as_json:
        emit(done)
    else:
        say(f"deleted {conversation_id}; `evigraph prune` removes its text from the store")


def _turn(turn: Mapping[str, Any]) -> None:
    by = f" ({turn['asked_by']})" if turn["asked_by"] else ""
    say(f"{turn['turn']}.{by} {turn['question']}")
    meant = turn["standalone_question"]
    if meant is not None and meant != turn["question"]:
        say(f"   meant: {meant}")
    if turn["answer"] is not None:
        say(f"   {turn['answer']}")
    elif turn["abstained"]:
        say("   no answer")
    if turn["withheld"]:
        say("   withheld: a document that this rests on has been deleted or replaced")
