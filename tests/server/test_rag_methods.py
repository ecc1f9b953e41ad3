"""The method surface of pipelines over HTTP: every field of a query, what is refused, and what is said of what could
not be done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from evigraph.bases import BaseDeleted, KnowledgeBase
from evigraph.errors import ModelUnavailable
from evigraph.models.ports import Message
from evigraph.query.bases.pipelines import FIELDS
from evigraph.server.answers import IndexAnswer
from evigraph.server.base_schemas import PipelineDefaults, PipelineQueryBody
from evigraph.server.bases_shapes import (
    BaseDocumentsAnswer,
    KnowledgeBasesAnswer,
    PipelineAnswer,
    PipelineDeleted,
    PipelinesAnswer,
    PipelineShape,
)
from evigraph.testing.models import ScriptedChat
from small import OneStore
from summary_trees import report
from typed_names import TypedExtractor

from .serving import problem_of, running

METHODS = ["standard", "hyde", "self_rag", "auto", "corrective", "raptor", "multi_query"]
QUESTION = "Who delivered four pumps to Tarn?"
NOTES = {
    "pumps.md": "Corrick Vane delivered four pumps to Tarn.",
    "seat.md": "The seat of Corrick Vane is Dembure.",
    **{f"week{n}.md": f"Joseph Amarra tested {n} pumps at Lowani in week {n}." for n in range(2, 12)},
}
SECRET = "Tolland delivered four hundred pumps to Tarn."
"""In the workspace, and in no knowledge base."""


class Served:
    """A client, and the ids that its paths take."""

    def __init__(self, client: httpx2.Client) -> None:
        self.http = client
        self.bases: dict[str, str] = {}
        self.pipelines: dict[str, str] = {}

    def make(self, name: str, files: dict[str, str], *, build_tree: bool = False, **fields: Any) -> None:
        """A base, and a pipeline of the same name over it."""
        made = self.http.post("/knowledge-bases", json={"name": name, **fields})
        assert made.status_code == 200, made.text
        self.bases[name] = made.json()["id"]
        if files:
            assert self.upload(name, files, build_tree=build_tree).status_code == 200
        made = self.http.post("/pipeline", json={"name": name, "knowledge_bases": [self.bases[name]]})
        self.pipelines[name] = made.json()["id"]

    def upload(self, base: str, files: dict[str, str], *, build_tree: bool = False, **form: str) -> httpx2.Response:
        sent = [("files", (name, text.encode(), "text/markdown")) for name, text in files.items()]
        return self.http.post(
            f"/knowledge-bases/{self.bases[base]}/upload",
            files=sent,
            data={"build_tree": "true" if build_tree else "false", **form},
        )

    def query(self, pipeline: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx2.Response:
        path = f"/pipeline/{self.pipelines[pipeline]}/query"
        return self.http.post(path, json={"question": QUESTION, **fields}, headers=headers or {})

    def ask(self, pipeline: str = "notes", headers: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        response = self.query(pipeline, headers, **fields)
        assert response.status_code == 200, response.text
        PipelineAnswer.model_validate_json(response.text, strict=True)
        body: dict[str, Any] = response.json()
        assert body["degraded"] is bool(body["method_details"]["degraded"])
        assert body["pipeline_id"] == self.pipelines[pipeline]
        assert SECRET not in response.text
        return body


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("pipelines"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def served(store: OneStore) -> Iterator[Served]:
    """Without a chat model."""
    engine = store.engine("default", extractor=TypedExtractor())
    engine.index({"text": SECRET, "source": "pumps.md"})
    with running(engine) as client:
        found = Served(client)
        found.make("notes", NOTES, description="Weekly notes.")
        found.make("trees", {"long.md": report(15)}, build_tree=True)
        found.make("flat", {"long.md": report(15)})
        found.make("empty", {})
        yield found


def modelled(store: OneStore, served: Served, chat: ScriptedChat) -> Iterator[Served]:
    with running(store.engine("default", extractor=TypedExtractor(), chat=chat)) as client:
        found = Served(client)
        found.bases, found.pipelines = served.bases, served.pipelines
        yield found


def told(body: dict[str, Any]) -> list[str]:
    said: list[str] = body["method_details"]["degraded"]
    return said


def chunk_ids(body: dict[str, Any]) -> list[str]:
    return [chunk["id"] for chunk in body["chunks"]]


# ------------------------------------------------------------------ requesting a method


def test_every_field_of_the_reference_is_taken(served: Served) -> None:
    body = served.ask(
        top_k=5,
        method="standard",
        conversation_id="every-field",
        rerank=False,
        compress=False,
        hybrid=False,
        parent_context=False,
        metadata_filter={"source": "pumps.md"},
        llm_model="some-model",
    )
    assert "Corrick Vane" in body["answer"]
    assert (body["mode"], body["method"], body["method_details"]["retrieval"]) == ("naive", "standard", "dense")
    assert body["method_details"]["metadata_filter"] == {"source": "pumps.md"}
    assert {chunk["source"] for chunk in body["chunks"]} == {"pumps.md"}
    assert body["method_details"]["llm_model"] == {"name": None, "from": "none"}
    assert [said.partition(":")[0] for said in told(body)] == ["llm_model"]


def test_only_a_question_is_required(served: Served) -> None:
    body = served.ask()
    assert len(body["chunks"]) == 5 and not told(body)
    assert (body["mode"], body["requested"]) == ("naive", {"mode": "naive", "method": "standard"})
    assert body["citations"][0]["source"] == "pumps.md"


def test_a_mode_may_be_chosen_besides(served: Served) -> None:
    assert served.ask(mode="MIX", rerank=True, rerank_top_k=8)["mode"] == "mix"
    problem_of(served.query("notes", mode="no"), 422, "unknown_mode")
    refused = problem_of(served.query("notes", mode="mix", method="raptor"), 422, "invalid_combination")
    assert "raptor" in refused["detail"]


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_spelt_in_any_case(served: Served, method: str) -> None:
    assert served.ask(method=method.upper())["requested"]["method"] == method


def test_an_unknown_method_is_refused_with_the_valid_ones(served: Served) -> None:
    for method in ("conversational", "", 5):
        body = problem_of(served.query("notes", method=method), 422, "unknown_method")
        assert body["valid"] == METHODS


def test_an_unknown_field_is_refused_with_the_valid_ones(served: Served) -> None:
    for field in ("max_chunks", "document_filter", "as_of", "user", "pipeline_id"):
        body = problem_of(served.query("notes", **{field: "x"}), 422, "unknown_field")
        assert body["valid"] == list(FIELDS)
    problem_of(served.query("notes", metadata_filter={"source": ["x"]}), 422, "invalid_value")
    for question, told in (("", "empty"), (None, "empty"), (5, "text"), (0, "text"), (["a"], "text"), ([], "text")):
        problem = problem_of(served.query("notes", question=question), 422, "invalid_query")
        assert told in problem["detail"] and "`question`" in problem["hint"]
    problem_of(served.query("notes", top_k=0), 422, "invalid_value")


def test_the_embedding_model_cannot_be_overridden(served: Served) -> None:
    for field in ("embedding_model", "embedder", "embedding"):
        body = problem_of(served.query("notes", **{field: "other"}), 422, "unknown_field")
        assert "the model that embedded the documents" in body["hint"]
    asked = served.http.post("/api/v1/query", json={"query": QUESTION, "embedding_model": "other"})
    assert "the model that embedded the documents" in problem_of(asked, 422, "unknown_field")["hint"]


def test_the_schema_describes_the_fields_that_are_taken() -> None:
    assert set(PipelineQueryBody.model_fields) == set(FIELDS)
    assert set(PipelineDefaults.model_fields) < set(FIELDS)


# ------------------------------------------------------------------ methods


def test_self_rag_without_an_evaluator_says_that_nothing_was_measured(served: Served) -> None:
    body = served.ask(method="self_rag")
    grading = body["method_details"]["self_rag"]
    assert (grading["evaluated"], grading["threshold_met"], grading["score"]) == (False, None, None)
    assert body["method"] == "standard" and body["requested"]["method"] == "self_rag"
    assert [said for said in told(body) if said.startswith("self_rag: ")]


def test_raptor_without_a_tree_is_dense_and_says_so(served: Served) -> None:
    plain, raptor = served.ask("flat"), served.ask("flat", method="raptor")
    assert raptor["chunks"] == plain["chunks"] and raptor["chunks"]
    assert raptor["method_details"]["retrieval"] == "dense"
    assert [said for said in told(raptor) if said.startswith("raptor: ")] and not told(plain)


def test_raptor_searches_the_tree_of_an_upload(served: Served) -> None:
    body = served.ask("trees", method="raptor", top_k=40)
    assert (body["method"], body["method_details"]["retrieval"], told(body)) == ("raptor", "raptor", [])
    assert {chunk["level"] for chunk in body["chunks"]} > {0}
    levels = {chunk["id"]: chunk["level"] for chunk in body["chunks"]}
    assert all(not levels.get(citation["chunk_id"], 0) for citation in body["citations"])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "raptor"])
def test_no_other_method_shows_a_summary(served: Served, method: str) -> None:
    body = served.ask("trees", method=method, top_k=40)
    assert body["chunks"] and {chunk["level"] for chunk in body["chunks"]} == {0}


def test_auto_reports_its_decision(served: Served) -> None:
    details = served.ask(method="auto")["method_details"]
    assert {"top_k", "rerank", "hyde", "self_rag", "applied", "reasons"} <= set(details["decision"])


def test_methods_by_a_model_ask_the_model_that_is_named(store: OneStore, served: Served) -> None:
    def reply(messages: Sequence[Message]) -> str:
        return "Corrick Vane delivered four pumps to Tarn [1]."

    chat = ScriptedChat(reply)
    for client in modelled(store, served, chat):
        body = client.ask(method="hyde", llm_model="special")
        assert (body["method"], told(body)) == ("hyde", [])
        assert set(chat.models) == {"special"} and len(chat.models) == 2
        assert body["method_details"]["llm_model"] == {"name": "special", "from": "request"}
        assert client.ask()["method_details"]["llm_model"] == {"name": "scripted", "from": "default"}


def test_multi_query_shows_each_passage_once(store: OneStore, served: Served) -> None:
    phrasings = json.dumps(["Who brought pumps?", "Pumps came to Tarn from whom?"])
    chat = ScriptedChat.by_content([("JSON list of texts", phrasings)], "Corrick Vane delivered pumps [1].")
    for client in modelled(store, served, chat):
        body = client.ask(method="multi_query")
        assert body["method_details"]["multi_query"]["rephrasings"]
        assert len(set(chunk_ids(body))) == len(body["chunks"]) == 5


# ------------------------------------------------------------------ strategies and filters


def test_of_several_strategies_the_first_acts_and_the_others_are_named(served: Served) -> None:
    flags = {"parent_context": True, "hybrid": True, "method": "raptor"}
    body = served.ask("trees", **flags)
    assert body["method_details"]["retrieval"] == "parent_context"
    assert {said.partition(":")[0] for said in told(body)} == {"hybrid", "raptor"}
    body = served.ask("trees", hybrid=True, method="raptor")
    assert body["method_details"]["retrieval"] == "hybrid"
    assert {said.partition(":")[0] for said in told(body)} == {"raptor"}
    for flag, strategy in (({"hybrid": True}, "hybrid"), ({"method": "raptor"}, "raptor"), ({}, "dense")):
        body = served.ask("trees", **flag)
        assert (body["method_details"]["retrieval"], told(body)) == (strategy, [])


def test_enhancers_apply_to_what_was_found(served: Served) -> None:
    reranked = served.ask(rerank=True)
    assert all(chunk["rerankScore"] is not None for chunk in reranked["chunks"])
    compressed = served.ask("trees", compress=True)
    assert any(chunk["kept"] for chunk in compressed["chunks"])


def test_a_narrow_filter_fills_top_k_under_hybrid(served: Served) -> None:
    """The filter comes before the ranking: what it lets through fills the answer, however weak among all passages."""
    sent = {f"far{n}.md": f"Marit Olsen counted {n} goats near the fence." for n in range(6)}
    metadata = json.dumps({"herd": "goats"})
    assert served.upload("notes", sent, metadata=metadata).status_code == 200
    try:
        for strategy in ("hybrid", "parent_context"):
            question = "Who counted goats, and tested pumps at Lowani in week 7?"
            body = served.ask(question=question, metadata_filter={"herd": "goats"}, top_k=5, **{strategy: True})
            assert len(body["chunks"]) == 5
            assert {chunk["source"][:3] for chunk in body["chunks"]} == {"far"}
        wide = served.ask(question="Who tested pumps at Lowani in week 7?", hybrid=True)
        assert {chunk["source"][:3] for chunk in wide["chunks"]} == {"wee"}
    finally:
        listed = served.http.get(f"/knowledge-bases/{served.bases['notes']}/documents").json()["documents"]
        for document in listed:
            if document["source"].startswith("far"):
                path = f"/knowledge-bases/{served.bases['notes']}/documents/{document['document_id']}"
                assert served.http.delete(path).status_code == 200


def test_the_filter_is_echoed_and_both_of_its_fields_must_match(served: Served) -> None:
    found = served.ask(metadata_filter={"source": "pumps.md"})
    (document,) = {chunk["document_id"] for chunk in found["chunks"]}
    both = {"source": "pumps.md", "document_id": document}
    body = served.ask(metadata_filter=both)
    assert body["method_details"]["metadata_filter"] == both
    assert chunk_ids(body) == chunk_ids(found)
    none = served.ask(metadata_filter={"source": "seat.md", "document_id": document})
    assert none["abstained"] and not none["chunks"]
    assert none["abstain_reason"] == "scope: no document matches the filters"


def test_nothing_outside_the_bases_shows(served: Served) -> None:
    for mode in ("naive", "mix", "local", "global", "hybrid", "keyword_lookup", "entity_connections"):
        served.ask(mode=mode, question="Who delivered four hundred pumps to Tarn, Tolland?")  # `ask` looks for it
    served.ask(mode="thematic_overview", question="What recurs across all of it?")


def test_an_empty_base_abstains_and_says_so(served: Served) -> None:
    body = served.ask("empty")
    assert (body["abstained"], body["chunks"]) == (True, [])
    assert body["abstain_reason"] == "scope: the knowledge bases hold no document"


# ------------------------------------------------------------------ conversations

ANN, BOB = {"X-User-ID": "ann"}, {"X-User-ID": "bob"}
FOLLOW_UP = "Where is the seat of that company?"


def test_a_shared_conversation_is_continued_by_another_user(served: Served) -> None:
    served.ask(headers=ANN, conversation_id="shared")
    theirs = {"conversation_id": "shared", "conversation_owner": "ann", "question": FOLLOW_UP}
    problem_of(served.query("notes", BOB, **theirs), 404, "not_found")
    path = "/api/v1/conversations/shared/share"
    assert served.http.post(path, json={"shared": True}, headers=ANN).status_code == 200
    used = served.ask(headers=BOB, **theirs)["method_details"]["conversation"]
    assert (used["owner"], used["turn"], used["turns_used"]) == ("ann", 2, 1)
    problem_of(served.query("notes", BOB, conversation_owner="ann"), 422, "invalid_value")


def test_a_conversation_is_the_user_s_own(served: Served) -> None:
    first = served.ask(headers=ANN, conversation_id="wells")
    assert not told(first), "a first turn has no history, which is no deviation"
    follow = served.ask(headers=ANN, conversation_id="wells", question=FOLLOW_UP)
    assert follow["chunks"][0]["source"] == "seat.md"
    used = follow["method_details"]["conversation"]
    assert (used["owner"], used["turn"], used["condensed_by"]) == ("ann", 2, "rules")
    other = served.ask(headers=BOB, conversation_id="wells", question=FOLLOW_UP)
    assert other["method_details"]["conversation"]["turns_used"] == 0


def test_a_rewrite_that_fails_falls_back_and_says_so(store: OneStore, served: Served) -> None:
    served.ask(headers=ANN, conversation_id="broken")
    broken = ScriptedChat([ModelUnavailable("the model is down", hint=""), "The seat is Dembure [1]."])
    for client in modelled(store, served, broken):
        body = client.ask(headers=ANN, conversation_id="broken", question=FOLLOW_UP)
        said = [sentence for sentence in told(body) if sentence.startswith("conversation: ")]
        assert len(said) == 1 and said[0].endswith("; rules made the question stand alone")


# ------------------------------------------------------------------ bases and pipelines


def test_capabilities_tell_what_runs_here(served: Served) -> None:
    found = served.http.get("/capabilities").json()
    assert found["web_search"]["available"] is False
    assert found["web_search"]["needs"] == "EVIGRAPH_WEB_SEARCH_KEY"
    assert set(found["methods"]) == set(METHODS)
    assert found["knowledge_bases"] == {"available": True, "embedding_model": "hash-64", "embedding_models": []}


def test_bases_and_pipelines_over_http(served: Served) -> None:
    http = served.http
    made = http.post("/knowledge-bases", json={"name": "passing", "description": "d", "llm_model": "m"})
    TypeAdapter(KnowledgeBase).validate_json(made.text, strict=True)
    base = made.json()["id"]
    served.bases["passing"] = base
    uploaded = served.upload("passing", {"a b.md": "Hana Sefu trained the mechanics of Tarn."})
    IndexAnswer.model_validate_json(uploaded.text, strict=True)
    KnowledgeBasesAnswer.model_validate_json(http.get("/knowledge-bases").text, strict=True)
    changed = http.patch(f"/knowledge-bases/{base}", json={"llm_model": None, "description": "e"}).json()
    assert (changed["name"], changed["description"], changed["llm_model"], changed["documents"]) == (
        "passing", "e", None, 1,
    )  # fmt: skip
    listed = http.get(f"/knowledge-bases/{base}/documents")
    BaseDocumentsAnswer.model_validate_json(listed.text, strict=True)
    (document,) = listed.json()["documents"]
    assert document["source"] == "a b.md"
    body = {"name": "passing", "knowledge_bases": [base], "defaults": {"top_k": 3}}
    pipeline = http.post("/pipeline", json=body)
    PipelineShape.model_validate_json(pipeline.text, strict=True)
    path = f"/pipeline/{pipeline.json()['id']}"
    PipelinesAnswer.model_validate_json(http.get("/pipeline").text, strict=True)
    assert http.patch(path, json={"llm_model": "x"}).json()["llm_model"] == "x"
    assert http.get(path).json()["defaults"] == {"top_k": 3}
    other = http.get(path, headers={"X-Workspace-ID": "other"})
    assert problem_of(other, 404, "not_found")["detail"] == f"no pipeline '{pipeline.json()['id']}'"
    problem_of(http.get(f"/knowledge-bases/{base}", headers={"X-Workspace-ID": "other"}), 404, "not_found")
    deleted = http.delete(f"/knowledge-bases/{base}")
    TypeAdapter(BaseDeleted).validate_json(deleted.text, strict=True)
    assert deleted.json()["documents"] == 1
    problem_of(http.get(f"/api/v1/documents/{document['document_id']}"), 404, "not_found")
    gone = http.delete(path)
    PipelineDeleted.model_validate_json(gone.text, strict=True)
    problem_of(http.post(f"{path}/query", json={"question": QUESTION}), 404, "not_found")


def test_what_is_wrong_with_a_body_is_said(served: Served) -> None:
    http, base = served.http, served.bases["notes"]
    problem_of(http.post("/knowledge-bases", json={}), 422, "invalid_value")
    problem_of(http.post("/knowledge-bases", json={"name": "x", "extra": 1}), 422, "unknown_field")
    problem_of(http.post("/knowledge-bases", json={"name": "notes"}), 409, "name_taken")
    foreign = {"name": "x", "embedding_model": "other"}
    problem_of(http.post("/knowledge-bases", json=foreign), 422, "unknown_embedder")
    problem_of(http.patch(f"/knowledge-bases/{base}", json={"embedding_model": "other"}), 422, "unknown_field")
    problem_of(http.patch(f"/knowledge-bases/{base}", json={"name": None}), 422, "invalid_value")
    problem_of(http.post("/pipeline", json={"name": "x"}), 422, "invalid_value")
    problem_of(http.post("/pipeline", json={"name": "x", "knowledge_bases": ["kb-none"]}), 404, "not_found")
    for defaults in ([], "", 0, False, "mode"):
        wrong = {"name": "x", "knowledge_bases": [base], "defaults": defaults}
        problem_of(http.post("/pipeline", json=wrong), 422, "invalid_value")
    bad = {"name": "x", "knowledge_bases": [base], "defaults": {"question": "y"}}
    problem_of(http.post("/pipeline", json=bad), 422, "unknown_field")
    served.bases["none"] = "kb-none"
    problem_of(served.upload("none", {"a.md": "Text."}), 404, "not_found")
    problem_of(http.delete(f"/knowledge-bases/{base}/documents/no%2Fsuch"), 404, "not_found")
