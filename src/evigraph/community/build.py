"""Building the tree of a workspace, and renewing its summaries.

Everything is worked out at one generation, staged, and published by one change at the end, so that a crash at any point
leaves the old tree in force, whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from evigraph.communities import BuildCost
from evigraph.community.draft import Draft, draft
from evigraph.community.estimate import expected_cost
from evigraph.community.model import ModelWriter, Outcome
from evigraph.community.read import tree_in_force
from evigraph.errors import NotFound
from evigraph.models.meter import Metered
from evigraph.models.ports import ChatModel
from evigraph.reports import Progress
from evigraph.store import Snapshot, Store
from evigraph.store.communities import StoredSummary
from evigraph.store.jobs import recorded
from evigraph.store.state import TreeRecord
from evigraph.store.trees import StagedSummary, publish_tree, stage_summaries, stage_tree

Action = Literal["build", "refresh"]
Report = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What a run did: the record in force after it, estimate and account, and what went wrong on the way."""

    record: TreeRecord
    generation: int
    published: bool
    estimate: BuildCost
    cost: BuildCost
    assertions: int
    seconds: float
    warnings: tuple[str, ...]


def run(
    store: Store,
    workspace: str,
    action: Action,
    *,
    chat: ChatModel | None,
    concurrency: int,
    progress: Report | None = None,
) -> Built:
    """`build` clusters anew; `refresh` keeps the tree, as far as its entities are visible. Both keep every summary
    whose inputs are what they were. Raises `NotFound` where there is nothing to refresh."""
    started = time.monotonic()
    with store.maintenance(), recorded(store, workspace, "communities", {"action": action}) as record:
        with store.snapshot(workspace) as snapshot:
            if action == "refresh" and snapshot.state.tree is None:
                cause = f"workspace {workspace!r} has no communities to refresh"
                raise NotFound(cause, hint="build them: `evigraph communities build`")
            tree = tree_in_force(snapshot) if action == "refresh" else None
            made = draft(snapshot, chat.name if chat else "", tree)
            stored = in_force(snapshot)
            kept = reusable(stored, made)
            estimate = expected_cost(made, kept)
            record.note(communities=estimate.communities, reused=estimate.reused)
            record.save()
            told = _Told(progress, total=estimate.written, started=started)
            summaries, cost, warnings = _summaries(snapshot, made, kept, _Model(chat, concurrency), told)
            warnings = warnings if chat else _replaced(stored, summaries)
            final = _published(store, workspace, snapshot, _Made(made, summaries, stored, action))
        record.note(published=final is not None, failed=cost.failed, calls=cost.calls)
    standing = final or snapshot.state.tree
    assert standing is not None
    return Built(
        record=standing,
        generation=standing.generation if final else snapshot.generation,
        published=final is not None,
        estimate=estimate,
        cost=cost,
        assertions=len(made.statements.subject),
        seconds=time.monotonic() - started,
        warnings=warnings,
    )


def in_force(snapshot: Snapshot) -> dict[int, StoredSummary]:
    """Stored summaries of the communities in force, by number."""
    return snapshot.tree_summaries([node.number for node in snapshot.tree_nodes()])


def reusable(stored: Mapping[int, StoredSummary], made: Draft) -> dict[int, StagedSummary]:
    """Stored summaries whose inputs are those of a community of the draft, by its number. Where no chat model is there
    to write, those by any model are as good as ever."""
    by_hash = {summary.input_hash: summary for _, summary in sorted(stored.items()) if not summary.dropped}
    models = [made.writer] if made.writer else sorted({summary.model for summary in stored.values()} - {""})
    kept = {}
    for number in made.inputs:
        asked = bool(made.writer and made.chosen[number])
        for writer in models if asked else [*models, ""]:
            summary = by_hash.get(made.input_hash(number, writer))
            if summary is not None:
                kept[number] = _staged(number, summary)
                break
    return kept


def _staged(number: int, summary: StoredSummary) -> StagedSummary:
    return StagedSummary(
        number=number,
        input_hash=summary.input_hash,
        references=summary.references,
        text=summary.text,
        model=summary.model,
    )


# --------------------------------------------------------------------------- summaries


@dataclass(frozen=True, slots=True)
class _Model:
    chat: ChatModel | None
    concurrency: int


class _Told:
    """Tells how many summaries are written."""

    def __init__(self, progress: Report | None, *, total: int, started: float) -> None:
        self._progress = progress
        self._total = total
        self._started = started
        self._done = 0
        self(0)

    def __call__(self, more: int = 1) -> None:
        self._done += more
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            self._progress(
                Progress(
                    documents_done=self._done,
                    documents_total=self._total,
                    passages=0,
                    source="communities",
                    seconds=seconds,
                )
            )


def _summaries(
    snapshot: Snapshot, made: Draft, kept: Mapping[int, StagedSummary], model: _Model, told: _Told
) -> tuple[list[StagedSummary], BuildCost, tuple[str, ...]]:
    """Every community's summary by number, those of `kept` as they are; the account; and warnings."""
    written = {number: made.extractive(number) for number in made.chosen if number not in kept}
    if model.chat is None:
        told(len(written))
    cost = BuildCost(communities=len(made.chosen), written=len(written), reused=len(kept))
    warnings: tuple[str, ...] = ()
    if model.chat is not None:
        metered = Metered(model.chat)
        writer = ModelWriter(snapshot=snapshot, draft=made, chat=metered, concurrency=model.concurrency, done=told)
        written = writer.write(kept)
        cost = replace(
            cost,
            calls=metered.calls,
            failed=metered.failed,
            prompt_tokens=metered.prompt_tokens,
            completion_tokens=metered.completion_tokens,
        )
        warnings = _warnings(writer.outcome, metered, writer.asker.gone)
    together = {**kept, **written}
    return [together[number] for number in sorted(together)], cost, warnings


def _replaced(stored: Mapping[int, StoredSummary], summaries: Sequence[StagedSummary]) -> tuple[str, ...]:
    """A warning where summaries that a chat model wrote are in force no more, and none is there to write others."""
    kept = {summary.input_hash for summary in summaries if summary.text}
    gone = sum(not summary.extractive and summary.input_hash not in kept for summary in stored.values())
    if not gone:
        return ()
    return (
        f"{gone} summaries by a chat model were replaced by extractive ones, since what they are made of changed and no"
        " chat model is configured",
    )


def _warnings(outcome: Outcome, metered: Metered, gone: Exception | None) -> tuple[str, ...]:
    """What was not as asked, in sentences."""
    found = []
    if outcome.failed:
        found.append(f"{outcome.failed} summaries are extractive, since the chat model could not be asked for them")
    if gone is not None:
        found.append(f"the chat model was given up after several failures in a row: {gone}")
    if outcome.declined:
        found.append(f"{outcome.declined} summaries are extractive, since the chat model found nothing to summarise")
    if outcome.empty:
        found.append(f"{outcome.empty} summaries are extractive, since nothing that the chat model wrote could be kept")
    if outcome.unsupported:
        found.append(
            f"{outcome.unsupported} sentences of the chat model were left out, since what they cite does not hold them"
        )
    if outcome.ordered:
        found.append(f"{outcome.ordered} times a sentence that gives orders to a model was not shown to it")
    if outcome.obeyed:
        found.append(f"{outcome.obeyed} sentences of the chat model that gave or repeated such an order were left out")
    if outcome.removed:
        found.append(f"{outcome.removed} citations of sentences that do not exist were removed")
    if metered.cut:
        found.append(f"{metered.cut} replies were cut at their longest (EVIGRAPH_CHAT_REPLY_TOKENS)")
    if metered.unreported:
        found.append(f"{metered.unreported} replies did not tell all of their tokens; how many were used is not known")
    return tuple(found)


# --------------------------------------------------------------------------- publishing


@dataclass(frozen=True, slots=True)
class _Made:
    draft: Draft
    summaries: list[StagedSummary]
    stored: Mapping[int, StoredSummary]
    action: Action


def _published(store: Store, workspace: str, snapshot: Snapshot, made: _Made) -> TreeRecord | None:
    """Stage and publish; None where what is in force says the same already."""
    old = snapshot.state.tree
    tree = old.tree if old is not None and (made.action == "refresh" or _same_tree(snapshot, old, made.draft)) else ""
    edition = old.edition if old is not None and tree and _same_summaries(made) else ""
    record = _record(snapshot, made, old)
    if old is not None and edition and not _moved(snapshot, old, record):
        return None
    if not tree:
        entities = made.draft.tree.entities
        tree = stage_tree(store, workspace, entities, made.draft.tree.paths, members=snapshot.identities.members)
    if not edition:
        edition = stage_summaries(store, workspace, tree, made.summaries)
    record = replace(record, tree=tree, edition=edition)
    return replace(record, generation=publish_tree(store, workspace, record))


def _same_tree(snapshot: Snapshot, old: TreeRecord, made: Draft) -> bool:
    """Whether the stored tree holds the same entities in the same places."""
    tree = made.tree
    if old.entities != len(tree.entities) or snapshot.tree_staleness(old)[0].merges_changed:
        return False
    return snapshot.tree_members() == dict(zip(tree.entities, map(tuple, tree.paths.tolist()), strict=True))


def _same_summaries(made: _Made) -> bool:
    """Whether the edition in force says the same of every community."""
    stored = {number: _staged(number, found) for number, found in made.stored.items() if not found.dropped}
    return all(
        stored.get(summary.number) == replace(summary, references=tuple(summary.references))
        for summary in made.summaries
    )


def _moved(snapshot: Snapshot, old: TreeRecord, new: TreeRecord) -> bool:
    """Whether a record must be published although tree and summaries are those in force: it was made of less."""
    tree, summaries = snapshot.tree_staleness(old)
    stale = summaries.stale or (tree.stale and new.built_at != old.built_at)
    return stale or new.summarised_by != old.summarised_by


def _record(snapshot: Snapshot, made: _Made, old: TreeRecord | None) -> TreeRecord:
    """What is recorded of a tree made at the snapshot's generation."""
    documents, assertions = snapshot.counts().documents, len(made.draft.statements.subject)
    fresh: dict[str, Any] = {
        "summarised_at": snapshot.generation,
        "summarised_documents": documents,
        "summarised_assertions": assertions,
        "summarised_by": _summarised_by(made.summaries),
        "levels": made.draft.figures,
        "generation": 0,
    }
    if made.action == "refresh" and old is not None:
        return replace(old, **fresh)
    return TreeRecord(
        tree="",
        edition="",
        built_at=snapshot.generation,
        built_documents=documents,
        built_assertions=assertions,
        entities=len(made.draft.tree.entities),
        **fresh,
    )


def _summarised_by(summaries: Sequence[StagedSummary]) -> Literal["extractive", "mixed", "model"]:
    """Who wrote the summaries that say something."""
    by_model = {bool(summary.text) for summary in summaries if summary.references}
    if by_model == {True}:
        return "model"
    return "mixed" if True in by_model else "extractive"
