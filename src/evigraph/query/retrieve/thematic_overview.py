"""`thematic_overview`: the communities of one level, mapped to the question; their entities and relationships."""

from __future__ import annotations

from collections.abc import Sequence

from evigraph.community.read import TreeView, open_tree
from evigraph.query.ledger import repeated
from evigraph.query.overview.apart import rank_apart
from evigraph.query.overview.mapped import shown, summary_chunk
from evigraph.query.overview.relevance import beside_the_point
from evigraph.query.overview.state import Overview, Relevance, Theme, left_out, part_of
from evigraph.query.overview.themes import affinities, main_communities, themes_of
from evigraph.query.overview.topic import metadata_keys, topic_of
from evigraph.query.run import Retrieved, Run
from evigraph.types import Relationship

DEFAULT_LEVEL = 0
"""Where the request names none: the broadest communities are few enough to be themes, and to be asked one by one. Finer
levels cite the same documents (`bench/overview.py`) at several times the calls."""
EDGES = 2_000
"""Assertions of shown communities that are looked at."""


def retrieve(run: Run) -> Retrieved:
    run.corpus_wide = True
    with run.ledger.stage("communities") as stage:
        view = open_tree(run.snapshot)
        level = _level(run, view)
        found = [node.number for node in view.at(level)]
        numbers = stage.hand_on(found, because="the scope holds no entity", kind=int, check=_twice)
        of_entity = dict(view.community_of(level))
    topic = topic_of(run.asked.text, run.counts.languages, metadata_keys(run))
    relevance = rank_apart(run, topic, lambda keys: main_communities(run, of_entity, keys))
    _report(run, relevance)
    reason = beside_the_point(run, relevance)
    if reason is not None:
        _notes(run, view)
        return Retrieved(retrieval="communities", empty=reason)
    with run.ledger.stage("map") as stage:
        ranked = [key for key, _ in relevance.passages]
        affinity = affinities(run, of_entity, ranked)
        themes, stray = themes_of(numbers, affinity, relevance)
        themes = stage.hand_on(
            themes,
            because="there is no community",
            kind=Theme,
            check=lambda found: _twice([theme.number for theme in found]),
        )
    run.overview = Overview(
        view=view,
        level=level,
        relevance=relevance,
        themes=themes,
        affinity=affinity,
        of_entity=of_entity,
        stray=stray,
        orders=set(relevance.orders),
    )
    run.overview.consulted = run.overview.spoken_of(relevance.read)
    run.ledger.count("communities_at_level", len(numbers))
    run.ledger.count("overview_topical", relevance.topical)
    return _retrieved(run, run.overview)


def _twice(numbers: Sequence[int]) -> str | None:
    return repeated("community", numbers)


def _level(run: Run, view: TreeView) -> int:
    """The level asked for; the finest, which is said, where the tree is not that deep."""
    asked = DEFAULT_LEVEL if run.request.community_level is None else run.request.community_level
    level = max(0, min(asked, view.levels - 1))
    run.ledger.count("community_level", level)
    run.ledger.count("community_levels", view.levels)
    run.ledger.count("community_level_clipped", asked > level)
    if asked > level:
        run.ledger.degrade(f"community_level: there is no level {asked} in this scope; the finest, {level}, was used")
    return level


def _report(run: Run, relevance: Relevance) -> None:
    """Counts of what was ranked and read, and the safety caps that left something out."""
    ranked, read = len(relevance.passages), len({part_of(key) for key in relevance.read})
    run.ledger.count("passages_ranked", ranked)
    run.ledger.count("passages_read", len(relevance.read))
    run.ledger.count("parts", relevance.parts)
    run.ledger.count("parts_read", read)
    run.ledger.count("instructions_left_out", len(relevance.orders))
    if relevance.cut:
        run.ledger.degrade(f"overview: sentences of {read} of {relevance.parts} parts were read (safety cap)")
    if not relevance.topical and ranked < run.counts.passages:
        run.ledger.degrade(f"overview: {ranked} of {run.counts.passages} passages were ranked (safety cap)")
    if relevance.orders:
        run.ledger.degrade(f"overview: {left_out(len(relevance.orders))}")


def _retrieved(run: Run, overview: Overview) -> Retrieved:
    communities = shown(run, overview)
    _notes(run, overview.view)
    first = communities[: run.request.max_chunks]
    members = list(dict.fromkeys(entity for community in first for entity in community.entities))
    worth = {theme.number: theme.weight for theme in overview.themes}
    return Retrieved(
        summaries=tuple(summary_chunk(item, worth[int(item.id[1:])]) for item in communities),
        entities=tuple((entity, None) for entity in members),
        relationships=tuple(_relationships(run, overview, members[: run.request.max_entities])),
        retrieval="communities",
    )


def _relationships(run: Run, overview: Overview, members: list[str]) -> list[Relationship]:
    """Assertions between two members of one community, in the order of the members, the strongest first."""
    edges = run.snapshot.edges_of(members, per_node_limit=run.request.per_node_limit, limit=EDGES)
    place = {entity: at for at, entity in enumerate(members)}
    inside = {
        edge.id: edge
        for edge in sorted(edges, key=lambda edge: place[edge.origin])
        if edge.other in place and overview.of_entity.get(edge.origin) == overview.of_entity.get(edge.other)
    }
    kept = list(inside.values())[: run.request.max_relationships]
    found = run.snapshot.assertions_at(kept)
    return [found[edge.id] for edge in kept if edge.id in found]


def _notes(run: Run, view: TreeView) -> None:
    for note in view.notes:
        run.ledger.degrade(note)
