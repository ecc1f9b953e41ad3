"""From parsed passages to mentions and assertions: names of the document first, then passage by passage."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from evigraph.ingest.extractors.entities import MAX_NAME_TOKENS, Found, majority_types, trim
from evigraph.ingest.extractors.gazetteer import Gazetteer, Token, demonym_mentions, tokens
from evigraph.ingest.extractors.relations import Claim, End, SentenceReader, phrase_span
from evigraph.text.names import entity_id, name_key, title_aliases
from evigraph.types import CO_OCCURS, Assertion, Mention, Passage

NER_CONFIDENCE = 0.85
GAZETTEER_CONFIDENCE = 0.7
PHRASE_CONFIDENCE = 0.5
CO_OCCURS_CONFIDENCE = 0.3
"""Confidence of a mention by the tagger, by the gazetteer, of a common noun phrase, and of a shared
sentence."""

HEADING_WEIGHT = 0.5
DEMONYM_WEIGHT = 0.2
"""With five times the weight for an alias mention, a demonym counts as one plain mention of its country."""
PHRASE_WEIGHT = 0.3
CO_OCCURS_WEIGHT = 0.3
CO_OCCURS_PER_SENTENCE = 6

_MAX_LABEL_TOKENS = 12  # longer titles cannot be met as a name in a question
_DESCRIPTION = 300
_SENTENCE_EDGES = " \t\n\r\f\u00a0;"  # cell borders read as semicolons
_NUMBERING = re.compile(
    r"\s*(?:(?i:chapter|section|part|appendix|stave)\s+(?:\d+|[IVXLC]+)[.:)]?|\d{1,2}(?:\.\d+)*[.:)]?|[IVXLC]+[.:)])\s+"
)

Role = Literal["text", "title", "heading", "alias"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentNames:
    """The names a document is known to use: one type per key, aliases of the title, and the gazetteer of all
    keys."""

    title: str
    title_type: str
    types: Mapping[str, str]
    display: Mapping[str, str]
    aliases: tuple[tuple[str, float], ...]
    label_entities: Mapping[str, Sequence[Found]]
    gazetteer: Gazetteer

    @classmethod
    def of(
        cls,
        *,
        title: str,
        passages: Sequence[Passage],
        entities: Sequence[Sequence[Found]],
        label_entities: Mapping[str, Sequence[Found]],
    ) -> DocumentNames:
        everything = [found for group in (*entities, *label_entities.values()) for found in group]
        types = majority_types((found.key, found.type) for found in everything)
        display: dict[str, str] = {}
        for found in everything:
            display.setdefault(found.key, found.name)
        opening = passages[0].text if passages[0].start == 0 else ""
        aliases = names_of_title(title, opening)
        known = [types[key] for key in (name_key(name) for name, _ in aliases) if key in types]
        title_type = known[0] if known else "CONCEPT"
        names = {name_key(name): name for name, _ in aliases}
        display = {**display, **names}
        types = {**dict.fromkeys(names, title_type), **types}
        return cls(
            title=title,
            title_type=title_type,
            types=types,
            display=display,
            aliases=tuple(aliases),
            label_entities=label_entities,
            gazetteer=Gazetteer(types),
        )


def names_of_title(title: str, opening: str) -> list[tuple[str, float]]:
    """A document's title and its other names, as far as a question can name them, each with its weight as an alias.
    `opening` is how its text begins."""
    return [
        (name, weight)
        for name, weight in title_aliases(title, opening)
        if len(name_key(name).split()) <= _MAX_LABEL_TOKENS and _has_letter(name_key(name))
    ]


class PassageReader:
    """Collects the mentions and assertions of one passage. `read` is for a parsed one; its first three steps serve
    other extractors too."""

    def __init__(
        self,
        *,
        passage: Passage,
        names: DocumentNames,
        extractor: str,
        lemmatise: Callable[[Any, str], str] = lambda token, part: str(token),
    ) -> None:
        self.mentions: list[Mention] = []
        self.assertions: list[Assertion] = []
        self._passage = passage
        self._names = names
        self._extractor = extractor
        self._lemmatise = lemmatise
        self._seen: set[tuple[str, int, int, str]] = set()

    def read(self, doc: Any, entities: Sequence[Found]) -> None:
        words = tokens(self._passage.text)
        self.labels()
        spans = self.named(entities, words)
        self.demonyms(words)
        self._sentences(doc, spans)

    # ------------------------------------------------------------------ mentions

    def mention(
        self, found: Found, *, role: Role = "text", weight: float = 1.0, confidence: float = NER_CONFIDENCE
    ) -> None:
        """Adds a mention of `found` at its span of the passage, unless it is there already."""
        key, kind, span = found.key, found.type, (found.start, found.end)
        identity = entity_id(key, kind)
        mark = (identity, *span, role)
        if key and mark not in self._seen:
            self._seen.add(mark)
            self.mentions.append(
                Mention(
                    passage_index=self._passage.index,
                    entity_id=identity,
                    key=key,
                    name=found.name,
                    type=kind,
                    start=self._passage.start + span[0],
                    end=self._passage.start + span[1],
                    role=role,
                    weight=weight,
                    confidence=confidence,
                    extractor=self._extractor,
                )
            )

    def _whole(self, name: str, key: str, fallback: str = "CONCEPT") -> Found:
        """A name found outside the text, which by convention spans the whole passage."""
        kind = self._names.types.get(key, fallback)
        return Found(start=0, end=len(self._passage.text), name=name, key=key, type=kind)

    def labels(self) -> None:
        """Title, its other names, the names in it, and the headings above the passage."""
        names = self._names
        title_key = name_key(names.title)
        taken = set()
        for name, weight in names.aliases:
            key = name_key(name)
            role: Role = "title" if key == title_key else "alias"
            taken.add(key)
            self.mention(self._whole(name, key), role=role, weight=weight, confidence=1.0)
        within = list(names.label_entities.get(names.title, ()))
        for heading in self._passage.heading_path:
            bare = " ".join(_NUMBERING.sub("", heading).split()) or heading
            within.append(Found(start=0, end=0, name=bare, key=name_key(bare), type="CONCEPT"))
            within.extend(names.label_entities.get(heading, ()))
        for found in within:
            usable = len(found.key.split()) <= MAX_NAME_TOKENS and _has_letter(found.key)
            if usable and found.key not in taken:
                taken.add(found.key)
                whole = self._whole(found.name, found.key, found.type)
                self.mention(whole, role="heading", weight=HEADING_WEIGHT)

    def named(self, entities: Sequence[Found], words: list[Token]) -> list[Found]:
        """Mentions of the tagger's entities and the gazetteer's; returns the outermost spans, by start."""
        names = self._names
        spans = [Found(start=e.start, end=e.end, name=e.name, key=e.key, type=names.types[e.key]) for e in entities]
        for found in spans:
            self.mention(found)
        there = {(found.start, found.end) for found in spans}
        for start, end, key in names.gazetteer.find(words, self._passage.text):
            # The tagger may have kept a word more or less ("Ltd."); the same key over the same words is one
            # mention.
            if any(f.key == key and f.start < end and start < f.end for f in spans) or (start, end) in there:
                continue
            surface = " ".join(self._passage.text[start:end].split())
            found = Found(start=start, end=end, name=surface, key=key, type=names.types[key])
            self.mention(found, confidence=GAZETTEER_CONFIDENCE)
            spans.append(found)
            there.add((start, end))
        return _outermost(spans)

    def demonyms(self, words: list[Token]) -> None:
        for start, end, country in demonym_mentions(words):
            found = Found(start=start, end=end, name=country, key=name_key(country), type="LOCATION")
            self.mention(found, role="alias", weight=DEMONYM_WEIGHT, confidence=GAZETTEER_CONFIDENCE)

    # ------------------------------------------------------------------ assertions

    def _sentences(self, doc: Any, spans: Sequence[Found]) -> None:
        reader = SentenceReader(_token_entities(doc, spans), self._lemmatise)
        at = 0
        for sentence in doc.sents:
            inside = []
            while at < len(spans) and spans[at].start < sentence.end_char:
                inside.append(spans[at])
                at += 1
            if not inside:
                continue
            said = _Sentence.of(doc.text, sentence.start_char, sentence.end_char)
            linked = {self._claim(claim, spans, said) for claim in reader.claims(sentence)}
            self._co_occurrences(inside, linked, said)

    def _claim(self, claim: Claim, spans: Sequence[Found], said: _Sentence) -> frozenset[str]:
        subject, target = self._end(claim.subject, spans), self._end(claim.object, spans)
        if subject is None or target is None or subject.key == target.key:
            return frozenset()
        self._assert(subject, claim.predicate, target, said, confidence=claim.confidence)
        return frozenset({subject.key, target.key})

    def _end(self, end: End, spans: Sequence[Found]) -> Found | None:
        """The named entity of an endpoint, else its noun phrase as a concept, which gets a light mention."""
        if end.entity >= 0:
            return spans[end.entity]
        trimmed = trim(self._passage.text, *(end.span or phrase_span(end.head)))
        # A stated value may be a date or a number; a bare number elsewhere is no endpoint.
        if trimmed is None or len(trimmed[3].split()) > MAX_NAME_TOKENS or not (end.span or _has_letter(trimmed[3])):
            return None
        start, stop, name, key = trimmed
        kind = self._names.types.get(key, "CONCEPT")
        found = Found(start=start, end=stop, name=name, key=key, type=kind)
        if key not in self._names.types:
            self.mention(found, weight=PHRASE_WEIGHT, confidence=PHRASE_CONFIDENCE)
        return found

    def _co_occurrences(self, inside: Sequence[Found], linked: set[frozenset[str]], said: _Sentence) -> None:
        distinct = list({found.key: found for found in reversed(inside)}.values())[::-1]
        pairs = [(a, b) for a, b in combinations(distinct, 2) if frozenset({a.key, b.key}) not in linked]
        for first, second in pairs[:CO_OCCURS_PER_SENTENCE]:
            self._assert(first, CO_OCCURS, second, said, confidence=CO_OCCURS_CONFIDENCE, weight=CO_OCCURS_WEIGHT)

    def _assert(
        self,
        subject: Found,
        predicate: str,
        target: Found,
        said: _Sentence,
        *,
        confidence: float,
        weight: float = 1.0,
    ) -> None:
        subject_id, object_id = entity_id(subject.key, subject.type), entity_id(target.key, target.type)
        mark = (f"{subject_id}\0{predicate}\0{object_id}", said.start, said.end, "assertion")
        if mark in self._seen:
            return
        self._seen.add(mark)
        self.assertions.append(
            Assertion(
                passage_index=self._passage.index,
                subject_id=subject_id,
                subject_name=subject.name,
                subject_type=subject.type,
                predicate=predicate,
                object_id=object_id,
                object_name=target.name,
                object_type=target.type,
                description=said.description,
                start=self._passage.start + said.start,
                end=self._passage.start + said.end,
                confidence=confidence,
                weight=weight,
                extractor=self._extractor,
            )
        )


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Span of a sentence in its passage without blanks and cell borders at its ends, and its words on one
    line."""

    start: int
    end: int
    description: str

    @classmethod
    def of(cls, prose: str, start: int, end: int) -> _Sentence:
        while start < end and prose[start] in _SENTENCE_EDGES:
            start += 1
        while end > start and prose[end - 1] in _SENTENCE_EDGES:
            end -= 1
        flat = " ".join(prose[start:end].split())
        if len(flat) > _DESCRIPTION:
            flat = f"{flat[: _DESCRIPTION - 2].rsplit(' ', 1)[0]} …"
        return cls(start, end, flat)


def _token_entities(doc: Any, spans: Sequence[Found]) -> dict[int, int]:
    """Index into `spans` by token index, for every token that begins inside a span."""
    entity_at: dict[int, int] = {}
    at = 0
    for token in doc:
        while at < len(spans) and spans[at].end <= token.idx:
            at += 1
        if at < len(spans) and spans[at].start <= token.idx and not token.is_space:
            entity_at[token.i] = at
    return entity_at


def _outermost(spans: Sequence[Found]) -> list[Found]:
    kept: list[Found] = []
    for found in sorted(spans, key=lambda f: (f.start, -f.end)):
        if not kept or found.start >= kept[-1].end:
            kept.append(found)
    return kept


def _has_letter(key: str) -> bool:
    return any(letter.isalpha() for letter in key)
