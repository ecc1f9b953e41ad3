"""Vectors of facts: entities by name and description, assertions by what they say."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from evigraph.models.embedders import Embedders
from evigraph.models.ports import Embedder
from evigraph.store.knowledge_bases import BaseRow
from evigraph.store.rows import FactVector
from evigraph.store.staging import identify
from evigraph.types import CO_OCCURS, RELATED_TO, Assertion, Extraction

REMEMBERED = 20_000
"""Fact texts whose vectors one run keeps: names recur from document to document."""
DESCRIPTION_CHARS = 120


class FactEmbedder:
    """Embeds the facts of one extraction; a text seen before in this run is not embedded again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed(self, document_id: str, extraction: Extraction, *, embedded: Set[str] = frozenset()) -> list[FactVector]:
        """Entities, then stated assertions; co-occurrence says nothing worth searching. Entities that an earlier part
        of the document `embedded` are left out: a revision has one vector of each."""
        entities = {ref: text for ref, text in entity_texts(extraction).items() if ref not in embedded}
        stated = {
            identify(document_id, assertion): assertion_text(assertion)
            for assertion in extraction.assertions
            if assertion.predicate != CO_OCCURS
        }
        vectors = self._vectors([*entities.values(), *stated.values()])
        return [
            *(FactVector(kind="entity", ref=ref, text=text, vector=vectors[text]) for ref, text in entities.items()),
            *(FactVector(kind="assertion", ref=ref, text=text, vector=vectors[text]) for ref, text in stated.items()),
        ]

    def _vectors(self, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        wanted = list(dict.fromkeys(texts))
        found = {text: self._known[text] for text in wanted if text in self._known}
        missing = [text for text in wanted if text not in found]
        if missing:
            found.update(zip(missing, self._embedder.embed(missing), strict=True))
        for text in missing:
            self._known[text] = found[text]
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found


def entity_texts(extraction: Extraction) -> dict[str, str]:
    """`Name: description` per entity. Where the extraction gives none, the description is what the first stated
    assertion with it as subject says."""
    names: dict[str, str] = {}
    for mention in extraction.mentions:
        names.setdefault(mention.entity_id, mention.name)
    described: dict[str, str] = {}
    for assertion in extraction.assertions:
        if assertion.predicate != CO_OCCURS:
            described.setdefault(assertion.subject_id, assertion_text(assertion)[:DESCRIPTION_CHARS])
    described.update(extraction.descriptions)
    return {
        entity_id: f"{name}: {described[entity_id]}" if entity_id in described else name
        for entity_id, name in names.items()
    }


def assertion_text(assertion: Assertion) -> str:
    """An assertion as a plain sentence."""
    if assertion.predicate == RELATED_TO and assertion.description:
        return assertion.description
    predicate = assertion.predicate.replace("_", " ").lower()
    return f"{assertion.subject_name} {predicate} {assertion.object_name}"


class RunEmbedders:
    """The embedding models of one index run: that of the workspace, and those that knowledge bases have as their own.
    A document is embedded with the model of the base that it belongs to."""

    def __init__(self, main: Embedder, embedders: Embedders) -> None:
        self._embedders = embedders
        self._facts: dict[str, FactEmbedder] = {}
        self.main = main

    def of(self, base: BaseRow | None) -> Embedder:
        """The model for documents of a base, or of none. Raises `EmbedderNotConfigured`."""
        if base is None or not base.embedding_model:
            return self.main
        whose = f"knowledge base {base.base_id}"
        return self._embedders.required(base.embedding_model, base.embedding_dimension, whose)

    def facts(self, embedder: Embedder) -> FactEmbedder:
        """What embeds facts with this model, and remembers their vectors."""
        return self._facts.setdefault(embedder.name, FactEmbedder(embedder))
