"""Which document revisions a query may see. Every statement that discovers rows goes through `Scope`.

A document's latest revision published at or before the query's generation decides; deletions drop out; only then do
filters apply. So a filter can never bring back an older revision whose metadata happened to match.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evigraph.store.rows import ScopeCounts
from evigraph.types import DocumentFilter

_LATEST = """
    SELECT * FROM publications
    WHERE workspace = {workspace:String} AND generation <= {generation:UInt64}
    ORDER BY document_id, revision DESC, generation DESC
    LIMIT 1 BY document_id"""

_LIVES = """
    SELECT *, min(generation) OVER later AS until_generation, argMin(published_at, generation) OVER later AS until,
        argMin(deleted, generation) OVER later AS until_deleted,
        (SELECT max(generation) FROM changes
         WHERE workspace = {workspace:String} AND kind = 'prune' AND generation <= {generation:UInt64}) AS horizon
    FROM publications
    WHERE workspace = {workspace:String} AND generation <= {generation:UInt64}
    WINDOW later AS (PARTITION BY document_id ORDER BY revision ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"""

# A revision is of the knowledge base that it was published in.
_IN_BASES = """revision_key IN (
    SELECT revision_key FROM knowledge_base_documents
    WHERE workspace = {workspace:String} AND base_id IN {filter_bases:Array(String)})"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """Documents whose vectors are of one embedding model. That of the workspace's model (`of_workspace`) holds all
    documents but those of bases that have another model as their own."""

    model: str
    of_workspace: bool
    documents: int = 0
    """How many a scope holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What was worked out of a scope: the table of the engine `Set` that holds its revision keys, and its size."""

    table: str
    counts: ScopeCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """One workspace at one generation, filtered. `parameters` binds what the SQL fragments name."""

    workspace: str
    generation: int
    document_filter: DocumentFilter | None = None
    metadata_filter: Mapping[str, str] | None = None
    kept: Kept | None = None
    """What was worked out of it, where the store keeps that."""
    space: Space | None = None
    """The embedding space that it is narrowed to."""

    def narrowed(self, space: Space) -> Scope:
        """The same scope, of documents of one embedding space."""
        return replace(self, kept=None, space=space)

    def kept_as(self, kept: Kept) -> Scope:
        """The same scope, worked out."""
        return replace(self, kept=kept)

    @property
    def identity(self) -> Hashable:
        """What it is worked out from; a caller's filter may hold lists."""
        metadata = sorted((self.metadata_filter or {}).items())
        return self.workspace, self.generation, repr(self.document_filter), repr(metadata), self.space

    @property
    def filtered(self) -> bool:
        return self.document_filter is not None or bool(self.metadata_filter)

    @property
    def documents(self) -> str:
        """Subquery: the publications in scope, one row per visible document."""
        conditions = " AND ".join(["NOT deleted", *self._conditions()])
        return f"(SELECT * FROM ({_LATEST}) WHERE {conditions})"

    @property
    def published(self) -> str:
        """Subquery: every revision that was ever visible and is not pruned, with when and how that ended (generation 0
        where it has not). Filters are judged on each revision's own row. For history alone."""
        conditions = " AND ".join(["NOT deleted", *self._conditions()])
        return f"""(SELECT * FROM ({_LIVES}) WHERE {conditions}
            AND (until_generation = 0 OR until_generation > greatest(generation, horizon)))"""

    @property
    def revisions(self) -> str:
        """Set or subquery: `revision_key`s in scope, for `revision_key IN …`."""
        if self.kept is not None:
            return self.kept.table
        return f"(SELECT revision_key FROM {self.documents})"

    @property
    def size(self) -> str:
        """Statement whose one row `counts_of` reads."""
        return f"""
            SELECT count(), sum(passages), sum(terms), arraySort(groupUniqArray(language))
            FROM {self.documents}"""

    @property
    def parameters(self) -> dict[str, Any]:
        if self.kept is not None:
            return {"workspace": self.workspace}
        bound: dict[str, Any] = {"workspace": self.workspace, "generation": self.generation}
        documents = self.document_filter
        if documents is not None:
            if documents.document_ids is not None:
                bound["filter_ids"] = list(documents.document_ids)
            if documents.pattern is not None:
                bound["filter_pattern"] = glob_to_regex(documents.pattern)
            if documents.date_from is not None:
                bound["filter_from"] = documents.date_from
            if documents.date_to is not None:
                bound["filter_to"] = documents.date_to
            if documents.knowledge_bases is not None:
                bound["filter_bases"] = list(documents.knowledge_bases)
        if self.space is not None:
            bound["space_model"] = self.space.model
        for number, (key, value) in enumerate(sorted((self.metadata_filter or {}).items())):
            bound[f"meta_key_{number}"] = key
            bound[f"meta_value_{number}"] = value
        return bound

    def without_dates(self) -> Scope:
        """The same scope with the date bounds lifted, to count what they leave out for want of a date."""
        documents = self.document_filter
        assert documents is not None
        lifted = replace(documents, date_from=None, date_to=None)
        return replace(self, kept=None, document_filter=lifted)

    def _conditions(self) -> list[str]:
        conditions = []
        documents = self.document_filter
        if documents is not None:
            allowed = []
            if documents.document_ids is not None:
                allowed.append("document_id IN {filter_ids:Array(String)}")
            if documents.pattern is not None:
                allowed.append("match(source, {filter_pattern:String})")
            if allowed:
                conditions.append(f"({' OR '.join(allowed)})")
            if documents.date_from is not None:
                conditions.append("date >= {filter_from:Date32}")
            if documents.date_to is not None:
                conditions.append("date <= {filter_to:Date32}")
            if documents.knowledge_bases is not None:
                conditions.append(_IN_BASES)
        if self.space is not None:
            conditions.append(_in_space(self.space))
        for number, (key, _) in enumerate(sorted((self.metadata_filter or {}).items())):
            conditions.append(_metadata_condition(key, number))
        return conditions


def counts_of(row: tuple[Any, ...]) -> ScopeCounts:
    """From the row of `Scope.size`."""
    documents, passages, terms, languages = row
    return ScopeCounts(
        documents=documents,
        passages=passages,
        average_terms=terms / passages if passages else 0.0,
        languages=tuple(languages),
    )


def _in_space(space: Space) -> str:
    """Documents of bases that have the model as their own; of the workspace's space, all but those of other bases."""
    if space.of_workspace:
        return """revision_key NOT IN (
            SELECT revision_key FROM knowledge_base_documents
            WHERE workspace = {workspace:String} AND embedding_model NOT IN ('', {space_model:String}))"""
    return """revision_key IN (
        SELECT revision_key FROM knowledge_base_documents
        WHERE workspace = {workspace:String} AND embedding_model = {space_model:String})"""


def _metadata_condition(key: str, number: int) -> str:
    value = f"{{meta_value_{number}:String}}"
    if key == "document_id":
        return f"document_id = {value}"
    if key == "source":
        # The exact file name, with or without the folders before it.
        return f"(source = {value} OR arrayElement(splitByChar('/', source), -1) = {value})"
    name = f"{{meta_key_{number}:String}}"
    # A missing key reads as '' in a Map, so presence is asked for first.
    return f"(mapContains(metadata, {name}) AND metadata[{name}] = {value})"


def glob_to_regex(pattern: str) -> str:
    """RE2 regex of a glob over a source path: `*` and `?` cross folder borders, `[abc]` and `[!abc]` are classes.

    The meaning is that of `fnmatch.fnmatchcase`, whose own translation writes atomic groups, which RE2 does not know.
    """
    out, position = [], 0
    while position < len(pattern):
        char = pattern[position]
        closing = _closing(pattern, position) if char == "[" else -1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif closing > 0:
            out.append(_character_class(pattern[position + 1 : closing]))
            position = closing
        else:
            out.append(re.escape(char))
        position += 1
    return f"(?s)^{''.join(out)}$"


def _closing(pattern: str, opening: int) -> int:
    """Where the class that opens here closes; -1 if it does not. A `]` that comes first is a member."""
    first = opening + (2 if pattern[opening + 1 : opening + 2] == "!" else 1)
    return pattern.find("]", first + 1)


def _character_class(inside: str) -> str:
    negated = inside.startswith("!")
    members = inside[1:] if negated else inside
    out, position = [], 0
    while position < len(members):
        low = high = members[position]
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            high = members[position + 2]
            position += 2
        if low <= high:  # a range that runs backwards holds nothing
            out.append(re.escape(low) if low == high else f"{re.escape(low)}-{re.escape(high)}")
        position += 1
    if not out:
        return "." if negated else r"[^\x00-\x{10FFFF}]"
    return f"[{'^' if negated else ''}{''.join(out)}]"
