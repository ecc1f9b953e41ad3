"""What people read: tables and answers on standard output, errors on standard error. Programs get `emit`."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from evigraph.errors import EvigraphError

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160
"""Columns of tables where standard output is no terminal."""
QUOTE_WIDTH = 90


def emit(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode())


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def clean(value: Any, *, lines: bool = False) -> str:
    """Text from documents, without what would command a terminal: control and direction characters."""
    text = "" if value is None else str(value)
    return "".join(
        character if (lines and character == "\n") or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else " "
        for character in text
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table on standard output; numbers to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [tuple(row) for row in rows]
    shown = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for position, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[position], int | float) for row in rows)
        shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(clean(cell)) for cell in row))
    console().print(shown)


def say(text: str) -> None:
    """A sentence on standard output."""
    typer.echo(clean(text, lines=True))


def note(text: str) -> None:
    """A sentence on standard error, so that standard output stays what was asked for."""
    typer.echo(clean(text, lines=True), err=True)


def fail(error: EvigraphError, *, as_json: bool) -> None:
    """An error with its remedy on standard error; for programs also as the one JSON document."""
    note(f"error: {error}")
    if error.hint:
        note(f"hint: {error.hint}")
    if as_json:
        emit({"error": {"code": error.code, "message": str(error), "hint": error.hint}})


def answer(wire: Mapping[str, Any]) -> None:
    """An answer with its markers, what they rest on, and everything that was not as asked."""
    if wire["abstained"]:
        say(f"No answer: {wire['abstain_reason']}")
    for part in ("answer", "context", "prompt"):
        if wire[part] is not None:
            say(wire[part])
    for path in wire["paths"]:
        say(_path(path))
    conversation = wire["method_details"].get("conversation")
    if conversation is not None and conversation["condensed_by"] is not None:
        say(f"understood as: {conversation['standalone_question']}")
    if wire["citations"]:
        citations(wire["citations"])
    if wire["context"] is not None and not wire["citations"]:
        passages(wire["chunks"])
    details = wire["method_details"]
    for sentence in details["degraded"]:
        say(f"degraded: {sentence}")
    for sentence in details.get("unsupported", ()):
        say(f"unsupported: {sentence}")


def _path(path: Mapping[str, Any]) -> str:
    """One path on a line, each hop in the direction its passage states."""
    line = str(path["names"][0])
    for start, hop, name in zip(path["entities"], path["relationships"], path["names"][1:], strict=False):
        arrow = f"-[{hop['type']}]->" if hop["source"] == start else f"<-[{hop['type']}]-"
        line += f" {arrow} {name} [{hop['chunk_id']}]"
    return line


def citations(cited: Sequence[Mapping[str, Any]]) -> None:
    table(
        ("n", "document", "span", "quote"),
        ((c["n"], _where(c), f"{c['start']}-{c['end']}", shorten(c["quote"], QUOTE_WIDTH)) for c in cited),
    )


def passages(chunks: Sequence[Mapping[str, Any]]) -> None:
    table(
        ("passage", "document", "span", "score", "text"),
        (
            (
                c["id"],
                _where(c),
                "" if c["start"] is None else f"{c['start']}-{c['end']}",
                round(c["score"], 4),
                shorten(c["text"], QUOTE_WIDTH),
            )
            for c in chunks
        ),
    )


def report(wire: Mapping[str, Any]) -> None:
    """What `index` did, in one line, and a table of what failed."""
    counts = {
        status: sum(1 for document in wire["documents"] if document["status"] == status)
        for status in ("added", "replaced", "unchanged", "deleted")
    }
    done = ", ".join(f"{count} {status}" for status, count in counts.items())
    passages_made = sum(document["passages"] for document in wire["documents"])
    say(
        f"{done}, {len(wire['errors'])} failed; {passages_made} passages in {wire['seconds']:.1f} s; "
        f"generation {wire['generation']}"
    )
    if wire["extraction"]:
        extraction(wire["extraction"])
    if wire["trees"]:
        trees(wire["trees"])
    for warning in (*wire["warnings"], *wire["degraded"]):
        say(f"warning: {warning}")
    warned = [(d["source"], w) for d in wire["documents"] for w in d["warnings"]]
    if warned:
        table(("document", "warning"), warned)
    if wire["errors"]:
        table(
            ("failed", "code", "cause", "remedy"),
            ((e["source"], e["code"], e["message"], e["hint"]) for e in wire["errors"]),
        )


def extraction(wire: Mapping[str, Any]) -> None:
    """What extraction by the chat model cost, in one line, and what it left out."""
    said = (
        f"extraction by {wire['model']}: {wire['calls']} calls ({wire['cached']} more answered from the cache, "
        f"{wire['failed']} failed, {wire['unusable']} unusable), {wire['prompt_tokens']} + {wire['completion_tokens']} "
        f"tokens, {wire['entities']} entities, {wire['assertions']} assertions ({wire['unverified']} unverified)"
    )
    say(said if wire["budget"] is None else f"{said}; budget {wire['budget']}")
    if wire["dropped"]:
        say("left out: " + ", ".join(f"{count} {reason}" for reason, count in wire["dropped"].items()))
    if wire["stopped_at"]:
        say(f"warning: the token budget ended extraction before {wire['stopped_at']}")


def trees(wire: Mapping[str, Any]) -> None:
    """Trees of summaries, in one line, and what the chat model's share in them cost."""
    say(f"{wire['trees']} trees of {wire['summaries']} summaries; {wire['too_short']} documents too short for one")
    if wire["model"]:
        say(
            f"summaries by {wire['model']}: {wire['by_model']}, {wire['calls']} calls ({wire['cached']} more answered "
            f"from the cache, {wire['failed']} failed, {wire['unusable']} unusable), {wire['prompt_tokens']} + "
            f"{wire['completion_tokens']} tokens"
        )
    if wire["stopped_at"]:
        say(f"warning: the token budget ended the calls before {wire['stopped_at']}")


def estimated(wire: Mapping[str, Any]) -> None:
    """What `index` would ask of the chat model."""
    say(f"{wire['documents']} documents, {wire['unchanged']} unchanged; {wire['passages']} passages to extract")
    say(
        f"{wire['extractor']}: {wire['calls']} calls expected ({wire['cached']} answered from the cache), "
        f"{wire['prompt_tokens']} prompt and {wire['completion_tokens']} completion tokens"
    )
    if wire["over_budget"]:
        say(f"warning: that is more than the budget of {wire['budget']} tokens allows")
    for error in wire["errors"]:
        say(f"failed: {error['source']}: {error['message']}")


def tree(value: Any, indent: int = 0) -> None:
    """Nested settings, one a line."""
    pad = "  " * indent
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            say(f"{pad}{key}:")
            tree(item, indent + 1)
        else:
            shown = ", ".join(map(str, item)) if isinstance(item, list) else item
            say(f"{pad}{key}: {'-' if shown in (None, '', {}) else shown}")


def shorten(text: str, width: int) -> str:
    line = " ".join(clean(text, lines=True).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _where(item: Mapping[str, Any]) -> str:
    """Source where it says more than the id, and the page where there is one."""
    name = item["source"] or item["document_id"]
    if item.get("web"):
        return f"{name} (web)"
    return f"{name} p. {item['page']}" if item.get("page") else str(name)
