"""Communities as the evidence of a question: which are shown, and their summaries as chunks."""

from __future__ import annotations

from dataclasses import replace

from evigraph.communities import Community
from evigraph.query.assemble import CHARS_PER_TOKEN
from evigraph.query.overview.state import Overview
from evigraph.query.run import Run
from evigraph.types import Chunk

SUMMARY_LEVEL = 1
"""`Chunk.level` of the summary of a community, whichever level of the tree that is on."""


def shown(run: Run, overview: Overview) -> list[Community]:
    """The communities that an answer draws on, then those next in usefulness, up to `max_chunks`."""
    drawn = sum(bool(theme.sentences) for theme in overview.themes)
    numbers = [theme.number for theme in overview.themes[: max(drawn, run.request.max_chunks)]]
    for community in overview.view.communities(numbers):
        overview.communities[int(community.id[1:])] = community
    return [overview.communities[number] for number in numbers]


def with_map(overview: Overview) -> list[Community]:
    """The shown communities with what the map step made of each, most useful first."""
    mapped = [
        replace(
            overview.communities[theme.number],
            usefulness=theme.usefulness if theme.mapped else None,
            partial=theme.partial,
        )
        for theme in overview.themes
        if theme.number in overview.communities
    ]
    place = {community.id: at for at, community in enumerate(mapped)}
    return sorted(mapped, key=lambda item: (-(item.usefulness if item.usefulness is not None else -1), place[item.id]))


def summary_chunk(community: Community, score: float) -> Chunk:
    """A summary as evidence: of no document, without a span, resting on the chunks of its sentences. Its tokens are
    those of the summary with its sentences, as a context shows them."""
    shown = len(community.summary) + sum(len(quote.text) + len(quote.source) for quote in community.quotes)
    return Chunk(
        id=community.id,
        document_id="",
        revision=0,
        source="",
        title=community.title,
        text=community.summary,
        start=0,
        end=0,
        token_count=shown // CHARS_PER_TOKEN + 1,
        score=score,
        level=SUMMARY_LEVEL,
        supports=tuple(dict.fromkeys(quote.chunk_id for quote in community.quotes)),
    )
