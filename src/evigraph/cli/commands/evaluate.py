"""`eval`: measure the engine on labelled questions, or compare two measurements."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evigraph.cli.render import emit, say
from evigraph.cli.session import Session, command
from evigraph.cli.values import json_values

if TYPE_CHECKING:
    from evigraph.engine import Evigraph
    from evigraph.evaluate import Dataset, EvalReport, RoutingReport


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureOptions:
    """What only a measurement reads."""

    k: Annotated[int, typer.Option("--k", min=1, help="Documents ranked for each question.")] = 10
    corpus: Annotated[str | None, typer.Option(help="Which of several corpus files.", show_default=False)] = None
    split: Annotated[str | None, typer.Option(help="Which BEIR qrels file.", show_default=False)] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.", show_default=False)] = None
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Only so many questions, drawn by their ids: the same ones whatever their order in the file.",
            show_default=False,
        ),
    ] = None
    answers: Annotated[Literal["absent", "all", "none"], typer.Option(help="Which questions are also answered.")] = (
        "absent"
    )
    routing: Annotated[
        str | None,
        typer.Option(
            help="Measure mode `auto` alone: classify the questions of this JSONL file ({id, question, route}) over "
            "FOLDER's corpus.",
            show_default=False,
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A field of the query API for every question, such as rerank=true; may be repeated.",
            show_default=False,
        ),
    ] = None
    output: Annotated[str | None, typer.Option(help="Write every case to this JSONL file.", show_default=False)] = None

    def given(self) -> list[str]:
        """Names of the options that are not at their defaults."""
        names = {"setting": "set"}
        return [f"--{names.get(f.name, f.name)}" for f in fields(self) if getattr(self, f.name) not in (f.default, [])]


def install(app: typer.Typer) -> None:
    command(app, "eval")(evaluate)


def evaluate(
    session: Session,
    folder: Annotated[
        str | None, typer.Argument(help="Corpus with questions; none with --compare.", show_default=False)
    ] = None,
    *,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="A mode to measure; may be repeated. Default: mix. With --compare: the mode on both sides, or given "
            "twice, A's and then B's.",
            show_default=False,
        ),
    ] = None,
    options: MeasureOptions,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Two files that --output wrote, A.jsonl B.jsonl: what B won and lost beside A. Measures nothing.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="With --compare: what decides who won a question. Default: recall@5.", show_default=False),
    ] = None,
) -> None:
    """Measure retrieval and abstention on labelled questions, with confidence intervals; or compare two measurements.

    FOLDER holds corpus.jsonl or corpus/, and questions.jsonl; or the BEIR or HippoRAG layout. It is indexed
    into a temporary store, or with --data into that one, where a second run finds it unchanged.

    Lines of corpus.jsonl are {id, title, text}; corpus/ has files of any kind. Lines of questions.jsonl are {id,
    question, gold, answer, type, route}, of which only the question is needed: gold lists ids, or paths below corpus/;
    answer is a text, or a list of texts. BEIR: corpus.jsonl {_id, title, text}, queries.jsonl {_id, text},
    qrels/SPLIT.tsv. HippoRAG: NAME_corpus.json and NAME.json.

    `--compare A.jsonl B.jsonl` takes no FOLDER. It pairs the questions of two files and prints each metric's difference
    with its interval, and for every question won or lost which gold documents came in or fell out, and by which arm.
    """
    if (folder is None) == (compare is None):
        raise typer.BadParameter("give a FOLDER to measure, or --compare A.jsonl B.jsonl, and not both")
    if compare is not None:
        if unused := options.given():
            raise typer.BadParameter(f"--compare measures nothing, so it has no use for {', '.join(unused)}")
        _compare(session, compare, mode or [], metric)
        return
    if metric is not None:
        raise typer.BadParameter("--metric is for --compare; a measurement has all metrics")
    assert folder is not None
    _measure(session, folder, mode or ["mix"], options)


def _measure(session: Session, folder: str, modes: list[str], options: MeasureOptions) -> None:
    from evigraph import evaluate as measuring
    from evigraph.cli.open import load_settings
    from evigraph.engine import Evigraph
    from evigraph.files import check_output
    from evigraph.query.request import parse

    settled = json_values(options.setting)
    for name in {"query", "mode"} & settled.keys():
        raise typer.BadParameter(f"{name} cannot be set; modes are given by --mode")
    if options.limit is not None and options.sample is not None:
        raise typer.BadParameter("--limit and --sample choose different questions; give one of them")
    parse({"query": "?", **settled})
    if options.output is not None:
        check_output(options.output)
    dataset = measuring.load_dataset(folder, corpus=options.corpus, split=options.split)
    with tempfile.TemporaryDirectory(prefix="evigraph-eval-") as scratch:
        settings = load_settings(data=session.data or f"{scratch}/store")
        with Evigraph(settings=settings, workspace=session.workspace) as engine:
            if options.routing is not None:
                _routing(session, engine, dataset, options.routing, options.output)
                return
            measured = measuring.evaluate(
                engine,
                dataset,
                modes=tuple(modes),
                k=options.k,
                limit=options.limit,
                sampled=options.sample,
                answers=options.answers,
                options=settled,
                embedder=engine.embedder.name,
                on_progress=None if session.as_json else _show_progress,
            )
    _tell(session, measured, measuring.format_report(measured), options.output)


def _compare(session: Session, files: tuple[str, str], modes: list[str], metric: str | None) -> None:
    """Print what the second file won and lost beside the first."""
    from dataclasses import asdict

    from evigraph import evaluate as measuring

    a, b = (measuring.read_cases(file) for file in files)
    found = measuring.compare(a, b, metric=metric or measuring.DEFAULT_METRIC, modes=modes, names=files)
    if session.as_json:
        emit(asdict(found))
    else:
        say(measuring.format_comparison(found))


def _routing(session: Session, engine: Evigraph, dataset: Dataset, file: str, output: str | None) -> None:
    """Index the corpus, route the questions, and print what came of it."""
    from evigraph import evaluate as measuring

    questions = measuring.load_routing(file)
    engine.index(list(dataset.items))
    measured = measuring.evaluate_routing(engine, questions, name=Path(file).name)
    _tell(session, measured, measuring.format_routing(measured), output)


def _tell(session: Session, measured: EvalReport | RoutingReport, text: str, output: str | None) -> None:
    """Print what was measured, and write its cases. People see it also where the file then cannot be written."""
    if not session.as_json:
        say(text)
    if output is not None:
        measured.write_jsonl(output)
    if session.as_json:
        emit(measured.as_dict())


def _show_progress(done: int, total: int) -> None:
    """Count questions on a terminal."""
    if sys.stderr.isatty():
        typer.echo(f"\r{done}/{total} questions" + ("\n" if done == total else ""), err=True, nl=False)
