"""One module per mode. A retriever takes the run and returns what it found, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evigraph.query.plan import retrieve as plan
from evigraph.query.retrieve import (
    combined,
    entity_connections,
    facts,
    keyword_lookup,
    local,
    mix,
    naive,
    thematic_overview,
    traverse,
)
from evigraph.query.run import Retrieved, Run
from evigraph.types import Mode

Retriever = Callable[[Run], Retrieved]


def _bypass(run: Run) -> Retrieved:
    return Retrieved(retrieval="none")


RETRIEVERS: Mapping[Mode, Retriever] = {
    Mode.NAIVE: naive.retrieve,
    Mode.LOCAL: local.retrieve,
    Mode.GLOBAL: facts.retrieve,
    Mode.HYBRID: combined.retrieve,
    Mode.MIX: mix.retrieve,
    Mode.BYPASS: _bypass,
    Mode.KEYWORD_LOOKUP: keyword_lookup.retrieve,
    Mode.ENTITY_CONNECTIONS: entity_connections.retrieve,
    Mode.TRAVERSE: traverse.retrieve,
    Mode.PLAN: plan.retrieve,
    Mode.THEMATIC_OVERVIEW: thematic_overview.retrieve,
}
