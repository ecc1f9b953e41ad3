"""Answered and abstained, by evidence present and absent: the table behind `query/answer/strength.py`.

    python bench/abstention.py FOLDER [--data DIR]

FOLDER holds the development sets. Each question is asked in the default mode, without a chat model. Evidence is present
for the sample's questions with gold, and for those of musique_train100 and phantomwiki_easy over their own corpora. It
is absent for the sample's questions of that type; for hotpotqa_train100 asked of the corpus of musique_train100; and
for phantomwiki_easy where the question may see only documents that hold none of the names and words it turns on (its
constants: a person, an occupation, a hobby). Indexing takes minutes the first time and is kept in DATA.

Prints a table, then a line of JSON. Shares have 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evigraph import Evigraph
from evigraph.evaluate.metrics import bootstrap
from evigraph.sample import corpus_path, questions_path

Row = Mapping[str, Any]

CONSTANT = re.compile(r'"([^"]+)"')


class Asked(NamedTuple):
    """Questions of one kind, and for each whether the engine abstained."""

    name: str
    present: bool
    abstained: list[bool]

    @property
    def record(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "present": self.present,
            "questions": len(self.abstained),
            "abstained": sum(self.abstained),
        }


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def index(graph: Evigraph, corpus: Iterable[Row]) -> None:
    graph.index([{"document_id": row["id"], "title": row["title"], "text": row["text"]} for row in corpus])


def of_sample(graph: Evigraph) -> Iterator[Asked]:
    graph.index(corpus_path())
    labelled = rows(questions_path())
    for kind in sorted({row["type"] for row in labelled}):
        asked = [row["question"] for row in labelled if row["type"] == kind]
        yield Asked(name=f"sample, {kind}", present=kind != "absent", abstained=[_abstains(graph, q) for q in asked])


def of_another(graph: Evigraph, folder: Path) -> Iterator[Asked]:
    index(graph, rows(folder / "musique_train100" / "corpus.jsonl"))
    for name, present in (("musique_train100", True), ("hotpotqa_train100", False)):
        asked = [row["question"] for row in rows(folder / name / "questions.jsonl")]
        label = f"{name} over musique_train100"
        yield Asked(name=label, present=present, abstained=[_abstains(graph, question) for question in asked])


def of_persons(graph: Evigraph, folder: Path) -> Iterator[Asked]:
    corpus = rows(folder / "phantomwiki_easy" / "corpus.jsonl")
    index(graph, corpus)
    asked = [(row["question"], _constants(row)) for row in rows(folder / "phantomwiki_easy" / "questions.jsonl")]
    own = [_abstains(graph, question) for question, _ in asked]
    yield Asked(name="phantomwiki_easy", present=True, abstained=own)
    without = [
        _abstains(graph, question, [row["id"] for row in corpus if not any(word in row["text"] for word in words)])
        for question, words in asked
        if words
    ]
    yield Asked(name="phantomwiki_easy, evidence out of sight", present=False, abstained=without)


def _constants(row: Row) -> list[str]:
    """Names and words in a question's logic program."""
    return sorted({word for goal in row["prolog"] for word in CONSTANT.findall(goal) if word in row["question"]})


def _abstains(graph: Evigraph, question: str, visible: list[str] | None = None) -> bool:
    shown = {} if visible is None else {"document_filter": {"document_ids": visible}}
    return graph.ask(question, **shown).abstained


def line(name: str, abstained: list[bool]) -> str:
    share = bootstrap({"": [float(one) for one in abstained]})[""]
    return (
        f"{name:50} {len(abstained):5} answered {len(abstained) - sum(abstained):5} abstained {sum(abstained):5}"
        f"  {100 * share.mean:5.1f} % [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    )


def table(measured: list[Asked]) -> str:
    lines = []
    for present, label in ((True, "evidence present"), (False, "evidence absent")):
        kinds = [kind for kind in measured if kind.present == present]
        lines += [label, *(line(f"  {kind.name}", kind.abstained) for kind in kinds)]
        lines.append(line("  all", [one for kind in kinds for one in kind.abstained]))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="./evigraph-bench")
    options = parser.parse_args(arguments)
    with Evigraph(options.data, workspace="sample") as graph:
        measured = [
            *of_sample(graph),
            *of_another(graph.in_workspace("musique"), options.folder),
            *of_persons(graph.in_workspace("phantomwiki"), options.folder),
        ]
    print(table(measured))
    print(json.dumps([kind.record for kind in measured]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
