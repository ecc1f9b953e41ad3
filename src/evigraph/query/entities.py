"""`engine.entities`: search, pages, neighbourhoods, paths, contradictions, history and merges of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, get_args

from evigraph.errors import InvalidValue
from evigraph.graph.aliases import propose
from evigraph.plans import Direction
from evigraph.query.checks import check_text
from evigraph.query.explore import around
from evigraph.query.explore.claims import contradictions_of
from evigraph.query.explore.page import entity_list, entity_page
from evigraph.query.explore.resolve import MAX_CHARS, resolve, resolve_past
from evigraph.query.request import moment, parse
from evigraph.store import Snapshot, Store
from evigraph.types import DocumentFilter
from evigraph.views import (
    AliasProposal,
    ContradictionKind,
    ContradictionList,
    EntityList,
    EntityPage,
    History,
    Merge,
    Neighbourhood,
    PathList,
)

AsOf = int | datetime | None
Documents = DocumentFilter | Mapping[str, Any] | None
Metadata = Mapping[str, Any] | None

BOUNDS: Mapping[str, tuple[int, int]] = {
    "limit": (1, 1_000),
    "offset": (0, 10_000_000),
    "depth": (0, 5),
    "per_node_limit": (1, 1_000),
    "max_length": (1, 6),
}
"""Inclusive bounds of the integers below."""


class Entities:
    """The graph of one workspace as visible, filtered passages make it.

    An entity is given by its id (`type:name`) or by a name that it alone has; any member of a merge stands for all. One
    that only assertions name (an import may bring such) is given by its id, and neither searched for nor merged.
    Every read takes `as_of`, `document_filter` and `metadata_filter` as `ask` does. Raises `NotFound` with near names
    for an entity that nothing in scope mentions, `AmbiguousEntity` for a name of several, `BeforePruneHorizon`, and
    `InputError`s.
    """

    def __init__(self, store: Store, workspace: str) -> None:
        self.store = store
        self.workspace = workspace

    def search(
        self,
        text: str = "",
        *,
        type: str | None = None,
        limit: int = 20,
        offset: int = 0,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> EntityList:
        """Entities whose visible names share words, or beginnings of words, with `text`, best first; without text all
        of them, the most connected first. `type` keeps one entity type."""
        if not isinstance(text, str) or len(text) > MAX_CHARS:
            raise InvalidValue(f"the text must have at most {MAX_CHARS} characters", hint="search for a name")
        check_text("the text", text)
        _within(limit=limit, offset=offset)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            return entity_list(snapshot, text, type=_optional("type", type), limit=limit, offset=offset)

    def page(
        self,
        entity_id: str,
        *,
        limit: int = 50,
        offset: int = 0,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> EntityPage:
        """All that is visible of one entity; `limit` and `offset` page through mentions, assertions and
        relationships."""
        _within(limit=limit, offset=offset)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            return entity_page(snapshot, _representative(snapshot, entity_id), limit=limit, offset=offset)

    def neighbourhood(
        self,
        entity_id: str,
        *,
        depth: int = 1,
        per_node_limit: int = 20,
        limit: int = 100,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> Neighbourhood:
        """Entities within `depth` hops (0-5), at most `limit`, following `per_node_limit` neighbours of each, stated
        ones first; `direction` follows assertions from subject to object (`out`), back (`in`) or both ways."""
        _within(depth=depth, per_node_limit=per_node_limit, limit=limit)
        chosen = _followed(predicates, direction)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            return around.neighbourhood(
                snapshot,
                _representative(snapshot, entity_id),
                depth=depth,
                per_node_limit=per_node_limit,
                limit=limit,
                predicates=chosen,
                direction=direction,
            )

    def paths(
        self,
        source: str,
        target: str,
        *,
        max_length: int = 4,
        limit: int = 5,
        per_node_limit: int = 200,
        predicates: Sequence[str] | None = None,
        direction: Direction = "both",
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> PathList:
        """The shortest paths between two entities, of at most `max_length` hops (1-6), each hop with the assertions
        that support it. An empty list is an answer; `truncated` says whether a limit may have hidden a path."""
        _within(max_length=max_length, limit=limit, per_node_limit=per_node_limit)
        chosen = _followed(predicates, direction)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            ends = _representative(snapshot, source), _representative(snapshot, target)
            if ends[0] == ends[1]:
                raise InvalidValue(f"both ends are {ends[0][:80]!r}", hint="name two different entities")
            return around.paths(
                snapshot,
                *ends,
                max_length=max_length,
                limit=limit,
                per_node_limit=per_node_limit,
                predicates=chosen,
                direction=direction,
            )

    def contradictions(
        self,
        entity_id: str | None = None,
        *,
        kind: ContradictionKind | None = None,
        limit: int = 50,
        offset: int = 0,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> ContradictionList:
        """Claims that do not go together, side by side with their sources; of one entity, or of all."""
        _within(limit=limit, offset=offset)
        if kind is not None and kind not in get_args(ContradictionKind):
            raise InvalidValue("unknown kind of contradiction", hint=f"valid: {', '.join(get_args(ContradictionKind))}")
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            about = None if entity_id is None else _representative(snapshot, entity_id)
            return contradictions_of(snapshot, about, kind=kind, limit=limit, offset=offset)

    def history(
        self,
        entity_id: str,
        *,
        limit: int = 100,
        offset: int = 0,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> History:
        """What was said about an entity, by which revision, from when until when. The one read that shows text which
        was replaced or deleted (`visible` is then False), until it is pruned; nothing later than `as_of`. Filters are
        judged on each revision as it was published."""
        _within(limit=limit, offset=offset)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            representative, name, kind = resolve_past(snapshot, entity_id)
            statements, total = snapshot.history(representative, limit=limit, offset=offset)
            return History(
                generation=snapshot.generation,
                entity=representative,
                name=name,
                type=kind,
                total=total,
                statements=tuple(statements),
            )

    # ---------------------------------------------------------------- identity

    def merge(self, entities: Sequence[str], *, canonical: str | None = None, reason: str = "") -> Merge:
        """Record that the given entities (at least two) are one, shown as `canonical`, by default as the one that most
        passages mention. Rewrites no assertion, and `unmerge` takes it back."""
        if isinstance(entities, str) or len(entities) > BOUNDS["limit"][1]:
            raise InvalidValue("entities must be a list of at most 1,000 ids", hint="give ids such as `person:j smith`")
        with self._open(None, None, None) as snapshot:
            given = [resolve(snapshot, entity, asserted=False) for entity in entities]
            chosen = None if canonical is None else resolve(snapshot, canonical, asserted=False)
        return self.store.merge(self.workspace, list(dict.fromkeys(given)), canonical=chosen, reason=reason)

    def unmerge(self, merge_id: int) -> int:
        """Take a merge back; return the generation. Raises `NotFound` for one that does not stand."""
        return self.store.unmerge(self.workspace, merge_id)

    def merges(self, *, as_of: AsOf = None) -> list[Merge]:
        """The merges that stand, oldest first, as far as visible passages mention what they join."""
        return self.store.merges(self.workspace, as_of=None if as_of is None else moment(as_of))

    def proposals(
        self,
        *,
        limit: int = 50,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> list[AliasProposal]:
        """Entities that may be one, with the evidence, best first, for someone to decide; nothing is merged by it."""
        _within(limit=limit)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            return propose(snapshot, limit=limit)

    @contextmanager
    def _open(self, as_of: AsOf, document_filter: Documents, metadata_filter: Metadata) -> Iterator[Snapshot]:
        """A snapshot, its scope read by the rules of the query API."""
        scope = parse(
            {"query": "-", "as_of": as_of, "document_filter": document_filter, "metadata_filter": metadata_filter}
        )
        with self.store.snapshot(
            self.workspace,
            as_of=scope.as_of,
            document_filter=scope.document_filter,
            metadata_filter=scope.metadata_filter,
        ) as snapshot:
            yield snapshot


def _representative(snapshot: Snapshot, given: str) -> str:
    return snapshot.identities.of(resolve(snapshot, given))


def _within(**given: int) -> None:
    for name, value in given.items():
        low, high = BOUNDS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidValue(f"{name} must be a whole number from {low} to {high}", hint="correct it")


def _followed(predicates: Sequence[str] | None, direction: str) -> tuple[str, ...] | None:
    return parse({"query": "-", "predicates": predicates, "direction": direction}).predicates


def _optional(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise InvalidValue(f"{name} must be a text of 1 to 200 characters", hint="leave it out for all")
    return check_text(name, value)
