"""Reads below the store's statements: what the engine holds in its tables and on its disk."""

from __future__ import annotations

import contextlib
import os
import secrets
import string
from collections.abc import Iterator
from pathlib import Path

from evigraph.store import Store
from evigraph.testing.store_contract.material import Shelf, doc

HOLDS_TEXT = ("String", "LowCardinality(String)", "Array(String)", "Map(String, String)")


def marker() -> str:
    """A name that no compression can hide, short enough to be one term."""
    return "M" + "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(40))


def write_history(shelf: Shelf, replaced: str, deleted: str, kept: str) -> None:
    """One document replaced, one deleted, one kept; each marker stands in every field that can hold one."""
    for document_id, word in (("a", replaced), ("gone", deleted), ("kept", kept)):
        other = f"{word}x"
        shelf.fill(doc(document_id, f"{word} supplies {other}", title=word, metadata={word: word}))
    shelf.put("a", "Acme supplies Birch")
    shelf.delete("gone")


def places(store: Store, word: str) -> list[tuple[str, str]]:
    """`(table, column)` of every column of the database that holds text and, in some row, this word (in any case)."""
    columns = store.rows(
        """
        SELECT table, name, type FROM system.columns
        WHERE database = currentDatabase() AND type IN {types:Array(String)} ORDER BY table, name""",
        {"types": list(HOLDS_TEXT)},
    )
    assert len(columns) > 30, "the columns that hold text are found by their types"
    found = []
    for table, name, _ in columns:
        sql = f"SELECT count() FROM `{table}` WHERE positionCaseInsensitive(toString(`{name}`), {{word:String}}) > 0"
        if store.rows(sql, {"word": word})[0][0]:
            found.append((table, name))
    return found


def inactive_parts(store: Store) -> int:
    """Inactive parts of tables that hold text; `migrations` holds names of functions."""
    sql = """
        SELECT count() FROM system.parts
        WHERE NOT active AND database = currentDatabase() AND table != 'migrations'"""
    return int(store.rows(sql, {})[0][0])


def files_with(folder: Path, word: str) -> Iterator[Path]:
    """Files below a folder whose bytes hold the word, whatever the case of its first letter."""
    needle = word[1:].encode()
    # The engine may clear old parts meanwhile: what vanishes while the folder is read holds nothing.
    for path in sorted(Path(root) / name for root, _, names in os.walk(folder) for name in names):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink() and needle in path.read_bytes():
                yield path
