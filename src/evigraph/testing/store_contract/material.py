"""What the contract puts into a store: documents whose rows follow from their text, and a view of all reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from evigraph.ingest.embed import FactEmbedder
from evigraph.store import Snapshot, Store
from evigraph.store.keys import PassageKey, revision_key
from evigraph.store.rows import Publication, StagedPassages
from evigraph.store.staging import identify
from evigraph.testing.models import HashEmbedder
from evigraph.text.analysis import analyse
from evigraph.text.names import entity_id, name_key
from evigraph.types import CO_OCCURS, Assertion, Extraction, Mention, Passage

EMBEDDER = HashEmbedder(32)
ALL = 10_000
"""A limit that none of the contract's small workspaces reaches."""

_NAME = re.compile(r"[A-Z]\w+")
_CLAIM = re.compile(r"([A-Z]\w+) (\w+) ([A-Z]\w+)")


class CapitalExtractor:
    """An `Extractor` without a model: a capitalised word is an ORGANIZATION, `Acme supplies Birch` a claim, and two
    names that follow each other otherwise occur together."""

    name = "capitals/1"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for passage in passages:
            found = [_mention(passage, match.group(), match.start()) for match in _NAME.finditer(passage.text)]
            if passage.index == 0:
                found += [_mention(passage, word, None) for word in _NAME.findall(title)]
            mentions += found
            stated = list(_CLAIM.finditer(passage.text))
            assertions += [_assertion(passage, claim[1], claim[2].upper(), claim[3], claim.start()) for claim in stated]
            told = {(claim[1], claim[3]) for claim in stated}
            in_text = [mention for mention in found if mention.role == "text"]
            assertions += [
                _assertion(passage, one.name, CO_OCCURS, other.name, one.start - passage.start)
                for one, other in pairwise(in_text)
                if (one.name, other.name) not in told
            ]
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))


def _mention(passage: Passage, name: str, at: int | None) -> Mention:
    key = name_key(name)
    return Mention(
        passage_index=passage.index,
        entity_id=entity_id(key, "ORGANIZATION"),
        key=key,
        name=name,
        type="ORGANIZATION",
        start=passage.start if at is None else passage.start + at,
        end=passage.end if at is None else passage.start + at + len(name),
        role="title" if at is None else "text",
        weight=1.0 if at is None else 0.5,
        confidence=0.9,
        extractor=CapitalExtractor.name,
    )


def _assertion(passage: Passage, subject: str, predicate: str, object_: str, at: int) -> Assertion:
    return Assertion(
        passage_index=passage.index,
        subject_id=entity_id(name_key(subject), "ORGANIZATION"),
        subject_name=subject,
        subject_type="ORGANIZATION",
        predicate=predicate,
        object_id=entity_id(name_key(object_), "ORGANIZATION"),
        object_name=object_,
        object_type="ORGANIZATION",
        description=passage.text,
        start=passage.start + at,
        end=passage.end,
        confidence=0.5 if predicate == CO_OCCURS else 0.75,
        extractor=CapitalExtractor.name,
    )


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A staged revision and the publication that would make it visible."""

    publication: Publication
    staged: StagedPassages
    text: str


@dataclass
class Vocabulary:
    """Everything to ask for: what was ever staged, so that what must not be seen is asked for by name."""

    words: set[str] = field(default_factory=set)
    assertions: set[str] = field(default_factory=set)

    def __or__(self, other: Vocabulary) -> Vocabulary:
        return Vocabulary(words=self.words | other.words, assertions=self.assertions | other.assertions)


@dataclass(frozen=True)
class Doc:
    """A document to write: one passage a text, and what `compose` takes beside."""

    document_id: str
    texts: tuple[str, ...]
    described: Mapping[str, Any]


def doc(document_id: str, *texts: str, **described: Any) -> Doc:
    return Doc(document_id, texts, described)


class Shelf:
    """Writes documents into one workspace as ingest does: reserve, stage, publish. Text without capitals is cheaper:
    it makes no rows in the graph's tables."""

    def __init__(self, store: Store, workspace: str) -> None:
        self.store = store
        self.workspace = workspace
        self.vocabulary = Vocabulary()
        if not store.generation(workspace):
            store.record_change(workspace, "embedder", {"model": EMBEDDER.name, "dimension": EMBEDDER.dimension})

    def put(self, document_id: str, *texts: str, **described: Any) -> int:
        """Stage and publish one document; return its generation."""
        return self.fill(doc(document_id, *texts, **described))

    def fill(self, *documents: Doc) -> int:
        """Stage and publish documents in one batch; return the newest generation."""
        return self.publish(*self.drafts(*documents))

    def draft(self, document_id: str, *texts: str, **described: Any) -> Draft:
        """Stage a revision and leave it unpublished."""
        return self.drafts(doc(document_id, *texts, **described))[0]

    def drafts(self, *documents: Doc) -> list[Draft]:
        numbers = self.store.reserve(self.workspace, [item.document_id for item in documents])
        drafts = [
            compose(item.document_id, numbers[item.document_id], item.texts, **item.described) for item in documents
        ]
        self.store.stage_text(
            self.workspace, [(revision_key(name, numbers[name]), 0, draft.text) for name, draft in _named(drafts)]
        )
        self.store.stage(self.workspace, EMBEDDER.name, [draft.staged for draft in drafts])
        for name, draft in _named(drafts):
            self.vocabulary.words |= set(re.findall(r"\w+", f"{draft.publication.title} {draft.text}"))
            self.vocabulary.assertions |= {identify(name, item) for item in draft.staged.assertions}
        return drafts

    def publish(self, *drafts: Draft) -> int:
        return self.store.publish(self.workspace, [draft.publication for draft in drafts])

    def delete(self, document_id: str) -> int:
        return self.store.delete(self.workspace, document_id)


def _named(drafts: Sequence[Draft]) -> list[tuple[str, Draft]]:
    return [(draft.publication.document_id, draft) for draft in drafts]


def compose(
    document_id: str,
    revision: int,
    texts: Sequence[str],
    *,
    source: str | None = None,
    title: str = "",
    date: date | None = None,
    metadata: Mapping[str, str] | None = None,
    origin: str = "",
) -> Draft:
    """Rows of one revision; its text is the passages with blank lines between."""
    passages: list[Passage] = []
    at = 0
    for index, text in enumerate(texts):
        passages.append(
            Passage(
                document_id=document_id,
                revision=revision,
                index=index,
                start=at,
                end=at + len(text),
                text=text,
                context=title,
                heading_path=(title,) if title else (),
                page=index + 1 if title else None,
                token_count=EMBEDDER.count_tokens(text),
                sentences=((at, at + len(text)),),
            )
        )
        at += len(text) + 2
    extraction = CapitalExtractor().extract(passages, title=title, language="en")
    terms = [Counter(analyse(passage.searchable_text, "en")) for passage in passages]
    staged = StagedPassages(
        passages=passages,
        vectors=EMBEDDER.embed([passage.searchable_text for passage in passages]),
        terms=terms,
        mentions=extraction.mentions,
        assertions=extraction.assertions,
        facts=FactEmbedder(EMBEDDER).embed(document_id, extraction),
    )
    publication = Publication(
        document_id=document_id,
        revision=revision,
        origin=origin,
        source=f"{document_id}.txt" if source is None else source,
        title=title,
        date=date,
        metadata=metadata or {},
        media_type="text/plain",
        language="en",
        content_hash=f"hash of {document_id} {revision}",
        passages=len(passages),
        terms=sum(sum(counts.values()) for counts in terms),
    )
    return Draft(publication=publication, staged=staged, text="\n\n".join(texts))


def view(snapshot: Snapshot, vocabulary: Vocabulary) -> dict[str, Any]:
    """The answer of every read to everything in the vocabulary, without revision numbers and generations.

    Two workspaces show the same documents exactly when their views are equal.
    """
    words = sorted(vocabulary.words)
    names = [name_key(word) for word in words]
    entities = [entity_id(name, "ORGANIZATION") for name in names]
    terms = analyse(" ".join(words), "en")
    vector = EMBEDDER.embed([" ".join(words)])[0]
    counts = snapshot.counts()
    graph = snapshot.community_graph()
    dense = snapshot.nearest_passages(vector, ALL)
    lexical = snapshot.lexical(terms, counts, ALL)
    mentions = snapshot.mentions_of(names, per_name_limit=ALL, limit=ALL)
    profiles = snapshot.profiles(entities)
    named = snapshot.assertions_named(sorted(vocabulary.assertions))
    keys = sorted(
        {hit.key for hit in (*dense, *lexical)}
        | {row.passage for row in mentions}
        | {key for profile in profiles.values() for key in profile.passages}
    )
    ids = snapshot.chunk_ids(keys)
    chunks = snapshot.chunks(keys)
    return {
        "counts": counts,
        "documents": [
            (info.document_id, info.source, info.title, info.date, dict(info.metadata), info.passages)
            for info in snapshot.documents()
        ],
        "dense": [(ids[hit.key], round(hit.score, 5)) for hit in dense],
        "lexical": [(ids[hit.key], round(hit.score, 9)) for hit in lexical],
        "term_frequencies": snapshot.term_frequencies(terms),
        "names": snapshot.names(names),
        "mentions_of": [(ids[row.passage], row.entity_id, row.name, row.role, row.weight) for row in mentions],
        "mentions_in": [(ids[row.passage], row.entity_id, row.name, row.role) for row in snapshot.mentions_in(keys)],
        "ties": {ids[key]: held for key, held in snapshot.ties(keys).items()},
        "entity_ids": snapshot.entity_ids(names),
        "names_like": snapshot.names_like(dict.fromkeys(names, 2), limit=ALL),
        "nearest_entities": _rounded(snapshot.nearest_entities(vector, ALL)),
        "nearest_assertions": _rounded(snapshot.nearest_assertions(vector, ALL)),
        "most_connected": snapshot.most_connected(ALL),
        "assertions_of": [
            (origin, item.id, item.chunk_id, item.description)
            for origin, item in snapshot.assertions_of(entities, per_node_limit=ALL, limit=ALL)
        ],
        "assertions_named": {name: (item.chunk_id, item.description) for name, item in named.items()},
        "assertions_in": [(item.id, item.chunk_id, item.type) for item in snapshot.assertions_in(keys, limit=ALL)],
        "profiles": {
            name: (profile.name, profile.description, profile.degree, [ids[key] for key in profile.passages])
            for name, profile in profiles.items()
        },
        "chunks": {
            ids[key]: (chunk.text, chunk.source, chunk.title, chunk.start, chunk.end, chunk.context, chunk.page)
            for key, chunk in chunks.items()
        },
        "vectors": {ids[key]: stored.tolist() for key, stored in snapshot.passage_vectors(keys).items()},
        "community_entities": graph.entities,
        "community_links": graph.links,
        "community_statements": statements_of(snapshot),
        "community_claims": claims_of(snapshot),
        "group_counts": snapshot.group_counts(),
        "similarities": _by_id(snapshot.similarities([vector], keys), ids),
    }


def statements_of(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """What `community_statements` tells of each assertion and its sentence, without revision numbers."""
    found = snapshot.community_statements()
    said = zip(found.subject, found.object, found.stated, found.weight, found.assertion, found.sentence, strict=True)
    return [
        (
            *(found.entities[subject], found.entities[object_], bool(stated), int(weight), int(assertion)),
            *(found.documents[found.document[at]].document_id, int(found.passage[at])),
            *(int(found.start[at]), int(found.end[at]), bool(found.telling[at])),
        )
        for subject, object_, stated, weight, assertion, at in said
    ]


def claims_of(snapshot: Snapshot) -> list[tuple[str, str, int]]:
    """Subject, object and weight of every assertion, sorted."""
    found = snapshot.community_claims()
    said = zip(found.subject, found.object, found.weight, strict=True)
    return sorted((found.entities[subject], found.entities[object_], int(weight)) for subject, object_, weight in said)


def _rounded(found: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(name, round(score, 5)) for name, score in found]


def _by_id(found: Mapping[PassageKey, tuple[float, ...]], ids: Mapping[PassageKey, str]) -> dict[str, list[float]]:
    return {ids[key]: [round(score, 5) for score in scores] for key, scores in sorted(found.items())}
