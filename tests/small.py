"""A small engine for tests: hashed words instead of a model, and a rule instead of a parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from evigraph import Evigraph
from evigraph.models.ports import Vectors
from evigraph.testing.models import HashEmbedder
from evigraph.text.names import entity_id, name_key
from evigraph.types import CO_OCCURS, Assertion, Extraction, Mention, Passage

_VERB = re.compile(r"\b[a-z]+ed\b")
_ORDINARY = frozenset({"the", "a", "an", "he", "she", "it", "they", "in", "on", "at", "this", "that", "there", "then"})


class RuleExtractor:
    """Runs of capitalised words are names. Neighbours in a sentence are linked by the first word in `-ed` between them,
    else as co-occurring. The title is a name of every passage."""

    def __init__(self, name: str = "rules") -> None:
        self.name = name
        self.calls = 0

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        self.calls += 1
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for passage in passages:
            if name_key(title):
                mentions.append(self._mention(passage, title, passage.start, passage.end, role="title"))
            for start, end in passage.sentences:
                names = names_in(passage.text[start - passage.start : end - passage.start])
                spans = [(start + at, start + at + len(name), name) for at, name in names]
                mentions += [self._mention(passage, name, first, last) for first, last, name in spans]
                for left, right in pairwise(spans):
                    assertions += self._claim(passage, left, right, (start, end))
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))

    def _mention(self, passage: Passage, name: str, start: int, end: int, role: Any = "text") -> Mention:
        return Mention(
            passage_index=passage.index,
            entity_id=entity_id(name_key(name), type_of(name)),
            key=name_key(name),
            name=name,
            type=type_of(name),
            start=start,
            end=end,
            role=role,
            extractor=self.name,
        )

    def _claim(
        self, passage: Passage, left: tuple[int, int, str], right: tuple[int, int, str], sentence: tuple[int, int]
    ) -> list[Assertion]:
        if name_key(left[2]) == name_key(right[2]):
            return []
        verb = _VERB.search(passage.text[left[1] - passage.start : right[0] - passage.start])
        return [
            Assertion(
                passage_index=passage.index,
                subject_id=entity_id(name_key(left[2]), type_of(left[2])),
                subject_name=left[2],
                subject_type=type_of(left[2]),
                predicate=verb.group().upper() if verb else CO_OCCURS,
                object_id=entity_id(name_key(right[2]), type_of(right[2])),
                object_name=right[2],
                object_type=type_of(right[2]),
                description=passage.text[sentence[0] - passage.start : sentence[1] - passage.start],
                start=sentence[0],
                end=sentence[1],
                confidence=0.9 if verb else 0.3,
                extractor=self.name,
            )
        ]


def names_in(sentence: str) -> list[tuple[int, str]]:
    """Offset and text of the names of a sentence."""
    found = []
    for run in re.finditer(r"\b[^\W\d_a-zß-ÿ][\w]+(?: [^\W\d_a-zß-ÿ]\w+)*", sentence):
        words = run.group().split(" ")
        at = run.start()
        while words and words[0].casefold() in _ORDINARY:
            at += len(words.pop(0)) + 1
        name = " ".join(words)
        if name_key(name):
            found.append((at, name))
    return found


def type_of(name: str) -> str:
    return "PERSON" if len(name.split()) == 2 else "LOCATION" if len(name.split()) == 1 else "CONCEPT"


class CountingEmbedder(HashEmbedder):
    """Counts the texts it embedded; `fail_after` makes it raise once it has embedded that many."""

    def __init__(self, dimension: int = 64, max_tokens: int = 256, name: str = "hash") -> None:
        super().__init__(dimension, max_tokens, name)
        self.embedded = 0
        self.fail_after: int | None = None
        self.error: Exception = RuntimeError("the embedder broke")

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fail_after is not None and self.embedded >= self.fail_after:
            raise self.error
        self.embedded += len(texts)
        return np.asarray(super().embed(texts))


class OneStore:
    """Opens engines on one store, each in a new workspace unless it is named: opening a store per test is slow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "store"
        self._opened: list[Evigraph] = []

    def engine(self, workspace: str = "", **options: Any) -> Evigraph:
        options.setdefault("embedder", CountingEmbedder())
        options.setdefault("extractor", RuleExtractor())
        engine = Evigraph(self.folder, workspace=workspace or f"w{len(self._opened)}", **options)
        self._opened.append(engine)
        return engine

    def close(self) -> None:
        for engine in self._opened:
            engine.close()


def item(document_id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"document_id": document_id, "text": text, **fields}


PUMPS = [
    item(
        "tarn",
        "Corrick Vane delivered four pumps to Tarn. Hana Sefu trained the mechanics in Tarn.\n\n"
        "The pumps at Tarn were paid for by Tolland.",
        title="Tarn monthly note",
        source="north/tarn.md",
        date="2014-05-02",
        metadata={"region": "north"},
    ),
    item(
        "memo",
        "Hana Sefu accused Corrick Vane of selling poor rods. Joseph Amarra tested the rods in Lowani.",
        title="Memo on rods",
        source="south/memo.txt",
        date="2017-03-01",
        metadata={"region": "south"},
    ),
    item(
        "lowani",
        "Joseph Amarra chaired the committee of Lowani. The committee of Lowani repaired two wells.",
        title="Lowani committee",
        source="south/lowani.md",
        date="2018-06-01",
        metadata={"region": "south", "kind": "minutes"},
    ),
    item(
        "ferry",
        "The ferry Halima crosses the lake twice a week, when the waves allow it.",
        title="Letter from the lake",
        source="letters/ferry.md",
    ),
]
"""Four documents that share names: `corrick vane` and `hana sefu` in two, `joseph amarra` in two."""
