"""Forms by which names may be typed: their rows, and the sorted look-up of what a form stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evigraph.store.keys import PassageKey
from evigraph.store.reading import Reading
from evigraph.text.forms import FormKind, name_forms

FORM_COLUMNS = ("workspace", "form", "kind", "key", "entity_id", "revision_key")
FORMS_PER_NAME = 50
"""What a form stands for is cut here; one that stands for so many says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormRow:
    """`form` may be typed for the entity that passages in scope call `key`; both are its representative's where it is
    merged. `documents` counts those that do."""

    form: str
    kind: FormKind
    key: str
    entity_id: str
    documents: int


def form_rows(workspace: str, revision: int, names: Iterable[tuple[str, str, str, str]]) -> Iterator[list[Any]]:
    """Rows of one revision for its names `(key, entity_id, type, surface form)`, each entity once."""
    # A capitalised surface form says more than the lower-case one, so it is the one that counts.
    surfaces: dict[tuple[str, str, str], str] = {}
    for key, entity_id, kind, name in names:
        known = surfaces.get((key, entity_id, kind))
        surfaces[key, entity_id, kind] = name if known is None else min(known, name)
    for (key, entity_id, kind), name in sorted(surfaces.items()):
        for form in name_forms(key, kind, name):
            yield [workspace, form.text, form.kind, key, entity_id, revision]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEntity:
    """An entity of the scope by what it is called, with the number of passages that mention it."""

    entity_id: str
    key: str
    type: str
    passages: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NamesTogether:
    """Where entities stand: the first passage of each, the passages that mention several of them, and how many
    assertions relate two of them, whichever way round. `cut`: more passages mention several than are listed."""

    first: Mapping[str, PassageKey]
    shared: Mapping[PassageKey, tuple[str, ...]]
    related: Mapping[tuple[str, str], int]
    cut: bool = False


class NameReading(Reading):
    """Forms in a snapshot."""

    def forms(self, forms: Sequence[str]) -> dict[str, list[FormRow]]:
        """What each of these forms may stand for in scope, the most widespread first, at most `FORMS_PER_NAME` of each.
        Names that are typed as they are, `names` finds."""
        sql = f"""
            SELECT form, min(kind), shown, entity, uniqExact(revision_key) AS documents FROM (
                SELECT form, kind, {self._shown_key} AS shown, {self._representative("entity_id")} AS entity,
                    revision_key
                FROM name_forms
                WHERE workspace = {{workspace:String}} AND form IN {{forms:Array(String)}}
                  AND revision_key IN {self.scope.revisions})
            GROUP BY form, shown, entity ORDER BY form, documents DESC, entity, shown
            LIMIT {{most:UInt32}} BY form"""
        if not forms:
            return {}
        found: dict[str, list[FormRow]] = {}
        rows = self._rows(sql, forms=sorted(set(forms)), most=FORMS_PER_NAME, **self._merged_keys)
        for form, kind, key, entity_id, documents in rows:
            row = FormRow(form=form, kind=kind, key=key, entity_id=entity_id, documents=documents)
            found.setdefault(form, []).append(row)
        return found

    def names_like(self, typed: Mapping[str, int], *, limit: int) -> dict[str, list[tuple[str, str]]]:
        """For each typed key the names in scope at most so many changes away: a letter more, less, other, or swapped
        with the next (Damerau, 1964), counted in bytes. Each as passages have it and as the scope shows it, nearest
        first, then by name; at most `limit` of each. No index helps here: the names of all mentions in scope are read.
        """
        sql = f"""
            SELECT typed, key, shown FROM (
                SELECT typed, key, {self._shown_key} AS shown, damerauLevenshteinDistance(key, typed) AS distance, most
                FROM mentions ARRAY JOIN {{typed:Array(String)}} AS typed, {{most:Array(UInt32)}} AS most
                WHERE workspace = {{workspace:String}} AND abs(length(key) - length(typed)) <= most
                  AND revision_key IN {self.scope.revisions})
            WHERE distance <= most GROUP BY typed, key, shown
            ORDER BY typed, min(distance), key, shown LIMIT {{limit:UInt32}} BY typed"""
        found: dict[str, list[tuple[str, str]]] = {}
        if typed:
            keys = sorted(typed)
            bound = {"typed": keys, "most": [typed[key] for key in keys], "limit": limit}
            for key, name, shown in self._rows(sql, **bound, **self._merged_keys):
                found.setdefault(key, []).append((name, shown))
        return found

    # ---------------------------------------------------------------- material for alias proposals

    def named_entities(self, limit: int) -> list[NamedEntity]:
        """Entities of the scope, those of most passages first, then by id."""
        sql = f"""
            SELECT entity, argMin(key, (entity_id != entity, key)), argMin(type, (entity_id != entity, type)),
                uniqExact(revision_key, passage_index) AS passages
            FROM (
                SELECT {self._representative("entity_id")} AS entity, * FROM mentions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions})
            GROUP BY entity ORDER BY passages DESC, entity LIMIT {{limit:UInt32}}"""
        rows = self._rows(sql, limit=limit, **self._merged)
        return [NamedEntity(entity_id=row[0], key=row[1], type=row[2], passages=row[3]) for row in rows]

    def forms_that_are_names(self, limit: int) -> list[tuple[FormKind, str, str]]:
        """`(kind, entity, other)`: a form of the first is the name of the second, by both ids, of one type; only where
        no further entity of that type has such a form. At most `limit`."""
        same_type = " = ".join(
            f"left({side}, length({side}) - position(reverse({side}), ':'))" for side in ("entity", "other")
        )
        pairs = f"""
            SELECT kind, entity, other, uniqExact(entity) OVER (PARTITION BY other) AS meanings FROM (
                SELECT DISTINCT form, kind, {self._representative("entity_id")} AS entity FROM name_forms
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}) AS forms
            INNER JOIN (
                SELECT DISTINCT key, {self._representative("entity_id")} AS other FROM mentions
                WHERE workspace = {{workspace:String}} AND revision_key IN {self.scope.revisions}) AS names
            ON forms.form = names.key
            WHERE entity != other AND {same_type}"""
        # An ambiguous name goes before the limit, which might else leave it with one meaning.
        sql = f"""
            SELECT DISTINCT kind, entity, other FROM ({pairs}) WHERE meanings = 1
            ORDER BY entity, other, kind LIMIT {{limit:UInt32}}"""
        return [(row[0], row[1], row[2]) for row in self._rows(sql, limit=limit, **self._merged)]

    def entity_vectors(self, entity_ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """A vector of each given entity that has one in scope."""
        sql = f"""
            SELECT ref, argMin(vector, revision_key) FROM fact_vectors
            WHERE workspace = {{workspace:String}} AND model = {{model:String}} AND kind = 'entity'
              AND ref IN {{entities:Array(String)}} AND revision_key IN {self.scope.revisions}
            GROUP BY ref ORDER BY ref"""
        rows = self._rows(sql, model=self.model, entities=list(entity_ids)) if entity_ids else []
        return {ref: np.asarray(vector, dtype=np.float32) for ref, vector in rows}

    def together(self, entity_ids: Sequence[str], *, limit: int) -> NamesTogether:
        """Where the given entities stand, alone and with each other; at most `limit` passages that several share."""
        if not entity_ids:
            return NamesTogether(first={}, shared={}, related={})
        ids = self.identities.expand(entity_ids)
        mentioned = f"""
            SELECT {self._representative("entity_id")} AS entity, revision_key, passage_index FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}"""
        first = f"SELECT entity, min((revision_key, passage_index)) FROM ({mentioned}) GROUP BY entity"
        shared = f"""
            SELECT revision_key, passage_index, arraySort(groupUniqArray(entity)) AS entities FROM ({mentioned})
            GROUP BY revision_key, passage_index HAVING length(entities) > 1
            ORDER BY revision_key, passage_index LIMIT {{limit:UInt32}}"""
        subject, object_ = self._representative("subject_id"), self._representative("object_id")
        related = f"""
            SELECT least({subject}, {object_}) AS one, greatest({subject}, {object_}) AS other, count() FROM assertions
            WHERE workspace = {{workspace:String}} AND subject_id IN {{entities:Array(String)}}
              AND object_id IN {{entities:Array(String)}} AND revision_key IN {self.scope.revisions}
            GROUP BY one, other HAVING one != other"""
        bound = {"entities": ids, **self._merged}
        passages = self._rows(shared, limit=limit + 1, **bound)
        return NamesTogether(
            first={row[0]: PassageKey(*row[1]) for row in self._rows(first, **bound)},
            shared={PassageKey(row[0], row[1]): tuple(row[2]) for row in passages[:limit]},
            related={(row[0], row[1]): row[2] for row in self._rows(related, **bound)},
            cut=len(passages) > limit,
        )
