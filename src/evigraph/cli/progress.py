"""The progress bar of long commands, with rate and time left; silent where standard error is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evigraph.cli.render import clean, console

if TYPE_CHECKING:
    from evigraph.reports import Progress


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what a long run reports to, or None where nobody watches. The rate is that of passages, if any are made."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[source]}", markup=False),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None, rate="", source="")

        def update(step: Progress) -> None:
            rate = step.passages / step.seconds if step.seconds > 0 else 0.0
            shown.update(
                task,
                completed=step.documents_done,
                total=step.documents_total,
                rate=f"{rate:.0f} passages/s" if step.passages else "",
                source=clean(step.source)[-60:],
            )

        yield update
