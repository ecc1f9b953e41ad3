"""What the graph surfaces show: merges, proposals, entity pages, contradictions and history."""

from __future__ import annotations

import datetime as dt  # a field called `date` would hide the type
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """A recorded decision that `entities` are the one called `canonical` (itself among them). It can be undone, and
    rewrites no assertion. `merge_id` is the generation at which it was made."""

    merge_id: int
    canonical: str
    entities: tuple[str, ...]
    reason: str
    merged_at: dt.datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class AliasProposal:
    """Entities that may be one, for someone to decide; nothing is merged by it. `score` in 0-1; `evidence` says why in
    a sentence; `chunk_ids` are passages that name both, or one of each where none does; `guards` are the checks
    passed."""

    entities: tuple[str, ...]
    names: tuple[str, ...]
    canonical: str
    kind: Literal["acronym", "initials", "surname", "title", "suffix", "shortened", "spelling", "embedding"]
    score: float
    evidence: str
    chunk_ids: tuple[str, ...]
    guards: tuple[str, ...]


# --------------------------------------------------------------------------- entities


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityHit:
    """An entity as a list shows it: its commonest surface form, up to five others, distinct neighbours, mentions and
    the documents they lie in. `score` in 0-1 is how well a name matches; None where nothing was searched for."""

    id: str
    name: str
    type: str
    names: tuple[str, ...]
    degree: int
    mentions: int
    documents: int
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityList:
    """One page of a search; `total` counts all that match."""

    generation: int
    total: int
    entities: tuple[EntityHit, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SurfaceName:
    """A form in which passages name the entity, and how often. `entity` is the one that was extracted, where a merge
    brought several together."""

    name: str
    entity: str
    mentions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MentionView:
    """One mention. `entity` is the one that was extracted; `role` as in `types.Mention`."""

    chunk_id: str
    document_id: str
    revision: int
    source: str
    title: str
    date: dt.date | None
    start: int
    end: int
    surface: str
    role: str
    entity: str
    confidence: float
    extractor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One assertion with where it stands. `subject` and `object` are the representatives of merged entities, the names
    those of the passage; `quote` is the document's text from `start` to `end`, at most 300 characters."""

    id: str
    subject: str
    subject_name: str
    subject_type: str
    predicate: str
    object: str
    object_name: str
    object_type: str
    description: str
    weight: float
    confidence: float
    extractor: str
    verified: bool
    chunk_id: str
    document_id: str
    source: str
    title: str
    date: dt.date | None
    revision: int
    generation: int
    published_at: dt.datetime
    start: int
    end: int
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationView:
    """All visible assertions of one (subject, predicate, object). `weight` is the sum of theirs, `max_weight` the
    largest; `description` that of the surest; `assertions` and `chunks` list the first twenty."""

    subject: str
    subject_name: str
    predicate: str
    object: str
    object_name: str
    description: str
    weight: float
    max_weight: float
    statements: int
    documents: int
    assertions: tuple[str, ...]
    chunks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceView:
    """A document that mentions the entity."""

    document_id: str
    source: str
    title: str
    date: dt.date | None
    revision: int
    mentions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityMerge:
    """A merge that stands and that the entity is part of; `entities` are those of it that the scope mentions."""

    merge_id: int
    entities: tuple[str, ...]
    reason: str
    merged_at: dt.datetime
    undo: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityPage:
    """Everything the visible, filtered passages say of an entity, and nothing else. Lists are cut to the page asked
    for; `totals` counts each in full. `weight` is the sum over its assertions, co-occurrence left out. `degree` counts
    distinct neighbours. `homographs` have the same name and another type. An entity that only assertions name has no
    mentions, names or sources. `truncated` says what of the contradictions was not compared or is not shown."""

    generation: int
    id: str
    name: str
    type: str
    description: str
    degree: int
    weight: float
    names: tuple[SurfaceName, ...]
    sources: tuple[SourceView, ...]
    mentions: tuple[MentionView, ...]
    outgoing: tuple[Statement, ...]
    incoming: tuple[Statement, ...]
    relationships: tuple[RelationView, ...]
    contradictions: tuple[Contradiction, ...]
    merges: tuple[EntityMerge, ...]
    homographs: tuple[EntityHit, ...]
    totals: EntityTotals
    truncated: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityTotals:
    """How many there are of each list of a page, whatever was cut; of contradictions those that were found, where
    `EntityPage.truncated` says that not all was compared."""

    names: int
    sources: int
    mentions: int
    outgoing: int
    incoming: int
    relationships: int
    contradictions: int


# --------------------------------------------------------------------------- around an entity


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """An entity `distance` hops from the one asked for."""

    id: str
    name: str
    type: str
    degree: int
    distance: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbourhood:
    """Entities nearest first, and the relationships that were followed. `truncated` says which limit cut what."""

    generation: int
    entity: str
    entities: tuple[Neighbour, ...]
    relationships: tuple[RelationView, ...]
    truncated: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PathHop:
    """One step from entity `source` to entity `target`, and the assertions that support it, surest first, at most
    five; `total` counts all. An assertion may point either way."""

    source: str
    target: str
    statements: tuple[Statement, ...]
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PathView:
    """A path that meets no entity twice."""

    entities: tuple[str, ...]
    names: tuple[str, ...]
    hops: tuple[PathHop, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PathList:
    """The shortest paths between two entities, all of `length` hops; None where none was found within `max_length`.
    `truncated` says which limit cut what: where it cut the search, a path may have been missed."""

    generation: int
    source: str
    target: str
    max_length: int
    length: int | None
    paths: tuple[PathView, ...]
    explored: int
    truncated: tuple[str, ...]


# --------------------------------------------------------------------------- contradictions and history

ContradictionKind = Literal["negation", "functional", "possible"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One of the claims that stand against each other, with the assertions that make it (at most twenty)."""

    predicate: str
    object: str
    object_name: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Claims about one subject that do not go together. `negation`: the same is asserted and denied. `functional`: the
    schema allows one object at a time, and several are named. `possible`: without a schema, documents name different
    objects of one type, and share none."""

    kind: ContradictionKind
    subject: str
    subject_name: str
    predicate: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ContradictionList:
    """Negations first, then functional ones, then possible ones. `truncated` says which limit cut what, and where
    there may be more than `total`."""

    generation: int
    total: int
    contradictions: tuple[Contradiction, ...]
    truncated: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PastStatement(Statement):
    """An assertion that was published, whether it is still visible or not. It was so from `generation` until
    `until_generation` (at the time `until`), when its document was `replaced` or `deleted`. `still_made`: a visible
    revision makes the same claim (subject, predicate and object)."""

    visible: bool
    until_generation: int | None = None
    until: dt.datetime | None = None
    ended_by: Literal["replaced", "deleted"] | None = None
    still_made: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What was said about an entity, by which revision and when, oldest first. Shows superseded and deleted text until
    it is pruned; filters are judged on each revision as it was published."""

    generation: int
    entity: str
    name: str
    type: str
    total: int
    statements: tuple[PastStatement, ...]
