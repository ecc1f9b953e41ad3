"""What methods and enhancers do to retrieval, offline: each beside `standard` under the same mode, gains and losses.

    python bench/methods.py [FOLDER ...] [--join 30]

A FOLDER is one that `evigraph eval` reads; without one the sample corpus is measured. Two kinds of rows:

- `ranking`: recall@5, all-gold@5 and MRR over the questions with gold;
- `context`: the share of questions whose answer stands, word for word, in what a model would read (`context_only`, ten
  passages), and the tokens of it. Questions whose answer stands nowhere in the corpus (yes, no, a sum) are left out.

Each with the mean difference from `standard` and its 95 % paired bootstrap interval. `--join N` makes N long documents
of the corpus, each text under a heading of its title, and trees over them, so that `raptor` has something to climb;
gold documents are gone then, and only `context` is measured. `hyde` and `self_rag` need a chat model and are not here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evigraph import Evigraph, __version__
from evigraph.evaluate import Dataset, load_dataset
from evigraph.evaluate.metrics import answer_recall, paired_difference
from evigraph.evaluate.run import evaluate
from evigraph.sample import corpus_path

Options = Mapping[str, Any]

RANKINGS: Mapping[str, tuple[Options, ...]] = {
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
CONTEXTS: Mapping[str, tuple[Options, ...]] = {
    "naive": ({"compress": True}, {"parent_context": True}, {"rerank": True}, {"rerank": True, "compress": True}),
    "mix": ({"compress": True}, {"parent_context": True}, {"rerank": True}, {"rerank": True, "compress": True}),
}
METRICS = ("recall@5", "all-gold@5", "MRR", "answer in it", "tokens")
RAPTOR: Options = {"method": "raptor"}


def rankings(graph: Evigraph, dataset: Dataset, limit: int | None) -> Iterator[dict[str, Any]]:
    for mode, variations in RANKINGS.items():
        plain = _ranked(graph, dataset, mode, {}, limit)
        for options in ({}, *variations):
            cases = plain if not options else _ranked(graph, dataset, mode, options, limit)
            yield {"kind": "ranking", "mode": mode, **_row(options, cases, plain)}


def contexts(graph: Evigraph, dataset: Dataset, limit: int | None, *, trees: bool) -> Iterator[dict[str, Any]]:
    questions = _answerable(dataset)[:limit]
    for mode, variations in CONTEXTS.items():
        plain = _read(graph, questions, mode, {})
        for options in ({}, *variations, *([RAPTOR] if trees and mode == "naive" else [])):
            cases = plain if not options else _read(graph, questions, mode, options)
            yield {"kind": "context", "mode": mode, **_row(options, cases, plain)}


def _ranked(
    graph: Evigraph, dataset: Dataset, mode: str, options: Options, limit: int | None
) -> list[Mapping[str, float]]:
    report = evaluate(graph, dataset, modes=(mode,), answers="none", index=False, options=options, limit=limit)
    failed = [case.error for case in report.rankings if case.error]
    if failed:
        raise SystemExit(f"{mode} {options}: {len(failed)} questions failed, the first with {failed[0]}")
    return [case.metrics for case in report.rankings]


def _answerable(dataset: Dataset) -> list[tuple[str, Sequence[str]]]:
    """Questions of which some spelling of the answer stands in the corpus."""
    corpus = [_text(item) for item in dataset.items if isinstance(item, Mapping)]
    return [
        (question.text, question.answers)
        for question in dataset.questions
        if any(_stands(answer, text) for answer in question.answers for text in corpus)
        and not {answer.lower() for answer in question.answers} & {"yes", "no"}
    ]


def _read(
    graph: Evigraph, questions: Sequence[tuple[str, Sequence[str]]], mode: str, options: Options
) -> list[Mapping[str, float]]:
    cases: list[Mapping[str, float]] = []
    for question, answers in questions:
        read = graph.ask(question, mode=mode, context_only=True, **options)
        context = read.context or ""
        found = any(_stands(answer, context) for answer in answers)
        cases.append({"answer in it": float(found), "tokens": float(read.stats["context_tokens"])})
    return cases


def _stands(answer: str, text: str) -> bool:
    return answer_recall(text, [answer]) == 1.0


def _text(item: Mapping[str, Any]) -> str:
    return f"{item.get('title', '')}\n\n{item['text']}"


def _row(
    options: Options, cases: Sequence[Mapping[str, float]], plain: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    row: dict[str, Any] = {"asked": " ".join(map(_named, options.items())) or "standard", "questions": len(cases)}
    for metric in METRICS:
        if metric not in plain[0]:
            continue
        values = [case[metric] for case in cases]
        difference = paired_difference(values, [case[metric] for case in plain])
        row[metric] = round(sum(values) / len(values), 4)
        row[f"{metric} difference"] = [round(x, 4) for x in (difference.mean, difference.low, difference.high)]
    return row


def _named(option: tuple[str, Any]) -> str:
    return str(option[1]) if option[0] == "method" else option[0]


def _joined(dataset: Dataset, documents: int) -> list[dict[str, str]]:
    """The corpus as so many long documents, its texts dealt out in their order."""
    texts = [f"# {item.get('title') or 'Untitled'}\n\n{item['text']}" for item in dataset.items]
    size = -(-len(texts) // documents)
    return [
        {"document_id": f"joined-{start // size:03d}", "text": "\n\n".join(texts[start : start + size])}
        for start in range(0, len(texts), size)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, help="the first so many questions")
    parser.add_argument("--join", type=int, metavar="N", help="measure over N long documents, with trees")
    options = parser.parse_args()
    for folder in options.folders or [corpus_path().parent]:
        dataset = load_dataset(folder)
        with tempfile.TemporaryDirectory() as scratch, Evigraph(scratch) as graph:
            if options.join:
                graph.index(_joined(dataset, options.join), build_tree=True)
            else:
                graph.index(list(dataset.items))
            shape = f"{options.join} documents joined of {len(dataset.corpus_ids)}" if options.join else "as it is"
            print(f"{dataset.name}: {len(dataset.corpus_ids)} texts, {shape}, {graph.embedder.name},", end=" ")
            print(f"{__version__}, {datetime.now(UTC).date()}")
            if not options.join:
                for row in rankings(graph, dataset, options.limit):
                    print(json.dumps(row), flush=True)
            if all(isinstance(item, Mapping) for item in dataset.items):
                for row in contexts(graph, dataset, options.limit, trees=bool(options.join)):
                    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
