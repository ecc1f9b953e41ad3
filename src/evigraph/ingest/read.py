"""First step of ingest: from paths and items to documents with identity, title, date, metadata and content
hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from evigraph.errors import (
    EvigraphError,
    FileTooLarge,
    InvalidItem,
    InvalidSidecar,
    InvalidValue,
    ReadError,
)
from evigraph.ingest.discover import FoundFile, discover, file_error
from evigraph.ingest.metadata import CONTROLS, RESERVED, Described, describe, sidecar
from evigraph.ingest.readers import reader_for
from evigraph.ingest.readers.base import (
    Extracted,
    RecordError,
    check_text,
    first_heading,
    has_word,
    in_memory,
)
from evigraph.ingest.sources import SourceDocument
from evigraph.reports import FileError

Item = Mapping[str, Any]

MAX_TITLE = 300
NAME_LIMITS = {"document_id": 500, "source": 1_000}
"""Characters of the names that an item gives itself."""

ITEM_FIELDS = ("document_id", "title", "text", "source", "date", "metadata")

_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")

READERS_VERSION = 1
"""Part of every content hash; to be raised when a reader makes other text of the same bytes."""


def read(
    inputs: Iterable[str | Path | Item],
    *,
    workspace: str,
    root: Path | None,
    max_file_bytes: int,
    metadata: Mapping[str, str],
) -> Iterator[SourceDocument | FileError]:
    """Documents in the order of `inputs` (paths, globs, or items), and an error for each that cannot be
    read.

    An item is `{"document_id"?, "title"?, "text", "source"?, "date"?, "metadata"?}`. A document's id, where
    none is given, is the first 16 hex digits of SHA-256 over workspace and source (for records of a file,
    with their number; for items without a source, over workspace, title and text). A title, where none is given,
    is the first level-1 heading, else the name of the file or source; an item without source then has none.
    `metadata` holds for all documents and counts before a sidecar, which counts before what the file says itself;
    its keys `title` and `date` set those fields. Documents must be consumed before the files change. Raises
    `InvalidValue` for `metadata` alone.
    """
    reserved = [key for key in metadata if key in RESERVED]
    if reserved:
        raise InvalidValue(f"metadata cannot set {reserved[0]!r}", hint="give another key")
    given = describe(metadata, "metadata", InvalidValue)
    return _read(inputs, workspace, root, max_file_bytes, given)


def _read(
    inputs: Iterable[str | Path | Item],
    workspace: str,
    root: Path | None,
    max_file_bytes: int,
    given: Described,
) -> Iterator[SourceDocument | FileError]:
    seen: dict[str, Path] = {}
    number = 0
    for is_item, group in groupby(inputs, key=lambda value: isinstance(value, Mapping)):
        if is_item:
            for item in group:
                number += 1
                yield _item(item, number, workspace, given)  # type: ignore[arg-type]
            continue
        for found in discover(group, root, seen=seen):  # type: ignore[arg-type]
            if isinstance(found, FileError):
                yield found
            else:
                yield from _file(found, workspace, max_file_bytes, given)


def document_id_of(workspace: str, source: str) -> str:
    """Id of a document that was given none."""
    return hashlib.sha256(f"{workspace}\0{source}".encode()).hexdigest()[:16]


def _file(
    found: FoundFile, workspace: str, max_file_bytes: int, given: Described
) -> Iterator[SourceDocument | FileError]:
    """The documents of one file. Whatever is wrong with it becomes an error value."""
    try:
        size = found.path.stat().st_size
        if size > max_file_bytes:
            raise FileTooLarge(
                f"{found.source}: {size:,} bytes, more than the limit of {max_file_bytes:,}",
                hint="split the file, or raise EVIGRAPH_MAX_FILE_BYTES",
            )
        beside = sidecar(found)
        for extracted in reader_for(found.path)(found.path):
            if isinstance(extracted, RecordError):
                yield file_error(found.source, extracted.error)
            else:
                yield _document(extracted, found, workspace, given, beside)
    except (ReadError, OSError) as error:
        yield file_error(found.source, error)


def _document(
    extracted: Extracted, found: FoundFile, workspace: str, given: Described, beside: Described
) -> SourceDocument | FileError:
    record = extracted.record
    where = found.source if record is None else f"{found.source}#{record}"
    from_front_matter = extracted.media_type == "text/markdown" and record is None
    try:
        _check_name(extracted.record_id, "document_id", where)
        _check_name(extracted.source, "source", where)
        own = describe(
            {"title": extracted.title, **extracted.declared},
            f"front matter of {where}" if from_front_matter else where,
            InvalidSidecar if record is None else InvalidItem,
            lenient=extracted.media_type == "text/html",
        )
    except EvigraphError as error:
        return FileError(source=found.source, code=error.code, message=str(error), hint=error.hint)
    # A sidecar's title names the file, not each of its records.
    about = beside if record is None else Described(date=beside.date, values=beside.values, warnings=beside.warnings)
    described = given.over(about).over(own)
    title = described.title or extracted.heading
    if not title and extracted.source:
        title = _source_name(extracted.source, extracted.record_id)
    elif not title:
        title = readable_name(found.path) + ("" if record is None else f" {record}")
    return _source_document(
        document_id=extracted.record_id or document_id_of(workspace, where),
        source=extracted.source or found.source,
        origin=str(found.root.resolve()),
        title=title,
        extracted=extracted,
        described=described,
    )


def _source_document(
    *, document_id: str, source: str, origin: str, title: str, extracted: Extracted, described: Described
) -> SourceDocument:
    title, warnings = " ".join(CONTROLS.sub(" ", title).split()), described.warnings
    if len(title) > MAX_TITLE:
        title, warnings = title[:MAX_TITLE].rstrip(), (*warnings, f"{source}: title cut at {MAX_TITLE} characters")
    shown = [title, described.date.isoformat() if described.date else None, sorted(described.values.items())]
    known = json.dumps([READERS_VERSION, extracted.digest, *shown], ensure_ascii=True)
    return SourceDocument(
        document_id=document_id,
        source=source,
        title=title,
        segments=extracted.segments,
        content_hash=hashlib.sha256(known.encode()).hexdigest(),
        date=described.date,
        metadata=dict(sorted(described.values.items())),
        media_type=extracted.media_type,
        origin=origin,
        warnings=extracted.warnings + warnings,
    )


def readable_name(path: Path) -> str:
    """A file's name as a title: without suffix, underscores and the hyphens between words as spaces."""
    name = _BETWEEN_LETTERS.sub(" ", path.stem.replace("_", " "))
    return " ".join(name.split()) if has_word(name) else path.name


def _source_name(source: str, document_id: str) -> str:
    """A source as a title. An id is none: as a name it would become an entity that no text speaks of."""
    return "" if source == document_id else readable_name(Path(source))


def _item(item: Item, number: int, workspace: str, given: Described) -> SourceDocument | FileError:
    try:
        return _checked_item(item, f"item {number}", workspace, given)
    except (InvalidItem, ReadError) as error:
        named = next((item[key] for key in NAME_LIMITS if _is_name(item.get(key), key)), "")
        return FileError(source=named or f"item {number}", code=error.code, message=str(error), hint=error.hint)


def _checked_item(item: Item, where: str, workspace: str, given: Described) -> SourceDocument:
    hint = f"an item has the fields {', '.join(ITEM_FIELDS)}; only text is required"
    unknown = sorted(str(key) for key in item if key not in ITEM_FIELDS)
    if unknown:
        raise InvalidItem(f"{where}: unknown field {unknown[0]!r}", hint=hint)
    if not isinstance(item.get("text"), str):
        raise InvalidItem(f"{where}: text is missing or not a string", hint=hint)
    for key in NAME_LIMITS:
        _check_name(item.get(key), key, where)
    if not isinstance(item.get("title"), str | None):
        raise InvalidItem(f"{where}: title is not a string", hint=hint)
    values = item.get("metadata") or {}
    if not isinstance(values, Mapping):
        raise InvalidItem(f"{where}: metadata is not a mapping", hint=hint)
    clash = [key for key in (*RESERVED, "title", "date") if key in values]
    if clash:
        raise InvalidItem(f"{where}: {clash[0]!r} inside metadata", hint="give it as a field of the item")
    own = describe({**values, "title": item.get("title"), "date": item.get("date")}, where, InvalidItem)
    try:
        text = check_text(item["text"], where)
    except ReadError as error:
        if error.code == "empty_document":
            raise
        raise InvalidItem(str(error), hint=error.hint) from error
    source = str(item.get("source") or "")
    heading = first_heading(text)
    described = given.over(own)
    anonymous = f"\0{described.title}\0{text}"
    document_id = str(item.get("document_id") or "") or document_id_of(workspace, source or anonymous)
    extracted = Extracted(
        segments=in_memory(text),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        media_type="text/markdown",
        heading=heading,
    )
    return _source_document(
        document_id=document_id,
        source=source or document_id,
        origin="",
        title=described.title or heading or _source_name(source or document_id, document_id),
        extracted=extracted,
        described=described,
    )


def _check_name(value: object, key: str, where: str) -> None:
    """Raises `InvalidItem` for a `document_id` or `source` that is too long or no plain line of text."""
    if value is None or _is_name(value, key):
        return
    limit = NAME_LIMITS[key]
    if not isinstance(value, str):
        problem = "is not a string"
    elif len(value) > limit:
        problem = f"is {len(value):,} characters long, more than the limit of {limit:,}"
    else:
        problem = "holds control characters, or such that are no text"
    raise InvalidItem(f"{where}: {key} {problem}", hint=f"give a short line of text, or leave {key} out")


def _is_name(value: object, key: str) -> bool:
    usual = isinstance(value, str) and len(value) <= NAME_LIMITS[key] and not CONTROLS.search(value)
    return usual and not any("\ud800" <= char <= "\udfff" for char in str(value))
