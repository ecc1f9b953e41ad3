"""`prune`, `reembed`, `jobs`, `capabilities`, `version`."""

from __future__ import annotations

import typer

from evigraph.cli.progress import bar
from evigraph.cli.render import emit, say, table, tree
from evigraph.cli.session import Session, command


def install(app: typer.Typer) -> None:
    for function in (prune, reembed, jobs, capabilities, version):
        command(app, function.__name__)(function)


def prune(session: Session) -> None:
    """Remove deleted and superseded text for good. Earlier states cannot be asked for afterwards."""
    with session.backend() as backend:
        done = backend.prune()
    if session.as_json:
        emit(done)
        return
    say(
        f"removed {done['revisions']} revisions of {done['documents']} documents in {done['seconds']:.1f} s; "
        f"`--as-of` reaches back to generation {done['horizon']}"
    )


def reembed(session: Session) -> None:
    """Embed the workspace with the configured model, then switch to it when complete. Bases with a model of their own
    are left alone."""
    with session.backend() as backend, bar("embedding", quiet=session.as_json) as progress:
        done = backend.reembed(progress=progress)
    if session.as_json:
        emit(done)
    else:
        apart = done["left_alone"]
        left = f"; {apart} documents of bases with a model of their own were left alone" if apart else ""
        say(f"embedded; generation {done['generation']}{left}")


def jobs(session: Session) -> None:
    """List index, prune, reembed and communities runs, newest first."""
    with session.backend() as backend:
        found = backend.jobs()
    if session.as_json:
        emit({"jobs": found})
        return
    if not found:
        say("no jobs")
        return
    table(
        ("job", "kind", "state", "started (UTC)", "updated", "detail"),
        (
            (
                j["job_id"],
                j["kind"],
                j["state"],
                j["started_at"][:19],
                j["updated_at"][:19],
                ", ".join(f"{name} {value}" for name, value in j["detail"].items()),
            )
            for j in found
        ),
    )


def capabilities(session: Session) -> None:
    """Say what runs here: models, and each mode, method and enhancer with its limits."""
    with session.backend() as backend:
        found = backend.capabilities()
    if session.as_json:
        emit(found)
    else:
        tree(found)


def version(session: Session) -> None:
    """Print the version."""
    import evigraph

    if session.as_json:
        emit({"version": evigraph.__version__})
    else:
        say(evigraph.__version__)
