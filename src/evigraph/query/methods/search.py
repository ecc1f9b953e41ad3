"""Retrieval for every wording of the question, merged: one copy of each text of a source, with its best score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from evigraph.query.ledger import repeated
from evigraph.query.retrieve import RETRIEVERS, raptor
from evigraph.query.retrieve.spaces import WHOLE, apart
from evigraph.query.run import Question, Retrieved, Run, Signals
from evigraph.query.strategy import strategy
from evigraph.store.keys import PassageKey
from evigraph.types import Connections, Method, Path, Relationship

INSTEAD = "the question itself was searched for"
"""What is done where a hypothetical answer is of no use."""

LOOKED_AT = 3
"""Times `max_chunks`: how many of the best merged passages are compared for copies of the same text."""

Ranked = tuple[PassageKey, Signals]


def search(run: Run) -> Retrieved:
    """What the mode finds for the question, or for what the method put in its place or beside it. Where nothing lies
    near a hypothetical answer, which a model may have made of nothing, the question itself is searched for."""
    found = _everywhere(run)
    if run.method is Method.HYDE and run.wordings and not found.passages:
        run.ledger.degrade(f"{run.method}: nothing lies near the hypothetical answer; {INSTEAD}")
        run.method, run.wordings = Method.STANDARD, []
        found = _everywhere(run)
    return found


def _everywhere(run: Run) -> Retrieved:
    """In each embedding space by itself, where the scope is not of one alone."""
    if run.divided and run.request.mode not in WHOLE:
        return apart(run, _search)
    return _search(run)


def _search(run: Run) -> Retrieved:
    if run.method is Method.RAPTOR and strategy(run.request) == "raptor":
        return _in_tree(run)
    if run.method is Method.RAPTOR:
        run.method = Method.STANDARD
    retriever = RETRIEVERS[run.request.mode]
    if not run.wordings:
        return retriever(run)
    found = []
    for wording in run.wordings:
        with _worded(run, wording):
            found.append(retriever(run))
    return merged(run, found)


def _in_tree(run: Run) -> Retrieved:
    """Where no document has a tree, what was found is that of `standard`."""
    found = raptor.retrieve(run)
    if found.retrieval != "raptor":
        run.method = Method.STANDARD
    return found


def impossible(found: Retrieved) -> str | None:
    """What is wrong with what was retrieved, as a `check` says it."""
    if not found.retrieval:
        return "it handed on what no strategy found"
    return repeated("passage", (key for key, _ in found.passages)) or repeated(
        "summary", (chunk.id for chunk in found.summaries)
    )


def merged(run: Run, found: Sequence[Retrieved]) -> Retrieved:
    """Results of the same mode as one. Of what several hold, the copy with the best score stays."""
    if len(found) == 1:
        return found[0]
    best: dict[PassageKey, Signals] = {}
    for key, signals in (pair for one in found for pair in one.passages):
        if key not in best or signals.score > best[key].score:
            best[key] = signals
    ranked = sorted(best.items(), key=lambda pair: (-pair[1].score, pair[0]))
    kept = tuple(_without_copies(run, ranked))
    run.ledger.lose(len(ranked) - len(kept), "the same text of the same source is there already")
    first = found[0]
    return replace(
        first,
        passages=kept,
        entities=tuple(_best(pair for one in found for pair in one.entities)),
        relationships=_once(item for one in found for item in one.relationships),
        paths=_paths(found),
        relationships_found=max((one.relationships_found or 0 for one in found), default=0) or None,
        connections=_connections([one.connections for one in found if one.connections is not None]),
        empty=None if ranked else first.empty,
    )


@contextmanager
def _worded(run: Run, wording: Question) -> Iterator[None]:
    """The run with another wording in the question's place."""
    kept = run.question, run.dense_hits
    run.question, run.dense_hits = wording, None
    try:
        yield
    finally:
        run.question, run.dense_hits = kept


def _without_copies(run: Run, ranked: Sequence[Ranked]) -> Iterator[Ranked]:
    """Without passages that repeat a better one of the same source word for word, among the best."""
    near = LOOKED_AT * run.request.max_chunks
    chunks = run.snapshot.chunks([key for key, _ in ranked[:near]])
    seen: set[tuple[str, str]] = set()
    for place, (key, signals) in enumerate(ranked):
        if place < near:
            text = chunks[key].source, chunks[key].text
            if text in seen:
                continue
            seen.add(text)
        yield key, signals


def _best(pairs: Iterator[tuple[str, float | None]]) -> list[tuple[str, float | None]]:
    best: dict[str, float | None] = {}
    for entity, score in pairs:
        known = best.get(entity)
        best[entity] = score if known is None else known if score is None else max(known, score)
    return sorted(best.items(), key=lambda pair: (-(pair[1] or 0.0), pair[0]))


def _once(items: Iterable[Relationship]) -> tuple[Relationship, ...]:
    kept: dict[str, Relationship] = {}
    for item in items:
        kept.setdefault(item.id, item)
    return tuple(kept.values())


def _connections(found: Sequence[Connections]) -> Connections | None:
    """Direct ones are those of any wording; `total` is that of the wording with most."""
    if not found:
        return None
    direct = _once(item for one in found for item in one.direct)
    ids = {item.id for item in direct}
    extended = _once(item for one in found for item in one.extended if item.id not in ids)
    return Connections(direct=direct, extended=extended, total=max(one.total for one in found))


def _paths(found: Sequence[Retrieved]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for one in found for path in one.paths))
