"""`schema`: the domain schema of a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.commands.documents import AsOfOption
from evigraph.cli.commands.plan import read_json
from evigraph.cli.render import emit, say, shorten, table
from evigraph.cli.session import Session, command

SYNONYMS_WIDTH = 60


def install(app: typer.Typer) -> None:
    group = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command(group)(show)
    command(group, "show")(show)
    command(group, "set")(set_from)
    command(group, "remove")(remove)
    app.add_typer(group, name="schema")


def show(session: Session, as_of: AsOfOption = None) -> None:
    """Show the domain schema: the one given, else what the visible assertions use, with counts."""
    with session.backend() as backend:
        found = backend.schema(as_of=as_of)
    if session.as_json:
        emit(found)
        return
    say("inferred from the visible assertions" if found["inferred"] else "as given")
    if found["types"]:
        last = "entities" if found["inferred"] else "description"
        table(
            ("type", last), ((t["name"], t["count"] if found["inferred"] else t["description"]) for t in found["types"])
        )
    if found["predicates"]:
        table(
            ("predicate", "domain", "range", "assertions" if found["inferred"] else "synonyms"),
            (
                (
                    p["name"],
                    ", ".join(p["domain"]) or "any",
                    ", ".join(p["range"]) or "any",
                    p["count"] if found["inferred"] else shorten(", ".join(p["synonyms"]), SYNONYMS_WIDTH),
                )
                for p in found["predicates"]
            ),
        )
    if found["omitted"]:
        say(f"and {found['omitted']} rarer predicates")


def set_from(
    session: Session,
    file: Annotated[
        str, typer.Argument(help="The schema as JSON; - reads standard input.", metavar="FILE", show_default=False)
    ],
) -> None:
    """Give the workspace a domain schema: `{"types": [{"name"}], "predicates": [{"name", "domain", "range"}]}`."""
    schema = read_json(file)
    with session.backend() as backend:
        done = backend.set_schema(schema)
    if session.as_json:
        emit(done)
    else:
        say(f"schema set; generation {done['generation']}")


def remove(session: Session) -> None:
    """Take the given schema back; it is inferred again."""
    with session.backend() as backend:
        done = backend.set_schema(None)
    if session.as_json:
        emit(done)
    else:
        say(f"schema removed; generation {done['generation']}")
