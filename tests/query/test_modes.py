"""Where evidence comes from: each mode's scores and ranks, limits, scope and budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.query.assemble import entity_line, relationship_line
from evigraph.query.fusion import round_robin
from evigraph.testing.models import ScriptedChat
from evigraph.types import CO_OCCURS, Chunk, Evidence, Mode
from small import PUMPS, OneStore, item

MODES = [mode for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)]
QUESTION = "Who delivered pumps to Tarn?"
NAMES = ["Hana Sefu", "Joseph Amarra", "Corrick Vane", "Marit Olsen", "Pieter Banda"]
PLACES = ["Tarn", "Lowani", "Dembure", "Ulwe"]


def many() -> list[dict[str, Any]]:
    """Sixteen notes in which the same people meet in the same places."""
    return [
        item(
            f"note{n}",
            f"{NAMES[n % 5]} delivered {n} pumps to {PLACES[n % 4]}. "
            f"{NAMES[(n + 1) % 5]} inspected the wells of {PLACES[(n + 2) % 4]} with {NAMES[(n + 2) % 5]}.",
            title=f"Note {n} from {PLACES[n % 4]}",
            metadata={"place": PLACES[n % 4]},
        )
        for n in range(16)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("modes"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def notes(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(many())
    graph.communities.build()
    return graph


@pytest.fixture(scope="module")
def pumps(store: OneStore) -> Evigraph:
    graph = store.engine()
    graph.index(PUMPS)
    return graph


def whole(graph: Evigraph, mode: str, **options: Any) -> Evidence:
    """Everything a mode ranks."""
    options = {"max_chunks": 200, "max_entities": 500, "max_context_tokens": 200_000, **options}
    return graph.retrieve(options.pop("question", QUESTION), mode=mode, **options)


def rank_of(chunk: Chunk, arm: str) -> int | None:
    rank: int | None = getattr(chunk, f"{arm}_rank")
    return rank


def rrf_term(weight: float, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (60 + rank)


# ------------------------------------------------------------------ what holds in every mode


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode is not Mode.HYBRID])
@pytest.mark.parametrize("question", [QUESTION, "Which wells were inspected?", "hana sefu in lowani"])
def test_an_arm_ranks_from_one_without_gaps_or_is_silent(notes: Evigraph, mode: str, question: str) -> None:
    found = whole(notes, mode, question=question)
    assert found.chunks or (mode is Mode.TRAVERSE and not found.stats["anchors"])
    for arm in ("vector", "bm25", "graph"):
        ranked = sorted((chunk for chunk in found.chunks if rank_of(chunk, arm)), key=lambda c: rank_of(c, arm) or 0)
        assert [rank_of(chunk, arm) for chunk in ranked] == list(range(1, len(ranked) + 1))
        scores = [getattr(chunk, f"{arm}_score") for chunk in ranked]
        assert scores == sorted(scores, reverse=True)
        assert all((getattr(chunk, f"{arm}_score") is None) == (rank_of(chunk, arm) is None) for chunk in found.chunks)
    assert all(0 <= (chunk.vector_score or 0) <= 1 for chunk in found.chunks)
    assert [chunk.score for chunk in found.chunks] == sorted((c.score for c in found.chunks), reverse=True)
    assert len({chunk.id for chunk in found.chunks}) == len(found.chunks)


def test_the_parts_of_hybrid_share_one_dense_ranking(notes: Evigraph) -> None:
    found = whole(notes, "hybrid", question="hana sefu in lowani")
    ranks = [chunk.vector_rank for chunk in found.chunks if chunk.vector_rank is not None]
    assert len(ranks) == len(set(ranks))


@pytest.mark.parametrize("mode", MODES)
def test_the_same_question_gives_the_same_evidence(notes: Evigraph, mode: str) -> None:
    one, other = whole(notes, mode), whole(notes, mode)
    assert (one.chunks, one.entities, one.relationships) == (other.chunks, other.entities, other.relationships)


@pytest.mark.parametrize("mode", MODES)
def test_evidence_is_whole_and_consistent(notes: Evigraph, mode: str) -> None:
    found = whole(notes, mode)
    texts = {info.document_id: notes.document_text(info.document_id) for info in notes.documents()}
    ids = {chunk.id for chunk in whole(notes, "naive", min_score=-1).chunks}
    for chunk in found.chunks:
        if chunk.level:
            assert set(chunk.supports) <= ids
        else:
            assert chunk.text == texts[chunk.document_id][chunk.start : chunk.end]
    for claim in found.relationships:
        assert claim.description == texts[claim.document_id][claim.start : claim.end]
        assert claim.chunk_id.startswith(f"{claim.document_id}#")
        assert claim.weight > 0
        assert 0 <= claim.confidence <= 1
    assert len({claim.id for claim in found.relationships}) == len(found.relationships)
    assert len({entity.id for entity in found.entities}) == len(found.entities)
    for entity in found.entities:
        assert entity.source_chunks
        assert "extracted by rules" in entity.description


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limits", [{"max_chunks": 1, "max_entities": 0, "max_relationships": 0}, {"max_chunks": 3}])
def test_limits_hold(notes: Evigraph, mode: str, limits: dict[str, int]) -> None:
    limits = {"max_entities": 2, "max_relationships": 2, **limits}
    found = notes.retrieve(QUESTION, mode=mode, **limits)
    assert 1 <= len(found.chunks) <= limits["max_chunks"]
    assert len(found.entities) <= limits["max_entities"]
    assert len(found.relationships) <= limits["max_relationships"]
    assert found.stats["chunks_found"] >= found.stats["chunks"] == len(found.chunks)
    assert found.stats["entities_found"] >= found.stats["entities"] == len(found.entities)
    assert found.stats["relationships_found"] >= found.stats["relationships"] == len(found.relationships)
    assert found.stats["context_truncated"] is False
    assert found.degraded == ()


@pytest.mark.parametrize("mode", MODES)
def test_more_chunks_begin_with_the_same_ones(notes: Evigraph, mode: str) -> None:
    few, more = whole(notes, mode, max_chunks=3), whole(notes, mode, max_chunks=12)
    assert [chunk.id for chunk in more.chunks][:3] == [chunk.id for chunk in few.chunks]


# ------------------------------------------------------------------ the formula of each mode


def test_naive_is_the_dense_arm(notes: Evigraph) -> None:
    found = whole(notes, "naive")
    assert all(chunk.score == chunk.vector_score for chunk in found.chunks)
    assert all(chunk.bm25_rank is chunk.graph_rank is chunk.fused_score is None for chunk in found.chunks)
    assert (found.entities, found.relationships, found.retrieval) == ((), (), "dense")


def test_naive_with_hybrid_fuses_both_plain_arms(notes: Evigraph) -> None:
    found = whole(notes, "naive", hybrid=True)
    assert found.retrieval == "hybrid"
    assert any(chunk.bm25_rank for chunk in found.chunks)
    for chunk in found.chunks:
        expected = rrf_term(1, chunk.vector_rank) + rrf_term(1, chunk.bm25_rank)
        assert chunk.fused_score == pytest.approx(expected, abs=1e-9)
    assert [chunk.score for chunk in found.chunks] == sorted((one.score for one in found.chunks), reverse=True)
    by_rank = whole(notes, "naive", hybrid=True, fusion="rrf")
    assert {chunk.id for chunk in by_rank.chunks} == {chunk.id for chunk in found.chunks}
    assert all(chunk.score == chunk.fused_score for chunk in by_rank.chunks)


def test_keyword_lookup_fuses_both_plain_arms_and_stays_among_their_entities(notes: Evigraph) -> None:
    found = notes.retrieve(QUESTION, mode="keyword_lookup", max_chunks=3, max_entities=5)
    for chunk in found.chunks:
        assert chunk.fused_score == pytest.approx(
            rrf_term(1, chunk.vector_rank) + rrf_term(1, chunk.bm25_rank), abs=1e-9
        )
        assert chunk.graph_rank is None
    entities, chunks = {entity.id for entity in found.entities}, {chunk.id for chunk in found.chunks}
    assert found.relationships
    assert all(claim.source in entities and claim.target in entities for claim in found.relationships)
    assert all(claim.chunk_id in chunks for claim in found.relationships)


def test_local_fuses_traversal_and_dense_passages(notes: Evigraph) -> None:
    found = whole(notes, "local")
    assert any(chunk.graph_rank for chunk in found.chunks)
    for chunk in found.chunks:
        expected = rrf_term(0.5, chunk.graph_rank) + rrf_term(0.5, chunk.vector_rank)
        assert chunk.fused_score == pytest.approx(expected, abs=1e-9)
        assert chunk.bm25_rank is None


def test_global_ranks_passages_of_near_assertions_by_vector(notes: Evigraph) -> None:
    found = whole(notes, "global")
    assert found.degraded == ()
    said = {claim.chunk_id for claim in found.relationships}
    assert {chunk.id for chunk in found.chunks} == said
    scores = [claim.score for claim in found.relationships]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert all(claim.type != CO_OCCURS for claim in found.relationships)
    ends = {end for claim in found.relationships for end in (claim.source, claim.target)}
    assert {entity.id for entity in found.entities} == ends


def test_hybrid_is_local_global_and_naive_in_turn(notes: Evigraph) -> None:
    parts = [whole(notes, mode) for mode in ("local", "global", "naive")]
    found = whole(notes, "hybrid")
    assert [c.id for c in found.chunks] == round_robin([[c.id for c in part.chunks] for part in parts])
    assert [e.id for e in found.entities] == round_robin([[e.id for e in part.entities] for part in parts])
    assert [r.id for r in found.relationships] == round_robin([[r.id for r in part.relationships] for part in parts])
    assert [chunk.score for chunk in found.chunks] == [round(1 / n, 9) for n in range(1, len(found.chunks) + 1)]


def test_mix_reports_weighted_reciprocal_ranks_beside_its_gate(notes: Evigraph) -> None:
    found = whole(notes, "mix")
    assert found.stats["gate"] in ("graph", "both")
    assert found.retrieval == "dense+bm25+graph"
    for chunk in found.chunks:
        expected = rrf_term(0.35, chunk.vector_rank) + rrf_term(0.35, chunk.bm25_rank) + rrf_term(0.3, chunk.graph_rank)
        assert chunk.fused_score == pytest.approx(expected, abs=1e-9)


def test_mix_without_names_uses_no_graph(notes: Evigraph) -> None:
    found = whole(notes, "mix", question="how many wells were inspected?")
    assert (found.stats["gate"], found.retrieval) == ("plain", "dense+bm25")
    assert all(chunk.graph_rank is None for chunk in found.chunks)


@pytest.mark.parametrize(
    "weights", [{"vector_weight": 0.7, "graph_weight": 0.3}, {"vector_weight": 0.1}, {"fusion": "rrf"}]
)
def test_explicit_weights_give_weighted_reciprocal_rank_fusion(notes: Evigraph, weights: dict[str, Any]) -> None:
    found = whole(notes, "mix", **weights)
    plain = {c.id: rrf_term(0.5, c.vector_rank) + rrf_term(0.5, c.bm25_rank) for c in found.chunks}
    gate = {c.id: c for c in found.chunks}
    order = sorted((name for name in plain if plain[name]), key=lambda name: -plain[name])
    vector, graph = weights.get("vector_weight", 0.7), weights.get("graph_weight", 0.3)
    for place, name in enumerate(order, start=1):
        alike = sum(1 for other in plain.values() if other == plain[name])
        chunk = gate[name]
        low, high = (rrf_term(vector, place + shift) + rrf_term(graph, chunk.graph_rank) for shift in (alike, -alike))
        assert low <= chunk.score + 1e-9
        assert chunk.score - 1e-9 <= high
        assert chunk.fused_score == chunk.score


def test_a_graph_weight_of_zero_leaves_the_plain_order(notes: Evigraph) -> None:
    plain = whole(notes, "naive", hybrid=True, fusion="rrf")
    found = whole(notes, "mix", vector_weight=1, graph_weight=0)
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in plain.chunks]
    only_graph = whole(notes, "mix", vector_weight=0, graph_weight=1)
    assert [chunk.graph_rank for chunk in only_graph.chunks] == list(range(1, len(only_graph.chunks) + 1))


def test_mix_weights_fuse_whole_modes(notes: Evigraph) -> None:
    weights = {"local": 0.5, "global": 0.3, "naive": 0.2}
    found = whole(notes, "mix", mix_weights=weights)
    ranks = {
        mode: {chunk.id: place for place, chunk in enumerate(whole(notes, mode).chunks, start=1)} for mode in weights
    }
    for chunk in found.chunks:
        expected = sum(rrf_term(weight, ranks[mode].get(chunk.id)) for mode, weight in weights.items())
        assert chunk.fused_score == pytest.approx(expected, abs=1e-9)
        assert chunk.score == chunk.fused_score
    alone = whole(notes, "mix", mix_weights={"global": 1})
    assert [chunk.id for chunk in alone.chunks] == [chunk.id for chunk in whole(notes, "global").chunks]


# ------------------------------------------------------------------ min_score and the traversal's bounds


@pytest.mark.parametrize("floor", [-1.0, 0.2, 0.5])
def test_min_score_bounds_the_dense_arm(notes: Evigraph, floor: float) -> None:
    everything = whole(notes, "naive", min_score=-1)
    assert len(everything.chunks) == 16
    found = whole(notes, "naive", min_score=floor)
    assert [c.id for c in found.chunks] == [
        c.id for c in everything.chunks if (c.vector_score or 0) >= floor or floor < 0
    ]
    lexical = whole(notes, "keyword_lookup", min_score=floor)
    assert all(c.vector_score is None or c.vector_score >= max(floor, 0) for c in lexical.chunks)


def test_nothing_above_min_score_abstains_at_retrieval(notes: Evigraph) -> None:
    answer = notes.ask(QUESTION, mode="naive", min_score=1.0)
    assert answer.abstained
    assert answer.text is None
    assert (answer.abstain_reason or "").startswith("retrieval:")


def test_depth_bounds_the_traversal(notes: Evigraph) -> None:
    question = "What of Marit Olsen?"
    none = whole(notes, "local", question=question, graph_depth=0)
    assert none.relationships == ()
    seeds = {entity.id for entity in none.entities}
    assert "person:marit olsen" in seeds
    one = whole(notes, "local", question=question, graph_depth=1)
    assert one.relationships
    assert all({claim.source, claim.target} & seeds for claim in one.relationships)
    two = whole(notes, "local", question=question, graph_depth=2)
    assert {claim.id for claim in one.relationships} < {claim.id for claim in two.relationships}
    reached = {end for claim in one.relationships for end in (claim.source, claim.target)}
    assert all({claim.source, claim.target} & reached for claim in two.relationships)


def test_per_node_limit_bounds_what_is_followed(notes: Evigraph) -> None:
    options = {"question": "What of Marit Olsen?", "graph_depth": 1}
    seeds = whole(notes, "local", **{**options, "graph_depth": 0}).entities
    narrow = whole(notes, "local", per_node_limit=1, **options)
    assert 1 <= len(narrow.relationships) <= len(seeds)
    assert len(narrow.relationships) < len(whole(notes, "local", **options).relationships)


def test_predicates_bound_what_is_followed(notes: Evigraph) -> None:
    types = {claim.type for claim in whole(notes, "local").relationships}
    assert {"DELIVERED", "INSPECTED", CO_OCCURS} == types
    allowed = whole(notes, "local", predicates=["INSPECTED"])
    assert {claim.type for claim in allowed.relationships} == {"INSPECTED"}
    nothing = whole(notes, "local", predicates=[])
    assert nothing.relationships == ()
    assert nothing.chunks


def test_predicates_hold_under_global_too(notes: Evigraph) -> None:
    allowed = whole(notes, "global", predicates=["INSPECTED"])
    assert {claim.type for claim in allowed.relationships} == {"INSPECTED"}


# ------------------------------------------------------------------ global, when nothing matches


def test_global_falls_back_to_hubs_and_says_so(notes: Evigraph) -> None:
    found = notes.retrieve("xylophone quartet", mode="global", min_score=0.9)
    assert found.retrieval == "most connected entities"
    assert len(found.degraded) == 1
    assert "no assertion matched" in found.degraded[0]
    degrees = [entity.degree for entity in found.entities]
    assert degrees == sorted(degrees, reverse=True)
    assert found.relationships
    assert all(entity.score is None for entity in found.entities)


def test_global_without_any_assertion_is_empty_and_true(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("x", "nothing here is a name, and nobody did anything.", title="x"))
    found = graph.retrieve("what happened here?", mode="global")
    assert (found.chunks, found.relationships, found.degraded) == ((), (), ())
    assert (graph.ask("what happened here?", mode="global").abstain_reason or "").startswith("retrieval:")


# ------------------------------------------------------------------ scope

EMPTY = [
    {"document_filter": {"document_ids": []}},
    {"document_filter": {"document_ids": ["nobody"]}},
    {"document_filter": {"pattern": "nowhere/*"}},
    {"document_filter": {"date_from": "2100-01-01"}},
    {"metadata_filter": {"nobody": "has this"}},
    {"metadata_filter": {"region": "west"}},
    {"as_of": 0},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scope", EMPTY, ids=[next(iter(scope)) + str(n) for n, scope in enumerate(EMPTY)])
def test_an_empty_scope_abstains_and_asks_no_model(
    store: OneStore, pumps: Evigraph, mode: str, scope: dict[str, Any]
) -> None:
    chat = ScriptedChat([])
    graph = store.engine(pumps.workspace, chat=chat)
    answer = graph.ask(QUESTION, mode=mode, **scope)
    assert answer.abstained
    assert answer.text is None
    assert (answer.abstain_reason or "").startswith("scope: ")
    assert answer.evidence.chunks == answer.evidence.entities == answer.evidence.relationships == ()
    assert answer.stats["documents_in_scope"] == 0
    assert answer.degraded == ()
    assert chat.calls == []


@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_workspace_is_an_empty_one(store: OneStore, mode: str) -> None:
    graph = store.engine()
    answer = graph.ask(QUESTION, mode=mode)
    assert answer.abstain_reason == "scope: the workspace holds no documents"
    assert graph.retrieve(QUESTION, mode=mode).chunks == ()
    assert graph.ask(QUESTION, mode=mode, context_only=True).context == ""
    assert answer.evidence.generation == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_holds_for_every_part_of_the_evidence(pumps: Evigraph, mode: str) -> None:
    found = whole(
        pumps, mode, question="Hana Sefu and Joseph Amarra", metadata_filter={"region": "south"}, min_score=-1
    )
    allowed = {"memo", "lowani"}
    passages = [name for chunk in found.chunks for name in (chunk.supports if chunk.level else (chunk.id,))]
    assert {name.partition("#")[0] for name in passages} <= allowed
    assert {claim.document_id for claim in found.relationships} <= allowed
    for entity in found.entities:
        assert {chunk.partition("#")[0] for chunk in entity.source_chunks} <= allowed
        assert "trained the mechanics" not in entity.description


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"document_filter": {"document_ids": ["tarn", "memo"]}}, {"tarn", "memo"}),
        ({"document_filter": {"pattern": "south/*"}}, {"memo", "lowani"}),
        ({"document_filter": {"document_ids": ["tarn"], "pattern": "south/*"}}, {"tarn", "memo", "lowani"}),
        ({"document_filter": {"pattern": "south/*", "date_to": "2017-12-31"}}, {"memo"}),
        ({"document_filter": {"date_from": "2017-03-01", "date_to": "2017-03-01"}}, {"memo"}),
        ({"metadata_filter": {"region": "south", "kind": "minutes"}}, {"lowani"}),
        ({"metadata_filter": {"source": "memo.txt"}}, {"memo"}),
        ({"metadata_filter": {"source": "south/memo.txt"}}, {"memo"}),
        ({"metadata_filter": {"document_id": "ferry"}}, {"ferry"}),
        ({"metadata_filter": {"region": "south"}, "document_filter": {"document_ids": ["tarn", "memo"]}}, {"memo"}),
    ],
)
def test_filters_select_documents(pumps: Evigraph, filters: dict[str, Any], expected: set[str]) -> None:
    found = whole(pumps, "naive", min_score=-1, **filters)
    assert {chunk.document_id for chunk in found.chunks} == expected
    assert found.stats["documents_in_scope"] == len(expected)


def test_undated_documents_left_out_are_counted(pumps: Evigraph) -> None:
    found = pumps.retrieve(QUESTION, document_filter={"date_from": "1900-01-01"})
    assert found.stats["undated_left_out"] == 1
    assert "undated_left_out" not in pumps.retrieve(QUESTION).stats


# ------------------------------------------------------------------ as_of


def test_as_of_sees_the_state_of_its_generation(store: OneStore) -> None:
    graph = store.engine()
    first = graph.index(PUMPS[:1]).generation
    second = graph.index(PUMPS[1:2]).generation
    graph.index(item("tarn", "Nothing was delivered to Tarn.", title="Tarn monthly note", source="north/tarn.md"))
    graph.delete("memo")
    assert [c.document_id for c in whole(graph, "naive", as_of=first, min_score=-1).chunks] == ["tarn"]
    both = whole(graph, "naive", as_of=second, min_score=-1)
    assert {c.document_id for c in both.chunks} == {"tarn", "memo"}
    assert both.generation == second
    answer = graph.ask(QUESTION, as_of=first)
    assert "Corrick Vane" in (answer.text or "")
    assert {citation.revision for citation in answer.citations} == {1}
    now = graph.ask(QUESTION)
    assert "Corrick" not in (now.text or "")


def test_as_of_a_time_is_the_generation_then(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS[:1])
    moment = graph.revisions("tarn")[0].published_at
    graph.index(PUMPS[1:2])
    found = whole(graph, "naive", as_of=moment, min_score=-1)
    assert {chunk.document_id for chunk in found.chunks} == {"tarn"}
    assert found.generation == graph.revisions("tarn")[0].generation


# ------------------------------------------------------------------ budget


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("budget", [64, 150, 400, 1000])
def test_the_budget_holds_and_passages_keep_their_share(notes: Evigraph, mode: str, budget: int) -> None:
    found = whole(notes, mode, max_context_tokens=budget)
    passages = sum(chunk.token_count for chunk in found.chunks)
    facts = found.stats["context_tokens"] - passages
    assert found.chunks
    assert facts <= 0.6 * budget
    assert found.stats["context_tokens"] <= budget or len(found.chunks) == 1
    lines = [*map(entity_line, found.entities), *map(relationship_line, found.relationships)]
    assert sum(len(line) for line in lines) / 4 <= facts
    full = whole(notes, mode)
    shorter = [len(getattr(found, part)) < len(getattr(full, part)) for part in ("chunks", "entities", "relationships")]
    assert found.stats["context_truncated"] is any(shorter)
    assert [c.id for c in found.chunks] == [c.id for c in full.chunks][: len(found.chunks)]


def test_a_wide_budget_truncates_nothing(notes: Evigraph) -> None:
    assert whole(notes, "mix").stats["context_truncated"] is False
    assert whole(notes, "mix", max_context_tokens=100).stats["context_truncated"] is True


def test_the_best_passage_is_kept_whatever_its_size(store: OneStore) -> None:
    graph = store.engine()
    graph.index(item("long", "Tarn " + "received pumps again and again " * 40))
    found = graph.retrieve("What did Tarn receive?", max_context_tokens=64)
    assert len(found.chunks) == 1
    assert found.chunks[0].token_count > 64
    assert found.stats["context_tokens"] > 64


# ------------------------------------------------------------------ enhancers and bypass


def test_enhancers_that_have_no_meaning_are_reported(notes: Evigraph) -> None:
    question = "What recurs across all of the notes?"
    plain = notes.retrieve(question, mode="thematic_overview")
    for flag in ("rerank", "enable_rerank", "compress", "parent_context", "hybrid"):
        found = notes.retrieve(question, mode="thematic_overview", **{flag: True})
        assert len(found.degraded) == 1 + len(plain.degraded)
        assert any(sentence.startswith(f"{flag.removeprefix('enable_')}: ") for sentence in found.degraded)
        assert found.chunks == plain.chunks
    assert notes.retrieve(QUESTION, mode="naive", hybrid=True).degraded == ()


def test_bypass_has_no_evidence(notes: Evigraph) -> None:
    found = notes.retrieve(QUESTION, mode="bypass")
    assert (found.chunks, found.entities, found.relationships, found.retrieval) == ((), (), (), "none")
