"""What every format ends in: documents that the indexer takes like those read from files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evigraph.errors import InvalidValue
from evigraph.ingest.imports.given import GivenClaim, GivenGraph, GivenMention, GivenPassage
from evigraph.ingest.imports.rows import MAX_NAME, MAX_TYPE, Folder, Problems, RowError, checked_text
from evigraph.ingest.metadata import CONTROLS, RESERVED, Described, describe
from evigraph.ingest.read import MAX_TITLE, NAME_LIMITS
from evigraph.ingest.readers.base import in_memory
from evigraph.ingest.sources import SourceDocument
from evigraph.text.names import entity_id, name_key, split_entity_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """One import under way. `rows` and `not_imported` are filled while files are read, `counts` while documents are
    indexed; `merges` are groups of entity ids that count as one, the representative first."""

    folder: Folder
    workspace: str
    metadata: Described
    problems: Problems = field(default_factory=Problems)
    rows: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    not_imported: dict[str, str] = field(default_factory=dict)
    merges: list[tuple[str, ...]] = field(default_factory=list)

    def document(
        self,
        *,
        document_id: str,
        source: str,
        title: str,
        text: str,
        units: Sequence[GivenPassage],
        mentions: Sequence[GivenMention],
        claims: Sequence[GivenClaim],
        descriptions: Mapping[str, str],
        described: Described | None = None,
        media_type: str = "text/markdown",
        untyped: bool = False,
    ) -> SourceDocument:
        """A document with its graph. Everything that shows in the store is part of its content hash."""
        about = self.metadata.over(described or Described())
        title = " ".join(CONTROLS.sub(" ", title or about.title).split())[:MAX_TITLE].rstrip()
        graph = GivenGraph(
            title=title,
            text=text,
            units=units,
            mentions=mentions,
            claims=claims,
            descriptions=descriptions,
            counts=self.counts,
            untyped=untyped,
        )
        shown = [title, str(about.date), sorted(about.values.items()), media_type, sorted(descriptions.items())]
        digest = hashlib.sha256(json.dumps([text, shown]).encode())
        parts: Sequence[GivenPassage | GivenMention | GivenClaim] = (*units, *mentions, *claims)
        for part in parts:
            digest.update(json.dumps(asdict(part), sort_keys=True).encode())
        return SourceDocument(
            document_id=document_id,
            source=source,
            title=title,
            segments=in_memory(text),
            content_hash=digest.hexdigest(),
            date=about.date,
            metadata=dict(sorted(about.values.items())),
            media_type=media_type,
            given=graph,
        )


def given_metadata(metadata: Mapping[str, Any]) -> Described:
    """Metadata for all documents of an import. Raises `InvalidValue`."""
    reserved = [key for key in metadata if key in RESERVED]
    if reserved:
        raise InvalidValue(f"metadata cannot set {reserved[0]!r}", hint="give another key")
    return describe(metadata, "metadata", InvalidValue)


def id_of(value: object, what: str, *, limit: int = NAME_LIMITS["document_id"]) -> str:
    """A document id or source: a short line of text. A whole number is taken as its digits."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        value = str(value)
    name = checked_text(value, what, limit=limit)
    if CONTROLS.search(name):
        raise RowError("not_text", f"{what} holds control characters")
    return name


def entity_id_of(value: object, *, exact: bool = True) -> str:
    """An entity id; an `exact` one is written as the store makes it, else it would name an entity beside that meant."""
    given = id_of(value, "entity id", limit=MAX_NAME + MAX_TYPE)
    try:
        key, kind = split_entity_id(given)
    except InvalidValue as error:
        raise RowError("wrong_type", str(error)) from None
    if exact and (key != name_key(key) or given != entity_id(key, kind)):
        raise RowError("bad_id", f"entity id {given[:80]!r} is not type and name as they are normalised")
    return given


def body_of(value: object, what: str) -> str:
    """The text of a passage or document. Line ends become `\\n` without moving any offset."""
    text = checked_text(value, what, limit=1 << 62)
    return text.replace("\r\n", " \n").replace("\r", "\n")
