"""Switching a workspace to another embedding model: vectors side by side, then one recorded switch."""

from __future__ import annotations

import time
from collections.abc import Callable

from evigraph.errors import NotSupported
from evigraph.models.ports import Embedder
from evigraph.reports import Progress
from evigraph.store import Store, vectors
from evigraph.store.jobs import recorded
from evigraph.store.knowledge_bases import of_own_models

BATCH = 256


def reembed(
    store: Store, workspace: str, embedder: Embedder, progress: Callable[[Progress], None] | None = None
) -> int:
    """Embed every stored passage and fact with `embedder`, then switch; return the generation of the switch. Documents
    of knowledge bases that have a model of their own are left alone, and counted in the job's record.

    Until then queries use the old vectors. An interrupted run resumes where it stopped. Raises `NotSupported` if the
    new model reads fewer tokens than a stored passage has.
    """
    started = time.monotonic()
    with store.maintenance(), recorded(store, workspace, "reembed", {"model": embedder.name}) as record:
        done = 0
        for what, missing, add in (
            ("passages", vectors.passages_without_vectors, vectors.add_passage_vectors),
            ("facts", vectors.facts_without_vectors, vectors.add_fact_vectors),
        ):
            while batch := missing(store, workspace, embedder.name, BATCH):
                texts = [text for _, text in batch]
                if what == "passages":
                    _refuse_overlong(texts, embedder)
                add(store, workspace, embedder.name, batch, embedder.embed(texts))
                done += len(batch)
                record.note(vectors=done)
                if progress is not None:
                    seconds = time.monotonic() - started
                    progress(Progress(documents_done=0, documents_total=0, passages=done, source=what, seconds=seconds))
        record.note(vectors=done)
        if left_alone := of_own_models(store, workspace):
            record.note(left_alone=left_alone)
        return _switch(store, workspace, embedder)


def _switch(store: Store, workspace: str, embedder: Embedder) -> int:
    """Record the model as the one in force, unless it is that already."""
    with store.writing:
        generation = store.generation(workspace)
        if store.embedder_at(workspace, generation) == (embedder.name, embedder.dimension):
            return generation
        return store.record_change(workspace, "embedder", {"model": embedder.name, "dimension": embedder.dimension})


def _refuse_overlong(texts: list[str], embedder: Embedder) -> None:
    longest = max(embedder.count_tokens(text) for text in texts)
    if longest > embedder.max_tokens:
        raise NotSupported(
            f"a stored passage has {longest} tokens, and {embedder.name} reads {embedder.max_tokens}",
            hint="index the documents again into a new workspace with this model",
        )
