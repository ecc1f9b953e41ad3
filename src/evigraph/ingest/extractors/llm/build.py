"""From records to mentions and assertions: types settled for the passages that are read together, names and quotes
found in their passage. A document longer than one window of passages (see `evigraph.ingest.pipeline`) may thus give
one name two types, and so two entities, which a merge can join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.ingest.extractors.assemble import DocumentNames, PassageReader
from evigraph.ingest.extractors.entities import Found
from evigraph.ingest.extractors.gazetteer import tokens
from evigraph.ingest.extractors.llm.prompt import Vocabulary
from evigraph.ingest.extractors.llm.records import ClaimRecord, EntityRecord
from evigraph.ingest.extractors.llm.spans import PassageText, Span, together
from evigraph.text.names import entity_id, name_key
from evigraph.types import Assertion, Extraction, Mention, Passage

STATED_CONFIDENCE = 0.8
"""Of a claim whose confidence the model does not tell."""
UNVERIFIED = 0.5
"""What an unverified claim's confidence is multiplied by, so that checked ones come first."""
ABSENT_WEIGHT = 0.3
ABSENT_CONFIDENCE = 0.4
"""Of the mention of a name that the model lists but the passage does not write so."""

FALLBACK_TYPE = "CONCEPT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was read off the replies about one passage."""

    passage: Passage
    entities: tuple[EntityRecord, ...]
    claims: tuple[ClaimRecord, ...]


class Builder:
    """Builds the extraction of one window of a document. `dropped` and `notes` count records by reason."""

    def __init__(self, vocabulary: Vocabulary, extractor: str) -> None:
        self.vocabulary = vocabulary
        self.extractor = extractor
        self.dropped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.unverified = 0

    def build(self, readings: Sequence[Reading], *, title: str) -> Extraction:
        texts = [PassageText(reading.passage.text) for reading in readings]
        listed = [self._entities(reading, text) for reading, text in zip(readings, texts, strict=True)]
        names = DocumentNames.of(
            title=title,
            passages=[reading.passage for reading in readings],
            entities=[[found for found, _ in group] for group in listed],
            label_entities={},
        )
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for reading, text, group in zip(readings, texts, listed, strict=True):
            reader = PassageReader(passage=reading.passage, names=names, extractor=self.extractor)
            reader.labels()
            words = tokens(reading.passage.text)
            reader.named([found for found, present in group if present], words)
            if "LOCATION" in self.vocabulary.types:
                reader.demonyms(words)
            for found, present in group:
                if not present:
                    self._absent(reader, found, names)
            claims = [self._claim(claim, reading.passage, text, names, reader) for claim in reading.claims]
            distinct = self._distinct([claim for claim in claims if claim is not None])
            self.unverified += sum(not claim.verified for claim in distinct)
            assertions += distinct
            mentions += reader.mentions
        return Extraction(
            mentions=tuple(mentions), assertions=tuple(assertions), descriptions=_descriptions(readings, names)
        )

    # ---------------------------------------------------------------- entities

    def _entities(self, reading: Reading, text: PassageText) -> list[tuple[Found, bool]]:
        """The listed entities at each place where the passage names them, or once for the whole passage."""
        found: list[tuple[Found, bool]] = []
        for record in reading.entities:
            kind = self.vocabulary.type_of(record.type)
            if kind is None and not self.vocabulary.open_types:
                self.dropped["type_not_in_schema"] += 1
                continue
            if kind is None:
                self.notes["type_unknown"] += 1
            spans = text.names(record.name)
            self.notes["name_not_in_passage"] += not spans
            for start, end in spans or [(0, len(reading.passage.text))]:
                place = Found(
                    start=start, end=end, name=record.name, key=name_key(record.name), type=kind or FALLBACK_TYPE
                )
                found.append((place, bool(spans)))
        return found

    def _absent(self, reader: PassageReader, found: Found, names: DocumentNames) -> None:
        whole = Found(start=found.start, end=found.end, name=found.name, key=found.key, type=names.types[found.key])
        reader.mention(whole, weight=ABSENT_WEIGHT, confidence=ABSENT_CONFIDENCE)

    # ---------------------------------------------------------------- claims

    def _claim(
        self, claim: ClaimRecord, passage: Passage, text: PassageText, names: DocumentNames, reader: PassageReader
    ) -> Assertion | None:
        predicate = self.vocabulary.predicate_of(claim.predicate)
        if predicate is None:
            self.dropped["predicate_not_in_schema" if self.vocabulary.predicates else "no_predicate"] += 1
            return None
        keys = name_key(claim.subject), name_key(claim.object)
        if keys[0] == keys[1]:
            self.dropped["same_ends"] += 1
            return None
        types = self._end_types(predicate, keys, names)
        if types is None:
            return None
        places = text.names(claim.subject), text.names(claim.object)
        quoted = text.quote(claim.quote) if claim.quote else None
        said = quoted
        if said is None:
            said = together(*places, [(a - passage.start, b - passage.start) for a, b in passage.sentences])
        for name, key, kind, spans in zip((claim.subject, claim.object), keys, types, places, strict=True):
            self._endpoint(reader, Found(start=0, end=len(passage.text), name=name, key=key, type=kind), spans)
        # Both names speak for a claim that quotes nothing; a quote that is not there speaks against it.
        verified = quoted is not None if claim.quote else said is not None
        start, end = said or (0, len(passage.text))
        sure = STATED_CONFIDENCE if claim.confidence is None else claim.confidence
        return Assertion(
            passage_index=passage.index,
            subject_id=entity_id(keys[0], types[0]),
            subject_name=claim.subject,
            subject_type=types[0],
            predicate=predicate,
            object_id=entity_id(keys[1], types[1]),
            object_name=claim.object,
            object_type=types[1],
            description=claim.description or claim.quote,
            start=passage.start + start,
            end=passage.start + end,
            confidence=sure if verified else sure * UNVERIFIED,
            weight=1.0 if claim.strength is None else max(0.1, claim.strength),
            extractor=self.extractor,
            verified=verified,
        )

    def _end_types(self, predicate: str, keys: tuple[str, str], names: DocumentNames) -> tuple[str, str] | None:
        """Types of both ends: as listed anywhere in the document, else as the predicate asks; None, with the reason
        counted, where the schema has none or forbids them."""
        rule = self.vocabulary.predicates.get(predicate)
        wanted = (rule.domain, rule.range) if rule else ((), ())
        types = []
        for key, only in zip(keys, wanted, strict=True):
            kind = names.types.get(key)
            if kind is None or kind not in self.vocabulary.types:
                kind = only[0] if len(only) == 1 else FALLBACK_TYPE
            if kind not in self.vocabulary.types:
                self.dropped["type_not_in_schema"] += 1
                return None
            types.append(kind)
        if not self.vocabulary.allows(predicate, types[0], types[1]):
            self.dropped["domain_or_range"] += 1
            return None
        return types[0], types[1]

    def _endpoint(self, reader: PassageReader, whole: Found, spans: Sequence[Span]) -> None:
        """Give an end of a claim its mention, unless it has one."""
        identity = entity_id(whole.key, whole.type)
        if any(mention.entity_id == identity for mention in reader.mentions):
            return
        for start, end in spans:
            reader.mention(Found(start=start, end=end, name=whole.name, key=whole.key, type=whole.type))
        if not spans:
            self.notes["name_not_in_passage"] += 1
            reader.mention(whole, weight=ABSENT_WEIGHT, confidence=ABSENT_CONFIDENCE)

    def _distinct(self, claims: Sequence[Assertion]) -> list[Assertion]:
        """One assertion per ends, predicate and span, a verified one if there is one: the others would share its id."""
        kept: dict[tuple[str, str, str, int], Assertion] = {}
        for claim in claims:
            mark = claim.subject_id, claim.predicate, claim.object_id, claim.start
            if mark in kept:
                self.dropped["duplicate"] += 1
            if mark not in kept or (claim.verified and not kept[mark].verified):
                kept[mark] = claim
        return list(kept.values())


def _descriptions(readings: Sequence[Reading], names: DocumentNames) -> dict[str, str]:
    """The first description of each entity, by id."""
    found: dict[str, str] = {}
    for reading in readings:
        for record in reading.entities:
            key = name_key(record.name)
            if record.description and key in names.types:
                found.setdefault(entity_id(key, names.types[key]), record.description)
    return found
