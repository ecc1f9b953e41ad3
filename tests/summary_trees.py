"""Documents with trees, and what is stored of them."""

from __future__ import annotations

from typing import Any

from evigraph import Evigraph
from evigraph.store.keys import revision_key

TOPICS = ("pumps", "wells", "ferries", "rods", "fences")
_WORDS = {
    "pumps": "Corrick Vane delivered {n} hand pumps to Tarn in week {w}.",
    "wells": "The committee of Lowani dug well number {n} near the school in week {w}.",
    "ferries": "The ferry Halima crossed the lake {n} times with cargo in week {w}.",
    "rods": "Joseph Amarra tested {n} steel rods for rust in week {w}.",
    "fences": "Villagers of Sedo mended {n} fences around the goats in week {w}.",
}


def report(sections: int, *, sentences: int = 14) -> str:
    """A document of so many sections, about a passage each; topics take turns."""
    parts = []
    for number in range(sections):
        topic = TOPICS[number % len(TOPICS)]
        said = " ".join(_WORDS[topic].format(n=10 * number + at, w=at + 1) for at in range(sentences))
        parts.append(f"## Section {number} on {topic}\n\n{said}")
    return "\n\n".join(parts)


def rows(graph: Evigraph, document_id: str, revision: int) -> list[dict[str, Any]]:
    """Passages and summaries of a revision, by index."""
    columns = ("passage_index", "level", "text", "context", "start", "end", "supports", "token_count")
    sql = f"""
        SELECT {", ".join(columns)} FROM passages
        WHERE workspace = {{workspace:String}} AND revision_key = {{key:UInt128}} ORDER BY passage_index"""
    bound = {"workspace": graph.workspace, "key": revision_key(document_id, revision)}
    return [dict(zip(columns, row, strict=True)) for row in graph.store.rows(sql, bound)]


def summaries(graph: Evigraph, document_id: str, revision: int = 1) -> list[dict[str, Any]]:
    return [row for row in rows(graph, document_id, revision) if row["level"]]


def count(graph: Evigraph, table: str, condition: str = "1") -> int:
    sql = f"SELECT count() FROM {table} WHERE workspace = {{workspace:String}} AND {condition}"
    return int(graph.store.rows(sql, {"workspace": graph.workspace})[0][0])
