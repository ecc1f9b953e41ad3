"""Profiles also of entities that no passage mentions: imports may name some in assertions alone."""

from __future__ import annotations

from collections.abc import Sequence

from evigraph.store.entities import EntityReading
from evigraph.store.rows import EntityProfile
from evigraph.store.schema import SchemaReading


class AssertedReading(EntityReading, SchemaReading):
    """Mentioned and merely asserted entities alike."""

    def known_profiles(self, entity_ids: Sequence[str]) -> dict[str, EntityProfile]:
        """As `profiles`, and of the entities that only assertions name what those say: no passage counts for them. Such
        an entity is never part of a merge."""
        found = self.profiles(entity_ids)
        unmentioned = [entity_id for entity_id in entity_ids if self.identities.of(entity_id) not in found]
        labels = self.entity_labels(unmentioned)
        described = self._described(sorted(labels)) if labels else {}
        for entity_id, (name, kind) in labels.items():
            description, degree, extractor, confidence = described[entity_id]
            found[entity_id] = EntityProfile(
                entity_id=entity_id,
                name=name,
                type=kind,
                description=description,
                extractor=extractor,
                confidence=float(confidence),
                degree=degree,
                passages=(),
                passage_count=0,
            )
        return found
