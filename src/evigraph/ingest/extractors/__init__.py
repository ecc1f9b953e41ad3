"""Extractors: who finds entities and claims in passages. `base` says what one is; `spacy_extractor` is the
default."""

from evigraph.config import Settings
from evigraph.ingest.extractors.base import Extractor

__all__ = ["Extractor", "make_extractor"]


def make_extractor(settings: Settings) -> Extractor:
    """The extractor the settings name. Its model is loaded on first use."""
    from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor

    return SpacyExtractor(settings.spacy_model)
