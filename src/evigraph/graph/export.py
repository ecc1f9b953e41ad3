"""A graph as text: GraphML for graph programs, JSON Lines for programs of any kind.

Neither holds the domain schema, and merges are told by the groups that they make, without their reasons.

Both take iterables and give lines, so that a graph of any size passes through. GraphML is that of
http://graphml.graphdrawing.org, as NetworkX and Gephi read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from evigraph.store.exporting import (
    Exported,
    ExportedAssertion,
    ExportedDescription,
    ExportedEntity,
    ExportedMention,
    ExportedText,
)
from evigraph.types import DocumentInfo, Mention, Passage

FORMAT = "evigraph"
VERSION = 1

Text = dict[str, Any]
Values = Mapping[str, str | int | float | bool]

# ---------------------------------------------------------------- JSON Lines


def jsonl(
    header: Mapping[str, Any],
    documents: Iterable[Exported],
    descriptions: Iterable[ExportedDescription],
    entities: Iterable[ExportedEntity],
) -> Iterator[str]:
    """One object a line: the header, each document with all it holds, what is said of entities, entities."""
    yield _line({"kind": "graph", "format": FORMAT, "version": VERSION, **header})
    for item in documents:
        yield _line(_record(item))
    for description in descriptions:
        yield _line(
            {
                "kind": "description",
                "document_id": description.document_id,
                "entity_id": description.entity_id,
                "text": description.text,
            }
        )
    for entity in entities:
        yield _line(
            {
                "kind": "entity",
                "id": entity.id,
                "name": entity.name,
                "type": entity.type,
                "degree": entity.degree,
                "passages": entity.passages,
                **({"members": list(entity.members)} if entity.members else {}),
            }
        )


def _line(record: Text) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _record(item: Exported) -> Text:
    if isinstance(item, DocumentInfo):
        return _document(item)
    if isinstance(item, ExportedText):
        return {"kind": "text", "document_id": item.document_id, "start": item.start, "text": item.text}
    if isinstance(item, Passage):
        return _passage(item)
    if isinstance(item, ExportedMention):
        return _mention(item.document_id, item.mention)
    return _assertion(item)


def _document(info: DocumentInfo) -> Text:
    return {
        "kind": "document",
        "document_id": info.document_id,
        "source": info.source,
        "title": info.title,
        "date": None if info.date is None else info.date.isoformat(),
        "metadata": dict(sorted(info.metadata.items())),
        "media_type": info.media_type,
        "language": info.language,
        "revision": info.revision,
    }


def _passage(passage: Passage) -> Text:
    return {
        "kind": "passage",
        "document_id": passage.document_id,
        "index": passage.index,
        "start": passage.start,
        "end": passage.end,
        "context": passage.context,
        "heading_path": list(passage.heading_path),
        "page": passage.page,
        "sentences": [list(span) for span in passage.sentences],
    }


def _mention(document_id: str, mention: Mention) -> Text:
    return {
        "kind": "mention",
        "chunk_id": f"{document_id}#{mention.passage_index}",
        "entity_id": mention.entity_id,
        "key": mention.key,
        "name": mention.name,
        "type": mention.type,
        "start": mention.start,
        "end": mention.end,
        "role": mention.role,
        "weight": mention.weight,
        "confidence": mention.confidence,
        "extractor": mention.extractor,
    }


def _assertion(item: ExportedAssertion) -> Text:
    assertion = item.assertion
    return {
        "kind": "assertion",
        "id": item.id,
        "chunk_id": f"{item.document_id}#{assertion.passage_index}",
        "source": item.source,
        "target": item.target,
        "subject_id": assertion.subject_id,
        "subject_name": assertion.subject_name,
        "subject_type": assertion.subject_type,
        "predicate": assertion.predicate,
        "object_id": assertion.object_id,
        "object_name": assertion.object_name,
        "object_type": assertion.object_type,
        "description": assertion.description,
        "start": assertion.start,
        "end": assertion.end,
        "confidence": assertion.confidence,
        "weight": assertion.weight,
        "extractor": assertion.extractor,
        "verified": assertion.verified,
    }


# ---------------------------------------------------------------- GraphML

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, not even escaped."""

_KEYS = {
    "node": {
        "name": "string",
        "type": "string",
        "degree": "int",
        "passages": "int",
        "members": "string",
    },
    "edge": {
        "predicate": "string",
        "description": "string",
        "chunk_id": "string",
        "document_id": "string",
        "start": "long",
        "end": "long",
        "confidence": "double",
        "weight": "double",
        "extractor": "string",
        "verified": "boolean",
    },
    "graph": {"generation": "long", "characters_removed": "long"},
}
_PREFIX = {"node": "n", "edge": "e", "graph": "g"}


def graphml(
    generation: int, entities: Iterable[ExportedEntity], assertions: Iterable[ExportedAssertion]
) -> Iterator[str]:
    """One node an entity, one edge an assertion. Characters that XML cannot hold are left out; the graph's attribute
    `characters_removed` says how many."""
    writer = _Writer()
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for domain, keys in _KEYS.items():
        for name, kind in keys.items():
            yield f'<key id="{_PREFIX[domain]}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph id="evigraph" edgedefault="directed">\n'
    yield writer.data("graph", {"generation": generation}) + "\n"
    yield from map(writer.node, entities)
    yield from map(writer.edge, assertions)
    yield writer.data("graph", {"characters_removed": writer.removed}) + "\n</graph>\n</graphml>\n"


class _Writer:
    """Counts what it had to leave out. Ids are numbered where leaving out made two alike."""

    def __init__(self) -> None:
        self.removed = 0
        self._last = ""
        self._repeated = 0

    def node(self, entity: ExportedEntity) -> str:
        values: Values = {
            "name": entity.name,
            "type": entity.type,
            "degree": entity.degree,
            "passages": entity.passages,
            "members": "\n".join(entity.members),
        }
        return f"<node id={self._id(entity.id)}>{self.data('node', values)}</node>\n"

    def edge(self, item: ExportedAssertion) -> str:
        assertion = item.assertion
        values: Values = {
            "predicate": assertion.predicate,
            "description": assertion.description,
            "chunk_id": f"{item.document_id}#{assertion.passage_index}",
            "document_id": item.document_id,
            "start": assertion.start,
            "end": assertion.end,
            "confidence": assertion.confidence,
            "weight": assertion.weight,
            "extractor": assertion.extractor,
            "verified": assertion.verified,
        }
        # The same claim made twice at one place comes one after the other.
        self._repeated = self._repeated + 1 if item.id == self._last else 0
        self._last = item.id
        number = f".{self._repeated}" if self._repeated else ""
        ends = f"source={self._id(item.source)} target={self._id(item.target)}"
        return f"<edge id={self._id(item.id + number)} {ends}>{self.data('edge', values)}</edge>\n"

    def data(self, domain: str, values: Values) -> str:
        prefix = _PREFIX[domain]
        return "".join(
            f'<data key="{prefix}_{name}">{self._shown(value)}</data>' for name, value in values.items() if value != ""
        )

    def _shown(self, value: str | int | float | bool) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, str):
            return repr(value)
        return escape(self._legal(value), {"\r": "&#13;"})

    def _id(self, value: str) -> str:
        """An id as an attribute. What XML cannot hold is written as its code point, so that ids stay apart."""
        written = _ILLEGAL.sub(lambda found: f"\\u{ord(found.group()):04x}", value.replace("\\", "\\\\"))
        return quoteattr(written, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})

    def _legal(self, value: str) -> str:
        kept, removed = _ILLEGAL.subn("", value)
        self.removed += removed
        return kept
