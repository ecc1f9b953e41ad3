"""Which documents are gone from a folder that is mirrored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evigraph.errors import InvalidValue
from evigraph.reports import FileError
from evigraph.types import DocumentInfo

_MANY_RECORDS = (".json", ".jsonl")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mirror:
    """A mirrored folder: the origin its documents carry, and how their sources begin below a wider root."""

    origin: str
    prefix: str = ""

    def holds(self, info: DocumentInfo) -> bool:
        return info.origin == self.origin and info.source.startswith(self.prefix)


def mirrors(inputs: Sequence[Any], root: Path | None, origin: str | None) -> list[Mirror]:
    """What `sync` may compare: whole folders. A single file says nothing of what is gone beside it. `root` and `origin`
    as for `index`: what sources are relative to, and what documents say of where they came from."""
    folders = [Path(item) for item in inputs if isinstance(item, str | Path)]
    if len(folders) != len(inputs) or not all(folder.is_dir() for folder in folders):
        raise InvalidValue("sync needs folders", hint="name the folders to mirror, without files, globs or items")
    if root is None:
        return [Mirror(origin=str(folder.resolve()) if origin is None else origin) for folder in folders]
    base = Path(os.path.abspath(root))
    found = []
    for folder in folders:
        absolute = Path(os.path.abspath(folder))
        if not absolute.is_relative_to(base):
            raise InvalidValue(f"{folder} lies outside the root {root}", hint="name folders below the root")
        below = absolute.relative_to(base).as_posix()
        carried = str(root.resolve()) if origin is None else origin
        found.append(Mirror(origin=carried, prefix="" if below == "." else f"{below}/"))
    return found


def is_gone(info: DocumentInfo, mirrored: Iterable[Mirror], errors: Iterable[FileError]) -> bool:
    """Whether a document that this run did not meet is gone, and not merely unreadable at the moment."""
    if not any(mirror.holds(info) for mirror in mirrored):
        return False
    return not any(_may_hide(error.source, info) for error in errors)


def _may_hide(failed: str, info: DocumentInfo) -> bool:
    """Whether the document may stand in what failed: that file, a folder above it, or a file of many records, whose
    records may name sources of their own."""
    if info.source == failed or info.source.startswith(f"{failed}/") or failed in (".", ""):
        return True
    named_by_record = info.media_type == "application/json" and not info.source.lower().endswith(_MANY_RECORDS)
    return named_by_record and failed.lower().endswith(_MANY_RECORDS)
