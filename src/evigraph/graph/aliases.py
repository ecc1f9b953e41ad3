"""Which entities of a scope may be one: proposals with their evidence, for someone to decide.

Candidates come from forms (one's name is an acronym, the initials, ... of the other's), from spelling, and from vectors
of name and description. Guards keep apart what only looks alike: entities of different types are never proposed, so
homographs of two types stay two; nor is a short form that several entities share; a vector counts only where the words
agree too, and a number never differs. Two persons of one name have one id and cannot be told apart here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evigraph.store import Snapshot
from evigraph.store.keys import PassageKey
from evigraph.store.names import NamedEntity, NamesTogether
from evigraph.text.forms import FormKind, same_spelling, same_words
from evigraph.text.names import name_key, split_entity_id
from evigraph.types import Chunk
from evigraph.views import AliasProposal

Kind = Literal["acronym", "initials", "surname", "title", "suffix", "shortened", "spelling", "embedding"]

COMPARED = 5_000
"""Entities whose spelling is compared, those of most passages first."""
COMPARED_BY_VECTOR = 1_500
FORM_PAIRS = 20_000
PAIRS_WEIGHED = 500
"""Candidates whose passages are looked at, best first."""
SHARED_PASSAGES = 2_000
BLOCK = 200
"""Names of one type and one set of first letters that are compared with each other."""
NEAR = 0.8
"""Cosine from which vectors of name and description propose."""
PASSAGES_SHOWN = 5
LOWEST = 0.3

BASE: Mapping[Kind, float] = {
    "suffix": 0.8,
    "title": 0.75,
    "acronym": 0.65,
    "shortened": 0.65,
    "initials": 0.6,
    "embedding": 0.6,
    "spelling": 0.55,
    "surname": 0.5,
}
TOGETHER = 0.1
"""Worth of a passage that names both."""
DEFINED = 0.25
"""Worth of one that puts one in brackets behind the other."""
APART = 0.3
"""What two entities lose that one sentence relates: it speaks of two."""

WORDING: Mapping[Kind, str] = {
    "acronym": "is an acronym of",
    "initials": "has the initials and surname of",
    "surname": "is the surname of",
    "title": "is, without title,",
    "suffix": "is, without legal form,",
    "shortened": "is the first and last name of",
    "spelling": "is spelt nearly as",
    "embedding": "has the same words, and nearly the same vector, as",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """`alias` may be another name of `entity`. `likeness` in 0-1 is that of spelling or vector, 1 for a form."""

    entity: str
    alias: str
    kind: Kind
    likeness: float = 1.0

    @property
    def pair(self) -> tuple[str, str]:
        return (self.entity, self.alias) if self.entity < self.alias else (self.alias, self.entity)

    @property
    def worth(self) -> float:
        return BASE[self.kind] * self.likeness


def propose(snapshot: Snapshot, *, limit: int = 50) -> list[AliasProposal]:
    """Proposals for the entities of a scope, best first, at most `limit`. Spelling is compared for the `COMPARED`
    entities of most passages, vectors for `COMPARED_BY_VECTOR` of them; forms for all, of which the first `FORM_PAIRS`
    that stand for one entity alone are weighed."""
    entities = snapshot.named_entities(COMPARED)
    compared = [entity.entity_id for entity in entities[:COMPARED_BY_VECTOR]]
    vectors = [space.entity_vectors(compared) for space in snapshot.by_space()]
    found = candidates(entities, snapshot.forms_that_are_names(FORM_PAIRS), *vectors)[:PAIRS_WEIGHED]
    involved = sorted({entity_id for candidate in found for entity_id in candidate.pair})
    together = snapshot.together(involved, limit=SHARED_PASSAGES)
    profiles = snapshot.profiles(involved)
    chunks = snapshot.chunks(sorted({*together.shared, *together.first.values()}))
    names = {entity_id: profile.name for entity_id, profile in profiles.items()}
    return weigh(found, names, together, chunks)[:limit]


def candidates(
    entities: Sequence[NamedEntity],
    forms: Iterable[tuple[FormKind, str, str]],
    *vectors: Mapping[str, NDArray[np.float32]],
) -> list[Candidate]:
    """Each pair once, by its most telling kind, best first. `vectors` are those of one embedding model each: of
    different models none are compared."""
    best: dict[tuple[str, str], Candidate] = {}
    near = [candidate for of_model in vectors for candidate in _by_vector(entities, of_model)]
    for candidate in (*_by_form(forms), *_by_spelling(entities), *near):
        known = best.get(candidate.pair)
        if known is None or known.worth < candidate.worth:
            best[candidate.pair] = candidate
    return sorted(best.values(), key=lambda candidate: (-candidate.worth, candidate.pair))


def _by_form(forms: Iterable[tuple[FormKind, str, str]]) -> list[Candidate]:
    meant: dict[str, dict[str, FormKind]] = defaultdict(dict)
    for kind, entity, alias in forms:
        if split_entity_id(entity)[1] == split_entity_id(alias)[1]:
            known = meant[alias].get(entity)
            if known is None or BASE[known] < BASE[kind]:
                meant[alias][entity] = kind
    return [
        Candidate(entity=entity, alias=alias, kind=kind)
        for alias, entities in sorted(meant.items())
        if len(entities) == 1
        for entity, kind in entities.items()
    ]


def _by_spelling(entities: Sequence[NamedEntity]) -> list[Candidate]:
    blocks: dict[tuple[str, str], list[NamedEntity]] = defaultdict(list)
    for entity in entities:
        blocks[entity.type, "".join(word[0] for word in entity.key.split())].append(entity)
    return [
        Candidate(entity=one.entity_id, alias=other.entity_id, kind="spelling", likeness=likeness)
        for block in blocks.values()
        for one, other in combinations(block[:BLOCK], 2)  # the one of more passages comes first
        if (likeness := same_spelling(one.key, other.key)) > 0
    ]


def _by_vector(entities: Sequence[NamedEntity], vectors: Mapping[str, NDArray[np.float32]]) -> list[Candidate]:
    held = [entity for entity in entities if entity.entity_id in vectors]
    if len(held) < 2:
        return []
    matrix = np.stack([vectors[entity.entity_id] for entity in held])
    near = np.argwhere(np.triu(matrix @ matrix.T, k=1) >= NEAR)
    return [
        Candidate(
            entity=held[one].entity_id,
            alias=held[other].entity_id,
            kind="embedding",
            likeness=min(1.0, round(float(matrix[one] @ matrix[other]), 4)),
        )
        for one, other in near.tolist()
        if held[one].type == held[other].type and same_words(held[one].key, held[other].key)
    ]


def weigh(
    found: Sequence[Candidate],
    names: Mapping[str, str],
    together: NamesTogether,
    chunks: Mapping[PassageKey, Chunk],
) -> list[AliasProposal]:
    """Proposals from candidates, by what the passages say of both, best first; those worth less than `LOWEST` are
    dropped. `names` are as passages write them."""
    shared: dict[tuple[str, str], list[PassageKey]] = defaultdict(list)
    wanted = {candidate.pair for candidate in found}
    for passage, entities in together.shared.items():
        for pair in combinations(entities, 2):
            if pair in wanted:
                shared[pair].append(passage)
    proposals = [
        _proposal(candidate, names, together, shared[candidate.pair], chunks)
        for candidate in found
        if candidate.entity in names and candidate.alias in names
    ]
    kept = [proposal for proposal in proposals if proposal.score >= LOWEST]
    return sorted(kept, key=lambda proposal: (-proposal.score, proposal.entities))


def _proposal(
    candidate: Candidate,
    names: Mapping[str, str],
    together: NamesTogether,
    shared: Sequence[PassageKey],
    chunks: Mapping[PassageKey, Chunk],
) -> AliasProposal:
    name, alias = names[candidate.entity], names[candidate.alias]
    defining = [passage for passage in shared if passage in chunks and _defined(chunks[passage].text, name, alias)]
    related = together.related.get(candidate.pair, 0)
    score = candidate.worth + (TOGETHER if shared else 0.0) + (DEFINED if defining else 0.0)
    guards = ["same type"]
    guards += ["no number differs"] if candidate.kind in ("spelling", "embedding") else ["stands for nothing else here"]
    told = [f'"{alias}" {WORDING[candidate.kind]} "{name}"']
    if shared:
        least = "at least " if together.cut else ""
        told.append(f"{least}{len(shared)} passage{'s name' if len(shared) > 1 else ' names'} both")
    elif together.cut:
        told.append("not all passages were searched for one that names both")
    if defining:
        told.append("one is put in brackets behind the other")
        guards.append("one is explained by the other")
    elif related:
        score -= APART
        told.append(f"but {related} assertion{'s' if related > 1 else ''} of one sentence relate them as two")
    else:
        guards.append("no sentence relates them as two")
    where = [*defining, *(passage for passage in shared if passage not in defining)][:PASSAGES_SHOWN]
    where = where or [together.first[entity_id] for entity_id in (candidate.entity, candidate.alias)]
    return AliasProposal(
        entities=candidate.pair,
        names=tuple(names[entity_id] for entity_id in candidate.pair),
        # A title is a matter of the passage, the name is not.
        canonical=candidate.alias if candidate.kind == "title" else candidate.entity,
        kind=candidate.kind,
        score=round(min(1.0, max(0.0, score)), 4),
        evidence="; ".join(told),
        chunk_ids=tuple(dict.fromkeys(chunks[passage].id for passage in where)),
        guards=tuple(guards),
    )


def _defined(text: str, name: str, alias: str) -> bool:
    """Whether the text puts one name in brackets right behind the other: "International Business Machines (IBM)"."""
    pair = {name_key(name), name_key(alias)}
    for match in re.finditer(r"[(（]([^()（）]{1,100})[)）]", text):
        inside = name_key(match.group(1))
        if inside in pair:
            before = name_key(text[max(0, match.start() - 200) : match.start()])
            if any(before == other or before.endswith(f" {other}") for other in pair - {inside}):
                return True
    return False
