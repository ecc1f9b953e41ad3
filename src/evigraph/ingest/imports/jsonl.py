"""Plain JSON Lines: what `evigraph export --format jsonl` writes, or any program.

Each line is an object whose `kind` is one of

- `document`: `document_id`, and `source`, `title`, `date`, `metadata`, `media_type`, `text` where there are such;
- `text`: a part of a document's text too long for one line: `document_id`, `start`, `text`;
- `passage`: `document_id`, `index`, and its span `start`, `end` in the document's text, or its own `text`; `context`,
  `heading_path`, `page`, `sentences` (spans) where there are such. Without passages a document is cut as usual; without
  a text of its own it is its passages, joined by blank lines;
- `entity`: `name`, `type`, `id`, and `description`, which holds for the documents that mention it if that is one;
  `members` are ids that count as this entity (a merge);
- `mention`: `chunk_id` (`document_id#index`), `name`, `type`; `entity_id`, `key`, `start`, `end`, `role`, `weight`,
  `confidence`, `extractor` where known. Without a span the name is looked for in the passage;
- `assertion`: `chunk_id`, `subject_name`, `subject_type`, `predicate`, `object_name`, `object_type`; `subject_id`,
  `object_id`, `description`, `start`, `end`, `confidence`, `weight`, `extractor`, `verified` where known. Its ends are
  mentions of the passage, listed or not;
- `description`: `document_id`, `entity_id`, `text`: what a document says of an entity as a whole;
- `graph`: the header; it is not needed. With `format: "evigraph"` the ids are those of a store, and taken as they are.

An id is made of a type and a normalised name: `person:ada lovelace`. Elsewhere it is derived from these, and a given
one that differs is reported.

Other fields are left out. Offsets count code points. An export has no domain schema and no earlier revisions, and of
merges the groups they make: several of one group are imported as one, without their reasons.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evigraph.errors import UnknownGraphFormat
from evigraph.ingest.imports.documents import Import, body_of, entity_id_of, id_of
from evigraph.ingest.imports.given import GivenClaim, GivenEntity, GivenMention, GivenPassage
from evigraph.ingest.imports.layout import SECTION_BREAK
from evigraph.ingest.imports.rows import (
    MAX_NAME,
    MAX_WEIGHT,
    Folder,
    Problems,
    Row,
    RowError,
    list_of,
    name_of,
    number_of,
    text_of,
    type_of,
)
from evigraph.ingest.metadata import Described, describe
from evigraph.ingest.sources import SourceDocument
from evigraph.text.names import name_key, split_entity_id

EXTRACTOR = "import:jsonl"
OVERLAP = 4
"""How many times its text the passages of a document may hold together."""
KINDS = ("graph", "document", "text", "passage", "entity", "mention", "assertion", "description")
_ROLES: tuple[Literal["text", "title", "heading", "alias"], ...] = ("text", "title", "heading", "alias")


def matches(folder: Folder) -> bool:
    """Whether the first record of a file says what kind it is."""
    for path in folder.files:
        if path.suffix == ".jsonl" and path.stat().st_size <= folder.max_file_bytes:
            first = next(folder.rows(path, Problems()), None)
            if first is not None and first.values.get("kind") in KINDS:
                return True
    return False


@dataclass(kw_only=True, slots=True)
class _Document:
    """The records of one document, as they came."""

    row: Row | None = None
    parts: list[tuple[int, str]] = field(default_factory=list)
    passages: list[tuple[int, Row]] = field(default_factory=list)
    mentions: list[tuple[int | None, Row]] = field(default_factory=list)
    assertions: list[tuple[int | None, Row]] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)


def documents(job: Import) -> Iterator[SourceDocument]:
    """The documents of all records, in the order they are first named."""
    records = _Records(job)
    files = [path for path in job.folder.files if path.suffix == ".jsonl"]
    if not files:
        raise UnknownGraphFormat("there is no .jsonl file", hint="name a file that `evigraph export` wrote")
    for path in files:
        for row in job.folder.rows(path, job.problems):
            records.take(row)
    for document_id, document in records.documents.items():
        try:
            yield _Assembly(job, document_id, document, records).made()
        except RowError as error:
            # What is wrong with a whole document is a problem of its record.
            job.problems.add(document.row or Row(file="", number=0, values={}), error.reason, error.detail)


class _Records:
    def __init__(self, job: Import) -> None:
        self.job = job
        self.documents: dict[str, _Document] = {}
        self.described: dict[str, str] = {}
        self.exported = False

    def take(self, row: Row) -> None:
        kind = row.values.get("kind")
        try:
            if kind not in KINDS:
                raise RowError("unknown_kind", f"kind is {str(kind)[:40]!r}; valid: {', '.join(KINDS)}")
            self.job.rows[str(kind)] += 1
            if kind == "entity":
                self._entity(row)
            elif kind == "graph":
                self.exported = row.values.get("format") == "evigraph"
            else:
                self._of_document(str(kind), row)
        except RowError as error:
            self.job.problems.add(row, error.reason, error.detail)

    def _entity(self, row: Row) -> None:
        values = row.values
        entity = self.entity(row, "name", "type", "id")
        description = text_of(values, "description", default="").strip()
        if description:
            self.described.setdefault(entity.id, description)
        members = [entity_id_of(member) for member in list_of(values, "members")]
        others = tuple(sorted({member for member in members if member != entity.id}))
        if others:
            self.job.merges.append((entity.id, *others))

    def entity(self, row: Row, name: str, type: str, id: str, key: str = "") -> GivenEntity:
        """The entity of four fields. A store's ids are taken with the key and type they are made of, since what a
        passage calls an entity may be another form of its name; any other id only says what the name says."""
        values = row.values
        shown = name_of(values.get(name), name)
        given = None if values.get(id) is None else entity_id_of(values[id], exact=False)
        kind = values.get(type)
        if given is not None and self.exported:
            own_key, own_kind = split_entity_id(given)
            kind = own_kind if kind is None else kind
            own = GivenEntity.of(shown, str(kind), own_key)
            if own.id == given and own_key == name_key(own_key) and values.get(key, own_key) == own_key:
                return own
        if given is not None and kind in (None, ""):
            kind = split_entity_id(given)[1]
        made = GivenEntity.of(shown, type_of(kind))
        if given is not None and given != made.id:
            self.job.problems.add(row, "id_disagrees", f"{id} is {given[:80]!r}, imported as {made.id[:80]!r}")
        elif key and values.get(key) not in (None, made.key):
            self.job.problems.add(row, "id_disagrees", f"{key} is not {made.key[:80]!r}, as the name is imported")
        return made

    def _of_document(self, kind: str, row: Row) -> None:
        key, index = _place(row.values)
        document = self.documents.get(key) or _Document()
        if kind == "document":
            if document.row is not None:
                raise RowError("duplicate_id", f"document {key[:80]!r} stands in two records; the first counts")
            document.row = row
        elif kind == "text":
            document.parts.append((_offset(row.values, "start"), body_of(row.values.get("text"), "text")))
        elif kind == "passage":
            number = len(document.passages) if row.values.get("index") is None else _offset(row.values, "index")
            document.passages.append((number, row))
        elif kind == "description":
            entity_id = entity_id_of(row.values.get("entity_id"))
            document.descriptions.setdefault(entity_id, text_of(row.values, "text"))
        elif kind == "mention":
            document.mentions.append((index, row))
        else:
            document.assertions.append((index, row))
        self.documents[key] = document


class _Assembly:
    """One document put together from its records."""

    def __init__(self, job: Import, document_id: str, document: _Document, records: _Records) -> None:
        self.job = job
        self.document_id = document_id
        self.document = document
        self.records = records
        self.units: list[GivenPassage] = []
        self.unit_of: dict[int, int] = {}
        self.text = ""
        self.spanned = 0

    def made(self) -> SourceDocument:
        values = self.document.row.values if self.document.row is not None else {}
        title = " ".join(text_of(values, "title", limit=MAX_NAME, default="").split())
        self._lay_out(values, title)
        if not self.text.strip():
            raise RowError("missing_field", f"document {self.document_id[:80]!r} has no text and no passages")
        mentions = self._each(self.document.mentions, self._mention)
        claims = self._each(self.document.assertions, self._claim)
        named = {m.entity.id for m in mentions} | {end.id for c in claims for end in (c.subject, c.object)}
        described = {key: text for key, text in self._global_descriptions().items() if key in named}
        return self.job.document(
            document_id=self.document_id,
            source=id_of(values.get("source") or self.document_id, "source", limit=1_000),
            title=title,
            text=self.text,
            units=self.units,
            mentions=mentions,
            claims=claims,
            descriptions={**described, **self.document.descriptions},
            described=self._described(values),
            media_type=text_of(values, "media_type", limit=100, default="text/markdown"),
        )

    def _described(self, values: Mapping[str, Any]) -> Described:
        metadata = values.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise RowError("wrong_type", "metadata is not an object")
        found = describe(
            {**metadata, "date": values.get("date")},
            f"document {self.document_id[:80]}",
            UnknownGraphFormat,
            lenient=True,
        )
        for warning in found.warnings:
            self.job.problems.add(self._row(), "metadata_left_out", warning)
        return found

    def _global_descriptions(self) -> Mapping[str, str]:
        """Descriptions given for all documents; where there are several, nobody knows whose they are."""
        if len(self.records.documents) == 1 or not self.records.described:
            return self.records.described
        for entity_id in sorted(self.records.described):
            detail = f"the description of {entity_id!r} is for no document in particular, and is left out"
            self.job.problems.note("", 0, "description_over_documents", detail)
        self.records.described.clear()
        return {}

    # ---------------------------------------------------------------- text and passages

    def _lay_out(self, values: Mapping[str, Any], title: str) -> None:
        if values.get("text") is not None:
            self.text = body_of(values["text"], "text")
        elif self.document.parts:
            self.text = self._joined()
        own = not self.text
        for number, row in sorted(self.document.passages, key=lambda item: item[0]):
            try:
                if number in self.unit_of:
                    raise RowError("duplicate_id", f"passage {number} of {self.document_id[:80]!r} stands twice")
                unit = self._appended(row.values, title) if own else self._spanned(row.values, title)
            except RowError as error:
                self.job.problems.add(row, error.reason, error.detail)
                continue
            self.unit_of[number] = len(self.units)
            self.units.append(unit)
        if not self.units:
            self.units = [GivenPassage(start=0, end=len(self.text), context=title)]

    def _joined(self) -> str:
        text = ""
        for start, part in sorted(self.document.parts):
            if start != len(text):
                raise RowError("text_incomplete", f"a part begins at {start}, the one before ends at {len(text)}")
            text += part
        return text

    def _appended(self, values: Mapping[str, Any], title: str) -> GivenPassage:
        text = body_of(values.get("text"), "text")
        start = len(self.text) + len(SECTION_BREAK) if self.text else 0
        self.text = f"{self.text}{SECTION_BREAK}{text}" if self.text else text
        return self._unit(values, title, start, start + len(text))

    def _spanned(self, values: Mapping[str, Any], title: str) -> GivenPassage:
        start, end = _offset(values, "start"), _offset(values, "end")
        if not start < end <= len(self.text):
            raise RowError("span_outside_text", f"{start}-{end} is no span of a text of {len(self.text)}")
        shown = values.get("text")
        self.spanned += end - start
        if self.spanned > OVERLAP * len(self.text):
            raise RowError("passages_overlap", f"{start}-{end}: passages hold more than {OVERLAP} times the text")
        if shown is not None and shown != self.text[start:end]:
            raise RowError("span_not_the_text", f"the passage's text is not the document's from {start} to {end}")
        return self._unit(values, title, start, end)

    def _unit(self, values: Mapping[str, Any], title: str, start: int, end: int) -> GivenPassage:
        page = values.get("page")
        spans = [_pair(pair) for pair in list_of(values, "sentences")]
        return GivenPassage(
            start=start,
            end=end,
            context=text_of(values, "context", default=title),
            heading_path=tuple(name_of(part, "heading_path") for part in list_of(values, "heading_path")),
            page=None if page is None else _offset(values, "page"),
            sentences=tuple(span for span in spans if start <= span[0] < span[1] <= end),
        )

    # ---------------------------------------------------------------- mentions and assertions

    def _each(self, records: list[tuple[int | None, Row]], make: Callable[[int, Row], Any]) -> list[Any]:
        found = []
        for index, row in records:
            try:
                found.append(make(self._unit_of(index, row.values), row))
            except RowError as error:
                self.job.problems.add(row, error.reason, error.detail)
        return found

    def _unit_of(self, index: int | None, values: Mapping[str, Any]) -> int:
        if index is not None:
            if index not in self.unit_of and (index or self.document.passages):
                raise RowError("unknown_passage", f"{self.document_id[:80]}#{index} is not listed")
            return self.unit_of.get(index, 0)
        if len(self.units) == 1:
            return 0
        if values.get("start") is None:
            raise RowError("missing_field", "chunk_id is missing")
        starts = [unit.start for unit in self.units]
        return max(0, bisect.bisect_right(starts, _offset(values, "start")) - 1)

    def _mention(self, unit: int, row: Row) -> GivenMention:
        values = row.values
        role = next((role for role in _ROLES if role == values.get("role", "text")), None)
        if role is None:
            raise RowError("wrong_type", f"role is none of {', '.join(_ROLES)}")
        return GivenMention(
            unit=unit,
            entity=self.records.entity(row, "name", "type", "entity_id", "key"),
            extractor=text_of(values, "extractor", limit=100, default=EXTRACTOR),
            span=self._span(unit, row),
            role=role,
            weight=number_of(row, "weight", 1.0, self.job.problems, limit=MAX_WEIGHT),
            confidence=number_of(row, "confidence", 1.0, self.job.problems, limit=1.0),
        )

    def _claim(self, unit: int, row: Row) -> GivenClaim:
        values = row.values
        span = self._span(unit, row)
        verified = values.get("verified")
        subject = self.records.entity(row, "subject_name", "subject_type", "subject_id")
        target = self.records.entity(row, "object_name", "object_type", "object_id")
        predicate = " ".join(text_of(values, "predicate", limit=MAX_NAME).split())
        confidence = number_of(row, "confidence", -1.0, self.job.problems, limit=1.0)
        default = f"{subject.name} {predicate.replace('_', ' ').lower()} {target.name}"
        return GivenClaim(
            unit=unit,
            subject=subject,
            predicate=predicate,
            object=target,
            description=text_of(values, "description", default=default),
            extractor=text_of(values, "extractor", limit=100, default=EXTRACTOR),
            weight=number_of(row, "weight", 1.0, self.job.problems, limit=MAX_WEIGHT),
            confidence=None if confidence < 0 else confidence,
            span=span,
            verified=verified if isinstance(verified, bool) and span is not None else None,
        )

    def _span(self, unit: int, row: Row) -> tuple[int, int] | None:
        if row.values.get("start") is None or row.values.get("end") is None:
            return None
        start, end = _offset(row.values, "start"), _offset(row.values, "end")
        if not self.units[unit].start <= start <= end <= self.units[unit].end:
            self.job.problems.add(row, "span_outside_passage", f"{start}-{end}; the names are looked for instead")
            return None
        return start, end

    def _row(self) -> Row:
        return self.document.row or Row(file="", number=0, values={})


def _place(values: Mapping[str, Any]) -> tuple[str, int | None]:
    """Document id, and passage index where a `chunk_id` gives it."""
    chunk_id = values.get("chunk_id")
    if chunk_id is None:
        return id_of(values.get("document_id"), "document_id"), None
    document_id, _, index = id_of(chunk_id, "chunk_id", limit=520).rpartition("#")
    if not document_id or not index.isascii() or not index.isdigit() or len(index) > 9:
        raise RowError("wrong_type", f"chunk_id {chunk_id[:80]!r} is not document_id#index")
    return document_id, int(index)


def _offset(values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise RowError("wrong_type", f"{name} is no offset: {str(value)[:40]!r}")
    return value


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return value[0], value[1]
    raise RowError("wrong_type", "a sentence is no pair of offsets")
