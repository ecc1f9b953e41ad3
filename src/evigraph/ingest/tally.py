"""Running counts of one document on its way into the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evigraph.ingest.fingerprint import TreeMark
from evigraph.ingest.tree.build import TreeBuilder
from evigraph.types import Extraction, Passage


class Tally:
    """Counts what was prepared. `passages` and `terms` are those of level 0; `tree` tells of the summaries above."""

    def __init__(self) -> None:
        self.language = ""
        self.passages = 0
        self.terms = 0
        self.assertions = 0
        self.summaries = 0
        self.incomplete = False
        self.tree = TreeMark.NONE
        self.entities: set[str] = set()
        self.warnings: set[str] = set()

    def add(self, window: Sequence[Passage], terms: Sequence[Mapping[str, int]], extraction: Extraction) -> None:
        self.passages += len(window)
        self.terms += sum(sum(counts.values()) for counts in terms)
        self.assertions += len(extraction.assertions)
        self.entities |= {mention.entity_id for mention in extraction.mentions}
        self.warnings |= set(extraction.warnings)
        self.incomplete = self.incomplete or extraction.incomplete

    def add_tree(self, tree: TreeBuilder, warnings: Iterable[str]) -> None:
        self.summaries = tree.made.total()
        self.tree = TreeMark.INCOMPLETE if tree.incomplete else TreeMark.WHOLE
        self.warnings |= set(warnings)
