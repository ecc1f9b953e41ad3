"""What methods and enhancers do to retrieval, offline: each beside `standard` under the same mode, gains and losses.

    python bench/methods.py [FOLDER ...]

A FOLDER is one that `evigraph eval` reads; without one the sample corpus is measured. Recall@5, all-gold@5 and MRR over
the questions with gold, and the mean difference from `standard` with its 95 % paired bootstrap interval. `hyde` and
`self_rag` need a chat model, `raptor` documents of several passages, and `compress` ranks nothing: none is here. What
`parent_context` adds is of the same document, so it can change no ranking of documents but by the token budget.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evigraph import Evigraph, __version__
from evigraph.evaluate import Dataset, load_dataset
from evigraph.evaluate.metrics import paired_difference
from evigraph.evaluate.run import evaluate
from evigraph.sample import corpus_path

METRICS = ("recall@5", "all-gold@5", "MRR")
MODES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "naive": (
        {"method": "multi_query"},
        {"method": "corrective"},
        {"method": "auto"},
        {"hybrid": True},
        {"rerank": True},
        {"parent_context": True},
        {"hybrid": True, "rerank": True},
    ),
    "mix": (
        {"method": "multi_query"},
        {"method": "corrective"},
        {"method": "auto"},
        {"rerank": True},
        {"parent_context": True},
    ),
}


def measured(graph: Evigraph, dataset: Dataset, limit: int | None) -> Iterator[dict[str, Any]]:
    """A row for `standard` and one for each variation of it, mode by mode."""
    for mode, variations in MODES.items():
        plain = _cases(graph, dataset, mode, {}, limit)
        for options in ({}, *variations):
            cases = plain if not options else _cases(graph, dataset, mode, options, limit)
            row: dict[str, Any] = {"mode": mode, "asked": " ".join(map(_named, options.items())) or "standard"}
            for metric in METRICS:
                values = [case[metric] for case in cases]
                difference = paired_difference(values, [case[metric] for case in plain])
                row[metric] = round(sum(values) / len(values), 4)
                row[f"{metric} difference"] = [round(x, 4) for x in (difference.mean, difference.low, difference.high)]
            yield row


def _cases(
    graph: Evigraph, dataset: Dataset, mode: str, options: Mapping[str, Any], limit: int | None
) -> list[Mapping[str, float]]:
    report = evaluate(graph, dataset, modes=(mode,), answers="none", index=False, options=options, limit=limit)
    failed = [case.error for case in report.rankings if case.error]
    if failed:
        raise SystemExit(f"{mode} {options}: {len(failed)} questions failed, the first with {failed[0]}")
    return [case.metrics for case in report.rankings]


def _named(option: tuple[str, Any]) -> str:
    return str(option[1]) if option[0] == "method" else option[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, help="the first so many questions")
    options = parser.parse_args()
    for folder in options.folders or [corpus_path().parent]:
        dataset = load_dataset(folder)
        with tempfile.TemporaryDirectory() as scratch, Evigraph(scratch) as graph:
            graph.index(list(dataset.items))
            print(
                f"{dataset.name}: {len(dataset.corpus_ids)} documents, {graph.embedder.name}, {__version__},", end=" "
            )
            print(f"{datetime.now(UTC).date()}")
            for row in measured(graph, dataset, options.limit):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
