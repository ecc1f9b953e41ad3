"""Coverage: what is counted, against a recount; when an answer is thin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evigraph import Evigraph
from evigraph.communities import Coverage, GroupCoverage
from evigraph.query.coverage import cover, coverage_of, sentence, thin
from evigraph.query.overview import relevance
from evigraph.query.pipeline import STEPS
from evigraph.query.request import parse
from evigraph.store import Snapshot
from small import OneStore
from wide import CORPUS, EVERYTHING, QUESTION

METADATA = {entry["document_id"]: entry["metadata"] for entry in CORPUS}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("coverage"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wide(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(CORPUS)
    graph.communities.build()
    return graph


@pytest.mark.parametrize("question", [QUESTION, EVERYTHING])
@pytest.mark.parametrize("options", [{}, {"community_level": 1}, {"metadata_filter": {"programme": "water"}}])
def test_counts_are_those_of_a_recount(wide: Evigraph, question: str, options: dict[str, object]) -> None:
    answer = wide.ask(question, mode="thematic_overview", **options)
    found = answer.evidence.coverage
    assert found is not None
    cited = {citation.document_id for citation in answer.citations}
    wanted = options.get("metadata_filter", {})
    scope = {name for name, held in METADATA.items() if wanted.items() <= held.items()}  # type: ignore[attr-defined]
    assert (found.documents, found.documents_in_scope) == (len(cited), len(scope))
    # The communities, by their members, and the entities of cited passages, by mentions.
    level = int(options.get("community_level", 0))  # type: ignore[call-overload]
    with wide.queries.open(parse({"query": question, **options})) as run:
        from evigraph.community.read import open_tree

        view = open_tree(run.snapshot)
        members = {node.number: set(view.members(node.number)) for node in view.at(level)}
        keys = [
            key
            for key in {hit.key for hit in run.snapshot.nearest_passages(run.embedder().embed(["x"])[0], 100)}
            if run.snapshot.chunks([key])[key].id in {citation.chunk_id for citation in answer.citations}
        ]
        mentioned = {row.entity_id for row in run.snapshot.mentions_in(keys)}
        made = run.snapshot.community_claims()
    drawn = [number for number, ids in members.items() if ids & mentioned]
    assert (found.communities, found.communities_in_scope) == (len(drawn), len(members))
    assert found.communities_consulted == len(members)
    assert found.assertions == found.assertions_in_scope == len(made.subject) > 0
    for key in ("region", "programme"):
        values = {METADATA[name][key] for name in scope}
        if len(values) < 2:
            assert key not in found.groups
            continue
        represented = {METADATA[name][key] for name in cited}
        assert found.groups[key] == GroupCoverage(
            represented=tuple(sorted(represented)), missing=tuple(sorted(values - represented))
        )
    assert (answer.text or "").endswith(sentence(found))


def test_a_corpus_wide_question_answered_locally_shows_how_narrow_that_is(wide: Evigraph) -> None:
    question = "What did Mechanic Tarn visit?"
    with wide.queries.open(parse({"query": question, "mode": "local", "max_chunks": 1})) as run:
        run.corpus_wide = True
        for step in STEPS:
            step(run)
        assert run.abstain_reason is None
        assert run.coverage is not None
        assert run.coverage.documents == 1
        assert 0 < run.coverage.communities <= run.coverage.communities_consulted < run.coverage.communities_in_scope
        assert 0 < run.coverage.assertions < run.coverage.assertions_in_scope
        assert run.coverage.groups["region"].missing == ("east", "south")
        assert (run.text or "").endswith(sentence(run.coverage))
        assert any("cites 1 of 12 documents" in reason for reason in run.ledger.degraded)
        assert any("1 of 3 values of region; not on east, south" in reason for reason in run.ledger.degraded)


def test_without_a_tree_other_modes_cluster_nothing_to_count(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = store.engine()
    graph.index(CORPUS)
    monkeypatch.setattr(Snapshot, "community_graph", lambda self: pytest.fail("was clustered"))
    with graph.queries.open(parse({"query": QUESTION, "mode": "naive"})) as run:
        run.corpus_wide = True
        for step in STEPS:
            step(run)
        found = run.coverage
    assert found is not None
    assert found.documents > 0
    assert set(found.groups) == {"region", "programme"}
    assert (found.communities, found.communities_consulted, found.communities_in_scope) == (0, 0, 0)
    assert (found.assertions, found.assertions_in_scope) == (0, 0)
    assert not [reason for reason in run.ledger.degraded if reason.startswith("communities")]
    assert "communities" not in (run.text or "")


def test_consulted_are_those_that_a_passage_which_was_read_speaks_of(
    wide: Evigraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance, "CANDIDATES", 3)
    with wide.queries.open(parse({"query": QUESTION, "mode": "thematic_overview"})) as run:
        for step in STEPS:
            step(run)
        assert run.overview is not None
        assert run.coverage is not None
        of_entity = run.overview.view.community_of(0)
        rows = run.snapshot.mentions_in(sorted(run.overview.relevance.read))
        claims = run.snapshot.community_claims()
    read = {of_entity[row.entity_id] for row in rows}
    assert len(run.overview.relevance.read) == 3
    assert run.coverage.communities_consulted == len(read) < run.coverage.communities_in_scope
    subjects = [of_entity[claims.entities[at]] for at in claims.subject]
    assert run.coverage.assertions == sum(number in read for number in subjects) < len(subjects)
    assert run.coverage.communities <= len(read)


def test_other_answers_state_no_coverage(wide: Evigraph) -> None:
    answer = wide.ask("What did Mechanic Tarn visit?", mode="local")
    assert answer.evidence.coverage is None
    assert "Drawn from" not in (answer.text or "")


def test_evidence_without_an_answer_counts_what_it_rests_on(wide: Evigraph) -> None:
    evidence = wide.retrieve(QUESTION, mode="thematic_overview")
    quoted = {quote.document_id for community in evidence.communities for quote in community.quotes}
    assert evidence.coverage is not None
    assert evidence.coverage.documents == len(quoted)


def test_an_empty_scope_has_no_coverage(wide: Evigraph) -> None:
    answer = wide.ask(QUESTION, mode="thematic_overview", metadata_filter={"region": "west"})
    assert answer.evidence.coverage is None


# ------------------------------------------------------------------ the sentence and the warnings

SOME = Coverage(
    documents=48,
    documents_in_scope=72,
    communities=21,
    communities_consulted=22,
    communities_in_scope=23,
    assertions=900,
    assertions_in_scope=1_000,
    groups={
        "region": GroupCoverage(represented=("a", "b", "c"), missing=("d", "e", "f")),
        "author": GroupCoverage(represented=("x",), missing=tuple(f"y{n}" for n in range(20))),
    },
)


def test_the_sentence_names_groups_of_few_values() -> None:
    assert sentence(SOME) == (
        "Drawn from 48 of 72 documents, 21 of 23 communities (90% of assertions consulted); region: 3 of 6."
    )
    assert sentence(Coverage(documents=1, documents_in_scope=1)) == "Drawn from 1 of 1 documents."


@pytest.mark.parametrize(
    ("cited", "scope", "is_thin"),
    [
        (1, 1, False),
        (2, 2, False),
        (1, 2, True),
        (2, 72, True),
        (7, 72, True),
        (8, 72, False),
        (3, 20, False),
        (11, 1_000_000, True),
        (12, 1_000_000, False),
    ],
)
def test_few_documents_make_an_answer_thin(cited: int, scope: int, is_thin: bool) -> None:
    assert bool(thin(Coverage(documents=cited, documents_in_scope=scope))) == is_thin


def test_less_than_half_of_few_values_makes_an_answer_thin() -> None:
    assert thin(SOME) == []
    narrow = replace(SOME, groups={"region": GroupCoverage(represented=("a",), missing=("b", "c"))})
    assert thin(narrow) == ["the answer draws on 1 of 3 values of region; not on b, c"]


def test_nothing_is_counted_before_a_question_is_known_to_be_corpus_wide(wide: Evigraph) -> None:
    with wide.queries.open(parse({"query": QUESTION})) as run:
        cover(run)
        assert run.coverage is None
        assert coverage_of(run).documents == 0
