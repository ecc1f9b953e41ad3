"""A document that brings its passages and graph with it: what was given, and where in the text it stands.

A claim is attached to a passage whose text holds the names of both its ends, where there is one; only then does it
count as verified. Mentions are found by name, not taken on trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from evigraph.ingest.imports.find import NameFinder
from evigraph.text.names import entity_id, name_key
from evigraph.text.sentences import sentence_spans
from evigraph.types import Assertion, Extraction, Mention, Passage

IMPORTER = "import/2"
"""Name of these rules; raise the number when the same rows would give other mentions or assertions."""

IN_PASSAGE = 0.9
IN_UNIT = 0.7
NOT_FOUND = 0.5
"""Confidence of a claim that gives none: both names in one passage, in one unit of the source, not both found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenEntity:
    """An entity as a row names it. `id` is made of `type` and `key`, and so tells both."""

    name: str
    type: str
    id: str
    key: str

    @classmethod
    def of(cls, name: str, type: str, key: str = "") -> GivenEntity:
        key = key or name_key(name)
        return cls(name=name, type=type, key=key, id=entity_id(key, type))


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenPassage:
    """A unit of the source, as a span of the document's text."""

    start: int
    end: int
    context: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    sentences: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenMention:
    """An entity named in unit `unit`; without a span it is looked for."""

    unit: int
    entity: GivenEntity
    extractor: str
    span: tuple[int, int] | None = None
    role: Literal["text", "title", "heading", "alias"] = "text"
    weight: float = 1.0
    confidence: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenClaim:
    """A claim of unit `unit`; without a span it is looked for, and then `verified` is decided by what is found."""

    unit: int
    subject: GivenEntity
    predicate: str
    object: GivenEntity
    description: str
    extractor: str
    weight: float = 1.0
    confidence: float | None = None
    span: tuple[int, int] | None = None
    verified: bool | None = None


@dataclass(kw_only=True, slots=True)
class GivenGraph:
    """The passages and graph of one document (a `Given` of `evigraph.ingest.sources`). `counts` is shared by the
    documents of an import."""

    title: str
    text: str
    units: Sequence[GivenPassage]
    mentions: Sequence[GivenMention]
    claims: Sequence[GivenClaim]
    descriptions: Mapping[str, str]
    counts: Counter[str]
    untyped: bool = False
    """Whether its names came without types."""
    name: str = IMPORTER
    _placed: dict[int, Extraction] = field(default_factory=dict)

    def passages(
        self,
        document_id: str,
        *,
        revision: int,
        language: str,
        chunked: Callable[[], Iterator[Passage]],
        count_tokens: Callable[[str], int],
        max_tokens: int,
    ) -> Iterator[Passage]:
        """The units as they are, if the embedder reads each whole and they leave no text out; else the chunker's."""
        drafts: list[Passage] = []
        as_given = self._covered()
        for draft in self._as_given(document_id, revision, language, count_tokens) if as_given else ():
            if draft.token_count > max_tokens:
                as_given = False
                break
            drafts.append(draft)
        passages = drafts if as_given and drafts else list(chunked())
        self.counts["units_as_passages" if as_given else "units_chunked"] += len(self.units)
        self._place(passages, as_given)
        yield from passages

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """The mentions and assertions of these passages."""
        found = [self._placed[passage.index] for passage in passages if passage.index in self._placed]
        mentions = tuple(mention for part in found for mention in part.mentions)
        named = {mention.entity_id for mention in mentions}
        return Extraction(
            mentions=mentions,
            assertions=tuple(assertion for part in found for assertion in part.assertions),
            descriptions={key: text for key, text in self.descriptions.items() if key in named},
        )

    def _as_given(
        self, document_id: str, revision: int, language: str, count_tokens: Callable[[str], int]
    ) -> Iterator[Passage]:
        for index, unit in enumerate(self.units):
            text = self.text[unit.start : unit.end]
            searched = f"{unit.context}\n{text}" if unit.context else text
            spans = unit.sentences or tuple(
                (unit.start + start, unit.start + end) for start, end in sentence_spans(text, language)
            )
            yield Passage(
                document_id=document_id,
                revision=revision,
                index=index,
                start=unit.start,
                end=unit.end,
                text=text,
                context=unit.context,
                heading_path=unit.heading_path,
                page=unit.page,
                token_count=count_tokens(searched),
                sentences=spans,
            )

    def _covered(self) -> bool:
        """Whether all text that is not white space lies in some unit."""
        at = 0
        for unit in sorted(self.units, key=lambda unit: (unit.start, unit.end)):
            if self.text[at : unit.start].strip():
                return False
            at = max(at, unit.end)
        return not self.text[at:].strip()

    def _place(self, passages: Sequence[Passage], as_given: bool) -> None:
        placing = _Placing(self, passages, as_given)
        for mention in self.mentions:
            placing.mention(mention)
        for claim in self.claims:
            placing.claim(claim)
        self._placed = placing.result()


class _Placing:
    """Attaches mentions and claims to passages."""

    def __init__(self, graph: GivenGraph, passages: Sequence[Passage], as_given: bool) -> None:
        self._graph = graph
        self._passages = passages
        self._as_given = as_given
        self._finder = NameFinder()
        self._title = f" {name_key(graph.title)} "
        self._mentions: dict[int, dict[tuple[str, int, str], Mention]] = {}
        self._mentioned: set[tuple[int, str]] = set()
        self._assertions: dict[int, dict[tuple[str, str, str, int], Assertion]] = {}

    def result(self) -> dict[int, Extraction]:
        return {
            index: Extraction(
                mentions=tuple(sorted(self._mentions.get(index, {}).values(), key=_in_text)),
                assertions=tuple(self._assertions.get(index, {}).values()),
            )
            for index in sorted(self._mentions.keys() | self._assertions.keys())
        }

    def mention(self, given: GivenMention) -> None:
        candidates = self._candidates(given.unit)
        if given.span is not None:
            passage = self._holding(candidates, given.span[0])
            self._add(passage, given, _clipped(passage, given.span))
            return
        found = [(p, spans[0]) for p in candidates if (spans := self._find(p, given.entity.key))]
        for passage, span in found:
            self._add(passage, replace(given, entity=_as_written(given.entity, passage, span)), span)
        if not found:
            self._add_unfound(candidates[0], given)

    def _add_unfound(self, passage: Passage, given: GivenMention) -> None:
        """A name that stands nowhere in the unit is said of the whole passage."""
        in_title = f" {given.entity.key} " in self._title
        self._graph.counts["mentions_in_title" if in_title else "mentions_without_span"] += 1
        unfound = replace(
            given,
            role="title" if in_title else given.role,
            confidence=given.confidence if in_title else min(given.confidence, NOT_FOUND),
        )
        self._add(passage, unfound, (passage.start, passage.end))

    def _add(self, passage: Passage, given: GivenMention, span: tuple[int, int]) -> None:
        entity = given.entity
        self._mentioned.add((passage.index, entity.id))
        self._mentions.setdefault(passage.index, {}).setdefault(
            (entity.id, span[0], given.role + entity.key),
            Mention(
                passage_index=passage.index,
                entity_id=entity.id,
                key=entity.key,
                name=entity.name,
                type=entity.type,
                start=span[0],
                end=span[1],
                role=given.role,
                weight=given.weight,
                confidence=given.confidence,
                extractor=given.extractor,
            ),
        )

    def claim(self, given: GivenClaim) -> None:
        passage, span, confidence = self._evidence(given)
        if given.span is None:
            span = _sentences(passage, span)
            given = replace(
                given,
                subject=self._as_found(given.subject, passage),
                object=self._as_found(given.object, passage),
            )
        verified = confidence == IN_PASSAGE if given.verified is None else given.verified
        assertion = Assertion(
            passage_index=passage.index,
            subject_id=given.subject.id,
            subject_name=given.subject.name,
            subject_type=given.subject.type,
            predicate=given.predicate,
            object_id=given.object.id,
            object_name=given.object.name,
            object_type=given.object.type,
            description=given.description,
            start=span[0],
            end=span[1],
            confidence=confidence if given.confidence is None else given.confidence,
            weight=given.weight,
            extractor=given.extractor,
            verified=verified,
        )
        held = self._assertions.setdefault(passage.index, {})
        key = given.subject.id, given.predicate, given.object.id, span[0]
        if key in held:
            self._graph.counts["assertions_repeated"] += 1
            return
        held[key] = assertion
        self._graph.counts["assertions_verified" if verified else "assertions_unverified"] += 1
        for end in (given.subject, given.object):
            if (passage.index, end.id) not in self._mentioned:
                self._graph.counts["ends_mentioned"] += 1
                self._mention_end(passage, given, end)

    def _mention_end(self, passage: Passage, given: GivenClaim, end: GivenEntity) -> None:
        mention = GivenMention(unit=given.unit, entity=end, extractor=given.extractor)
        spans = self._find(passage, end.key)
        if spans:
            self._add(passage, replace(mention, entity=_as_written(end, passage, spans[0])), spans[0])
        else:
            self._add_unfound(passage, mention)

    def _as_found(self, entity: GivenEntity, passage: Passage) -> GivenEntity:
        spans = self._find(passage, entity.key)
        return _as_written(entity, passage, spans[0]) if spans else entity

    def _evidence(self, given: GivenClaim) -> tuple[Passage, tuple[int, int], float]:
        """The passage that makes the claim, the span in it, and how sure that is."""
        candidates = self._candidates(given.unit)
        if given.span is not None:
            passage = self._holding(candidates, given.span[0])
            both = all(self._find(passage, end.key) for end in (given.subject, given.object))
            return passage, _clipped(passage, given.span), IN_PASSAGE if both else NOT_FOUND
        subjects = [(p, spans) for p in candidates if (spans := self._find(p, given.subject.key))]
        objects = {p.index: spans for p in candidates if (spans := self._find(p, given.object.key))}
        pairs = [
            (span[1] - span[0], passage.index, passage, span)
            for passage, spans in subjects
            if passage.index in objects
            for span in [_closest(spans, objects[passage.index])]
        ]
        if pairs:
            _, _, passage, span = min(pairs, key=lambda pair: pair[:2])
            return passage, span, IN_PASSAGE
        sure = IN_UNIT if subjects and objects else NOT_FOUND
        if subjects:
            return subjects[0][0], subjects[0][1][0], sure
        passage = next((p for p in candidates if p.index in objects), candidates[0])
        found = objects.get(passage.index)
        return passage, found[0] if found else (passage.start, passage.end), sure

    def _find(self, passage: Passage, key: str) -> Sequence[tuple[int, int]]:
        return self._finder.find(passage.index, passage.text, key, offset=passage.start)

    def _candidates(self, unit: int) -> Sequence[Passage]:
        """The passages that hold text of a unit; never none."""
        if self._as_given:
            return (self._passages[unit],)
        span = self._graph.units[unit]
        within = [p for p in self._passages if p.start < span.end and p.end > span.start]
        return within or (min(self._passages, key=lambda p: (abs(p.start - span.start), p.index)),)

    def _holding(self, candidates: Sequence[Passage], offset: int) -> Passage:
        return next((p for p in candidates if p.start <= offset < p.end), candidates[0])


def _in_text(mention: Mention) -> tuple[int, str, int, str, str]:
    return mention.start, mention.name, mention.end, mention.entity_id, mention.role + mention.key


def _as_written(entity: GivenEntity, passage: Passage, span: tuple[int, int]) -> GivenEntity:
    """The entity under the name that the passage uses."""
    written = " ".join(passage.text[span[0] - passage.start : span[1] - passage.start].split())
    return replace(entity, name=written) if name_key(written) == entity.key else entity


def _clipped(passage: Passage, span: tuple[int, int]) -> tuple[int, int]:
    start = min(max(span[0], passage.start), passage.end)
    return start, max(start, min(span[1], passage.end))


def _closest(left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The shortest span that holds one of each. Names recur a few times in a passage, so all pairs are tried."""
    joined = ((min(a[0], b[0]), max(a[1], b[1])) for a in left[:50] for b in right[:50])
    return min(joined, key=lambda span: (span[1] - span[0], span))


def _sentences(passage: Passage, span: tuple[int, int]) -> tuple[int, int]:
    """The span widened to whole sentences of the passage."""
    held = [s for s in passage.sentences if s[0] < span[1] and s[1] > span[0]]
    return (min(span[0], held[0][0]), max(span[1], held[-1][1])) if held else span
