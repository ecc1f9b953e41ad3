"""Answered and abstained, by evidence present and absent: the table behind `query/answer/strength.py`.

    python bench/abstention.py ../shared/data

Present: the sample's questions with evidence, and musique_train100 on its own corpus. Absent: the sample's absent
questions, and hotpotqa_train100 asked of the musique corpus. Indexing takes
minutes the first time and is kept in DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from evigraph import Evigraph
from evigraph.query.answer.strength import ENOUGH, strength
from evigraph.query.answer.support import question_weights
from evigraph.query.pipeline import RETRIEVAL
from evigraph.query.request import parse
from evigraph.sample import corpus_path, questions_path


def questions(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def strengths(graph: Evigraph, asked: list[str]) -> Iterator[float]:
    """Strength of the evidence of each question, in default mode."""
    for question in asked:
        with graph.queries.open(parse({"query": question})) as run:
            for step in RETRIEVAL:
                step(run)
            yield strength(run, question_weights(run)).value if run.chunks else -1.0


def row(name: str, values: list[float]) -> str:
    abstained = sum(value < ENOUGH for value in values)
    share = abstained / len(values)
    return f"{name:45} {len(values):4} answered {len(values) - abstained:4} abstained {abstained:4} ({share:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--data", default="./evigraph-bench")
    arguments = parser.parse_args()
    with Evigraph(arguments.data, workspace="sample") as graph:
        graph.index(corpus_path())
        labelled = questions(questions_path())
        for kind in sorted({str(item["type"]) for item in labelled}):
            asked = [str(item["question"]) for item in labelled if item["type"] == kind]
            print(row(f"sample, {kind}", list(strengths(graph, asked))))
        musique = graph.in_workspace("musique")
        corpus = questions(arguments.shared / "musique_train100" / "corpus.jsonl")
        musique.index([{"document_id": item["id"], "title": item["title"], "text": item["text"]} for item in corpus])
        for name in ("musique_train100", "hotpotqa_train100"):
            asked = [str(item["question"]) for item in questions(arguments.shared / name / "questions.jsonl")]
            print(row(f"{name} asked of musique_train100", list(strengths(musique, asked))))


if __name__ == "__main__":
    main()
