"""What is read of a scope: every mode that retrieves, and every surface that shows the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import pytest
from scope_play import repeats, with_chat, with_model
from scope_world import Asked

from evigraph import Evigraph
from evigraph.communities import CommunityList
from evigraph.community import read as community_read
from evigraph.community.show import MEMBERS
from evigraph.errors import InvalidValue
from evigraph.graph import aliases
from evigraph.query.explore import claims
from evigraph.testing.models import ScriptedChat
from evigraph.text.names import entity_id, name_key
from evigraph.types import Mode
from evigraph.wire import answer_to_wire, plain

MODES = tuple(mode for mode in Mode if mode is not Mode.BYPASS)
"""All that retrieve; `bypass` reads nothing."""

Read = Callable[[Evigraph, Asked, Mapping[str, Any]], dict[str, Any]]
_SPECIAL: Mapping[Mode, Callable[[Asked], dict[str, Any]]] = {
    Mode.TRAVERSE: lambda asked: {"seeds": list(asked.seeds), "direction": asked.direction},
    Mode.PLAN: lambda asked: {"plan": asked.plan},
}
"""Modes that need more than the question."""


def of_mode(mode: Mode) -> Read:
    def read(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> dict[str, Any]:
        special = _SPECIAL[mode](asked) if mode in _SPECIAL else {}
        return answer_to_wire(graph.ask(asked.question, mode=mode.value, **{**asked.options, **special, **scope}))

    return read


def _with(**options: Any) -> Read:
    def read(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> dict[str, Any]:
        return answer_to_wire(graph.ask(asked.question, **{**asked.options, **options, **scope}))

    return read


def _neighbourhood(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    limits = {key: asked.options.get(key) for key in ("per_node_limit", "predicates")}
    return graph.entities.neighbourhood(asked.seeds[0], depth=2, direction=asked.direction, **limits, **scope)


def _plan_by_id(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """From ids, which assertions may name that no passage mentions."""
    ways = sorted({way for step in asked.plan["steps"] for way in step.get("predicates", ())})
    person = entity_id(name_key(asked.seeds[0]), "PERSON")
    steps = [
        {"id": "a", "op": "match", "entities": [asked.seeds[1], person]},
        {"id": "b", "op": "hop", "source": "a", "predicates": ways, "direction": asked.direction},
    ]
    return answer_to_wire(graph.plan({"steps": steps}, **scope))


def _matches(asked: Asked) -> list[str]:
    return [step["entity"] for step in asked.plan["steps"] if step["op"] == "match"]


def _proposed_plan(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """The plan as a chat model replies it, to a question that names all it starts from."""
    view = with_chat(graph, lambda messages: json.dumps(asked.plan))
    named = " and ".join(asked.named or _matches(asked))
    return answer_to_wire(view.ask(f"Whom did {named} meet?", mode="plan", **scope))


def _planner_prompt(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    return answer_to_wire(graph.ask(asked.question, mode="plan", prompt_only=True, **scope))


def _of_store(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """Reads of the store itself, of which modes use a part."""
    [vector] = graph.embedder.embed([asked.question])
    with graph.entities._open(*(scope.get(key) for key in ("as_of", "document_filter", "metadata_filter"))) as snapshot:
        keys = [hit.key for hit in snapshot.nearest_passages(vector, 6)]
        ids, stored = snapshot.chunk_ids(keys), snapshot.passage_vectors(keys)
        typed = [name_key(seed.rpartition(":")[2]) for seed in asked.seeds]
        rows = snapshot.mentions_of(typed, per_name_limit=50, limit=100)
        places = snapshot.chunk_ids([row.passage for row in rows])
        return {
            "vectors": [[ids[key], *map(float, stored[key])] for key in sorted({*keys, *stored})],
            "names": [[row.key, row.entity_id, row.name, row.type, row.role, places[row.passage]] for row in rows],
            "forms": [list(row) for most in (1, 50) for row in snapshot.forms_that_are_names(most)],
            "known": sorted([name.key, name.passages] for name in snapshot.names(typed).values()),
        }


def _tight_proposals(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """Under caps so low that what a scope hides would take the place of what it shows."""
    with pytest.MonkeyPatch.context() as patch:
        for cap, value in (("FORM_PAIRS", 1), ("PAIRS_WEIGHED", 2), ("SHARED_PASSAGES", 1)):
            patch.setattr(aliases, cap, value)
        return {"proposals": plain(graph.entities.proposals(**scope))}


def _tight_contradictions(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "PAIRS", 1)
        return {
            "of one": plain(graph.entities.contradictions(asked.seeds[0], **scope)),
            "of all": plain(graph.entities.contradictions(**scope)),
        }


def _levels(graph: Evigraph, scope: Mapping[str, Any]) -> Iterator[CommunityList]:
    """Every level of the communities of a scope."""
    for level in count():
        try:
            yield graph.communities.show(level, limit=1_000, **scope)
        except InvalidValue:
            assert level, "there is no level 0"
            return


def _communities(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    levels = list(_levels(graph, scope))
    for one in (community for level in levels for community in level.communities):
        assert len(one.entities) == min(one.size, MEMBERS), f"{one.id} counts members that it does not show"
    return {"levels": plain(levels)}


def _each_community(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    found = [one.id for level in _levels(graph, scope) for one in level.communities[:2]]
    return {"communities": [plain(graph.communities.community(one, **scope)) for one in found]}


def _of_large_scopes(read: Read) -> Read:
    """As if every scope were too large to be clustered anew."""

    def restricted(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(community_read, "RECLUSTERED", 0)
            return read(graph, asked, scope)

    return restricted


def _finest_overview(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """At the finest level, and the prompt of the reduction with it."""
    fine = len(list(_levels(graph, scope))) - 1
    return answer_to_wire(graph.ask(asked.question, mode="thematic_overview", community_level=fine, **scope))


def _overview_by_model(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """A model that says again what it is shown tells what it is shown."""
    return answer_to_wire(with_chat(graph, repeats).ask(asked.question, mode="thematic_overview", **scope))


_CONVERSATIONS = count()


def _conversation(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    """A follow-up within the scope to a turn about all there is now, and what a chat model is shown of that turn."""
    name = f"c{next(_CONVERSATIONS)}"
    graph.ask(asked.question, conversation_id=name, **asked.options)
    options = {"conversation_id": name, **asked.options, **scope}
    chat = ScriptedChat(lambda messages: "")
    with_model(graph, chat).ask("And where did they do it?", **options)
    answer = answer_to_wire(graph.ask("And where did they do it?", **options))
    return {**answer, "prompt": "\n".join(message.content for call in chat.calls[:1] for message in call)}


def _lines(graph: Evigraph, form: str, scope: Mapping[str, Any]) -> list[str]:
    return "".join(graph.export(form, **scope)).splitlines()


def _graphml(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    return {"lines": [line for line in _lines(graph, "graphml", scope) if 'key="g_generation"' not in line]}


STATE = "state of communities"
TALK = "conversation"
SURFACES: dict[str, Read] = {
    "search": lambda graph, asked, scope: plain(graph.entities.search(asked.seeds[0].lower(), **scope)),
    "search of a part": lambda graph, asked, scope: plain(graph.entities.search(asked.seeds[0].lower()[:3], **scope)),
    "list": lambda graph, asked, scope: plain(graph.entities.search(limit=50, **scope)),
    "list of a longer type": lambda graph, asked, scope: plain(graph.entities.search(type="ORGANIZATION", **scope)),
    "list of a type": lambda graph, asked, scope: plain(graph.entities.search(type="PERSON", **scope)),
    "page": lambda graph, asked, scope: plain(graph.entities.page(asked.seeds[0], **scope)),
    "page of a place": lambda graph, asked, scope: plain(graph.entities.page(asked.seeds[1], **scope)),
    "neighbourhood": lambda graph, asked, scope: plain(_neighbourhood(graph, asked, scope)),
    "paths": lambda graph, asked, scope: plain(graph.entities.paths(asked.seeds[0], asked.seeds[2], **scope)),
    "contradictions": lambda graph, asked, scope: plain(graph.entities.contradictions(**scope)),
    "contradictions of one": lambda graph, asked, scope: plain(graph.entities.contradictions(asked.seeds[0], **scope)),
    "proposals": lambda graph, asked, scope: {"proposals": plain(graph.entities.proposals(**scope))},
    "proposals under caps": _tight_proposals,
    "contradictions under caps": _tight_contradictions,
    "plan by id": _plan_by_id,
    "proposed plan": _proposed_plan,
    "planner's prompt": _planner_prompt,
    "the store's own": _of_store,
    "export": lambda graph, asked, scope: {"rows": [json.loads(line) for line in _lines(graph, "jsonl", scope)[1:]]},
    "export as GraphML": _graphml,
    "communities": _communities,
    "each community": _each_community,
    "communities of a large scope": _of_large_scopes(_communities),
    "overview of a large scope": _of_large_scopes(of_mode(Mode.THEMATIC_OVERVIEW)),
    "finest overview": _finest_overview,
    "overview by a model": _overview_by_model,
    TALK: _conversation,
    "raptor": _with(mode="naive", method="raptor", min_score=-1.0),
    "windows": _with(mode="naive", parent_context=True),
    STATE: lambda graph, asked, scope: plain(graph.communities.status(**scope)),
    "schema": lambda graph, asked, scope: plain(graph.schema(**scope)),
    "documents": lambda graph, asked, scope: {"documents": plain(graph.documents(**scope))},
    "merges": lambda graph, asked, scope: {"merges": plain(graph.entities.merges(**scope))},
    "history": lambda graph, asked, scope: plain(graph.entities.history(asked.seeds[0], limit=1_000, **scope)),
    "history of another": lambda graph, asked, scope: plain(
        graph.entities.history(asked.seeds[2], limit=1_000, **scope)
    ),
    "history of a place": lambda graph, asked, scope: plain(
        graph.entities.history(asked.seeds[1], limit=1_000, **scope)
    ),
}
"""What shows the graph beside the modes."""
UNFILTERED = {"schema", "documents", "merges", STATE}
"""Those that take no filter."""
PAST = {"history": 0, "history of a place": 1, "history of another": 2}
"""Those that show the past, by the place of the seed that they are of."""
LARGE = {"communities of a large scope", "overview of a large scope"}
"""Those that show the built communities, as far as a scope reaches."""
TREES = {
    *(Mode.THEMATIC_OVERVIEW.value, Mode.AUTO.value, STATE, "communities", "each community", "finest overview"),
    *("overview by a model", *LARGE),
}
"""Those that a built tree changes. What was visible when it was built shows in its shape until it is built anew: where
the workspace has changed since, only words are judged."""
TREED = {"raptor"}
"""Those that only worlds with trees of summaries are asked."""
UNLIKE = {*PAST, "merges", TALK}
"""Those that another history cannot equal: `Rows.history` says what the past is, of merges and of what was said before
only the words count."""
