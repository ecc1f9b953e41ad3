"""Vectors of a second embedding model beside the first, for `reembed`. Documents of bases that have a model of their
own are left alone: theirs never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evigraph.store.store import Store

Missing = tuple[tuple[Any, ...], str]
"""`(row identity, text to embed)`."""

_OF_WORKSPACE = """revision_key NOT IN (
    SELECT revision_key FROM knowledge_base_documents
    WHERE workspace = {workspace:String} AND embedding_model != '')"""


def passages_without_vectors(store: Store, workspace: str, model: str, limit: int) -> list[Missing]:
    sql = f"""
        SELECT revision_key, passage_index, level, if(context = '', text, concat(context, '\\n', text)) FROM passages
        WHERE workspace = {{workspace:String}} AND {_OF_WORKSPACE} AND (revision_key, passage_index) NOT IN (
            SELECT revision_key, passage_index FROM passage_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}})
        ORDER BY revision_key, passage_index LIMIT {{limit:UInt32}}"""
    rows = store.rows(sql, {"workspace": workspace, "model": model, "limit": limit})
    return [(row[:3], row[3]) for row in rows]


def facts_without_vectors(store: Store, workspace: str, model: str, limit: int) -> list[Missing]:
    sql = f"""
        SELECT kind, revision_key, ref, any(text) FROM fact_vectors
        WHERE workspace = {{workspace:String}} AND {_OF_WORKSPACE} AND (kind, revision_key, ref) NOT IN (
            SELECT kind, revision_key, ref FROM fact_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}})
        GROUP BY kind, revision_key, ref ORDER BY kind, revision_key, ref LIMIT {{limit:UInt32}}"""
    rows = store.rows(sql, {"workspace": workspace, "model": model, "limit": limit})
    return [(row[:3], row[3]) for row in rows]


def add_passage_vectors(
    store: Store, workspace: str, model: str, missing: Sequence[Missing], vectors: NDArray[np.float32]
) -> None:
    store.insert(
        "passage_vectors",
        ("workspace", "model", "revision_key", "passage_index", "level", "vector"),
        [[workspace, model, *row, vector.tolist()] for (row, _), vector in zip(missing, vectors, strict=True)],
    )


def add_fact_vectors(
    store: Store, workspace: str, model: str, missing: Sequence[Missing], vectors: NDArray[np.float32]
) -> None:
    store.insert(
        "fact_vectors",
        ("workspace", "model", "kind", "revision_key", "ref", "text", "vector"),
        [[workspace, model, *row, text, vector.tolist()] for (row, text), vector in zip(missing, vectors, strict=True)],
    )
