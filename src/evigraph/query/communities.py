"""`engine.communities`: build, renew and show the communities of a workspace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from evigraph.communities import BuildCost, BuildReport, Community, CommunityList, LevelStatus, TreeStatus
from evigraph.community.build import Action, in_force, reusable, run
from evigraph.community.draft import draft
from evigraph.community.estimate import CHARACTERS_PER_TOKEN, REPLY, RULES, expected_cost
from evigraph.community.read import RECLUSTERED, open_tree
from evigraph.errors import InvalidValue, NotFound
from evigraph.models.ports import ChatModel
from evigraph.query.request import parse
from evigraph.reports import Progress
from evigraph.store import Snapshot, Store
from evigraph.types import DocumentFilter

AsOf = int | datetime | None
Documents = DocumentFilter | Mapping[str, Any] | None
Metadata = Mapping[str, Any] | None

MAP_CALLS = 64
"""Communities that one question asks the chat model about, at most."""
MAP_PASSAGES = 6
"""Passages that such a call shows, at most."""
PASSAGE_TOKENS = 200
"""What one is reckoned to cost: a passage holds up to 256 tokens."""
LIMITS = 1, 1_000
MOST_OFFSET = 10_000_000
MOST_LEVEL = 1_000

_ID = re.compile(r"c?(\d{1,9})")


class Communities:
    """The communities of one workspace.

    `build` clusters the graph anew and `refresh` keeps the tree; both publish a generation, and with a chat model both
    ask it for summaries. The reads take `as_of`, and those of communities `document_filter` and `metadata_filter` as
    `ask` does: a filtered scope is clustered by itself.
    """

    def __init__(self, store: Store, workspace: str, chat: ChatModel | None, *, concurrency: int = 4) -> None:
        self.store = store
        self.workspace = workspace
        self._chat = chat
        self._concurrency = concurrency

    def build(self, *, progress: Callable[[Progress], None] | None = None) -> BuildReport:
        """Cluster all that is visible and summarise its communities; summaries whose inputs are unchanged are kept.
        Nothing is published where nothing changed."""
        return self._run("build", progress)

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> BuildReport:
        """Renew the summaries whose inputs changed; the communities stay as they are. Raises `NotFound` without any."""
        return self._run("refresh", progress)

    def _run(self, action: Action, progress: Callable[[Progress], None] | None) -> BuildReport:
        done = run(
            self.store, self.workspace, action, chat=self._chat, concurrency=self._concurrency, progress=progress
        )
        return BuildReport(
            action=action,
            generation=done.generation,
            published=done.published,
            entities=done.record.entities,
            assertions=done.assertions,
            levels=_levels(done.record.levels, self._chat),
            estimate=done.estimate,
            cost=done.cost,
            seconds=done.seconds,
            warnings=done.warnings,
        )

    def status(self, *, as_of: AsOf = None) -> TreeStatus:
        """The tree in force, what changed since it was built and summarised, what a question at each of its levels
        costs, and what a build would (None for a large graph where no chat model is configured)."""
        with self._open(as_of, None, None) as snapshot:
            record = snapshot.state.tree
            expected = _build_estimate(snapshot, self._chat)
            if record is None:
                return TreeStatus(generation=snapshot.generation, built=False, build_estimate=expected)
            tree, summaries = snapshot.tree_staleness(record)
            return TreeStatus(
                generation=snapshot.generation,
                built=True,
                summarised_by=record.summarised_by,
                entities=record.entities,
                levels=_levels(record.levels, self._chat),
                tree=tree,
                summaries=summaries,
                build_estimate=expected,
            )

    def show(
        self,
        level: int = 0,
        *,
        limit: int = 50,
        offset: int = 0,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> CommunityList:
        """Communities of a level, largest first. Raises `InvalidValue` where there is no such level, naming those there
        are."""
        _within("level", level, 0, MOST_LEVEL)
        _within("limit", limit, *LIMITS)
        _within("offset", offset, 0, MOST_OFFSET)
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            view = open_tree(snapshot)
            levels = range(max(1, view.levels))
            if level not in levels:
                valid = ", ".join(map(str, levels))
                raise InvalidValue(f"there is no level {level} in this scope", hint=f"valid levels: {valid}")
            nodes = view.at(level)
            numbers = [node.number for node in nodes[offset : offset + limit]]
            shown = tuple(view.communities(numbers))
            return CommunityList(
                generation=snapshot.generation,
                level=level,
                origin=view.origin,
                total=len(nodes),
                communities=shown,
                staleness=view.staleness,
                notes=view.notes,
            )

    def community(
        self,
        community_id: str,
        *,
        as_of: AsOf = None,
        document_filter: Documents = None,
        metadata_filter: Metadata = None,
    ) -> Community:
        """One community by its id, as `show` gives it. Ids hold within one tree. Raises `NotFound`."""
        found = _ID.fullmatch(str(community_id).strip())
        with self._open(as_of, document_filter, metadata_filter) as snapshot:
            view = open_tree(snapshot)
            shown = view.communities([int(found.group(1))]) if found else []
            if not shown:
                raise NotFound(
                    f"no community {str(community_id)[:80]!r} in this scope",
                    hint="ids such as `c12` hold within one tree: list its communities first",
                )
            return shown[0]

    @contextmanager
    def _open(self, as_of: AsOf, documents: Documents, metadata: Metadata) -> Iterator[Snapshot]:
        """A snapshot, its scope read by the rules of the query API."""
        scope = parse({"query": "-", "as_of": as_of, "document_filter": documents, "metadata_filter": metadata})
        with self.store.snapshot(
            self.workspace,
            as_of=scope.as_of,
            document_filter=scope.document_filter,
            metadata_filter=scope.metadata_filter,
        ) as snapshot:
            yield snapshot


def _build_estimate(snapshot: Snapshot, chat: ChatModel | None) -> BuildCost | None:
    """What a build at this generation would cost. It has to be worked out as a build is; where nobody is asked for
    anything, a large graph is not worth that."""
    if chat is None and len(snapshot.community_claims().subject) > RECLUSTERED:
        return None
    made = draft(snapshot, chat.name if chat else "")
    return expected_cost(made, reusable(in_force(snapshot), made))


def _levels(figures: Sequence[Mapping[str, Any]], chat: ChatModel | None) -> tuple[LevelStatus, ...]:
    """Figures of each level, with what one question at it asks of the chat model at most: a call for each community up
    to the cap, with its summary and passages, and one that reduces their replies."""
    found = []
    for level, given in enumerate(figures):
        measured = dict(given)
        characters = measured.pop("characters")
        mapped = min(measured["communities"], MAP_CALLS)
        each = RULES + characters // CHARACTERS_PER_TOKEN + MAP_PASSAGES * PASSAGE_TOKENS + REPLY
        found.append(
            LevelStatus(
                level=level,
                query_calls=mapped + 1 if chat else 0,
                query_tokens=mapped * (each + REPLY) + RULES + REPLY if chat else 0,
                **measured,
            )
        )
    return tuple(found)


def _within(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValue(f"{name} must be a whole number from {low} to {high}", hint=f"give `{name}` in that range")
