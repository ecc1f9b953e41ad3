"""Extractive summaries: the sentences that say most of a community, chosen one by one.

Greedy choice by what each sentence adds (Carbonell and Goldstein, 1998): it counts the members that it speaks of, by
how well they are connected in the community; members spoken of already count little, and so does a sentence from a
document, or from a group of documents, that has been heard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evigraph.community.cluster import Tree
from evigraph.community.within import Ints, own_rows, runs
from evigraph.store.clustering import WEIGHT, Statements

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """What decides a summary beside its inputs. A change of any makes every summary a new one.

    `covered` is what a member counts that was spoken of already. `same_document` reduces a sentence for each one taken
    already from its document, `same_group` for each from one with the same value of a metadata key. `candidates` is how
    many sentences of a community are weighed.
    """

    sentences: int = 5
    covered: float = 0.1
    same_document: float = 0.5
    same_group: float = 0.7
    candidates: int = 200

    @property
    def text(self) -> str:
        return repr(sorted(asdict(self).items()))


PARAMETERS = Parameters()


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """Statements as a summary weighs them: one row per assertion, by sentence.

    Rows `first[s] : first[s + 1]` are those of sentence `s`. `document` and `telling` are by sentence; `groups[d]` has
    a number for a document's value of each metadata key, -1 where it has none.
    """

    entities: int
    subject: Ints
    object: Ints
    weight: Floats
    sentence: Ints
    first: Ints
    document: Ints
    telling: NDArray[np.bool_]
    groups: NDArray[np.int32]


def material(statements: Statements) -> Material:
    """Statements with the values of metadata numbered. All keys count, however many documents have them: what is chosen
    for a community then depends on its own documents alone."""
    sentence = statements.sentence.astype(np.int64)
    document = statements.document.astype(np.int64)
    return Material(
        entities=len(statements.entities),
        subject=statements.subject.astype(np.int64),
        object=statements.object.astype(np.int64),
        weight=statements.weight / WEIGHT,
        sentence=sentence,
        first=np.searchsorted(sentence, np.arange(len(document) + 1)).astype(np.int64),
        document=document,
        telling=statements.telling.astype(bool),
        groups=_groups([entry.metadata for entry in statements.documents]),
    )


def _groups(metadata: Sequence[Mapping[str, str]]) -> NDArray[np.int32]:
    """`(documents, keys)`: the number of each document's value, by key; -1 where it has none."""
    keys = sorted({key for entry in metadata for key in entry})
    found = np.full((len(metadata), len(keys)), -1, dtype=np.int32)
    for column, key in enumerate(keys):
        values = sorted({entry[key] for entry in metadata if key in entry})
        number = {value: at for at, value in enumerate(values)}
        found[:, column] = [number[entry[key]] if key in entry else -1 for entry in metadata]
    return found


# --------------------------------------------------------------------------- leaves


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """Which members each sentence speaks of, by community: one entry per community, sentence and member, sorted so.
    `weight` is that of the best assertion that does."""

    community: Ints
    sentence: Ints
    member: Ints
    weight: Floats

    def of(self, part: slice | NDArray[np.bool_] | Ints) -> Pairs:
        return Pairs(
            community=self.community[part],
            sentence=self.sentence[part],
            member=self.member[part],
            weight=self.weight[part],
        )


def degrees(numbers: NDArray[np.integer[Any]], found: Material) -> Floats:
    """Weight of each entity's assertions with others of its own community."""
    one = numbers[found.subject]
    inside = (one == numbers[found.object]) & (one >= 0) & (found.subject != found.object)
    ends = np.concatenate([found.subject[inside], found.object[inside]])
    weights = np.concatenate([found.weight[inside]] * 2)
    return np.bincount(ends, weights=weights, minlength=found.entities).astype(np.float64)


def pairs_of(numbers: NDArray[np.integer[Any]], found: Material) -> Pairs:
    """Sentences that state assertions within a community; where it has none, those about its members at all."""
    community, rows = own_rows(numbers, found.subject, found.object)
    member = np.concatenate([found.subject[rows], found.object[rows]])
    community, rows = np.tile(community, 2), np.tile(rows, 2)
    own = numbers[member] == community
    return unique_pairs(community[own], found.sentence[rows[own]], member[own], found.weight[rows[own]])


def unique_pairs(community: Ints, sentence: Ints, member: Ints, weight: Floats) -> Pairs:
    """Sorted, each once, with its greatest weight."""
    order = np.lexsort((-weight, member, sentence, community))
    pairs = Pairs(community=community, sentence=sentence, member=member, weight=weight).of(order)
    same = (np.diff(pairs.community) == 0) & (np.diff(pairs.sentence) == 0) & (np.diff(pairs.member) == 0)
    return pairs.of(np.concatenate([np.ones(min(1, len(order)), dtype=bool), ~same]))


def summarise(tree: Tree, found: Material, parameters: Parameters = PARAMETERS) -> dict[int, tuple[int, ...]]:
    """Sentences (numbers of `found`) of every community that is split no further, best first; possibly none."""
    if not tree.levels:
        return {}
    numbers = tree.paths[:, -1]
    pairs = pairs_of(numbers, found)
    degree = degrees(numbers, found)
    chosen: dict[int, tuple[int, ...]] = {int(number): () for number in np.unique(numbers[numbers >= 0])}
    for number, start, end in runs(pairs.community):
        chosen[number] = choose(pairs.of(slice(start, end)), degree, found, parameters)
    return chosen


# --------------------------------------------------------------------------- the greedy rule

_LEAST = float(np.finfo(np.float64).tiny)


def choose(pairs: Pairs, degree: Floats, found: Material, parameters: Parameters) -> tuple[int, ...]:
    """The sentences of one community, best first. `degree` is by entity. Headings and fragments are no sentences; where
    there is nothing else, one of them stands in. Ties go to the earlier sentence."""
    telling = found.telling[pairs.sentence]
    if telling.any():
        pairs = pairs.of(telling)
    else:
        parameters = replace(parameters, sentences=1)
    sentences = np.unique(pairs.sentence)
    if len(sentences) <= 1:
        return tuple(sentences.tolist())
    if len(sentences) > parameters.candidates:
        pairs = _strongest(pairs, degree, parameters.candidates)
    return _greedy(pairs, degree, found, parameters)


def _values(pairs: Pairs, degree: Floats) -> tuple[Floats, Ints]:
    """What each member is worth, in all 1, and which of them each pair is of."""
    members, who = np.unique(pairs.member, return_inverse=True)
    # What no assertion connects inside counts a little, so that its own sentences can still be told apart.
    value = degree[members] + 0.01
    return value / value.sum(), who.reshape(-1)


def _strongest(pairs: Pairs, degree: Floats, limit: int) -> Pairs:
    """Pairs of the sentences that say most by themselves."""
    sentences, place = np.unique(pairs.sentence, return_inverse=True)
    value, who = _values(pairs, degree)
    gain = np.round(np.bincount(place, weights=value[who] * pairs.weight), 9)
    kept = np.zeros(len(sentences), dtype=bool)
    kept[np.argsort(-gain, kind="stable")[:limit]] = True
    return pairs.of(kept[place])


def _greedy(pairs: Pairs, degree: Floats, found: Material, parameters: Parameters) -> tuple[int, ...]:
    sentences, place = np.unique(pairs.sentence, return_inverse=True)
    value, who = _values(pairs, degree)
    document = found.document[sentences]
    groups = found.groups[document]
    worth = np.ones(len(sentences))
    left = value.copy()
    taken: list[int] = []
    for _ in range(min(parameters.sentences, len(sentences))):
        gain = np.bincount(place, weights=left[who] * pairs.weight) * worth
        # Many metadata keys make all that is left small, so ties are told by shares of the best.
        best = int(np.argmax(np.round(gain / max(gain.max(), _LEAST), 9)))
        taken.append(int(sentences[best]))
        spoken = who[place == best]
        left[spoken] = parameters.covered * value[spoken]
        worth[document == document[best]] *= parameters.same_document
        for column in np.flatnonzero(groups[best] >= 0):
            worth[groups[:, column] == groups[best, column]] *= parameters.same_group
        worth[best] = -1.0
    return tuple(taken)
