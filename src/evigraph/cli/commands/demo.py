"""`demo`: the shipped sample corpus, indexed and questioned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from evigraph.cli.progress import bar
from evigraph.cli.render import answer, emit, report, say
from evigraph.cli.session import Session, command
from evigraph.cli.themes import built, overview

if TYPE_CHECKING:
    from evigraph.cli.backend import Backend

FOLDER = ".demo/evigraph-data"

QUESTIONS = (
    ("lookup", "Of the 42 boreholes drilled from Dembure in 2014, how many gave enough water to be equipped?"),
    ("multi-hop", "How large a grant did the cooperative chaired by Jonas Kipp get to rebuild its pans?"),
    ("corpus-wide", "What do the reports say overall about what is left of training after a few years?"),
    ("no evidence", "Who built the hospital at Merrow Heights?"),
)
"""What the sample shows: kind and question, each a labelled question of the sample."""
OPTIONS: dict[str, dict[str, Any]] = {"corpus-wide": {"mode": "auto"}}
"""How a kind is asked, if not by the defaults."""


def install(app: typer.Typer) -> None:
    command(app, "demo")(demo)


def demo(
    session: Session,
    folder: Annotated[str, typer.Option(help="Where the demo keeps its store.")] = FOLDER,
) -> None:
    """Index the sample corpus, build its communities and ask it four questions, with their evidence.

    They are a lookup, a multi-hop, a corpus-wide question, and one without evidence. The corpus-wide one is answered
    from the communities, which the router chooses by itself, and tells its coverage. The sample is about an
    invented aid organisation. Ask it more with `evigraph --data FOLDER ask`.
    """
    from evigraph.cli.open import open_engine

    backend = open_engine(session.data or folder, session.workspace)
    try:
        outcomes = _run(backend, quiet=session.as_json)
    finally:
        backend.close()
    if session.as_json:
        emit(outcomes)
    else:
        say(f'Ask more: evigraph --data {session.data or folder} ask "..."')


def _run(backend: Backend, *, quiet: bool) -> dict[str, Any]:
    corpus = _corpus()
    with bar("indexing the sample", quiet=quiet) as progress:
        indexed = backend.index([corpus], root=corpus, metadata={}, progress=progress)
    if not quiet:
        report(indexed)
    communities = backend.communities.build()
    if not quiet:
        built(communities)
    answers = []
    for kind, question in QUESTIONS:
        found = backend.ask(question, OPTIONS.get(kind, {}))
        answers.append({"kind": kind, "question": question, "answer": found})
        if not quiet:
            say(f"\n[{kind}] {question}\n")
            answer(found)
            overview(found)
    return {"index": indexed, "communities": communities, "answers": answers}


def _corpus() -> str:
    from evigraph import sample

    return str(sample.corpus_path())
