"""What an extractor is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from evigraph.types import Extraction, Passage


class Extractor(Protocol):
    """Finds entities and claims in the passages of one document.

    `name` identifies model, its version and the version of the rules around it: where it is equal, the same
    passages give the same extraction, so it decides whether stored results can be kept.
    """

    @property
    def name(self) -> str: ...

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        """Mentions and assertions of `passages`, all of one document with this `title` and ISO 639-1
        `language`.

        Offsets are absolute in the document. Every endpoint of an assertion has a mention in the same
        passage.
        """
        ...
