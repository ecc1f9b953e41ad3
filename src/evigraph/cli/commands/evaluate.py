"""`eval`: measure the engine on labelled questions."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evigraph.cli.render import emit, say
from evigraph.cli.session import Session, command
from evigraph.cli.values import json_values

if TYPE_CHECKING:
    from evigraph.engine import Evigraph
    from evigraph.evaluate import Dataset


def install(app: typer.Typer) -> None:
    command(app, "eval")(evaluate)


def evaluate(  # noqa: PLR0917 - one parameter an option, all passed by name
    session: Session,
    folder: Annotated[str, typer.Argument(help="Corpus with questions.", show_default=False)],
    mode: Annotated[
        list[str] | None,
        typer.Option(help="A mode to measure; may be repeated. Default: mix.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Documents ranked for each question.")] = 10,
    corpus: Annotated[str | None, typer.Option(help="Which of several corpus files.", show_default=False)] = None,
    split: Annotated[str | None, typer.Option(help="Which BEIR qrels file.", show_default=False)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.", show_default=False)] = None,
    answers: Annotated[
        Literal["absent", "all", "none"], typer.Option(help="Which questions are also answered.")
    ] = "absent",
    routing: Annotated[
        str | None,
        typer.Option(
            help="Measure mode `auto` alone: classify the questions of this JSONL file ({id, question, route}) over "
            "FOLDER's corpus.",
            show_default=False,
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A field of the query API for every question, such as rerank=true; may be repeated.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[str | None, typer.Option(help="Write every case to this JSONL file.", show_default=False)] = None,
) -> None:
    """Measure retrieval and abstention on labelled questions, with confidence intervals.

    FOLDER holds corpus.jsonl or corpus/, and questions.jsonl; or the BEIR or HippoRAG layout. It is indexed
    into a temporary store, or with --data into that one, where a second run finds it unchanged.
    """
    from evigraph import evaluate as measuring
    from evigraph.cli.open import load_settings
    from evigraph.engine import Evigraph
    from evigraph.query.request import parse

    options = json_values(setting)
    for name in {"query", "mode"} & options.keys():
        raise typer.BadParameter(f"{name} cannot be set; modes are given by --mode")
    parse({"query": "?", **options})
    dataset = measuring.load_dataset(folder, corpus=corpus, split=split)
    with tempfile.TemporaryDirectory(prefix="evigraph-eval-") as scratch:
        settings = load_settings(data=session.data or f"{scratch}/store")
        with Evigraph(settings=settings, workspace=session.workspace) as engine:
            if routing is not None:
                _routing(session, engine, dataset, routing, output)
                return
            measured = measuring.evaluate(
                engine,
                dataset,
                modes=tuple(mode or ["mix"]),
                k=k,
                limit=limit,
                answers=answers,
                options=options,
                embedder=engine.embedder.name,
                on_progress=None if session.as_json else _show_progress,
            )
    if output is not None:
        measured.write_jsonl(output)
    if session.as_json:
        emit(measured.as_dict())
    else:
        say(measuring.format_report(measured))


def _routing(session: Session, engine: Evigraph, dataset: Dataset, file: str, output: str | None) -> None:
    """Index the corpus, route the questions, and print what came of it."""
    from evigraph import evaluate as measuring

    questions = measuring.load_routing(file)
    engine.index(list(dataset.items))
    measured = measuring.evaluate_routing(engine, questions, name=Path(file).name)
    if output is not None:
        measured.write_jsonl(output)
    if session.as_json:
        emit(measured.as_dict())
    else:
        say(measuring.format_routing(measured))


def _show_progress(done: int, total: int) -> None:
    """Count questions on a terminal."""
    if sys.stderr.isatty():
        typer.echo(f"\r{done}/{total} questions" + ("\n" if done == total else ""), err=True, nl=False)
