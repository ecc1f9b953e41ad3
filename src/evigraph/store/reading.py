"""The base of all reads of one snapshot."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from numpy.typing import NDArray

from evigraph.once import once
from evigraph.store.identity import Identities, identities
from evigraph.store.rowcache import RowCache
from evigraph.store.rows import ScopeCounts
from evigraph.store.scopes import Keep
from evigraph.store.state import WorkspaceState
from evigraph.store.visibility import Scope, Space, counts_of

Rows = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
Columns = Callable[[str, Mapping[str, Any]], list[NDArray[Any]]]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BY_KEY = "(revision_key, passage_index) IN {keys:Array(Tuple(UInt128, UInt32))}"
"""Condition of statements that fetch given passages."""


class Beside(Protocol):
    """Does work in another thread while the body runs, if one is free; see `Helpers.beside`."""

    def __call__(self, work: Callable[[], V], /) -> contextlib.AbstractContextManager[Callable[[], V]]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a snapshot reads with: statements by row and by column, what keeps its scope and rows, and helpers."""

    rows: Rows
    columns: Columns
    keep: Keep
    cache: RowCache
    beside: Beside


class Reading:
    """Runs statements with the scope's parameters bound. `model` names the embedding model whose vectors are in force
    ("" before any)."""

    def __init__(self, scope: Scope, state: WorkspaceState, means: Means) -> None:
        self._means = means
        self._run = means.rows
        self._run_columns = means.columns
        self._asked = scope
        self.state = state
        self.model = state.model

    @property
    def beside(self) -> Beside:
        """Has something read in another thread meanwhile."""
        return self._means.beside

    def spaces(self) -> list[Space]:
        """The embedding spaces that hold documents of the scope, the workspace's first, then by model; the workspace's
        alone where the scope is empty. Costs a statement only where a base was made with a model of its own."""
        mine = self.state.model
        if self.state.base_models.keys() <= {mine}:
            return [Space(model=mine, of_workspace=True, documents=self.counts().documents)]
        sql = f"""
            SELECT embedding_model, uniqExact(revision_key) FROM knowledge_base_documents
            WHERE workspace = {{workspace:String}} AND embedding_model NOT IN ('', {{mine:String}})
              AND revision_key IN {self.scope.revisions}
            GROUP BY embedding_model ORDER BY embedding_model"""
        own = [Space(model=row[0], of_workspace=False, documents=row[1]) for row in self._rows(sql, mine=mine)]
        rest = self.counts().documents - sum(space.documents for space in own)
        return [*([Space(model=mine, of_workspace=True, documents=rest)] if rest or not own else []), *own]

    def by_space(self) -> list[Self]:
        """The snapshot itself where all of it is of the workspace's model; else narrowed to each embedding space."""
        spaces = self.spaces()
        if len(spaces) == 1 and spaces[0].of_workspace:
            return [self]
        return [self.narrowed(space) for space in spaces]

    def narrowed(self, space: Space, *, searched: bool = True) -> Self:
        """The same reads over the documents of one embedding space, with vectors of its model; with none where the
        space is not `searched` by vector."""
        made = type(self)(self._asked.narrowed(space), self.state, self._means)
        made.model = space.model if searched else ""
        return made

    def without_vectors(self) -> Self:
        """The same reads, to which nothing has a vector: what lies in several embedding spaces has none in common."""
        made = copy.copy(self)
        made.model = ""
        return made

    def among(self, revision_keys: Collection[int]) -> set[int]:
        """Those of the given revisions that are in scope."""
        sql = f"""
            SELECT arrayJoin({{revisions:Array(UInt128)}}) AS revision_key
            WHERE revision_key IN {self.scope.revisions}"""
        rows = self._rows(sql, revisions=sorted(revision_keys)) if revision_keys else []
        return {row[0] for row in rows}

    @property
    def generation(self) -> int:
        return self._asked.generation

    @once
    def scope(self) -> Scope:
        """What the snapshot may see, worked out once where the store can keep it."""
        return self._means.keep(self._asked)

    def counts(self) -> ScopeCounts:
        """Size of the scope."""
        return self._counts

    @once
    def _counts(self) -> ScopeCounts:
        if self.scope.kept is not None:
            return self.scope.kept.counts
        return counts_of(self._run(self._asked.size, self._asked.parameters)[0])

    @once
    def identities(self) -> Identities:
        """Merged entities as the scope sees them. Costs a statement only where merges stand."""
        involved = sorted({entity for merge in self.state.merges for entity in (merge.canonical, *merge.entities)})
        if not involved:
            return Identities()
        sql = f"""
            SELECT entity_id, min(key), min(type) FROM mentions
            WHERE workspace = {{workspace:String}} AND entity_id IN {{entities:Array(String)}}
              AND revision_key IN {self.scope.revisions}
            GROUP BY entity_id"""
        visible = {entity_id: (key, kind) for entity_id, key, kind in self._rows(sql, entities=involved)}
        return identities(self.state.merges, visible)

    def _representative(self, column: str) -> str:
        """SQL for the representative of the entity in `column`; bind `_merged` with it."""
        if not self.identities.canonical:
            return column
        return f"transform({column}, {{merged:Array(String)}}, {{representatives:Array(String)}}, {column})"

    @property
    def _shown_key(self) -> str:
        """SQL for the name under which a mention is shown: its representative's key; bind `_merged_keys` with it."""
        if not self.identities.canonical:
            return "key"
        return "transform(entity_id, {merged:Array(String)}, {shown_keys:Array(String)}, key)"

    @property
    def _merged_keys(self) -> dict[str, list[str]]:
        """Parameters of `_shown_key` and `_representative`."""
        merged = self.identities.canonical
        if not merged:
            return {}
        return {**self._merged, "shown_keys": [self.identities.names[entity_id][0] for entity_id in merged.values()]}

    @property
    def _merged(self) -> dict[str, list[str]]:
        """Parameters of `_representative`."""
        merged = self.identities.canonical
        return {"merged": list(merged), "representatives": list(merged.values())} if merged else {}

    def _of_revisions(self, kind: Hashable, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """Facts of given passages or revisions, which are the same in every scope that sees them: from memory, and what
        is not there from `fetch`. `kind` names what they depend on beside workspace and key."""
        return self._remembered((self._asked.workspace, kind), keys, fetch)

    def _of_scope(self, kind: Hashable, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """Facts that follow from all that the scope sees, likewise."""
        return self._remembered((self._scope_name, kind), keys, fetch)

    def _remembered(self, kind: Hashable, keys: Iterable[K], fetch: Callable[[list[K]], Mapping[K, V]]) -> dict[K, V]:
        """In the order of the keys. A key that `fetch` does not return is left out, and asked for again."""
        wanted = list(dict.fromkeys(keys))
        found = self._means.cache.found(kind, wanted)
        missing = [key for key in wanted if key not in found]
        if missing:
            fetched = fetch(missing)
            self._means.cache.keep(kind, fetched)
            found |= fetched
            return {key: found[key] for key in wanted if key in found}
        return found

    @once
    def _scope_name(self) -> str:
        return hashlib.sha256(repr(self._asked.identity).encode()).hexdigest()

    @once
    def _naming(self) -> str:
        """Names the merges as the scope sees them; "" where there are none."""
        merged = self.identities
        if not merged.canonical:
            return ""
        return hashlib.sha256(
            repr((sorted(merged.canonical.items()), sorted(merged.names.items()))).encode()
        ).hexdigest()

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._run(sql, {**self.scope.parameters, **parameters})
