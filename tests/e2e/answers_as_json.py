"""Index files of the sample with the real models and print every answer as sorted JSON without timings.

A process of its own: `PYTHONHASHSEED=1 python answers_as_json.py STORE THREADS FILE…`; no files mean all of them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from evigraph import Evigraph, Settings
from evigraph.sample import corpus_path
from evigraph.types import Mode
from evigraph.wire import answer_to_wire

QUESTIONS = (
    "Of the 42 boreholes drilled from Dembure in 2014, how many gave enough water to be equipped?",
    "what did the grain store at rusk bend cost to build?",
    "What recurs in the reports about pumps and training?",
)


FIRM = "organization:corrick and vane engineering"
ASKED_WITH: dict[Mode, dict[str, Any]] = {
    Mode.TRAVERSE: {"seeds": [FIRM]},
    Mode.PLAN: {
        "plan": {
            "steps": [
                {"op": "match", "id": "firm", "entity": FIRM},
                {"op": "hop", "id": "near", "source": "firm", "predicates": ["CO_OCCURS"], "direction": "both"},
            ]
        }
    },
}
"""What modes need that do not go by the question alone."""


def without_timings(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_timings(item) for name, item in value.items() if not name.endswith("_ms")}
    return [without_timings(item) for item in value] if isinstance(value, list) else value


def main(store: str, threads: int, files: list[str]) -> None:
    root = corpus_path()
    with Evigraph(store, settings=Settings(threads=threads)) as graph:
        report = graph.index([root / name for name in files] if files else root, root=root)
        assert report.ok, report.errors
        for question in QUESTIONS:
            for mode in Mode:
                if mode is not Mode.BYPASS:
                    for options in ({"context_only": True}, {}):
                        answer = graph.ask(question, mode=mode, **options, **ASKED_WITH.get(mode, {}))
                        sys.stdout.write(json.dumps(without_timings(answer_to_wire(answer)), sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
