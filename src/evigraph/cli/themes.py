"""What people read of corpus-wide answers: the route, the coverage, the communities and their state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evigraph.cli.render import QUOTE_WIDTH, citations, note, say, shorten, table
from evigraph.communities import FEW_VALUES

Json = Mapping[str, Any]

SIGNALS = 6
"""Rows of the table that explains a route; `--json` has all."""
THEMES = 10
"""Communities of an answer that are listed; `--json` has all."""
MISSING = 8
"""Groups named as missing; more are counted."""
TITLE_WIDTH = 48


# --------------------------------------------------------------------- answers


def overview(wire: Json, *, explain: bool = False) -> None:
    """Below an answer: the communities it draws on, what it covers, and why this mode was chosen."""
    if wire["communities"]:
        themes(wire["communities"])
    if wire["coverage"] is not None:
        say(coverage(wire["coverage"]))
    if wire["route"] is not None:
        say(route(wire["route"]))
        if explain:
            signals(wire["route"]["signals"])


def themes(found: Sequence[Json]) -> None:
    """One row a community: how useful it was to the question, and how large it is."""
    table(
        ("theme", "useful", "entities", "documents", "title"),
        (
            (
                one["id"],
                "" if one["usefulness"] is None else one["usefulness"],
                one["size"],
                one["documents"],
                shorten(one["title"], QUOTE_WIDTH),
            )
            for one in found[:THEMES]
        ),
    )
    if len(found) > THEMES:
        note(f"{THEMES} of {len(found)} themes are shown")


def coverage(found: Json) -> str:
    """One line: documents, communities, assertions and groups that an answer draws on."""
    parts = [f"{found['documents']} of {found['documents_in_scope']} documents cited"]
    if found["communities_in_scope"]:
        parts.append(
            f"{found['communities']} of {found['communities_in_scope']} communities drawn on, "
            f"{found['communities_consulted']} consulted"
        )
        parts.append(f"{_percent(found['assertion_share'])} of {found['assertions_in_scope']} assertions consulted")
    parts += [_group(key, group) for key, group in sorted(found["groups"].items()) if _few(group)]
    return f"coverage: {'; '.join(parts)}"


def _few(group: Json) -> bool:
    return len(group["represented"]) + len(group["missing"]) <= FEW_VALUES


def _group(key: str, group: Json) -> str:
    represented, missing = len(group["represented"]), group["missing"]
    told = f"{key}: {represented} of {represented + len(missing)}"
    if not missing:
        return told
    more = f" and {len(missing) - MISSING} more" if len(missing) > MISSING else ""
    return f"{told} (not {', '.join(missing[:MISSING])}{more})"


def route(found: Json) -> str:
    """One line: the class of the question, how clear that was, and the mode that answered."""
    by = " by the model" if found["decided_by"] == "model" else ""
    told = (
        f"route: {found['route']}{by} (margin {found['margin']:.2f} over {found['second']}), "
        f"answered by {found['mode']}"
    )
    return f"{told}; {found['fell_back']}" if found["fell_back"] else told


def signals(found: Sequence[Json]) -> None:
    """The signals that moved the route most, either way."""
    weighty = sorted(found, key=lambda one: (-abs(one["contribution"]), one["name"]))[:SIGNALS]
    table(
        ("signal", "value", "for this class", "detail"),
        (
            (one["name"], round(one["value"], 3), f"{one['contribution']:+.2f}", shorten(one["detail"], QUOTE_WIDTH))
            for one in weighty
        ),
    )


# --------------------------------------------------------------------- communities


def communities(found: Json) -> None:
    """A level's communities, largest first."""
    if not found["communities"]:
        say(f"no communities at level {found['level']}" if found["total"] else "no communities: nothing is in scope")
    else:
        table(
            ("community", "entities", "relationships", "documents", "level", "title", "summary"),
            (
                (
                    one["id"],
                    one["size"],
                    one["relationships"],
                    one["documents"],
                    _levels(one),
                    shorten(one["title"], TITLE_WIDTH),
                    shorten(one["summary"], QUOTE_WIDTH),
                )
                for one in found["communities"]
            ),
            title=f"level {found['level']}, generation {found['generation']}",
        )
    if found["total"] > len(found["communities"]):
        note(f"{len(found['communities'])} of {found['total']} communities are shown")
    if found["origin"] == "scope":
        note("the documents in scope were clustered by themselves")
    for told in found["notes"]:
        note(told)


_SUMMARISERS = {
    "extractive": "summarised by the extractive summariser",
    "mixed": "summarised by the model in part, the rest by the extractive summariser",
    "model": "summarised by the model summariser",
}


def community(found: Json) -> None:
    """One community whole: what it is, its summary, and the sentences that this rests on."""
    say(f"{found['title']} ({found['id']}), level {_levels(found)}")
    above = f"; part of {found['parent']}" if found["parent"] else ""
    say(
        f"{found['size']} entities, {found['relationships']} relationships, {found['documents']} documents{above}\n\n"
        f"{found['summary']}\n"
    )
    say(_SUMMARISERS[found["summarised_by"]])
    if found["quotes"]:
        citations([{**quote, "n": n, "quote": quote["text"]} for n, quote in enumerate(found["quotes"], start=1)])
    say(f"most connected: {', '.join(found['entities'])}")


def _levels(one: Json) -> str:
    first, last = one["level"], one["last_level"]
    return str(first) if first == last else f"{first}-{last}"


def status(found: Json) -> None:
    """What is built, level by level, and what changed since."""
    if found["built"]:
        say(
            f"{found['entities']} entities in {len(found['levels'])} levels, "
            f"{_SUMMARISERS[found['summarised_by']]}; generation {found['generation']}"
        )
        say(f"since the clustering: {staleness(found['tree'])}")
        say(f"since the summaries: {staleness(found['summaries'])}")
        levels(found["levels"])
    else:
        say("no communities are built; `evigraph communities build` does, and corpus-wide questions then use them")
    if found["build_estimate"] is not None:
        say(f"a build: {estimate(found['build_estimate'])}")


def staleness(found: Json) -> str:
    """Shares and counts of what is newer and what is gone."""
    if not found["stale"]:
        return f"nothing changed (generation {found['generation']})"
    told = [
        f"{found[f'{what}_newer']} newer and {found[f'{what}_gone']} gone of {found[f'{what}_then']} {what} "
        f"({_percent(found[what])})"
        for what in ("documents", "assertions")
    ]
    merges = ["merges changed"] if found["merges_changed"] else []
    return f"{', '.join((*told, *merges))} (generation {found['generation']})"


def levels(found: Sequence[Json]) -> None:
    """How many communities each level has, how large, and what a question at it asks of the model."""
    table(
        ("level", "communities", "largest", "median", "smallest", "modularity", "calls a question", "tokens"),
        (
            (
                one["level"],
                one["communities"],
                one["largest"],
                one["median"],
                one["smallest"],
                round(one["modularity"], 3),
                one["query_calls"],
                one["query_tokens"],
            )
            for one in found
        ),
    )


def estimate(found: Json) -> str:
    """What a build would do and ask."""
    told = f"{found['communities']} communities, {found['written']} summaries to write, {found['reused']} reused"
    if not found["calls"]:
        return f"{told}; no model is asked"
    return (
        f"{told}; about {found['calls']} calls of the chat model, {found['prompt_tokens']} prompt and "
        f"{found['completion_tokens']} completion tokens"
    )


def built(found: Json) -> None:
    """What a build or refresh did, in counts."""
    cost = found["cost"]
    action = "built" if found["action"] == "build" else "refreshed"
    say(
        f"{action} {cost['communities']} communities of {found['entities']} entities and {found['assertions']} "
        f"assertions in {found['seconds']:.1f} s; {cost['written']} summaries written, {cost['reused']} reused"
        + ("" if found["published"] else "; nothing changed, so nothing is published")
        + f"; generation {found['generation']}"
    )
    if cost["calls"]:
        say(
            f"the chat model was asked {cost['calls']} times ({cost['failed']} failed): "
            f"{_told(cost['prompt_tokens'])} + {_told(cost['completion_tokens'])} tokens; "
            f"{found['estimate']['calls']} calls were expected"
        )
    levels(found["levels"])
    for warning in found["warnings"]:
        say(f"warning: {warning}")


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _told(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
