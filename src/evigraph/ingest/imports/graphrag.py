"""The output folder of GraphRAG (Edge et al., 2024): documents, text units, entities and relationships as tables.

- A relationship becomes one assertion in each text unit it names, its weight divided evenly among them. It has no
  predicate of its own and gets RELATED_TO; the description says what it says.
- An end that is no listed entity is imported as a CONCEPT where the text unit holds its name, else the assertion is
  left out. Both are reported.
- An entity's description is a model's summary of all its text units. It is searched with the name, and kept only if
  these units lie in one document: it could not be deleted or filtered with one of several. For the same reason a
  relationship over several documents keeps its description in none of them.
- Times of creation, degrees and token counts are facts of that index, not of the text, and are left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evigraph.errors import UnknownGraphFormat
from evigraph.ingest.imports.documents import Import, body_of, id_of
from evigraph.ingest.imports.find import NameFinder
from evigraph.ingest.imports.given import GivenClaim, GivenEntity, GivenMention
from evigraph.ingest.imports.layout import laid_out
from evigraph.ingest.imports.rows import (
    MAX_NAME,
    MAX_WEIGHT,
    Folder,
    Row,
    RowError,
    count_rows,
    list_of,
    name_of,
    number_of,
    text_of,
    type_of,
)
from evigraph.ingest.metadata import Described, describe
from evigraph.ingest.read import document_id_of
from evigraph.ingest.sources import SourceDocument
from evigraph.types import RELATED_TO

EXTRACTOR = "import:graphrag"

_COLUMNS = {
    "documents": ("id", "title", "text", "raw_content", "text_unit_ids", "metadata"),
    "text_units": ("id", "text", "document_id", "document_ids"),
    "entities": ("id", "title", "name", "type", "description", "text_unit_ids"),
    "relationships": ("id", "source", "target", "description", "weight", "text_unit_ids"),
}
_UNUSED = {
    "communities": "communities are built from the visible graph, not imported",
    "community_reports": "reports of imported communities have nothing to hang on",
    "covariates": "claims with one entity have no object, and so are no assertions",
}


def table(folder: Folder, name: str) -> Path | None:
    """The file of a table, under the names that releases of GraphRAG gave it."""
    return folder.named(*(f"{prefix}{name}{suffix}" for prefix in ("", "create_final_") for suffix in _SUFFIXES))


_SUFFIXES = (".parquet", ".jsonl")


def matches(folder: Folder) -> bool:
    return table(folder, "text_units") is not None


@dataclass(kw_only=True, slots=True)
class _Unit:
    text: str
    document: str
    number: int = 0
    """Its place in the document."""


@dataclass(kw_only=True, slots=True)
class _Document:
    """`listed` are the unit ids in the order the document gives."""

    title: str = ""
    text: str | None = None
    listed: list[str] = field(default_factory=list)
    described: Described = field(default_factory=Described)
    row: Row | None = None
    units: list[_Unit] = field(default_factory=list)
    mentions: list[GivenMention] = field(default_factory=list)
    claims: list[GivenClaim] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)


def documents(job: Import) -> Iterator[SourceDocument]:
    """The documents of the folder with their graph."""
    return _Tables(job).documents()


class _Tables:
    def __init__(self, job: Import) -> None:
        self.job = job
        if not matches(job.folder):
            raise UnknownGraphFormat(
                "there is no text_units.parquet or text_units.jsonl", hint="name the output folder of GraphRAG"
            )
        self.found: dict[str, _Document] = {}
        self.units: dict[str, _Unit] = {}
        self.entities: dict[str, GivenEntity] = {}
        self.by_key: dict[str, GivenEntity] = {}
        self.finder = NameFinder()

    def documents(self) -> Iterator[SourceDocument]:
        self._each("documents", self._document)
        self._each("text_units", self._unit)
        self._order_units()
        self._each("entities", self._entity)
        self._each("relationships", self._relationship)
        for name, reason in _UNUSED.items():
            path = table(self.job.folder, name)
            if path is not None:
                self.job.not_imported[name] = reason
                self.job.rows[name] = count_rows(self.job.folder, path)
        titles = [document.title for document in self.found.values()]
        for key, document in self.found.items():
            if document.units:
                unique = document.title and titles.count(document.title) == 1
                yield self._finished(key, document, document.title if unique else key)

    def _each(self, name: str, take: Any) -> None:
        path = table(self.job.folder, name)
        if path is None:
            return
        for row in self.job.folder.rows(path, self.job.problems, columns=_COLUMNS[name]):
            self.job.rows[name] += 1
            try:
                take(row)
            except RowError as error:
                self.job.problems.add(row, error.reason, error.detail)

    # ---------------------------------------------------------------- documents and text units

    def _document(self, row: Row) -> None:
        key = id_of(row.values.get("id"), "id")
        if key in self.found:
            raise RowError("duplicate_id", f"document {key[:40]!r} stands in two rows; the first counts")
        text = row.values.get("text") or row.values.get("raw_content")
        metadata = row.values.get("metadata")
        given = metadata if isinstance(metadata, dict) else {}
        described = describe(given, f"metadata of document {key[:40]}", UnknownGraphFormat, lenient=True)
        for warning in described.warnings:
            self.job.problems.add(row, "metadata_left_out", warning)
        self.found[key] = _Document(
            title=" ".join(text_of(row.values, "title", limit=MAX_NAME, default="").split()),
            text=None if text is None else body_of(text, "text"),
            listed=[item for item in list_of(row.values, "text_unit_ids") if isinstance(item, str)],
            described=described,
            row=row,
        )

    def _unit(self, row: Row) -> None:
        key = id_of(row.values.get("id"), "id")
        text = body_of(row.values.get("text"), "text").removeprefix("\ufeff")
        owners = row.values.get("document_id") or list_of(row.values, "document_ids")
        owners = [id_of(owner, "document_id") for owner in (owners if isinstance(owners, list) else [owners])]
        if key in self.units:
            raise RowError("duplicate_id", f"text unit {key[:40]!r} stands in two rows; the first counts")
        if not owners:
            owners = [name for name, document in self.found.items() if key in document.listed] or [key]
        if len(owners) > 1:
            self.job.problems.add(row, "unit_of_several_documents", "imported with the first of them")
        if owners[0] not in self.found:
            self.job.problems.add(
                row, "unknown_document", f"document {owners[0][:40]!r} is not listed; made from units"
            )
            self.found[owners[0]] = _Document()
        self.units[key] = _Unit(text=text, document=owners[0])

    def _order_units(self) -> None:
        """Units as their document lists them, then as the table does."""
        for name, document in self.found.items():
            own = [key for key, unit in self.units.items() if unit.document == name]
            place = {key: number for number, key in enumerate(document.listed)}
            document.units = [self.units[key] for key in sorted(own, key=lambda key: place.get(key, len(place)))]
            for number, unit in enumerate(document.units):
                unit.number = number
            for key in document.listed:
                if key not in self.units and document.row is not None:
                    self.job.problems.add(document.row, "unknown_text_unit", f"text unit {key[:40]!r} is not listed")

    def _finished(self, key: str, document: _Document, source: str) -> SourceDocument:
        text, units, aligned = laid_out(document.text, document.title, [unit.text for unit in document.units], self.job)
        self.job.counts["documents_aligned" if aligned else "documents_of_sections"] += 1
        if document.text is not None and not aligned and document.row is not None:
            self.job.problems.add(
                document.row, "text_not_aligned", "text units do not occur in the document's text, and replace it"
            )
        return self.job.document(
            document_id=document_id_of(self.job.workspace, source),
            source=source,
            title=document.title,
            text=text,
            units=units,
            mentions=document.mentions,
            claims=document.claims,
            descriptions=document.descriptions,
            described=document.described,
        )

    # ---------------------------------------------------------------- entities and relationships

    def _entity(self, row: Row) -> None:
        title = row.values.get("title") or row.values.get("name")
        entity = GivenEntity.of(name_of(title, "title"), type_of(row.values.get("type")))
        description = text_of(row.values, "description", default="").strip()
        units = self._units_of(row)
        self.entities.setdefault(str(title), entity)
        self.by_key.setdefault(entity.key, entity)
        if not units:
            raise RowError("entity_without_text_unit", f"{entity.name!r} names no listed text unit, and is left out")
        for unit in units:
            mention = GivenMention(unit=unit.number, entity=entity, extractor=EXTRACTOR)
            self.found[unit.document].mentions.append(mention)
        owners = list(dict.fromkeys(unit.document for unit in units))
        if description and len(owners) > 1:
            detail = f"the description of {entity.name!r} sums up {len(owners)} documents, and is left out"
            raise RowError("description_over_documents", detail)
        if description:
            held = self.found[owners[0]].descriptions
            held[entity.id] = f"{held[entity.id]}\n{description}" if entity.id in held else description

    def _relationship(self, row: Row) -> None:
        ends = [self._end(row, name) for name in ("source", "target")]
        description = text_of(row.values, "description", default="").strip()
        units = self._units_of(row)
        if not units:
            raise RowError("relationship_without_text_unit", f"{_shown(ends)} names no listed text unit")
        weight = number_of(row, "weight", 1.0, self.job.problems, limit=MAX_WEIGHT) / len(units)
        if ends[0][0].id == ends[1][0].id:
            raise RowError("self_relation", f"{_shown(ends)} joins an entity with itself")
        if description and len({unit.document for unit in units}) > 1:
            detail = f"the description of {_shown(ends)} sums up several documents, and is left out"
            self.job.problems.add(row, "description_over_documents", detail)
            description = ""
        missing = [entity for entity, listed in ends if not listed]
        made = 0
        for unit in units:
            if all(self._holds(unit, entity.key) for entity in missing):
                made += 1
                self.found[unit.document].claims.append(_claim(unit, ends, description, weight))
        if missing:
            names = " and ".join(repr(entity.name[:80]) for entity in missing)
            self.job.problems.add(
                row,
                "missing_end_imported" if made else "missing_end_left_out",
                f"{_shown(ends)}: {names} {'are' if len(missing) > 1 else 'is'} no listed entity; "
                + (
                    f"imported as CONCEPT, {made} of {len(units)} text units hold the name"
                    if made
                    else "no text unit holds the name"
                ),
            )

    def _end(self, row: Row, side: str) -> tuple[GivenEntity, bool]:
        """An end of a relationship, and whether it is a listed entity."""
        name = name_of(row.values.get(side), side)
        made = GivenEntity.of(name, "CONCEPT")
        listed = self.entities.get(str(row.values[side]))
        if listed is None and made.key in self.by_key:
            listed = self.by_key[made.key]
            detail = f"{side} {name!r} is listed as {listed.name!r}"
            self.job.problems.add(row, "end_spelled_otherwise", detail)
        return (made, False) if listed is None else (listed, True)

    def _units_of(self, row: Row) -> list[_Unit]:
        units = []
        for key in dict.fromkeys(map(str, list_of(row.values, "text_unit_ids"))):
            if key in self.units:
                units.append(self.units[key])
            else:
                self.job.problems.add(row, "unknown_text_unit", f"text unit {key[:40]!r} is not listed")
        return units

    def _holds(self, unit: _Unit, key: str) -> bool:
        return bool(self.finder.find(id(unit), unit.text, key))


def _claim(unit: _Unit, ends: list[tuple[GivenEntity, bool]], description: str, weight: float) -> GivenClaim:
    return GivenClaim(
        unit=unit.number,
        subject=ends[0][0],
        predicate=RELATED_TO,
        object=ends[1][0],
        description=description,
        extractor=EXTRACTOR,
        weight=weight,
    )


def _shown(ends: list[tuple[GivenEntity, bool]]) -> str:
    return " - ".join(repr(entity.name[:80]) for entity, _ in ends)
