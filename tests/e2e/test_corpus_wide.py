"""Corpus-wide questions over the whole sample: what they draw on, and what a single neighbourhood would have given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

from evigraph import Evigraph
from evigraph.sample import corpus_path, questions_path

pytestmark = pytest.mark.verify

LOCAL = "What did the water programme in the eastern districts report about borehole maintenance?"
GLOBAL = "What themes recur across all regions over the decade?"
REGIONS = ("central", "coastal", "eastern", "northern", "southern", "western")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evigraph]:
    with Evigraph(tmp_path_factory.mktemp("wide") / "store") as engine:
        engine.index(corpus_path())
        engine.communities.build()
        yield engine


def sources(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_question_about_the_whole_draws_on_every_region_and_says_so(graph: Evigraph) -> None:
    answer = graph.ask(GLOBAL, mode="auto")
    assert answer.evidence.route is not None and answer.evidence.route.route == "global"
    coverage = answer.evidence.coverage
    assert coverage is not None
    assert coverage.groups["region"].represented == REGIONS
    regions = {graph.document(citation.document_id).metadata["region"] for citation in answer.citations}
    assert regions == set(REGIONS), "what is stated is what is cited"
    assert answer.text is not None and "region: 6 of 6" in answer.text
    assert not answer.degraded


def test_a_question_about_one_programme_is_answered_from_its_reports(graph: Evigraph) -> None:
    answer = graph.ask(LOCAL, mode="auto")
    assert answer.evidence.route is not None and answer.evidence.route.route == "local"
    assert not answer.abstained and answer.citations
    regions = {graph.document(citation.document_id).metadata["region"] for citation in answer.citations}
    assert "eastern" in regions


def test_the_whole_forced_into_one_neighbourhood_shows_how_narrow_that_is(graph: Evigraph) -> None:
    wide = graph.ask(GLOBAL, mode="auto").evidence.coverage
    forced = graph.ask(GLOBAL, mode="local")
    narrow = forced.evidence.coverage
    assert wide is not None and narrow is not None
    assert 0 < narrow.documents <= 10
    assert wide.documents > 60
    assert narrow.assertions < wide.assertions
    assert forced.abstained or any(sentence.startswith("coverage: ") for sentence in forced.degraded)


def test_the_documents_of_planted_themes_are_cited(graph: Evigraph) -> None:
    recalls = {}
    for question in sources(questions_path()):
        if question["type"] == "corpus_wide":
            answer = graph.ask(str(question["question"]), mode="thematic_overview")
            gold = set(question["gold"])  # type: ignore[call-overload]
            recalls[question["id"]] = len(gold & {citation.source for citation in answer.citations}) / len(gold)
    assert len(recalls) == 12
    assert mean(recalls.values()) >= 0.8, recalls
