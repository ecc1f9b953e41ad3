"""Small to big: what was matched is a short passage, what is read is that passage with its neighbours.

The window is one passage on each side, of the same revision of the same document. Windows that share a passage become
one, under the id of the better match. The token budget comes first: neighbours are added as long as they fit, those of
the best match first, so that windows shrink before a passage is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from evigraph.query.assemble import passage_budget
from evigraph.query.run import Run
from evigraph.query.strategy import NEIGHBOURS
from evigraph.store.keys import PassageKey, passage_key
from evigraph.store.windows import Place
from evigraph.types import Chunk

Window = set[PassageKey]


def widen(run: Run) -> None:
    """Widen the run's passages. Summaries and web results stay as they are: they have no place in a document."""
    with run.ledger.stage("parent_context", given=len(run.chunks), of="chunks") as stage:
        matches = {_key(chunk): chunk for chunk in run.chunks if _placed(chunk)}
        known = run.snapshot.places([key for match in matches for key in _around(match)])
        sizes = [chunk.token_count for chunk in matches.values()]
        from_web = sum(chunk.token_count for chunk in run.chunks if chunk.web)
        budget = passage_budget(run.request) - from_web
        sure = _fitting(sizes, budget)
        free = budget - sum(sizes[: _fitting(sizes, run.request.max_context_tokens - from_web)])
        windows, left_out = _windows(list(matches), sure, known, free)
        groups = _joined(list(matches), windows)
        widened = {members[0]: _widened(members, window, matches, known) for members, window in groups}
        texts = run.snapshot.span_texts([(key.revision_key, one.start, one.end) for key, one in widened.items()])
        found = [
            replace(widened[key], text=texts[key.revision_key, widened[key].start, widened[key].end])
            if (key := _key(chunk)) in widened and _placed(chunk)
            else chunk
            for chunk in run.chunks
            if not _placed(chunk) or _key(chunk) in widened
        ]
        stage.lose(len(run.chunks) - len(found), "in the window of a better match")
        run.chunks = stage.hand_on(found, kind=Chunk, most=len(run.chunks))
    added = {key for window in windows for key in window} - matches.keys()
    run.ledger.count(
        "parent_context",
        {
            "matched": len(matches),
            "merged": len(matches) - len(groups),
            "neighbours": len(added),
            "neighbours_over_budget": left_out,
        },
    )


def _placed(chunk: Chunk) -> bool:
    return not chunk.level and not chunk.web


def _key(chunk: Chunk) -> PassageKey:
    return passage_key(chunk.document_id, chunk.revision, chunk.id)


def _around(match: PassageKey) -> list[PassageKey]:
    """The match and its neighbours, should the document have them."""
    first = max(0, match.passage_index - NEIGHBOURS)
    return [match._replace(passage_index=at) for at in range(first, match.passage_index + NEIGHBOURS + 1)]


def _fitting(sizes: Sequence[int], budget: int) -> int:
    """How many of the first passages fit, the first in any case."""
    return max(1, sum(total <= budget for total in accumulate(sizes)))


def _windows(
    matches: Sequence[PassageKey], sure: int, known: Mapping[PassageKey, Place], free: int
) -> tuple[list[Window], int]:
    """The window of each match within `free` further tokens, and how many neighbours did not fit.

    Only the first `sure` matches are widened or part of another's window: whether there is room for the others is not
    known yet, and in the window of a better one they would escape the budget.
    """
    windows: list[Window] = [{match} for match in matches]
    taken, unsure = set(matches[:sure]), set(matches[sure:])
    left_out = 0
    for distance in range(1, NEIGHBOURS + 1):
        for match, window in zip(matches[:sure], windows, strict=False):
            for side in (-1, 1):
                nearer = match._replace(passage_index=match.passage_index + side * (distance - 1))
                key = match._replace(passage_index=match.passage_index + side * distance)
                if key not in known or nearer not in window:
                    continue
                # A passage that another window holds already is read in any case: it costs nothing more.
                cost = 0 if key in taken else known[key].token_count
                if key in unsure or cost > max(0, free):
                    left_out += 1
                    continue
                free -= cost
                taken.add(key)
                window.add(key)
    return windows, left_out


def _joined(matches: Sequence[PassageKey], windows: Sequence[Window]) -> list[tuple[list[PassageKey], Window]]:
    """Windows that share a passage as one, with the matches in them, best first; in the order of these."""
    groups: list[tuple[list[int], Window]] = []
    for number, window in enumerate(windows):
        shared = [group for group in groups if group[1] & window]
        numbers = sorted([number, *(at for group in shared for at in group[0])])
        merged = set(window).union(*(group[1] for group in shared))
        groups = [group for group in groups if group not in shared]
        groups.append((numbers, merged))
    in_order = sorted(groups, key=lambda group: group[0][0])
    return [([matches[at] for at in numbers], window) for numbers, window in in_order]


def _widened(
    members: Sequence[PassageKey],
    window: Window,
    matches: Mapping[PassageKey, Chunk],
    known: Mapping[PassageKey, Place],
) -> Chunk:
    """The best match with the window's span, still without its text."""
    read = [known[key] for key in sorted(window)]
    return replace(
        matches[members[0]],
        start=read[0].start,
        end=read[-1].end,
        sentences=tuple(span for one in read for span in one.sentences),
        token_count=sum(one.token_count for one in read),
        matched=tuple(sorted((matches[key].start, matches[key].end) for key in members)),
        pages=tuple((one.start, one.page) for one in read if one.page is not None),
    )
