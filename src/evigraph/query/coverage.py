"""What of its scope a corpus-wide answer draws on, stated with the answer, and a warning where that is thin.

A community is *consulted* if it was read for the question: by the chat model in the map step; without a model, where a
passage whose sentences were read mentions one of its entities; in other modes, where a chunk of the evidence does. It
is *drawn on* if it was consulted and a cited passage mentions one of its entities. An assertion is counted with the
community of its subject, so that shares of all communities add up to one. Other modes are not worth clustering for:
without a built tree they count documents and groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from evigraph.communities import FEW_VALUES, Coverage, GroupCoverage
from evigraph.community.read import TreeView, open_tree
from evigraph.query.run import Run
from evigraph.store.keys import PassageKey, passage_key

FEWEST = 3
SHARE = 0.1
ENOUGH = 12
"""An answer is thin if it cites fewer documents than this share of those in scope, at least `FEWEST` and at most
`ENOUGH` (or all, where there are fewer): a dozen documents can characterise a corpus of any size, three cannot."""
GROUP_SHARE = 0.5
"""Share of the values of such a key below which an answer is thin."""
NAMED = 6
"""Missing values that a warning names."""


def cover(run: Run) -> None:
    """Leave the coverage of a corpus-wide question in the run, and state it at the end of its answer."""
    if not run.corpus_wide or not run.counts.documents:
        return
    with run.ledger.stage("coverage") as stage:
        keys = set(run.snapshot.group_counts())
        run.coverage = stage.hand_on(coverage_of(run), kind=Coverage, check=lambda found: _impossible(found, keys))
    if run.text is None or run.abstain_reason is not None:
        return
    run.text = f"{run.text.rstrip()}\n\n{sentence(run.coverage)}"
    for warning in thin(run.coverage):
        run.ledger.degrade(f"coverage: {warning}")


def _impossible(coverage: Coverage, keys: Collection[str]) -> str | None:
    if not coverage.documents_in_scope:
        return "it counted no document of those in scope"
    return None if set(coverage.groups) == keys else "it left out a key that groups documents"


def coverage_of(run: Run) -> Coverage:
    """Counts over what is cited; where there is no answer, over what the evidence rests on."""
    cited = _cited(run)
    documents = sorted({document for document, _ in cited.values()})
    counted = Coverage(
        documents=len(documents), documents_in_scope=run.counts.documents, groups=_groups(run, documents)
    )
    view = run.overview.view if run.overview is not None else _view(run)
    if view is None:
        return counted
    level = run.overview.level if run.overview is not None else 0
    of_entity = view.community_of(level)
    spoken_of = _communities(run, cited, of_entity)
    if run.overview is None:
        read = spoken_of | _communities(run, _evidence(run), of_entity)
    else:
        # Where nothing is cited, the evidence is the summaries, and these were read too.
        read = run.overview.consulted if run.citations else run.overview.consulted | spoken_of
    counts = _assertions(run, view, level)
    return replace(
        counted,
        communities=len(spoken_of & read),
        communities_consulted=len(read),
        communities_in_scope=len(view.at(level)),
        assertions=sum(counts.get(number, 0) for number in read),
        assertions_in_scope=sum(counts.values()),
    )


def sentence(coverage: Coverage) -> str:
    """The coverage in one sentence."""
    parts = [f"{coverage.documents} of {coverage.documents_in_scope} documents"]
    if coverage.communities_in_scope:
        share = f" ({coverage.assertion_share:.0%} of assertions consulted)" if coverage.assertions_in_scope else ""
        parts.append(f"{coverage.communities} of {coverage.communities_in_scope} communities{share}")
    groups = [
        f"{key}: {len(found.represented)} of {len(found.represented) + len(found.missing)}"
        for key, found in sorted(coverage.groups.items())
        if len(found.represented) + len(found.missing) <= FEW_VALUES
    ]
    return f"Drawn from {'; '.join([', '.join(parts), *groups])}."


def thin(coverage: Coverage) -> list[str]:
    """Why an answer may not be representative; empty where nothing speaks against it."""
    warnings = []
    scope = coverage.documents_in_scope
    needed = min(scope, ENOUGH, max(FEWEST, math.ceil(SHARE * scope)))
    if coverage.documents < needed:
        warnings.append(
            f"the answer cites {coverage.documents} of {scope} documents (fewer than {needed});"
            " it may not be representative"
        )
    for key, found in sorted(coverage.groups.items()):
        values = len(found.represented) + len(found.missing)
        if values <= FEW_VALUES and len(found.represented) < GROUP_SHARE * values:
            missing = ", ".join(found.missing[:NAMED]) + (", …" if len(found.missing) > NAMED else "")
            warnings.append(
                f"the answer draws on {len(found.represented)} of {values} values of {key}; not on {missing}"
            )
    return warnings


# --------------------------------------------------------------------------- counts

Passages = Mapping[PassageKey, tuple[str, str]]
"""Passages with their document and chunk ids."""


def _cited(run: Run) -> Passages:
    if run.citations:
        return {
            passage_key(item.document_id, item.revision, item.chunk_id): (item.document_id, item.chunk_id)
            for item in run.citations
            if not item.web
        }
    if run.overview is None:
        return _evidence(run)
    quotes = [quote for community in run.overview.communities.values() for quote in community.quotes]
    return {
        passage_key(item.document_id, item.revision, item.chunk_id): (item.document_id, item.chunk_id)
        for item in quotes
    }


def _evidence(run: Run) -> Passages:
    return {
        passage_key(chunk.document_id, chunk.revision, chunk.id): (chunk.document_id, chunk.id)
        for chunk in run.chunks
        if not chunk.level and not chunk.web
    }


def _view(run: Run) -> TreeView | None:
    if run.snapshot.state.tree is None:
        return None
    view = open_tree(run.snapshot)
    for note in view.notes:
        run.ledger.degrade(note)
    return view


def _communities(run: Run, passages: Collection[PassageKey], of_entity: Mapping[str, int]) -> frozenset[int]:
    mentioned = run.snapshot.mention_entities(sorted(passages))
    return frozenset(of_entity[entity] for found in mentioned.values() for entity, _ in found if entity in of_entity)


def _assertions(run: Run, view: TreeView, level: int) -> dict[int, int]:
    """Assertions by the community of their subject; those of subjects without one under -1."""
    claims = run.snapshot.community_claims()
    of_entity = view.community_of(level)
    numbers = np.array([of_entity.get(entity, -1) for entity in claims.entities], dtype=np.int64)
    found, counts = np.unique(numbers[claims.subject], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _groups(run: Run, documents: Collection[str]) -> dict[str, GroupCoverage]:
    found = run.snapshot.documents_of(sorted(documents))
    groups = {}
    for key, values in sorted(run.snapshot.group_counts().items()):
        held = {document.metadata[key] for document in found.values() if key in document.metadata}
        groups[key] = GroupCoverage(
            represented=tuple(value for value in sorted(values) if value in held),
            missing=tuple(value for value in sorted(values) if value not in held),
        )
    return groups
