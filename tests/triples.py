"""Documents of lines `Subject | PREDICATE | Object`, and an extractor that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evigraph.text.names import entity_id, name_key
from evigraph.types import Assertion, Extraction, Mention, Passage

TYPES = {"Tarn": "LOCATION", "Lowani": "LOCATION", "Acme": "ORGANIZATION", "Mercury": "PRODUCT"}
"""Everything else is a person; `Mercury!` too, so that a name has two bearers."""


class TripleExtractor:
    name = "triples"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        mentions, assertions = [], []
        for passage in passages:
            at = passage.start
            for line in passage.text.split("\n"):
                parts = [part.strip() for part in line.split("|")]
                if len(parts) == 3:
                    span = (at, at + len(line))
                    subject, target = (_mention(passage, name, *span) for name in (parts[0], parts[2]))
                    mentions += [subject, target]
                    assertions.append(_assertion(subject, parts[1], target, line))
                at += len(line) + 1
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))


def _mention(passage: Passage, name: str, start: int, end: int) -> Mention:
    kind = TYPES.get(name, "PERSON")
    key = name_key(name)
    return Mention(
        passage_index=passage.index,
        entity_id=entity_id(key, kind),
        key=key,
        name=name.rstrip("!"),
        type=kind,
        start=start,
        end=end,
    )


def _assertion(subject: Mention, predicate: str, target: Mention, line: str) -> Assertion:
    return Assertion(
        passage_index=subject.passage_index,
        subject_id=subject.entity_id,
        subject_name=subject.name,
        subject_type=subject.type,
        predicate=predicate,
        object_id=target.entity_id,
        object_name=target.name,
        object_type=target.type,
        description=line,
        start=subject.start,
        end=subject.end,
    )


FAMILY = [
    {
        "document_id": "births",
        "text": "Ada | mother | Bea\nBea | father | Cyril\nDee | mother | Bea\nEve | mother | Fay",
        "metadata": {"kind": "register"},
    },
    {
        "document_id": "letters",
        "text": "Ada | FRIEND | Dee\nAda | FRIENDS | Eve\nEve | friend | Ada\nCyril | FRIEND | Ada",
        "metadata": {"kind": "letter"},
    },
    {
        "document_id": "places",
        "text": "Ada | LIVES_IN | Tarn\nDee | LIVES_IN | Tarn\nEve | LIVES_IN | Lowani\nBea | WORKS_FOR | Acme",
    },
    {"document_id": "planets", "text": "Ada | OWNS | Mercury\nMercury! | FRIEND | Cyril"},
]


def match(entity: str, id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"id": id, "op": "match", "entity": entity, **fields}


def hop(id: str, source: str, *predicates: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "op": "hop", "source": source, "predicates": list(predicates), **fields}


def steps(*given: dict[str, Any]) -> dict[str, Any]:
    return {"steps": list(given)}
