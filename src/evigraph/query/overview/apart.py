"""A scope of several embedding spaces ranked against a corpus-wide question: each by itself, then merged by reciprocal
rank. `worth` of a sentence stays what it is among those of its space; what bears on nothing there is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evigraph.query.fusion import best_first, rrf
from evigraph.query.overview.relevance import Communities, beside_the_point, rank
from evigraph.query.overview.state import Candidate, Relevance
from evigraph.query.overview.topic import Topic
from evigraph.query.run import Run
from evigraph.query.spaces import within


def rank_apart(run: Run, topic: Topic, communities: Communities) -> Relevance:
    """`rank`, space by space where the scope is of several."""
    if not run.divided:
        return rank(run, topic, communities)
    found: list[Relevance] = []
    bearing: list[Relevance] = []
    for space in run.spaces:
        with within(run, space):
            found.append(rank(run, topic, communities))
            if beside_the_point(run, found[-1]) is None:
                bearing.append(found[-1])
    if not bearing:
        # The same reason as if the nearest space were all there is.
        return max(found, key=lambda one: one.cosine + one.coverage / 10)
    return _merged(bearing)


def _merged(parts: Sequence[Relevance]) -> Relevance:
    passages = rrf([(1.0, [key for key, _ in one.passages]) for one in parts])
    cited = {_place(item) for one in parts for item in one.cited}
    sentences = _by_rank(parts)
    return Relevance(
        passages=tuple((key, passages[key]) for key in best_first(passages)),
        sentences=sentences,
        cited=tuple(item for item in sentences if _place(item) in cited),
        read=tuple(key for one in parts for key in one.read),
        parts=sum(one.parts for one in parts),
        cut=any(one.cut for one in parts),
        orders=tuple(dict.fromkeys(order for one in parts for order in one.orders)),
        topical=parts[0].topical,
        cosine=max(one.cosine for one in parts),
        coverage=max(one.coverage for one in parts),
        judged=True,
    )


def _by_rank(parts: Sequence[Relevance]) -> tuple[Candidate, ...]:
    """The sentences of all, with the score of their rank."""
    items = {_place(item): item for one in parts for item in one.sentences}
    scores = rrf([(1.0, [_place(item) for item in one.sentences]) for one in parts])
    return tuple(replace(items[place], score=round(scores[place], 9)) for place in best_first(scores))


def _place(item: Candidate) -> tuple[int, int, int]:
    return *item.key, item.sentence.start
