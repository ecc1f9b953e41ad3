"""`ask`: a question to the graph."""

from __future__ import annotations

from typing import Annotated

import typer

from evigraph.cli.commands.ask_options import AskOptions
from evigraph.cli.explain import explain as ledger
from evigraph.cli.render import answer, emit
from evigraph.cli.session import Session, command
from evigraph.cli.themes import overview

ABSTAINED = 3
"""Exit code for "there is no evidence", which is neither an answer nor an error."""


def install(app: typer.Typer) -> None:
    command(app, "ask")(ask)


def ask(
    session: Session,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    options: AskOptions,
    *,
    pipeline: Annotated[
        str | None,
        typer.Option(
            help="Ask the knowledge bases of this pipeline, by its id; of the other options only those apply that its "
            "queries know, and --max-chunks is their top_k.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also show every stage with its counts, time, calls and tokens, and what auto decided and why.",
        ),
    ] = False,
) -> None:
    """Answer a question from the evidence, with numbered citations that were checked.

    Exit code 0: answered; 3: abstained for want of evidence, with the reason; 1: error.
    """
    with session.backend() as backend:
        given = options.request()
        if pipeline is None:
            outcome = backend.ask(question, given)
        else:
            user = given.pop("user", "")
            fields = {"top_k" if name == "max_chunks" else name: value for name, value in given.items()}
            outcome = backend.pipelines.query(pipeline, question, user, fields)
    if session.as_json:
        emit(outcome)
    else:
        answer(outcome)
        overview(outcome, explain=explain)
        if explain:
            ledger(outcome)
    if outcome["abstained"]:
        raise typer.Exit(ABSTAINED)
