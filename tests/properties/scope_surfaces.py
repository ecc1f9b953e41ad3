"""What is read of a scope: every mode that retrieves, and every surface that shows the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from scope_world import Asked

from evigraph import Evigraph
from evigraph.graph import aliases
from evigraph.query.explore import claims
from evigraph.query.retrieve import RETRIEVERS
from evigraph.testing.models import ScriptedChat
from evigraph.text.names import entity_id, name_key
from evigraph.types import Mode
from evigraph.wire import answer_to_wire, plain
from evigraph.wiring import Models

MODES = tuple(mode for mode in Mode if mode is not Mode.BYPASS and mode in RETRIEVERS)
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
    view = graph.in_workspace(graph.workspace)
    chat = ScriptedChat(lambda messages: json.dumps(asked.plan))
    view._models = Models(graph.settings, embedder=graph.embedder, chat=chat, extractor=graph.extractor)
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


def _lines(graph: Evigraph, form: str, scope: Mapping[str, Any]) -> list[str]:
    return "".join(graph.export(form, **scope)).splitlines()


def _graphml(graph: Evigraph, asked: Asked, scope: Mapping[str, Any]) -> Any:
    return {"lines": [line for line in _lines(graph, "graphml", scope) if 'key="g_generation"' not in line]}


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
UNFILTERED = {"schema", "documents", "merges"}
"""Those that take no filter."""
PAST = {"history": 0, "history of a place": 1, "history of another": 2}
"""Those that show the past, by the place of the seed that they are of."""
UNLIKE = {*PAST, "merges"}
"""Those that another history cannot equal: `Rows.history` says what the past is, of merges only the words count."""
