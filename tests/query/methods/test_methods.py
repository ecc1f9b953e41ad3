"""What each method does with a chat model, without one, and with one that fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.errors import InvalidCombination, ModelUnavailable, UnknownMethod
from evigraph.models.ports import Message
from evigraph.testing.models import ScriptedChat
from evigraph.types import Answer, Method, Mode
from evigraph.wire import answer_to_wire
from small import OneStore, item

DOCUMENTS = [
    item("tarn", "Corrick Vane delivered four pumps to Tarn in May.", title="Tarn note", source="tarn.md"),
    item("copy", "Corrick Vane delivered four pumps to Tarn in May.", title="Tarn note", source="tarn.md"),
    item("lowani", "Hana Sefu trained the mechanics of Lowani. The wells there are deep.", source="lowani.md"),
    item("ulwe", "Maize prices rose at Ulwe while the river was low.", source="ulwe.md"),
    item("cattle", "Marit Olsen counted cattle near the northern fence.", source="cattle.md"),
]
QUESTION = "Who delivered pumps to Tarn?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("methods"))
    assert not opened.engine("notes").index(DOCUMENTS).errors
    yield opened
    opened.close()


def ask(store: OneStore, method: str, *, chat: ScriptedChat | None = None, **options: Any) -> Answer:
    graph = store.engine("notes") if chat is None else store.engine("notes", chat=chat)
    return graph.ask(options.pop("question", QUESTION), method=method, **options)


def details(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = answer_to_wire(answer)["method_details"]
    return found


def scripted(*rules: tuple[str, str]) -> ScriptedChat:
    """Replies by a word of the system prompt; else it answers, citing the first passage."""

    def reply(messages: Sequence[Message]) -> str:
        system = messages[0].content
        return next((text for sign, text in rules if sign in system), "Corrick Vane delivered four pumps to Tarn [1].")

    return ScriptedChat(reply)


# ------------------------------------------------------------------ choosing one


@pytest.mark.parametrize("spelt", ["HYDE", "Self_RAG", "Multi_Query", "standard", "AUTO"])
def test_methods_are_spelt_in_any_case(store: OneStore, spelt: str) -> None:
    assert answer_to_wire(ask(store, spelt))["requested"]["method"] == spelt.lower()


def test_an_unknown_method_is_refused_with_the_valid_ones(store: OneStore) -> None:
    with pytest.raises(UnknownMethod) as refused:
        ask(store, "conversational")
    assert refused.value.valid == tuple(method.value for method in Method)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("mode", "method"),
    [
        ("bypass", "hyde"),
        ("plan", "self_rag"),
        ("thematic_overview", "multi_query"),
        ("mix", "raptor"),
        ("auto", "raptor"),
    ],
)
def test_what_makes_no_sense_together_is_refused(store: OneStore, mode: str, method: str) -> None:
    with pytest.raises(InvalidCombination, match=f"method `{method}` makes no sense under mode `{mode}`: ") as refused:
        ask(store, method, mode=mode)
    assert refused.value.status == 422


def test_raptor_alone_is_asked_under_naive(store: OneStore) -> None:
    answer = ask(store, "raptor")
    assert answer.evidence.mode is Mode.NAIVE
    assert answer.method is Method.STANDARD
    assert answer.evidence.retrieval == "dense"
    assert answer.evidence.chunks == ask(store, "standard", mode="naive").evidence.chunks
    assert [sentence for sentence in answer.degraded if sentence.startswith("raptor: no document in scope has")]


# ------------------------------------------------------------------ hyde


def test_hyde_searches_with_the_hypothetical_answer(store: OneStore) -> None:
    chat = scripted(("one short paragraph", "Maize prices rose at Ulwe while the river was low."))
    answer = ask(store, "hyde", chat=chat, question="What became dearer?", mode="naive")
    assert answer.evidence.chunks[0].document_id == "ulwe"
    assert answer.evidence.chunks[0].vector_score > 0.9
    assert answer.method is Method.HYDE
    assert details(answer)["hyde"] == {"hypothetical_answer": "Maize prices rose at Ulwe while the river was low."}
    assert answer.degraded == ()


def test_what_hyde_found_must_bear_on_the_question_asked(store: OneStore) -> None:
    """A hypothetical answer that happens to be a passage is no evidence for the question."""
    offline_words = "Maize prices rose at Ulwe while the river was low."
    chat = scripted(("one short paragraph", offline_words), ("You answer", "NO_ANSWER"))
    answer = ask(store, "hyde", chat=chat, question="Which emperor signed the treaty of Zorbulon?", mode="naive")
    assert answer.abstained
    assert answer.abstain_reason is not None and answer.abstain_reason.startswith("evidence: ")


@pytest.mark.parametrize(
    "chat", [None, ScriptedChat([ModelUnavailable("down", hint=""), "Corrick Vane delivered pumps [1]."])]
)
def test_without_a_hypothetical_answer_the_question_is_searched_for(store: OneStore, chat: ScriptedChat | None) -> None:
    answer = ask(store, "hyde", chat=chat)
    assert answer.method is Method.STANDARD
    assert answer.degraded[0].startswith("hyde: ")
    assert answer.degraded[0].endswith("; the question itself was searched for")
    assert [c.id for c in answer.evidence.chunks] == [c.id for c in ask(store, "standard").evidence.chunks]


# ------------------------------------------------------------------ multi_query


def test_each_rephrasing_is_searched_for_and_the_best_score_wins(store: OneStore) -> None:
    rephrased = ["Maize prices rose at Ulwe while the river was low on pumps.", "x" * 600, QUESTION]
    chat = scripted(("JSON list of texts", json.dumps(rephrased)))
    answer = ask(store, "multi_query", chat=chat, mode="naive", min_score=0.0)
    told = details(answer)["multi_query"]
    assert (told["rephrasings"], told["written_by"]) == ([rephrased[0]], "model")
    scores = {chunk.document_id: chunk.vector_score for chunk in answer.evidence.chunks}
    assert scores["ulwe"] > 0.85
    assert answer.evidence.chunks[0].document_id == "ulwe"
    assert answer.degraded == ()


def test_a_text_comes_once_from_each_source(store: OneStore) -> None:
    chat = scripted(("JSON list of texts", '["Pumps delivered to Tarn"]'))
    found = ask(store, "multi_query", chat=chat, mode="naive").evidence.chunks
    assert len({(chunk.source, chunk.text) for chunk in found}) == len(found)
    assert sum(chunk.source == "tarn.md" for chunk in found) == 1


def test_rules_rephrase_without_a_model(store: OneStore) -> None:
    answer = ask(store, "multi_query")
    told = details(answer)["multi_query"]
    assert told["written_by"] == "rules"
    assert told["rephrasings"] == ["Who provided pumps to Tarn?", "delivered pumps Tarn"]
    assert answer.method is Method.MULTI_QUERY
    assert answer.degraded == ()


def test_rules_rephrase_where_the_model_fails(store: OneStore) -> None:
    chat = ScriptedChat([ModelUnavailable("down", hint=""), "Corrick Vane delivered four pumps to Tarn [1]."])
    answer = ask(store, "multi_query", chat=chat)
    assert details(answer)["multi_query"]["written_by"] == "rules"
    assert answer.degraded == ("multi_query: down; rules rephrased the question",)


# ------------------------------------------------------------------ corrective


def test_strong_evidence_is_kept(store: OneStore) -> None:
    answer = ask(store, "corrective")
    told = details(answer)["corrective"]
    assert (told["graded_by"], told["action"], told["refined_question"]) == ("rules", "kept", None)
    assert answer.degraded == ()


def test_weak_evidence_is_sought_again_with_the_refined_question(store: OneStore) -> None:
    grades = {"grades": [0.0] * 4, "refined_question": "Maize prices rose at Ulwe while the river was low."}
    chat = scripted(("You grade passages", json.dumps(grades)))
    answer = ask(
        store, "corrective", chat=chat, question="What became dearer?", mode="naive", max_chunks=4, min_score=-1.0
    )
    told = details(answer)["corrective"]
    assert (told["grade"], told["graded_by"], told["action"]) == (0.0, "model", "searched again")
    assert told["refined_question"] == grades["refined_question"]
    assert answer.evidence.chunks[0].document_id == "ulwe"
    assert answer.degraded == ()


def test_passages_graded_irrelevant_are_left_out(store: OneStore) -> None:
    chat = scripted(("You grade passages", '{"grades": [0.9, 0.0, 0.2, 0.1], "refined_question": ""}'))
    answer = ask(store, "corrective", chat=chat, mode="naive", max_chunks=4, min_score=-1.0)
    assert len(answer.evidence.chunks) == 1
    assert details(answer)["corrective"]["irrelevant_left_out"] == 3
    assert answer.degraded == ()


@pytest.mark.parametrize("said", ["no idea", '{"grades": [1]}', '{"grades": [2, 2, 2, 2]}', '{"grades": "all"}', "{"])
def test_grades_that_are_none_are_told(store: OneStore, said: str) -> None:
    answer = ask(
        store, "corrective", chat=scripted(("You grade passages", said)), max_chunks=4, mode="naive", min_score=-1.0
    )
    assert details(answer)["corrective"]["graded_by"] == "rules"
    assert answer.degraded == ("corrective: the chat model's reply held no grade of each passage; graded by strength",)


# ------------------------------------------------------------------ self_rag


def critic(*scores: float) -> ScriptedChat:
    """Grades one answer after the other, and writes numbered drafts."""
    left, drafts = list(scores), iter(range(1, 10))

    def reply(messages: Sequence[Message]) -> str:
        if '"critique"' in messages[0].content:
            return json.dumps({"score": left.pop(0), "critique": "Say more."})
        return f"Corrick Vane delivered four pumps to Tarn in May, draft {next(drafts)} [1]."

    return ScriptedChat(reply)


def test_a_good_answer_is_graded_once(store: OneStore) -> None:
    answer = ask(store, "self_rag", chat=critic(0.9))
    told = details(answer)["self_rag"]
    assert told == {
        "evaluated": True,
        "evaluator": "scripted",
        "score": 0.9,
        "threshold": 0.7,
        "threshold_met": True,
        "rounds": 0,
        "reason": None,
        "discarded": [],
    }
    assert answer.degraded == ()


def test_a_poor_answer_is_written_again_and_the_best_stays(store: OneStore) -> None:
    answer = ask(store, "self_rag", chat=critic(0.2, 0.6, 0.4))
    told = details(answer)["self_rag"]
    assert (told["score"], told["threshold_met"], told["rounds"]) == (0.6, False, 2)
    assert answer.text is not None and "draft 2" in answer.text
    assert [citation.n for citation in answer.citations] == [1]
    assert answer.stats["llm_calls"] == 6


def test_nobody_grades_without_a_model(store: OneStore) -> None:
    answer = ask(store, "self_rag")
    told = details(answer)["self_rag"]
    assert (told["evaluated"], told["score"], told["threshold_met"]) == (False, None, None)
    assert answer.degraded[-1].startswith("self_rag: no chat model is configured")
    assert "single pass" in answer.degraded[-1]
    assert answer.text == ask(store, "standard").text


def test_a_reply_without_a_grade_is_no_grade(store: OneStore) -> None:
    answer = ask(store, "self_rag", chat=scripted(('"critique"', "fine!")))
    told = details(answer)["self_rag"]
    assert (told["evaluated"], told["threshold_met"]) == (False, None)
    assert answer.degraded == ("self_rag: the chat model's reply held no grade; the answer was not graded",)


# ------------------------------------------------------------------ auto


def test_the_decision_is_reported_with_what_was_applied(store: OneStore) -> None:
    answer = ask(store, "auto")
    decision = details(answer)["decision"]
    assert decision["top_k"] == 5
    assert decision["applied"] == {"top_k": 5, "rerank": False, "method": "standard"}
    assert decision["reasons"][0] == "it names one thing that is known: 5 passages"
    assert answer.method is Method.STANDARD
    assert answer.degraded == ()


def test_the_decision_leaves_alone_what_the_caller_set(store: OneStore) -> None:
    applied = details(ask(store, "auto", max_chunks=2, rerank=True))["decision"]["applied"]
    assert applied == {"top_k": 2, "rerank": True, "method": "standard"}


def test_words_that_no_passage_holds_call_for_hyde(store: OneStore) -> None:
    chat = scripted(("one short paragraph", "Maize prices rose at Ulwe while the river was low."))
    answer = ask(store, "auto", chat=chat, question="why did staple foodstuffs become dearer", mode="naive")
    decision = details(answer)["decision"]
    assert decision["hyde"] is True
    assert decision["applied"]["method"] == "hyde"
    assert answer.method is Method.HYDE
    assert answer.evidence.chunks[0].document_id == "ulwe"


def test_advice_that_the_flags_gainsay_is_reported(store: OneStore) -> None:
    degraded = ask(store, "auto", mode="naive").degraded
    assert degraded == ("auto: the decision suggests hybrid retrieval; the flags ask for dense, which was used",)
    assert ask(store, "auto", mode="naive", hybrid=True).degraded == ()


# ------------------------------------------------------------------ the ledger


def test_calls_and_tokens_belong_to_their_stage(store: OneStore) -> None:
    answer = ask(store, "multi_query", chat=scripted(("JSON list of texts", '["Pumps delivered to Tarn"]')))
    called = {stage.name: stage.llm_calls for stage in answer.ledger if stage.llm_calls}
    assert called == {"multi_query": 1, "generation": 1}
    assert sum(stage.prompt_tokens for stage in answer.ledger) == answer.stats["prompt_tokens"]


def test_every_loss_has_a_reason(store: OneStore) -> None:
    answer = ask(store, "standard", mode="naive", max_chunks=1, min_score=-1.0)
    assembled = next(stage for stage in answer.ledger if stage.name == "assemble")
    assert (assembled.items_in, assembled.items_out) == (5, 1)
    assert assembled.lost == {"beyond max_chunks 1": 4}
    assert answer.degraded == ()


def test_limits_and_true_emptiness_are_no_degradation(store: OneStore) -> None:
    nothing = ask(store, "standard", mode="naive", min_score=1.0, question="Zorbulon")
    assert nothing.abstained
    assert nothing.degraded == ()
    assert ask(store, "standard", max_chunks=1, max_entities=0, max_relationships=0).degraded == ()
    outside = ask(store, "multi_query", document_filter={"document_ids": []})
    assert outside.abstained
    assert outside.degraded == ()


def test_a_graph_says_the_same_twice(store: OneStore) -> None:
    def told(graph: Evigraph) -> tuple[Any, ...]:
        answer = graph.ask(QUESTION, method="multi_query")
        return answer.text, answer.evidence.chunks, answer.details

    assert told(store.engine("notes")) == told(store.engine("notes"))
