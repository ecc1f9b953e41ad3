"""Bases with embedding models of their own: each text goes to its own model alone, and questions reach all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from evigraph import Evigraph
from evigraph.errors import (
    EmbedderNotConfigured,
    InvalidCombination,
    InvalidValue,
    ModelUnavailable,
    NotSupported,
    UnknownEmbedder,
)
from evigraph.models.ports import Vectors
from evigraph.query.retrieve.spaces import fused
from evigraph.query.run import Signals
from evigraph.store.keys import PassageKey
from evigraph.testing.models import HashEmbedder, ScriptedChat
from evigraph.types import Answer, Method, Mode
from evigraph.wire import answer_to_wire
from small import OneStore, item
from summary_trees import report

QUESTION = "Who delivered pumps to Tarn?"
MARKS = {"hash-64": "granite", "fast-32": "quartz", "wide-128": "basalt"}
"""A word of every text of each model's documents."""


class Witness(HashEmbedder):
    """Remembers what it was given."""

    def __init__(self, dimension: int, name: str, max_tokens: int = 256) -> None:
        super().__init__(dimension, max_tokens, name)
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        return np.asarray(super().embed(texts))


def models() -> dict[str, Any]:
    """Options of an engine with three models."""
    further = {"fast": Witness(32, "fast"), "wide": Witness(128, "wide")}
    return {"embedder": Witness(64, "hash"), "embedders": further}


def witnesses(graph: Evigraph) -> list[Witness]:
    found = [graph.embedder, *graph._models._given_embedders.values()]  # type: ignore[union-attr]
    assert all(isinstance(one, Witness) for one in found)
    return found  # type: ignore[return-value]


def assert_apart(graph: Evigraph) -> None:
    """No model read a text of another's documents, and each read its own."""
    for witness in witnesses(graph):
        others = {mark for model, mark in MARKS.items() if model != witness.name}
        leaked = [text for text in witness.seen if any(mark in text for mark in others)]
        assert not leaked, (witness.name, leaked[:2])
        assert any(MARKS[witness.name] in text for text in witness.seen), witness.name


def texts(mark: str) -> list[dict[str, Any]]:
    """Three documents, of which the first answers the question."""
    return [
        item(f"{mark}-pumps", f"Corrick Vane delivered four {mark} pumps to Tarn. They were {mark} grey.", title=""),
        item(f"{mark}-rods", f"Hana Sefu accused Joseph Amarra of selling {mark} rods.", title=""),
        item(f"{mark}-lake", f"The ferry of {mark} crosses the lake, when the {mark} waves allow it.", title=""),
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("spaces"))
    yield opened
    opened.close()


def filled(store: OneStore, **options: Any) -> tuple[Evigraph, dict[str, str]]:
    """An engine with documents of three models, and the bases of two of them by entry."""
    graph = store.engine(**models(), **options)
    graph.index(texts("granite"))
    bases = {}
    for name, mark in (("fast", "quartz"), ("wide", "basalt")):
        bases[name] = graph.knowledge_bases.create(name, embedding_model=name).id
        done = graph.knowledge_bases.index(bases[name], texts(mark))
        assert not done.errors, done.errors
    return graph, bases


@pytest.fixture(scope="module")
def made(store: OneStore) -> tuple[Evigraph, dict[str, str]]:
    return filled(store)


@pytest.fixture
def graph(made: tuple[Evigraph, dict[str, str]]) -> Evigraph:
    return made[0]


@pytest.fixture
def bases(made: tuple[Evigraph, dict[str, str]]) -> dict[str, str]:
    return made[1]


def marks(answer: Any) -> set[str]:
    """Whose documents the evidence is from."""
    return {chunk.document_id.partition("-")[0] for chunk in answer.chunks}


def of(*ids: str) -> dict[str, Any]:
    return {"document_filter": {"knowledge_bases": list(ids)}}


# --------------------------------------------------------------------------- making


def test_a_base_may_have_a_configured_model_and_no_other(graph: Evigraph, bases: dict[str, str]) -> None:
    shown = {base.id: base.embedding_model for base in graph.knowledge_bases.list()}
    assert shown == {bases["fast"]: "fast-32", bases["wide"]: "wide-128"}
    own_name = graph.knowledge_bases.create("by its own name", embedding_model="wide-128")
    workspace = graph.knowledge_bases.create("of the workspace", embedding_model="hash-64")
    assert (own_name.embedding_model, workspace.embedding_model) == ("wide-128", "hash-64")
    for asked in ("other", "/etc/passwd", "minilm"):
        with pytest.raises(UnknownEmbedder) as caught:
            graph.knowledge_bases.create("x", embedding_model=asked)
        assert caught.value.valid == ("hash-64", "fast", "wide", "fast-32", "wide-128")
        assert "EVIGRAPH_EMBEDDERS" in caught.value.hint
    for wrong in ("", "x" * 300, 5):
        with pytest.raises(InvalidValue):
            graph.knowledge_bases.create("x", embedding_model=wrong)  # type: ignore[arg-type]
    for base in (own_name, workspace):
        graph.knowledge_bases.delete(base.id)
    listed = graph.capabilities()["knowledge_bases"]["embedding_models"]
    assert [(one["name"], one["model"], one["dimension"], one["available"]) for one in listed] == [
        ("fast", "fast-32", 32, True),
        ("wide", "wide-128", 128, True),
    ]


def test_one_name_of_two_dimensions_is_refused(store: OneStore, graph: Evigraph) -> None:
    twin = Witness(16, "fast")
    twin.name = "fast-32"
    other = store.engine(graph.workspace, embedder=graph.embedder, embedders={"fast": twin})
    with pytest.raises(NotSupported, match="have 32 dimensions here, and 16"):
        other.knowledge_bases.create("twin", embedding_model="fast")


def test_chunks_fit_the_model_of_their_base(store: OneStore) -> None:
    graph = store.engine(embedder=Witness(64, "hash"), embedders={"short": Witness(32, "short", max_tokens=40)})
    base = graph.knowledge_bases.create("short", embedding_model="short").id
    long = " ".join(f"Corrick Vane delivered pump {number} to Tarn in the north." for number in range(20))
    graph.knowledge_bases.index(base, [item("in", long)])
    graph.index(item("out", long))
    inside, outside = graph.document("in").passages, graph.document("out").passages
    assert inside > outside == 1
    assert graph.knowledge_bases.index(base, [item("in", long)]).documents[0].status == "unchanged"
    # Named without its base it stays in it, and keeps its model.
    again = graph.index([item("in", f"{long} And more."), item("new", long)])
    assert not again.errors and graph.document("in").passages == inside
    assert not any("And more." in text for text in graph.embedder.seen)  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- asking


def test_rankings_are_merged_by_reciprocal_rank() -> None:
    one, two, three, four = (PassageKey(number, 0) for number in range(1, 5))
    ranked = fused(
        [
            ((four, Signals(vector_score=0.9, vector_rank=1)), (one, Signals(vector_score=0.8, vector_rank=2))),
            ((three, Signals(vector_score=0.2, vector_rank=1)), (two, Signals(vector_score=0.1, vector_rank=2))),
        ]
    )
    assert [(key, signals.score) for key, signals in ranked] == [
        (three, 1 / 61),
        (four, 1 / 61),
        (one, 1 / 62),
        (two, 1 / 62),
    ]
    assert [(signals.vector_score, signals.vector_rank, signals.fused) for _, signals in ranked] == [
        (0.2, 1, 1 / 61),
        (0.9, 1, 1 / 61),
        (0.8, 2, 1 / 62),
        (0.1, 2, 1 / 62),
    ]


def test_scores_of_an_answer_are_those_of_its_spaces(graph: Evigraph) -> None:
    found = graph.retrieve(QUESTION, mode="naive", min_score=0.0)
    first = found.chunks[:3]
    assert {chunk.document_id for chunk in first} == {"granite-pumps", "quartz-pumps", "basalt-pumps"}
    for chunk in found.chunks:
        assert chunk.vector_rank is not None
        assert chunk.score == chunk.fused_score == round(1 / (60 + chunk.vector_rank), 9)
    by_model = {witness.name: witness for witness in witnesses(graph)}
    for chunk in first:
        witness = by_model[next(model for model, mark in MARKS.items() if mark in chunk.text)]
        near = float(np.dot(*witness.embed([chunk.text, QUESTION])))
        assert chunk.vector_score == pytest.approx(near, abs=1e-5)
    told = found.stats["embedding_models"]
    assert [(one["model"], one["documents"], one["searched_by_vector"]) for one in told] == [
        ("hash-64", 3, True),
        ("fast-32", 3, True),
        ("wide-128", 3, True),
    ]


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in (Mode.BYPASS, Mode.PLAN)])
def test_a_question_to_the_workspace_reaches_all(graph: Evigraph, mode: Mode) -> None:
    if mode is Mode.THEMATIC_OVERVIEW:
        answer = graph.ask("What recurs across all pumps?", mode=mode)
        assert {one.document_id.partition("-")[0] for one in answer.citations} == {"granite", "quartz", "basalt"}
    else:
        # Under `traverse` from the name; under the others by vector, words and graph.
        answer = graph.ask(QUESTION.replace("Who", "What has Corrick Vane"), mode=mode, min_score=0.0)
        assert marks(answer.evidence) == {"granite", "quartz", "basalt"}
    assert not [said for said in answer.degraded if not said.startswith("communities: no tree")]
    assert answer.citations, answer.abstain_reason
    assert_apart(graph)


def test_one_space_is_searched_as_ever(graph: Evigraph, bases: dict[str, str], store: OneStore) -> None:
    alone = store.engine(embedder=Witness(32, "fast"))
    alone.index(texts("quartz"))
    for mode in (Mode.MIX, Mode.NAIVE, Mode.LOCAL, Mode.GLOBAL, Mode.HYBRID, Mode.ENTITY_CONNECTIONS):
        ours, theirs = graph.retrieve(QUESTION, mode=mode, **of(bases["fast"])), alone.retrieve(QUESTION, mode=mode)
        assert [(c.id, c.score, c.vector_score) for c in ours.chunks] == [
            (c.id, c.score, c.vector_score) for c in theirs.chunks
        ]
        assert ours.entities == theirs.entities and ours.relationships == theirs.relationships
    asked = graph.ask(QUESTION, **of(bases["fast"]))
    assert asked.text == alone.ask(QUESTION).text
    assert [one["model"] for one in asked.details["embedding_models"]] == ["fast-32"]
    before = [len(witness.seen) for witness in witnesses(graph)]
    graph.ask(QUESTION, rerank=True, compress=True, **of(bases["fast"]))
    after = [len(witness.seen) for witness in witnesses(graph)]
    assert after[0] == before[0] and after[1] > before[1] and after[2] == before[2]
    ours_alone = graph.ask(QUESTION, document_filter={"pattern": "*"}, metadata_filter={"document_id": "granite-pumps"})
    assert "embedding_models" not in ours_alone.details and "embedding_models" not in ours_alone.evidence.stats


def test_facts_shown_are_those_of_the_whole_scope(graph: Evigraph) -> None:
    for mode in (Mode.LOCAL, Mode.MIX, Mode.ENTITY_CONNECTIONS):
        found = graph.retrieve("What did Corrick Vane deliver to Tarn?", mode=mode, max_chunks=1)
        vane = next(entity for entity in found.entities if entity.name == "Corrick Vane")
        assert len(vane.source_chunks) == 3, mode
        if found.connections is not None:
            said = {item.document_id for item in (*found.connections.direct, *found.connections.extended)}
            assert said >= {"granite-pumps", "quartz-pumps", "basalt-pumps"}
            assert found.connections.total >= len(said)


def test_enhancers_over_several_models(graph: Evigraph) -> None:
    asked: dict[str, Any] = {"mode": "naive", "min_score": 0.0, "max_chunks": 9}
    for option in ({"rerank": True}, {"compress": True}, {"parent_context": True}, {"hybrid": True}):
        answer = graph.ask(QUESTION, **asked, **option)
        assert marks(answer.evidence) == {"granite", "quartz", "basalt"}
        assert not answer.degraded and answer.citations
    ranked = graph.retrieve(QUESTION, rerank=True, **asked).chunks
    assert {chunk.document_id for chunk in ranked[:3]} == {"granite-pumps", "quartz-pumps", "basalt-pumps"}
    assert all(chunk.rerank_score is not None for chunk in ranked)
    cut = graph.ask(QUESTION, compress=True, **asked).evidence.chunks
    assert any(chunk.kept for chunk in cut)
    assert_apart(graph)


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("method", list(Method))
def test_every_method_under_every_mode(store: OneStore, graph: Evigraph, method: Method, chat: bool) -> None:
    reply = "Corrick Vane delivered pumps to Tarn [1]."
    options = {"embedder": graph.embedder, "embedders": graph._models._given_embedders}
    engine = store.engine(graph.workspace, chat=ScriptedChat(lambda messages: reply) if chat else None, **options)
    for mode in Mode:
        given: dict[str, Any] = {"mode": mode, "method": method, "rerank": True, "compress": True}
        if mode is Mode.PLAN:
            given["plan"] = {"steps": [{"id": "a", "op": "match", "entity": "Corrick Vane"}]}
        if mode is Mode.BYPASS and not chat:
            continue
        try:
            answer = engine.ask(QUESTION, **given)
        except InvalidCombination:
            continue
        assert isinstance(answer, Answer)
        assert not any("not configured" in said and "fast-32" in said for said in answer.degraded)
    assert_apart(graph)


def test_a_misspelt_name_is_found_in_any_space(store: OneStore) -> None:
    graph = store.engine(**models())
    graph.index(item("granite-a", "The granite ferry crosses the lake."))
    base = graph.knowledge_bases.create("fast", embedding_model="fast").id
    graph.knowledge_bases.index(base, [item("quartz-a", "Bartholomew Quillfeather delivered quartz pumps.")])
    answer = graph.ask("What did Bartholomew Quillfeathr deliver?")
    assert answer.evidence.stats["aliases"][0]["taken"] == ["bartholomew quillfeather"]
    assert answer.evidence.chunks[0].document_id == "quartz-a"
    assert "mention" not in (answer.abstain_reason or "")


def test_trees_of_one_base_beside_passages_of_another(store: OneStore) -> None:
    graph = store.engine(**models())
    graph.index(item("granite-a", "The granite pumps were delivered to Tarn."))
    base = graph.knowledge_bases.create("fast", embedding_model="fast").id
    graph.knowledge_bases.index(base, [item("tree", report(12))], build_tree=True)
    answer = graph.ask("What was reported about pumps?", mode="naive", method="raptor", min_score=0.0)
    assert answer.method is Method.RAPTOR and answer.evidence.retrieval == "raptor"
    assert any(chunk.level for chunk in answer.evidence.chunks)
    assert any(chunk.document_id == "granite-a" for chunk in answer.evidence.chunks)
    assert not any("no document in scope has a summary tree" in said for said in answer.degraded)
    graph.delete("tree")
    graph.knowledge_bases.index(base, [item("quartz-a", "Quartz pumps.")])
    assert graph.ask(QUESTION, mode="naive", method="raptor").method is Method.STANDARD
    assert not any("granite" in text for text in witnesses(graph)[1].seen)


# --------------------------------------------------------------------------- a model that is not configured any more


def test_without_its_model_a_base_is_searched_by_words(store: OneStore) -> None:
    graph, bases = filled(store)
    less = store.engine(graph.workspace, embedder=graph.embedder, embedders={"wide": witnesses(graph)[2]})
    for mode in (Mode.NAIVE, Mode.MIX, Mode.LOCAL, Mode.GLOBAL, Mode.HYBRID, Mode.KEYWORD_LOOKUP):
        answer = less.ask("What has Corrick Vane delivered to Tarn?", mode=mode, min_score=0.0)
        assert marks(answer.evidence) == {"granite", "quartz", "basalt"}, mode
        said = [sentence for sentence in answer.degraded if "'fast-32'" in sentence]
        assert len(said) == 1 and "EVIGRAPH_EMBEDDERS does not configure" in said[0] and "3 documents" in said[0]
        lost = [chunk for chunk in answer.evidence.chunks if "quartz" in chunk.text]
        assert all(chunk.vector_score is None and chunk.fused_score for chunk in lost)
    assert not less.ask(QUESTION, mode="plan", plan={"steps": [{"id": "a", "op": "match", "entity": "Tarn"}]}).degraded
    alone = less.ask(QUESTION, mode="naive", rerank=True, compress=True, **of(bases["fast"]))
    assert alone.citations and alone.degraded and alone.evidence.retrieval == "bm25"
    assert "delivered four" in (alone.text or "")
    overview = less.ask("What recurs across all pumps?", mode="thematic_overview")
    assert any(one.document_id == "quartz-pumps" for one in overview.citations)
    for mode in Mode:
        if mode not in (Mode.BYPASS, Mode.PLAN):
            less.ask(QUESTION, mode=mode, **of(bases["fast"]))
    assert less.ask(QUESTION, mode="naive", method="raptor", **of(bases["fast"])).method is Method.STANDARD
    with pytest.raises(EmbedderNotConfigured, match="embedded with 'fast-32'"):
        less.knowledge_bases.index(bases["fast"], [item("x", "Quartz.")])
    refused = less.index([item("quartz-pumps", "Changed quartz."), item("free", "Free granite.")])
    assert [error.code for error in refused.errors] == ["embedder_not_configured"]
    assert [one.document_id for one in refused.documents] == ["free"]
    assert graph.knowledge_bases.show(bases["fast"]).documents == 3
    assert_apart(graph)


# --------------------------------------------------------------------------- lifecycle


class Down(Witness):
    """A remote model that does not answer any more."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailable("the embedding server does not answer", hint="start it")


@pytest.mark.parametrize("mode", ["naive", "mix", "local", "global"])
@pytest.mark.parametrize("method", ["standard", "hyde", "multi_query", "corrective"])
def test_a_base_whose_model_fails_is_searched_by_words(
    store: OneStore, graph: Evigraph, mode: str, method: str
) -> None:
    further = {"fast": Down(32, "fast"), "wide": Witness(128, "wide")}
    chat = ScriptedChat(lambda messages: "Corrick Vane delivered pumps [1].")
    view = store.engine(graph.workspace, embedder=graph.embedder, embedders=further, chat=chat)
    answer = view.ask(QUESTION, mode=mode, method=method, rerank=True, context_only=True)
    [told] = [one for one in answer.degraded if one.startswith("embedding:")]
    assert told == (
        "embedding: the model 'fast-32' of 3 documents failed (the embedding server does not answer); they were"
        " searched by words and names alone"
    )
    searched = {one["model"]: one["searched_by_vector"] for one in answer.details["embedding_models"]}
    assert searched == {"hash-64": True, "fast-32": False, "wide-128": True}
    assert "quartz-pumps" in {chunk.document_id for chunk in answer.evidence.chunks}


def test_reembed_leaves_bases_of_another_model_alone(store: OneStore) -> None:
    graph, bases = filled(store)
    before = graph.store.generation(graph.workspace)
    switched = store.engine(graph.workspace, embedder=Witness(48, "new"), embedders=graph._models._given_embedders)
    switched.reembed()
    assert switched.jobs()[0].detail["left_alone"] == 6
    assert not any("quartz" in text or "basalt" in text for text in switched.embedder.seen)  # type: ignore[attr-defined]
    rows = graph.store.rows(
        "SELECT DISTINCT model FROM passage_vectors WHERE workspace = {workspace:String} AND revision_key IN ("
        "SELECT revision_key FROM knowledge_base_documents WHERE workspace = {workspace:String})",
        {"workspace": graph.workspace},
    )
    assert {row[0] for row in rows} == {"fast-32", "wide-128"}
    answer = switched.ask(QUESTION, mode="naive", min_score=0.0)
    assert marks(answer.evidence) == {"granite", "quartz", "basalt"} and not answer.degraded
    models_now = {base.id: base.embedding_model for base in switched.knowledge_bases.list()}
    assert models_now == {bases["fast"]: "fast-32", bases["wide"]: "wide-128"}
    assert marks(graph.retrieve(QUESTION, mode="naive", min_score=0.0, as_of=before)) == {"granite", "quartz", "basalt"}


def test_the_workspace_may_come_to_the_model_of_a_base(store: OneStore) -> None:
    graph, bases = filled(store)
    same = store.engine(graph.workspace, embedder=witnesses(graph)[1], embedders={"wide": witnesses(graph)[2]})
    same.reembed()
    both = same.ask(QUESTION, mode="naive", min_score=0.0)
    assert [(one["model"], one["documents"]) for one in both.details["embedding_models"]] == [
        ("fast-32", 6),
        ("wide-128", 3),
    ]
    assert marks(both.evidence) == {"granite", "quartz", "basalt"}
    one_space = same.retrieve(QUESTION, mode="naive", **of(bases["fast"]))
    assert marks(one_space) == {"quartz"}


def test_a_space_holds_its_own_documents_alone(store: OneStore) -> None:
    """Also where others have vectors of its model: those that the workspace had before."""
    old = store.engine(embedder=Witness(32, "fast"))
    old.index(texts("granite"))
    graph = store.engine(old.workspace, **models())
    graph.reembed()
    base = graph.knowledge_bases.create("fast", embedding_model="fast").id
    graph.knowledge_bases.index(base, texts("quartz"))
    for mode in (Mode.NAIVE, Mode.KEYWORD_LOOKUP):
        answer = graph.ask(QUESTION, mode=mode, min_score=-1.0)
        told = answer.details["embedding_models"]
        assert [(one["model"], one["documents"], one["passages_ranked"]) for one in told] == [
            ("hash-64", 3, 3),
            ("fast-32", 3, 3),
        ]
        scores = [chunk.score for chunk in answer.evidence.chunks]
        assert scores == [round(1 / (60 + rank), 9) for rank in (1, 1, 2, 2, 3, 3)], mode


def test_deletion_prune_and_reopening(store: OneStore) -> None:
    graph, bases = filled(store)
    before = graph.store.generation(graph.workspace)
    graph.knowledge_bases.index(bases["wide"], [item("basalt-pumps", "Corrick Vane delivered nine basalt pumps.")])
    graph.knowledge_bases.delete(bases["fast"])
    now = graph.retrieve(QUESTION, mode="naive", min_score=0.0)
    assert marks(now) == {"granite", "basalt"}
    assert not any("four basalt" in chunk.text for chunk in now.chunks)
    past = graph.retrieve(QUESTION, mode="naive", min_score=0.0, as_of=before)
    assert marks(past) == {"granite", "quartz", "basalt"}
    assert any("four basalt" in chunk.text for chunk in past.chunks)
    graph.prune()
    assert graph.retrieve(QUESTION, mode="naive", min_score=0.0).chunks == now.chunks
    bound = {"workspace": graph.workspace}
    for table in ("passage_vectors", "fact_vectors"):
        sql = f"SELECT count() FROM {table} WHERE workspace = {{workspace:String}} AND model = 'fast-32'"
        assert graph.store.rows(sql, bound) == [(0,)]
    again = store.engine(graph.workspace, **models())
    assert again.knowledge_bases.show(bases["wide"]).embedding_model == "wide-128"
    assert again.retrieve(QUESTION, mode="naive", min_score=0.0).chunks == now.chunks


def test_a_kept_context_is_not_that_of_other_models(store: OneStore) -> None:
    graph, _ = filled(store)
    first = graph.ask(QUESTION, context_only=True)
    assert graph.ask(QUESTION, context_only=True).stats["cached"]
    assert not first.degraded


def test_proposals_and_export_see_every_space(store: OneStore) -> None:
    graph = store.engine(**models())
    graph.index(item("granite-a", "The granite ferry crosses the lake."))
    base = graph.knowledge_bases.create("fast", embedding_model="fast").id
    named = [f"{name} Water Board delivered pumps to Lowani." for name in ("Tarn Quartz", "Quartz Tarn")]
    graph.knowledge_bases.index(base, [item(f"quartz-{at}", text) for at, text in enumerate(named)])
    proposed = {proposal.kind for proposal in graph.entities.proposals()}
    assert "embedding" in proposed
    rows = [json.loads(line) for line in "".join(graph.export()).splitlines()]
    described = {row["document_id"] for row in rows if row["kind"] == "description"}
    assert described >= {"quartz-0", "quartz-1"}


def test_pipelines_over_bases_of_two_models(graph: Evigraph, bases: dict[str, str]) -> None:
    pipeline = graph.pipelines.create("both", [bases["wide"], bases["fast"]])
    answer = graph.pipelines.query(pipeline.id, QUESTION, top_k=2)
    assert [chunk.document_id for chunk in answer.evidence.chunks] in (
        ["quartz-pumps", "basalt-pumps"],
        ["basalt-pumps", "quartz-pumps"],
    )
    assert [one["model"] for one in answer.details["embedding_models"]] == ["fast-32", "wide-128"]
    assert answer.evidence.retrieval == "dense"


# --------------------------------------------------------------------------- nothing from outside the scope


def world(graph: Evigraph, *, whole: bool) -> Evigraph:
    """Documents of three models, `kept` ones and, in the `whole` world, others that speak of the same things."""
    for entry, mark in (("", "granite"), ("fast", "quartz"), ("wide", "basalt")):
        kept = [
            item(f"{mark}-1", f"Corrick Vane delivered four {mark} pumps to Tarn. Hana Sefu visited Tarn."),
            item(f"{mark}-2", f"Hana Sefu accused Joseph Amarra of selling {mark} rods. Joseph Amarra visited Lowani."),
        ]
        hidden = [
            item(f"{mark}-h", f"Corrick Vane hired Kest Orlo of {mark}. Kest Orlo delivered pumps to Tarn unseen."),
            item(f"{mark}-0", f"Hana Sefu trained Kest Orlo in Tarn with {mark} pumps. Hana Sefu visited Ulwe."),
        ]
        given = [{**one, "metadata": {"kept": "yes"}} for one in kept] + (hidden if whole else [])
        base = graph.knowledge_bases.create(entry, embedding_model=entry).id if entry else None
        assert not graph.index(given, knowledge_base=base).errors
    return graph


def shown(answer: Answer) -> Any:
    """A response without what tells the workspace, the time and the filter."""
    wire = answer_to_wire(answer)
    wire["method_details"].pop("metadata_filter", None)
    return untimed({**wire, "generation": 0})


def untimed(value: Any) -> Any:
    if isinstance(value, list):
        return [untimed(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: untimed(one) for name, one in value.items() if not name.endswith("_ms")}


@pytest.fixture(scope="module")
def worlds(store: OneStore) -> tuple[Evigraph, Evigraph]:
    return world(store.engine(**models()), whole=True), world(store.engine(**models()), whole=False)


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.BYPASS])
def test_a_filtered_scope_of_several_spaces_is_as_if_it_were_all(
    store: OneStore, worlds: tuple[Evigraph, Evigraph], mode: Mode, configured: bool
) -> None:
    filtered, bare = worlds
    if not configured:
        less = {"embedder": filtered.embedder, "embedders": {"wide": witnesses(filtered)[2]}}
        filtered, bare = (store.engine(graph.workspace, **less) for graph in worlds)
    options: dict[str, Any] = {"mode": mode, "min_score": -1.0, "rerank": True, "compress": True}
    if mode is Mode.PLAN:
        hop = {"id": "b", "op": "hop", "source": "a", "predicates": ["VISITED"], "direction": "both"}
        options["plan"] = {"steps": [{"id": "a", "op": "match", "entity": "Hana Sefu"}, hop]}
    for question in ("Who delivered pumps to Tarn?", "What did Corrick Vane and Kest Orlo do across all of Tarn?"):
        ours = shown(filtered.ask(question, metadata_filter={"kept": "yes"}, **options))
        assert ours == shown(bare.ask(question, **options))
        assert "Kest" not in str(ours["chunks"]) + str(ours["entities"]) + str(ours["relationships"])


def test_the_best_sentence_of_a_space_that_knows_nothing_of_the_question_is_not_quoted(store: OneStore) -> None:
    graph = store.engine(**models())
    graph.index([item("pumps", "Corrick Vane delivered four pumps to Tarn.")])
    base = graph.knowledge_bases.create("ferries", embedding_model="fast").id
    graph.knowledge_bases.index(base, [item(f"f{n}", f"Ferry number {n} crosses the lake.") for n in range(6)])
    answer = graph.ask(QUESTION, mode="naive", min_score=0.0)
    assert {chunk.document_id for chunk in answer.evidence.chunks} > {"pumps"}, "both spaces were searched"
    assert {citation.document_id for citation in answer.citations} == {"pumps"}
    assert "Ferry" not in (answer.text or "")


def test_two_spaces_that_both_know_something_are_both_quoted(store: OneStore) -> None:
    graph = store.engine(**models())
    graph.index([item("tarn", "Corrick Vane delivered four pumps to Tarn.")])
    base = graph.knowledge_bases.create("deliveries", embedding_model="fast").id
    graph.knowledge_bases.index(base, [item("again", "Hana Sefu delivered nine pumps to Tarn.")])
    answer = graph.ask(QUESTION, mode="naive", min_score=0.0)
    assert {citation.document_id for citation in answer.citations} == {"tarn", "again"}


@pytest.mark.parametrize("mode", ["naive", "mix", "keyword_lookup"])
def test_the_space_of_a_document_is_that_of_its_own_workspace(store: OneStore, mode: str) -> None:
    """The same ids and revisions may stand in two workspaces, and there in bases of different models."""
    here, there = store.engine(**models()), store.engine(**models())
    for graph, own, other in ((here, "plain", "apart"), (there, "apart", "plain")):
        graph.index([item(own, f"Corrick Vane delivered pumps to Tarn, says {own}.")])
        base = graph.knowledge_bases.create("b", embedding_model="fast").id
        graph.knowledge_bases.index(base, [item(other, f"Hana Sefu delivered pumps to Tarn, says {other}.")])
    for graph, own, other in ((here, "plain", "apart"), (there, "apart", "plain")):
        answer = graph.ask(QUESTION, mode=mode, min_score=-1.0)
        told = [(one["model"], one["documents"]) for one in answer.details["embedding_models"]]
        assert told == [("hash-64", 1), ("fast-32", 1)]
        chunks = {chunk.document_id: chunk for chunk in answer.evidence.chunks}
        assert chunks.keys() == {own, other}
        assert all(chunk.vector_score is not None and chunk.vector_rank == 1 for chunk in chunks.values())
        assert answer.degraded == ()
