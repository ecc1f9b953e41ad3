"""What a scope of the scope-leak test must show, worked out without the store's own idea of it: from the documents as
they were given and the changes as they were made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from scope_world import PEOPLE, PLACES, VARIANTS, Document, Published

from evigraph import Evigraph
from evigraph.store.keys import revision_key
from evigraph.text.names import name_key


def matches(document: Document, filters: Mapping[str, Any]) -> bool:
    """Whether a document passes a filter, by the words of the API's description."""
    allowed = filters.get("document_filter", {})
    ids, pattern = allowed.get("document_ids"), allowed.get("pattern")
    if (ids is not None or pattern is not None) and not (
        (ids is not None and document["document_id"] in ids)
        or (pattern is not None and fnmatchcase(document["source"], pattern))
    ):
        return False
    if "knowledge_bases" in allowed and not document["metadata"].get("based"):
        return False
    return _in_time(document.get("date"), allowed) and all(
        _has(document, key, value) for key, value in filters.get("metadata_filter", {}).items()
    )


def _in_time(day: str | None, allowed: Mapping[str, Any]) -> bool:
    if day is None:
        return "date_from" not in allowed and "date_to" not in allowed
    low, high = allowed.get("date_from", day), allowed.get("date_to", day)
    return date.fromisoformat(low) <= date.fromisoformat(day) <= date.fromisoformat(high)


def _has(document: Document, key: str, value: str) -> bool:
    if key == "source":
        return value in (document["source"], document["source"].rpartition("/")[2])
    held = document if key == "document_id" else document["metadata"]
    return key in held and held[key] == value


def undated(documents: Iterable[Document], filters: Mapping[str, Any]) -> int:
    """How many documents a date bound leaves out because they have none."""
    allowed = {k: v for k, v in filters.get("document_filter", {}).items() if k not in ("date_from", "date_to")}
    without = {**filters, "document_filter": allowed}
    return sum(1 for document in documents if "date" not in document and matches(document, without))


def joined(merges: Sequence[tuple[str, ...]], mentioned: set[str]) -> list[tuple[str, ...]]:
    """Merges as a workspace would record them that knows only the entities `mentioned`: one for each group that is left
    of two or more, the canonical entity first. The latest merge of a group names it."""
    groups: list[tuple[set[str], str]] = []
    for merge in merges:
        together, apart = set(merge), []
        for group in groups:
            if group[0] & together:
                together |= group[0]
            else:
                apart.append(group)
        groups = [*apart, (together, merge[0])]
    restricted = []
    for members, canonical in groups:
        left = sorted(members & mentioned)
        if len(left) > 1:
            first = canonical if canonical in left else left[0]
            restricted.append((first, *(one for one in left if one != first)))
    return sorted(restricted)


_WORD = re.compile(r"\w+")
_OWN = re.compile(r"(?:kest|orlo|word|title|d)\d+$|[az]amuv$")
_NAMED = {word for name in (*PEOPLE, *PLACES, *VARIANTS) for word in _WORD.findall(name.casefold())}


def telling_words(text: str) -> set[str]:
    """Words by which a document or a name gives itself away."""
    return {word for word in _WORD.findall(text.casefold()) if word in _NAMED or _OWN.match(word)}


# --------------------------------------------------------------------------- history


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """A revision that was visible from `since` until `until` (0: it still is)."""

    key: int
    document_id: str
    revision: int
    since: int
    until: int
    deleted: bool


def lives(
    published: Mapping[str, Sequence[Published]], generation: int, horizon: int, filters: Mapping[str, Any]
) -> Iterator[Life]:
    """Every revision that the history shows at a generation: all that pass the filters, ended after `horizon` or not
    at all."""
    for document_id, versions in published.items():
        known = sorted((one for one in versions if one[0] <= generation), key=lambda one: one[0])
        for place, (since, revision, document) in enumerate(known):
            later = known[place + 1] if place + 1 < len(known) else None
            until = later[0] if later else 0
            if document is not None and matches(document, filters) and not 0 < until <= max(horizon, since):
                yield Life(
                    key=revision_key(document_id, revision),
                    document_id=document_id,
                    revision=revision,
                    since=since,
                    until=until,
                    deleted=later is not None and later[2] is None,
                )


class Rows:
    """All that was ever written into a workspace, read without any condition but the workspace."""

    def __init__(self, graph: Evigraph) -> None:
        self._graph = graph

    def _read(self, columns: str, table: str) -> list[tuple[Any, ...]]:
        sql = f"SELECT {columns} FROM {table} WHERE workspace = {{workspace:String}}"
        return self._graph.store.rows(sql, {"workspace": self._graph.workspace})

    @cached_property
    def mentions(self) -> list[tuple[Any, ...]]:
        return self._read("revision_key, entity_id, key, name, toString(type)", "mentions")

    @cached_property
    def assertions(self) -> list[tuple[Any, ...]]:
        columns = "revision_key, passage_index, start, assertion_id, subject_id, toString(predicate), object_id"
        ends = "subject_id, subject_name, toString(subject_type), object_id, object_name, toString(object_type)"
        return self._read(f"{columns}, description, {ends}", "assertions")

    def history(
        self, given: str, living: Iterable[Life], merges: Sequence[tuple[str, ...]], visible: frozenset[int]
    ) -> dict[str, Any]:
        """What `entities.history` must say of an entity; `{"error": …}` where it must say nothing."""
        life = {one.key: one for one in living}
        mentions = [row for row in self.mentions if row[0] in life]
        mentioned = {row[1] for row in mentions}
        stands_for = {e: group[0] for group in joined(merges, mentioned) for e in group}
        if given in mentioned:
            found = {stands_for.get(given, given)}
        else:
            found = {stands_for.get(row[1], row[1]) for row in mentions if row[2] == name_key(given)}
        if not found and given in {end for row in self.assertions if row[0] in life for end in (row[4], row[6])}:
            found = {given}
        if len(found) != 1:
            return {"error": "ambiguous_entity" if found else "not_found"}
        entity = found.pop()

        def claim(row: tuple[Any, ...]) -> tuple[Any, ...]:
            return stands_for.get(row[4], row[4]), row[5], stands_for.get(row[6], row[6])

        made = {claim(row) for row in self.assertions if row[0] in visible}
        said = [row for row in self.assertions if row[0] in life and entity in claim(row)]
        said.sort(key=lambda row: (life[row[0]].since, *row[:4]))
        return {
            "entity": entity,
            **_called([row[3:5] for row in mentions if row[1] == entity] or list(self._called_by(entity, life))),
            "total": len(said),
            "statements": [_past(row, life[row[0]], stands_for, claim(row) in made) for row in said],
        }

    def _called_by(self, entity: str, life: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """Names and types that assertions give an entity."""
        for row in self.assertions:
            if row[0] in life:
                yield from (ends[1:] for ends in (row[8:11], row[11:14]) if ends[0] == entity)


def _called(names: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """The commonest name, and the first of its types."""
    often = Counter(name for name, _ in names)
    name = min(often, key=lambda one: (-often[one], one))
    return {"name": name, "type": min(kind for one, kind in names if one == name)}


def _past(row: tuple[Any, ...], life: Life, stands_for: Mapping[str, str], still_made: bool) -> dict[str, Any]:
    return {
        "id": row[3],
        "subject": stands_for.get(row[4], row[4]),
        "predicate": row[5],
        "object": stands_for.get(row[6], row[6]),
        "description": row[7],
        "document_id": life.document_id,
        "revision": life.revision,
        "generation": life.since,
        "visible": not life.until,
        "until_generation": life.until or None,
        "ended_by": ("deleted" if life.deleted else "replaced") if life.until else None,
        "still_made": still_made,
    }
