"""An extractor that knows what its few names are: for tests in which the types of entities matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evigraph.text.names import entity_id
from evigraph.types import Assertion, Extraction, Mention, Passage
from small import RuleExtractor, item

TYPES = {
    "corrick vane": "ORGANIZATION",
    "tolland": "ORGANIZATION",
    "hana sefu": "PERSON",
    "joseph amarra": "PERSON",
    "tarn": "LOCATION",
    "lowani": "LOCATION",
    "dembure": "LOCATION",
}


class TypedExtractor(RuleExtractor):
    """`RuleExtractor` with the types of `TYPES`; of other names nothing is kept."""

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        found = super().extract(passages, title=title, language=language)
        return Extraction(
            mentions=tuple(_mention(one) for one in found.mentions if one.key in TYPES),
            assertions=tuple(
                _assertion(one)
                for one in found.assertions
                if {one.subject_id.partition(":")[2], one.object_id.partition(":")[2]} <= TYPES.keys()
            ),
        )


def _mention(one: Mention) -> Mention:
    kind = TYPES[one.key]
    return replace(one, type=kind, entity_id=entity_id(one.key, kind))


def _assertion(one: Assertion) -> Assertion:
    subject, object_ = one.subject_id.partition(":")[2], one.object_id.partition(":")[2]
    return replace(
        one,
        subject_type=TYPES[subject],
        subject_id=entity_id(subject, TYPES[subject]),
        object_type=TYPES[object_],
        object_id=entity_id(object_, TYPES[object_]),
    )


FIRMS = [
    item("pumps", "Corrick Vane delivered four pumps to Tarn.", title="pumps", metadata={"region": "north"}),
    item("rods", "Corrick Vane sold poor rods in 2016.", title="rods", metadata={"region": "south"}),
    item("seat", "The seat of Corrick Vane is in Dembure.", title="seat", metadata={"region": "south"}),
    item("wells", "Hana Sefu repaired the wells of Lowani. Hana Sefu trained the mechanics.", title="wells"),
    item("bank", "Tolland paid for the school roof.", title="bank"),
]
