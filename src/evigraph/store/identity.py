"""Which entities count as one within a scope: the merges that stand, narrowed to what the scope mentions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evigraph.views import Merge


@dataclass(frozen=True, kw_only=True, slots=True)
class Identities:
    """`canonical` maps each merged entity (representatives included) to its representative in scope; `members` the
    other way round; `names` each merged entity to its `(key, type)`. Entities that no merge touches are in none."""

    canonical: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, entity_id: str) -> str:
        """The representative of an entity: itself, unless it was merged."""
        return self.canonical.get(entity_id, entity_id)

    def expand(self, entity_ids: Iterable[str]) -> list[str]:
        """The given entities and all that are merged with one of them, sorted."""
        found: set[str] = set()
        for entity_id in entity_ids:
            found.update(self.members.get(self.of(entity_id), (entity_id,)))
        return sorted(found)

    def keys_of(self, key: str) -> tuple[str, ...]:
        """Names under which reads show what a passage calls `key`: those of representatives, and `key` itself, which
        an entity of another type that is not merged may bear."""
        others = {self.names[self.canonical[entity_id]][0] for entity_id in self._called(key)}
        return (*sorted(others - {key}), key)

    def behind(self, keys: Iterable[str]) -> list[str]:
        """The given names and all that members of an entity shown under one of them bear in passages, sorted."""
        wanted = set(keys)
        found = set(wanted)
        for representative, members in self.members.items():
            if self.names[representative][0] in wanted:
                found.update(self.names[member][0] for member in members)
        return sorted(found)

    def _called(self, key: str) -> list[str]:
        return [entity_id for entity_id, (name, _) in self.names.items() if name == key]


def groups(merges: Sequence[Merge]) -> dict[str, frozenset[str]]:
    """Each entity that a merge names, with all that count as one with it."""
    return {entity_id: frozenset(group) for entity_id, (group, _) in _joined(merges).items()}


def identities(merges: Sequence[Merge], visible: Mapping[str, tuple[str, str]]) -> Identities:
    """Join the merges that share an entity. A group keeps its members that are `visible`, which maps an entity to its
    `(key, type)`; its representative is the canonical one of its latest merge if that is among them, else the first by
    id. A name that only unseen passages carry thus never stands for a seen entity."""
    canonical: dict[str, str] = {}
    members: dict[str, tuple[str, ...]] = {}
    for entity_id, (group, preferred) in sorted(_joined(merges).items()):
        kept = sorted(group & visible.keys())
        if entity_id in kept and len(kept) > 1:
            representative = preferred if preferred in visible else kept[0]
            canonical[entity_id] = representative
            members[representative] = tuple(kept)
    return Identities(
        canonical=canonical, members=members, names={entity_id: visible[entity_id] for entity_id in canonical}
    )


def _joined(merges: Sequence[Merge]) -> dict[str, tuple[set[str], str]]:
    """Each merged entity with its group and the canonical entity of the group's latest merge."""
    group_of: dict[str, set[str]] = {}
    preferred: dict[str, str] = {}
    for merge in merges:
        group: set[str] = set()
        for entity_id in merge.entities:
            group |= group_of.get(entity_id, {entity_id})
        for entity_id in group:
            group_of[entity_id] = group
            preferred[entity_id] = merge.canonical
    return {entity_id: (group, preferred[entity_id]) for entity_id, group in group_of.items()}


def narrowed(merges: Sequence[Merge], visible: Container[str]) -> list[Merge]:
    """The merges as a scope may show them: with the members it mentions alone, and without a reason, which may name the
    others, where it does not mention all. One of which it mentions fewer than two is left out: it joins nothing here,
    and would tell that there is another."""
    shown = []
    for merge in merges:
        seen = tuple(entity_id for entity_id in merge.entities if entity_id in visible)
        if len(seen) == len(merge.entities) and merge.canonical in seen:
            shown.append(merge)
        elif len(seen) > 1:
            canonical = merge.canonical if merge.canonical in seen else min(seen)
            shown.append(replace(merge, entities=seen, canonical=canonical, reason=""))
    return shown


def without(merges: Sequence[Merge], forgotten: Container[str]) -> list[Merge | None]:
    """The merges without entities that nothing mentions any more, such that those left are one exactly if they were
    before; None for a merge that no longer says anything. Where A and B, then B and C were merged and B is forgotten,
    the second says that A and C are one. A canonical entity that is forgotten becomes "", which prefers none."""
    reduced: list[Merge | None] = []
    for position, merge in enumerate(merges):
        if not any(entity_id in forgotten for entity_id in (merge.canonical, *merge.entities)):
            reduced.append(merge)
            continue
        before = groups(merges[:position])
        kept: set[str] = set()
        for entity_id in merge.entities:
            left = sorted(e for e in before.get(entity_id, {entity_id}) if e not in forgotten)
            kept.update([entity_id] if entity_id not in forgotten else left[:1])
        group = groups(merges[: position + 1])[merge.entities[0]]
        # With one member left it joins nothing, but it still decides which entity of its group stands for the others.
        if kept and sum(1 for entity_id in group if entity_id not in forgotten) > 1:
            canonical = "" if merge.canonical in forgotten else merge.canonical
            reduced.append(replace(merge, entities=tuple(sorted(kept)), canonical=canonical, reason=""))
        else:
            reduced.append(None)
    return reduced
