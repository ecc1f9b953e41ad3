"""One module per mode. A retriever takes the run and returns what it found, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evigraph.query.retrieve import combined, facts, keyword_lookup, local, mix, naive
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
}
