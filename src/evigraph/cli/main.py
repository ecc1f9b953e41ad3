"""The `evigraph` command. Heavy imports happen inside commands, so that `--help` starts at once."""

from __future__ import annotations

import errno
import logging
import os
import sys
from typing import NoReturn

import typer

from evigraph.cli import render
from evigraph.cli.commands import (
    ask,
    bases,
    communities,
    conversations,
    demo,
    documents,
    evaluate,
    export,
    graph,
    imports,
    index,
    maintenance,
    pipelines,
    plan,
    schema,
    serve,
)
from evigraph.cli.session import remember, wants_json
from evigraph.errors import EvigraphError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the operating system says where a file cannot grow."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Index documents into an evidence graph and answer questions from it with checked citations.\n\n"
    "Settings come from options, EVIGRAPH_* variables and evigraph.toml, in this order. While a server "
    "holds the store, the commands go through it.\n\n"
    "Exit codes: 0 done or answered, 1 error, 2 wrong usage, 3 `ask` or `plan` abstained.",
)
app.callback()(remember)
for group in (
    index,
    ask,
    plan,
    documents,
    graph,
    communities,
    conversations,
    bases,
    pipelines,
    imports,
    export,
    schema,
    maintenance,
    serve,
    demo,
    evaluate,
):
    group.install(app)


def prepare_streams() -> None:
    """Let no character of a document stop the output, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the shell
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def silence_driver() -> None:
    """Keep what the database driver logs from standing before the error that says the same and its remedy."""
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())


def run() -> NoReturn:
    """Entry point: run the command; errors end it with their remedy and without a trace."""
    prepare_streams()
    silence_driver()
    as_json = wants_json(sys.argv[1:])
    try:
        app()
    except EvigraphError as error:
        fail(error, as_json=as_json)
    except KeyboardInterrupt:
        render.note("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        drop_output()  # the reader of a pipe has gone
    except Exception as error:
        if os.environ.get("EVIGRAPH_TRACEBACK"):
            raise
        fail(explained(error), as_json=as_json)
    sys.exit(1)


def explained(error: Exception) -> EvigraphError:
    """What an error that nobody expected is told as: a full disk, or a fault of evigraph."""
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        hint = "free space where the output and the store are, or send the output elsewhere"
        return EvigraphError(f"nothing more can be written: {error.strerror}", hint=hint)
    hint = "set EVIGRAPH_TRACEBACK=1 to see where; this is a fault of evigraph"
    return EvigraphError(f"{type(error).__name__}: {error}", hint=hint)


def fail(error: EvigraphError, *, as_json: bool) -> None:
    """Tell the error, on standard error even where standard output takes nothing."""
    try:
        render.fail(error, as_json=as_json)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        drop_output()


def drop_output() -> None:
    """Forget what standard output did not take: Python would try, and complain, once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
