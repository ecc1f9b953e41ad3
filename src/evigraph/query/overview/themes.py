"""The map step without a model: which communities speak to the question, and with which sentences.

A sentence belongs to the community that its passage speaks of most: of its entities, those named in few passages count
most. That community is a theme of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evigraph.query.overview.state import Candidate, Relevance, Theme
from evigraph.query.run import Run
from evigraph.query.understand import rarity
from evigraph.store.keys import PassageKey

MOST_THEMES = 12
"""Themes of an answer, so that it can be read."""

Affinity = Mapping[PassageKey, Mapping[int, float]]
"""How much each passage speaks of each community."""


def affinities(
    run: Run, of_entity: Mapping[str, int], keys: Iterable[PassageKey]
) -> dict[PassageKey, dict[int, float]]:
    """Weight of each community's entities in each passage, rare names first."""
    rows = run.snapshot.mentions_in(sorted(set(keys)))
    names = run.snapshot.names([row.key for row in rows])
    found: dict[PassageKey, dict[int, float]] = {}
    for row in rows:
        number = of_entity.get(row.entity_id)
        if number is not None:
            rare = rarity(names[row.key].passages, run.counts.passages) if row.key in names else 0.0
            held = found.setdefault(row.passage, {})
            held[number] = held.get(number, 0.0) + row.weight * (rare + 0.01)
    return found


def main_communities(run: Run, of_entity: Mapping[str, int], keys: Sequence[PassageKey]) -> dict[PassageKey, int]:
    """The community that each passage speaks of most; none of one that names no entity."""
    found = affinities(run, of_entity, keys)
    return {key: _heaviest(weights, list(weights)) for key, weights in found.items()}


def themes_of(numbers: Sequence[int], affinity: Affinity, relevance: Relevance) -> tuple[list[Theme], list[Candidate]]:
    """All communities as themes, those with sentences to cite first; and cited sentences that belong to none."""
    themes = {number: Theme(number=number) for number in numbers}
    for item in relevance.sentences:
        number = _strongest(affinity.get(item.key, {}), themes)
        if number is not None:
            themes[number].usefulness = max(themes[number].usefulness, round(100 * item.worth))
    stray = _share_out(list(relevance.cited), affinity, themes)
    kept = sorted((theme for theme in themes.values() if theme.sentences), key=_order)[:MOST_THEMES]
    for theme in themes.values():
        if theme.sentences and theme not in kept:
            stray += theme.sentences
            theme.sentences, theme.weight = [], 0.0
    stray = _share_out(stray, affinity, {theme.number: theme for theme in kept})
    if not relevance.topical:
        _by_recurrence(list(themes.values()))
    for theme in kept:
        theme.sentences.sort(key=lambda item: (-item.score, item.chunk.document_id, item.sentence.start))
    return sorted(themes.values(), key=_order), stray


def _order(theme: Theme) -> tuple[float, int, int]:
    return -theme.weight, -theme.usefulness, theme.number


def _share_out(items: Sequence[Candidate], affinity: Affinity, themes: Mapping[int, Theme]) -> list[Candidate]:
    """Give each sentence to its strongest theme; return those that have none."""
    left = []
    for item in items:
        number = _strongest(affinity.get(item.key, {}), themes)
        if number is None:
            left.append(item)
        else:
            themes[number].sentences.append(item)
            themes[number].weight = round(themes[number].weight + item.worth + 0.01, 6)
    return left


def _strongest(weights: Mapping[int, float], among: Mapping[int, Theme]) -> int | None:
    known = [number for number in weights if number in among]
    return _heaviest(weights, known) if known else None


def _heaviest(weights: Mapping[int, float], among: Sequence[int]) -> int:
    return min(among, key=lambda number: (-round(weights[number], 6), number))


def _by_recurrence(themes: Sequence[Theme]) -> None:
    """Where everything is asked about, what most documents speak of is most useful."""
    most = max((len(theme.sentences) for theme in themes), default=0)
    for theme in themes:
        theme.usefulness = round(100 * len(theme.sentences) / most) if most else 0
