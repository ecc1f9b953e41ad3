"""What a query costs as the workspace grows by passages that have nothing to do with it.

    python bench/growth.py FOLDER [--sizes 2000 20000 100000] [--questions 40] [--mode mix] [--data DIR]

FOLDER is one that `evigraph eval` reads; it is indexed into DATA with the models of the settings. Then copies of its
rows are added until the workspace holds so many passages: in each copy every name and every rare word is another, and
the components of all vectors change places, so that nothing of it bears on the questions, while lengths, frequencies
and shapes are those of real text. Prints a line of JSON for each size: passages, medians and 95th percentiles of the
time, statements, rows that the engine says it reads, and how many questions found the same three best as at first.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evigraph import Evigraph
from evigraph.evaluate import load_dataset
from evigraph.evaluate.datasets import sample
from evigraph.store import Store
from evigraph.store.keys import revision_key
from evigraph.store.rows import Publication

BEST = 3
"""Passages of a question that are compared."""
COMMON = 0.01
"""A word in more than this share of the passages is the same in every copy."""
COPIES: Mapping[str, Mapping[str, str]] = {
    "passages": {
        "document_id": "concat(document_id, {mark:String})",
        "capitalised": "arrayMap(run -> concat(run, {mark:String}), capitalised)",
    },
    "passage_vectors": {"vector": "arrayRotateLeft(vector, {turn:UInt32})"},
    "terms": {"term": "if(term IN {common:Array(String)}, term, concat(term, {mark:String}))"},
    "mentions": {
        "key": "concat(key, {mark:String})",
        "entity_id": "concat(entity_id, {mark:String})",
        "name": "concat(name, {mark:String})",
    },
    "assertions": {
        "assertion_id": "concat(assertion_id, {mark:String})",
        "document_id": "concat(document_id, {mark:String})",
        "subject_id": "concat(subject_id, {mark:String})",
        "object_id": "concat(object_id, {mark:String})",
    },
    "fact_vectors": {"ref": "concat(ref, {mark:String})", "vector": "arrayRotateLeft(vector, {turn:UInt32})"},
    "name_forms": {
        "form": "concat(form, {mark:String})",
        "key": "concat(key, {mark:String})",
        "entity_id": "concat(entity_id, {mark:String})",
    },
}
"""By table, the columns that a copy has otherwise."""


def copy(store: Store, workspace: str, number: int) -> None:
    """Add one copy of what was indexed, and publish it."""
    mark = f"~{number}"
    common = store.rows(
        """SELECT term FROM terms WHERE workspace = {workspace:String} AND term NOT LIKE '%~%'
        GROUP BY term HAVING count() > {share:Float64} * (
            SELECT sum(passages) FROM publications
            WHERE workspace = {workspace:String} AND document_id NOT LIKE '%~%') ORDER BY term""",
        {"workspace": workspace, "share": COMMON},
    )
    bound: dict[str, Any] = {
        "workspace": workspace,
        "mark": mark,
        "turn": 1 + 7 * number % 383,
        "common": [row[0] for row in common],
    }
    documents = [info for info in store.documents(workspace) if "~" not in info.document_id]
    copied = [f"{info.document_id}{mark}" for info in documents]
    store.reserve(workspace, copied)
    keys = [revision_key(info.document_id, info.revision) for info in documents]
    others = [revision_key(name, 1) for name in copied]
    bound |= {"keys": keys, "names": list(map(str, keys)), "others": list(map(str, others))}
    moved = "toUInt128(transform(toString(revision_key), {names:Array(String)}, {others:Array(String)}, '0'))"
    for table, changed in COPIES.items():
        columns = [
            row[0]
            for row in store.rows(
                "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}"
                " ORDER BY position",
                {"table": table},
            )
        ]
        chosen = [moved if name == "revision_key" else changed.get(name, f"`{name}`") for name in columns]
        statement = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(chosen)} FROM {table}"  # noqa: S608
        where = "workspace = {workspace:String} AND revision_key IN {keys:Array(UInt128)}"
        store.command(f"{statement} WHERE {where}", bound)
    terms = dict(
        store.rows(
            """SELECT document_id, terms FROM publications WHERE workspace = {workspace:String}
            AND document_id NOT LIKE '%~%' ORDER BY document_id, revision DESC LIMIT 1 BY document_id""",
            {"workspace": workspace},
        )
    )
    store.publish(
        workspace,
        [
            Publication(
                document_id=name,
                revision=1,
                source=name,
                title="",
                date=None,
                metadata={},
                media_type=info.media_type,
                language=info.language,
                content_hash=name,
                passages=info.passages,
                terms=terms[info.document_id],
            )
            for name, info in zip(copied, documents, strict=True)
        ],
    )


class Meter:
    """Counts the statements of a store, and asks the engine what each will read."""

    def __init__(self, store: Store) -> None:
        self._store, self._rows = store, store.rows
        self.statements = self.rows_read = 0

    def __call__(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        self.statements += 1
        estimate = self._rows(f"EXPLAIN ESTIMATE {sql}", parameters)
        self.rows_read += sum(int(row[3]) for row in estimate)
        return self._rows(sql, parameters)

    def __enter__(self) -> Meter:
        self._store.rows = self  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self._store.rows = self._rows  # type: ignore[method-assign]


def measure(graph: Evigraph, questions: Sequence[str], mode: str) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Figures, and the best passages that each question found. Statements are those of one question after another, with
    nothing in memory at first."""
    for question in questions[:3]:
        graph.retrieve(question, mode=mode)
    took, found = [], []
    for question in questions:
        started = time.perf_counter()
        evidence = graph.retrieve(question, mode=mode)
        took.append(1000 * (time.perf_counter() - started))
        found.append(tuple(chunk.id for chunk in evidence.chunks[:BEST]))
    statements, read = [], []
    graph.store.forget_text()
    for question in questions:
        with Meter(graph.store) as meter:
            graph.retrieve(question, mode=mode)
        statements.append(meter.statements)
        read.append(meter.rows_read)
    figures = {
        "p50_ms": _share(took, 0.5),
        "p95_ms": _share(took, 0.95),
        "statements": _share(statements, 0.5),
        "rows_read_p50": _share(read, 0.5),
        "rows_read_p95": _share(read, 0.95),
    }
    return figures, found


def _share(values: Sequence[float], share: float) -> float:
    return round(sorted(values)[min(len(values) - 1, int(share * len(values)))], 1)


def run(
    folder: Path, data: str, sizes: Sequence[int], questions: int, mode: str, *, graph: Evigraph | None = None
) -> list[dict[str, Any]]:
    """The figures of each size, as they are printed."""
    dataset = load_dataset(folder)
    asked = [question.text for question in sample([q for q in dataset.questions if q.gold], questions)]
    lines: list[dict[str, Any]] = []
    with graph or Evigraph(data) as opened:
        opened.index(list(dataset.items))
        first: list[tuple[str, ...]] = []
        number = len({name.rpartition("~")[2] for name in _copied(opened)})
        while True:
            held = sum(info.passages for info in opened.documents())
            reached = next((size for size in sizes[len(lines) :] if size <= held or number == 0), None)
            if reached is not None:
                figures, found = measure(opened, asked, mode)
                first = first or found
                same = sum(one == other for one, other in zip(found, first, strict=True))
                line = {"passages": held, "mode": mode, "questions": len(asked), **figures, "same_as_first": same}
                lines.append(line)
                print(json.dumps({**line, "load": round(os.getloadavg()[0], 2)}), flush=True)
            if len(lines) == len(sizes):
                return lines
            number += 1
            copy(opened.store, opened.workspace, number)


def _copied(graph: Evigraph) -> list[str]:
    return [info.document_id for info in graph.documents() if "~" in info.document_id]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--mode", default="mix")
    parser.add_argument("--data", default="./evigraph-bench-growth")
    given = parser.parse_args()
    run(given.folder, given.data, given.sizes, given.questions, given.mode)


if __name__ == "__main__":
    main()
