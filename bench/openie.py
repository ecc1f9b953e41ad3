"""`mix` over a graph of triples that a language model extracted, beside that of the engine's own extractor.

    python bench/openie.py FOLDER [--data DIR]

FOLDER holds a corpus with questions and `openie*.jsonl` (as musique_train100: GPT-3.5's triples, published with
HippoRAG). The corpus is indexed twice, in two workspaces of DATA: once by the extractor of the settings, once by
`import_graph`, where the file's triples and entities are the whole graph. Embedder, passages, questions and parameters
are the same. Prints recall of either, and the paired differences with their 95 % bootstrap intervals, as JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evigraph import Evigraph
from evigraph.evaluate import Dataset, load_dataset
from evigraph.evaluate.metrics import bootstrap, paired_difference
from evigraph.evaluate.run import evaluate

METRICS = ("recall@2", "recall@5", "recall@10", "all-gold@5")


def measured(graph: Evigraph, dataset: Dataset, mode: str) -> Mapping[str, list[float]]:
    """By metric, of each question in turn."""
    report = evaluate(graph, dataset, modes=(mode,), answers="none", index=False)
    failed = [case.error for case in report.rankings if case.error]
    if failed:
        raise SystemExit(f"{len(failed)} questions failed, the first with: {failed[0]}")
    return {name: [case.metrics[name] for case in report.rankings] for name in METRICS}


def compare(graph: Evigraph, folder: Path, mode: str) -> dict[str, Any]:
    dataset = load_dataset(folder)
    own, imported = graph.in_workspace("extracted"), graph.in_workspace("imported")
    own.index(list(dataset.items))
    report = imported.import_graph(folder, format="openie")
    of_own, of_imported = (measured(one, dataset, mode) for one in (own, imported))
    return {
        "set": folder.name,
        "mode": mode,
        "questions": len(of_own[METRICS[0]]),
        "rows": dict(report.rows),
        "problems": {problem.reason: problem.count for problem in report.problems},
        "extracted": {name: _estimate(bootstrap({"": values})[""]) for name, values in of_own.items()},
        "imported": {name: _estimate(bootstrap({"": values})[""]) for name, values in of_imported.items()},
        "difference": {name: _estimate(paired_difference(of_imported[name], of_own[name])) for name in METRICS},
    }


def _estimate(found: Any) -> list[float]:
    return [round(100 * value, 1) for value in (found.mean, found.low, found.high)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="./evigraph-bench")
    parser.add_argument("--mode", default="mix")
    options = parser.parse_args(arguments)
    with Evigraph(options.data, workspace="extracted") as graph:
        print(json.dumps(compare(graph, options.folder, options.mode)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
