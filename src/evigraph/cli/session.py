"""Options every command has, before or after its name: `--data`, `--workspace`, `--json`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from evigraph.cli.backend import Backend

_PANEL = "Options of every command"

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="Store: a folder, chdb:///folder, or http(s)://user:pass@host:8123/db. "
        "Default: EVIGRAPH_DATA, else ./evigraph-data.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
WorkspaceOption = Annotated[
    str | None,
    typer.Option("--workspace", help="Isolation unit. Default: default.", show_default=False, rich_help_panel=_PANEL),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output.", rich_help_panel=_PANEL)
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What the global options say."""

    data: str | None = None
    workspace: str = "default"
    as_json: bool = False

    @contextmanager
    def backend(self) -> Iterator[Backend]:
        """The engine, or the server that holds the store, for the time of a `with` block."""
        from evigraph.cli.open import open_engine

        backend = open_engine(self.data, self.workspace)
        try:
            yield backend
        finally:
            backend.close()


def wants_json(arguments: list[str]) -> bool:
    """Whether `--json` stands among the options; for errors, which may come before a session exists."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def remember(
    context: typer.Context,
    data: DataOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the options given before a command's name for the command."""
    outer = context.obj if isinstance(context.obj, Session) else Session()
    context.obj = Session(
        data=data or outer.data,
        workspace=workspace or outer.workspace,
        as_json=as_json or outer.as_json,
    )


def command(app: typer.Typer, name: str | None = None, **options: Any) -> Callable[[Callable[..., None]], Any]:
    """Register `function(session, ...)` as a command that also takes the global options.

    A parameter whose type is a dataclass of options stands for its fields, one option each. With no name the
    function becomes the group's own callback, run when no subcommand is given.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        declared = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        groups: dict[str, Any] = {p.name: p.annotation for p in declared if is_dataclass(p.annotation)}
        own = [one for p in declared for one in (_options(p.annotation) if p.name in groups else [p])]
        shared = list(inspect.signature(remember, eval_str=True).parameters.values())

        def run(context: typer.Context, data: Any, workspace: Any, as_json: bool, **given: Any) -> None:
            remember(context, data, workspace, as_json)
            if name is None and context.invoked_subcommand is not None:
                return
            for group, kind in groups.items():
                given[group] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            function(context.obj, **given)

        # typer reads signature and annotations; each parameter is passed by its name.
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *shared)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__ = inspect.getdoc(function)
        run.__name__ = function.__name__
        if name is None:
            app.callback(invoke_without_command=True, **options)(run)
        else:
            app.command(name, **options)(run)
        return function

    return register


def _options(kind: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters."""
    types = get_type_hints(kind, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(f.name, keyword, default=f.default, annotation=types[f.name]) for f in fields(kind)]
