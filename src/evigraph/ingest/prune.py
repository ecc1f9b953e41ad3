"""Physical removal of what no query may ask for any more."""

from __future__ import annotations

import time

from evigraph.reports import PruneReport
from evigraph.store import Store
from evigraph.store.jobs import recorded
from evigraph.store.retention import (
    remove_bases,
    remove_communities,
    remove_conversations,
    remove_names,
    remove_revisions,
    superseded,
)


def prune(store: Store, workspace: str) -> PruneReport:
    """Remove superseded, deleted and abandoned revisions of a workspace, and wait until their text is gone.

    First the horizon is published (from then on `as_of` before it is refused), then running queries that read an older
    generation are waited for, then rows are removed, and last what only they held from the recorded merges, from
    communities, with trees that are not in force any more, and from conversations, with those that were deleted; so do
    rows of knowledge bases and pipelines that are not in force any more.
    """
    started = time.monotonic()
    with store.maintenance(), recorded(store, workspace, "prune", {}) as record:
        with store.writing:
            horizon = store.record_change(workspace, "prune", {})
            doomed = superseded(store, workspace, horizon)
        record.note(revisions=len(doomed), horizon=horizon)
        store.wait_for_pins(workspace, horizon)
        store.forget_text()  # nobody reads what is doomed any more, so nobody brings it back
        remove_revisions(store, workspace, doomed)
        remove_names(store, workspace, horizon)
        remove_communities(store, workspace, horizon)
        remove_conversations(store, workspace)
        remove_bases(store, workspace)
    return PruneReport(
        documents=len({document_id for document_id, _ in doomed}),
        revisions=len(doomed),
        horizon=horizon,
        seconds=time.monotonic() - started,
    )
