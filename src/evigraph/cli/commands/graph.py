"""`graph`: entities, what lies around and between them, contradictions, history, merges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from evigraph.cli.commands.graph_options import ScopeOptions
from evigraph.cli.render import QUOTE_WIDTH, emit, note, say, shorten, table
from evigraph.cli.session import Session, command

EntityArgument = Annotated[
    str, typer.Argument(help="An entity's id, or a name it alone has.", metavar="ENTITY", show_default=False)
]
LimitOption = Annotated[int | None, typer.Option("--limit", help="How many at most.", show_default=False)]
OffsetOption = Annotated[int | None, typer.Option("--offset", help="How many to skip.", show_default=False)]
PerNodeOption = Annotated[
    int | None, typer.Option("--per-node-limit", help="Neighbours followed from one entity.", show_default=False)
]
PredicateOption = Annotated[
    list[str] | None,
    typer.Option("--predicate", help="Follow only this predicate; may be repeated.", show_default=False),
]
DirectionOption = Annotated[
    str | None, typer.Option("--direction", help="out, in or both. Default: both.", show_default=False)
]


def install(app: typer.Typer) -> None:
    group = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="Look into the graph: entities, paths, contradictions, history, merges.",
    )
    for function in (search, show, neighbours, path, contradictions, history, merge, unmerge, merges, proposals):
        command(group, function.__name__)(function)
    app.add_typer(group, name="graph")


def search(
    session: Session,
    scope: ScopeOptions,
    *,
    text: Annotated[
        str,
        typer.Argument(
            help="Words of a name, or how they begin; all entities where left out.", metavar="TEXT", show_default=False
        ),
    ] = "",
    type: Annotated[str | None, typer.Option("--type", help="Only this entity type.", show_default=False)] = None,
    limit: LimitOption = None,
    offset: OffsetOption = None,
) -> None:
    """Find entities by name, best match first; without a text, the most connected first."""
    with session.backend() as backend:
        found = backend.graph.search(text, {"type": type, "limit": limit, "offset": offset, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    _entities(found["entities"])
    _count(found["entities"], found["total"], "entities")


def show(
    session: Session,
    scope: ScopeOptions,
    entity: EntityArgument,
    limit: LimitOption = None,
    offset: OffsetOption = None,
) -> None:
    """Show all that is said of one entity, with its sources."""
    with session.backend() as backend:
        found = backend.graph.page(entity, {"limit": limit, "offset": offset, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    _page(found)


def neighbours(
    session: Session,
    scope: ScopeOptions,
    *,
    entity: EntityArgument,
    depth: Annotated[int | None, typer.Option("--depth", help="Hops. Default: 1.", show_default=False)] = None,
    per_node_limit: PerNodeOption = None,
    limit: LimitOption = None,
    predicate: PredicateOption = None,
    direction: DirectionOption = None,
) -> None:
    """Show the entities around one, nearest first."""
    options = {
        "depth": depth,
        "per_node_limit": per_node_limit,
        "limit": limit,
        "predicates": predicate or None,
        "direction": direction,
    }
    with session.backend() as backend:
        found = backend.graph.neighbourhood(entity, {**options, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    table(
        ("hops", "entity", "name", "type", "neighbours"),
        ((e["distance"], e["id"], e["name"], e["type"], e["degree"]) for e in found["entities"]),
    )
    _relations(found["relationships"])
    _cuts(found["truncated"])


def path(
    session: Session,
    scope: ScopeOptions,
    *,
    source: Annotated[str, typer.Argument(help="Where paths begin.", metavar="FROM", show_default=False)],
    target: Annotated[str, typer.Argument(help="Where they end.", metavar="TO", show_default=False)],
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Hops at most. Default: 4.", show_default=False)
    ] = None,
    per_node_limit: PerNodeOption = None,
    limit: LimitOption = None,
    predicate: PredicateOption = None,
    direction: DirectionOption = None,
) -> None:
    """Show the shortest paths between two entities, each hop with what supports it."""
    options = {
        "max_length": max_length,
        "per_node_limit": per_node_limit,
        "limit": limit,
        "predicates": predicate or None,
        "direction": direction,
    }
    with session.backend() as backend:
        found = backend.graph.paths(source, target, {**options, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    if not found["paths"]:
        say(f"no path of at most {found['max_length']} hops")
    for one in found["paths"]:
        say(" - ".join(one["names"]))
        _statements(statement for hop in one["hops"] for statement in hop["statements"])
    _cuts(found["truncated"])


def contradictions(
    session: Session,
    scope: ScopeOptions,
    *,
    entity: Annotated[
        str | None, typer.Argument(help="Only those about this entity.", metavar="ENTITY", show_default=False)
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="negation, functional or possible.", show_default=False)
    ] = None,
    limit: LimitOption = None,
    offset: OffsetOption = None,
) -> None:
    """Show claims that do not go together, side by side with their sources."""
    options = {"kind": kind, "limit": limit, "offset": offset}
    with session.backend() as backend:
        found = backend.graph.contradictions(entity, {**options, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    _contradictions(found["contradictions"])
    _count(found["contradictions"], found["total"], "contradictions")
    _cuts(found["truncated"])


def history(
    session: Session,
    scope: ScopeOptions,
    entity: EntityArgument,
    limit: LimitOption = None,
    offset: OffsetOption = None,
) -> None:
    """Show what was said of an entity, by which revision, from when until when; replaced text too, until `prune`."""
    with session.backend() as backend:
        found = backend.graph.history(entity, {"limit": limit, "offset": offset, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    table(
        ("from", "until", "state", "document", "revision", "statement", "quote"),
        (
            (
                _when(s["generation"], s["published_at"]),
                _when(s["until_generation"], s["until"]),
                "visible" if s["visible"] else f"{s['ended_by']}{', still said' if s['still_made'] else ''}",
                s["source"] or s["document_id"],
                s["revision"],
                _claim(s),
                shorten(s["quote"], QUOTE_WIDTH),
            )
            for s in found["statements"]
        ),
        title=f"{found['name']} ({found['entity']})",
    )
    _count(found["statements"], found["total"], "statements")


def merge(
    session: Session,
    entities: Annotated[
        list[str], typer.Argument(help="Two or more entities that are one.", metavar="ENTITY...", show_default=False)
    ],
    canonical: Annotated[
        str | None,
        typer.Option(
            "--canonical", help="The one that stands for all. Default: the most mentioned.", show_default=False
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; kept in the log.", show_default=False)] = None,
) -> None:
    """Record that several entities are one. No assertion is rewritten; `unmerge` takes it back."""
    with session.backend() as backend:
        done = backend.graph.merge(entities, {"canonical": canonical, "reason": reason})
    if session.as_json:
        emit(done)
    else:
        say(
            f"merged {', '.join(done['entities'])} as {done['canonical']}; undo with `graph unmerge {done['merge_id']}`"
        )


def unmerge(
    session: Session,
    merge_id: Annotated[int, typer.Argument(help="As `merges` lists it.", metavar="MERGE_ID", show_default=False)],
) -> None:
    """Take a merge back."""
    with session.backend() as backend:
        done = backend.graph.unmerge(merge_id)
    if session.as_json:
        emit(done)
    else:
        say(f"merge {merge_id} is undone; generation {done['generation']}")


def merges(
    session: Session,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="An earlier state: a generation, or a time.", show_default=False)
    ] = None,
) -> None:
    """List the merges that stand, oldest first."""
    with session.backend() as backend:
        found = backend.graph.merges(ScopeOptions(as_of=as_of).fields())
    if session.as_json:
        emit(found)
        return
    if not found["merges"]:
        say("no merges")
        return
    _merges(found["merges"])


def proposals(session: Session, scope: ScopeOptions, limit: LimitOption = None) -> None:
    """List entities that may be one, with the evidence, best first; `merge` decides."""
    with session.backend() as backend:
        found = backend.graph.proposals({"limit": limit, **scope.fields()})
    if session.as_json:
        emit(found)
        return
    if not found["proposals"]:
        say("no proposals")
        return
    table(
        ("score", "entities", "kind", "evidence"),
        ((p["score"], ", ".join(p["entities"]), p["kind"], p["evidence"]) for p in found["proposals"]),
    )


# -------------------------------------------------------------------- tables


def _page(found: dict[str, Any]) -> None:
    totals = found["totals"]
    say(f"{found['name']} ({found['id']}), {found['type']}")
    say(found["description"])
    say(
        f"{found['degree']} neighbours, {totals['mentions']} mentions in {totals['sources']} documents, "
        f"weight {found['weight']:g}; generation {found['generation']}"
    )
    table(("name", "mentions", "as"), ((n["name"], n["mentions"], n["entity"]) for n in found["names"]))
    if found["relationships"]:
        _relations(found["relationships"])
    if found["outgoing"] or found["incoming"]:
        _statements((*found["outgoing"], *found["incoming"]))
    if found["contradictions"]:
        _contradictions(found["contradictions"])
    table(
        ("document", "title", "date", "revision", "mentions"),
        (
            (s["source"] or s["document_id"], s["title"], s["date"], s["revision"], s["mentions"])
            for s in found["sources"]
        ),
    )
    if found["merges"]:
        _merges(found["merges"])
    for other in found["homographs"]:
        say(f"not to be confused with {other['id']} ({other['mentions']} mentions)")
    for name, total in totals.items():
        if total > len(found[name]):
            note(f"{len(found[name])} of {total} {name} are shown")
    _cuts(found["truncated"])


def _entities(found: Iterable[dict[str, Any]]) -> None:
    table(
        ("entity", "name", "type", "also", "neighbours", "mentions", "documents"),
        (
            (e["id"], e["name"], e["type"], ", ".join(e["names"]), e["degree"], e["mentions"], e["documents"])
            for e in found
        ),
    )


def _relations(found: Iterable[dict[str, Any]]) -> None:
    table(
        ("relationship", "weight", "said", "documents", "description"),
        (
            (_claim(r), r["weight"], r["statements"], r["documents"], shorten(r["description"], QUOTE_WIDTH))
            for r in found
        ),
    )


def _statements(found: Iterable[dict[str, Any]]) -> None:
    table(
        ("statement", "document", "date", "revision", "span", "sure", "quote"),
        (
            (
                _claim(s),
                s["source"] or s["document_id"],
                s["date"],
                s["revision"],
                f"{s['start']}-{s['end']}",
                f"{s['confidence']:.2f}{'' if s['verified'] else ' unverified'}",
                shorten(s["quote"], QUOTE_WIDTH),
            )
            for s in found
        ),
    )


def _contradictions(found: Iterable[dict[str, Any]]) -> None:
    for one in found:
        say(f"{one['kind']} contradiction: {one['subject_name']} {one['predicate']}")
        _statements(statement for side in one["sides"] for statement in side["statements"])


def _merges(found: Iterable[dict[str, Any]]) -> None:
    table(
        ("merge", "entities", "merged (UTC)", "reason"),
        ((m["merge_id"], ", ".join(m["entities"]), m["merged_at"][:19], m["reason"]) for m in found),
    )


def _claim(one: dict[str, Any]) -> str:
    return f"{one['subject_name']} -[{one['predicate']}]-> {one['object_name']}"


def _when(generation: int | None, moment: str | None) -> str:
    return "" if generation is None or moment is None else f"{generation} ({moment[:19]})"


def _count(shown: Sequence[Any], total: int, what: str) -> None:
    if not total:
        say(f"no {what}")
    elif total > len(shown):
        note(f"{len(shown)} of {total} {what} are shown")


def _cuts(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        note(f"cut: {sentence}")
