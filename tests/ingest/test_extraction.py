"""What every extractor's result goes through before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evigraph.ingest.extraction import distinct
from evigraph.types import Extraction, Passage
from small import OneStore, RuleExtractor, item


class Twice(RuleExtractor):
    """Makes every claim twice, surer the second time."""

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        found = super().extract(passages, title=title, language=language)
        again = tuple(replace(claim, confidence=1.0) for claim in found.assertions)
        return replace(found, assertions=(*found.assertions, *again))


def test_an_assertion_id_is_one_assertion_for_any_extractor(tmp_path: Path) -> None:
    store = OneStore(tmp_path)
    try:
        once, twice = store.engine(), store.engine(extractor=Twice("rules"))
        text = "Corrick Vane delivered pumps to Tarn. Hana Sefu trained Joseph Amarra."
        reports = [engine.index([item("d", text)]) for engine in (once, twice)]
        assert reports[0].documents[0].assertions == reports[1].documents[0].assertions == 2
        assert list(twice.export())[1:] == list(once.export())[1:]
    finally:
        store.close()


def test_an_extraction_without_repeats_is_left_as_it_is() -> None:
    extraction = Extraction()
    assert distinct(extraction) is extraction
