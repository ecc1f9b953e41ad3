"""What the ledger says where a step loses things between stages, a reranker fails, a draft is discarded, tokens are not
told, or an answer comes from the cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evigraph.cli.explain import explain
from evigraph.models.ports import ChatReply, Message
from evigraph.query import pipeline
from evigraph.query.ledger import Boundary, Ledger
from evigraph.query.route import step as route_step
from evigraph.query.route.model import CLASSES, MODES
from evigraph.query.run import Run
from evigraph.reports import StageReport
from evigraph.routing import Route
from evigraph.testing.faults import with_boundary
from evigraph.testing.models import ScriptedChat
from evigraph.types import Answer, Method, Mode
from evigraph.wire import answer_to_wire
from small import OneStore, item

NOTES = [item(f"note{n}", f"Corrick Vane delivered pump {n} to Tarn. Mark {n}.", title="Note") for n in range(12)]
QUESTION = "Who delivered pumps to Tarn?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("losses"))
    graph = opened.engine("notes")
    assert not graph.index(NOTES).errors
    graph.communities.build()
    yield opened
    opened.close()


def ask(store: OneStore, *, chat: Any = None, reranker: Any = None, **options: Any) -> Answer:
    return store.engine("notes", chat=chat, reranker=reranker).ask(options.pop("question", QUESTION), **options)


def stage(answer: Answer, name: str) -> StageReport:
    return next(one for one in answer.ledger if one.name == name)


# ------------------------------------------------------------------ between stages


def lose_chunks(run: Run) -> None:
    run.chunks = run.chunks[: len(run.chunks) // 2]


def lose_entities(run: Run) -> None:
    run.entities = run.entities[1:]


def lose_relationships(run: Run) -> None:
    run.relationships = []


def lose_passages(run: Run) -> None:
    run.retrieved = replace(run.retrieved, passages=run.retrieved.passages[:1])


def invent(run: Run) -> None:
    run.chunks = [*run.chunks, replace(run.chunks[0], id="other#0")]


def reorder(run: Run) -> None:
    run.chunks = run.chunks[::-1]


def shorten(run: Run) -> None:
    run.chunks = [replace(run.chunks[0], text=run.chunks[0].text[:9]), *run.chunks[1:]]


def hand_on_less(run: Run) -> None:
    with run.ledger.stage("polish") as under_way:
        run.chunks = under_way.hand_on(run.chunks[:1])


def take_less(run: Run) -> None:
    with run.ledger.stage("polish", given=1) as under_way:
        run.chunks = under_way.hand_on(run.chunks[:1])


def declare_less(run: Run) -> None:
    with run.ledger.stage("polish", given=1, of="chunks") as under_way:
        run.chunks = under_way.hand_on(list(run.chunks))


def keep_something_else(run: Run) -> None:
    with run.ledger.stage("polish", given=len(run.chunks), of="chunks") as under_way:
        run.chunks = under_way.hand_on(list(run.chunks))[:2]


def lose_beside(run: Run) -> None:
    with run.ledger.stage("polish", given=len(run.chunks), of="chunks") as under_way:
        run.entities = run.entities[:1]
        run.chunks = under_way.hand_on(list(run.chunks))


def count_beside_wrongly(run: Run) -> None:
    with run.ledger.stage("polish", given=len(run.chunks), of="chunks") as under_way:
        under_way.beside("entities", given=len(run.entities), out=1, lost={})
        run.entities = run.entities[:1]
        run.chunks = under_way.hand_on(list(run.chunks))


QUIET = (
    lose_chunks,
    lose_entities,
    lose_relationships,
    lose_passages,
    invent,
    reorder,
    shorten,
    hand_on_less,
    take_less,
    declare_less,
    keep_something_else,
    lose_beside,
    count_beside_wrongly,
)


def with_step(monkeypatch: pytest.MonkeyPatch, step: Callable[[Run], None]) -> None:
    """Puts a step after `assemble`."""
    at = pipeline.STEPS.index(pipeline.assemble) + 1
    monkeypatch.setattr(pipeline, "STEPS", (*pipeline.STEPS[:at], step, *pipeline.STEPS[at:]))


@pytest.mark.parametrize("step", QUIET, ids=lambda step: step.__name__)
def test_a_step_that_changes_what_is_at_hand_is_told(
    store: OneStore, monkeypatch: pytest.MonkeyPatch, step: Callable[[Run], None]
) -> None:
    with_step(monkeypatch, step)
    answer = ask(store, max_chunks=6)
    told = [one for one in answer.degraded if one.startswith((f"{step.__name__}: ", "polish: "))]
    assert told, answer.degraded
    assert answer_to_wire(answer)["degraded"]


def test_a_step_that_accounts_for_what_it_leaves_out_is_no_deviation(
    store: OneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def polish(run: Run) -> None:
        with run.ledger.stage("polish", given=len(run.chunks), of="chunks") as under_way:
            under_way.lose(len(run.chunks) - 1, "for a reason")
            count = len(run.entities)
            run.entities = run.entities[:1]
            under_way.beside("entities", given=count, out=1, lost={"for another": count - 1})
            run.chunks = under_way.hand_on(run.chunks[:1])

    with_step(monkeypatch, polish)
    answer = ask(store, max_chunks=6)
    assert answer.degraded == ()
    assert stage(answer, "polish").lost == {"for a reason": 5}
    assert stage(answer, "polish").step == "polish"
    assert stage(answer, "budget").items_in == 1


def test_the_sentence_counts_what_is_missing(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with_step(monkeypatch, lose_chunks)
    assert ask(store, max_chunks=6).degraded == (
        "lose_chunks: 6 chunks were at hand and 3 are left; no stage says what became of 3",
    )


def test_a_ledger_that_watches_nothing_notices_nothing() -> None:
    ledger = Ledger()
    with ledger.step("one"), ledger.stage("two", given=1) as under_way:
        under_way.hand_on([1])
    assert ledger.degraded == []


@pytest.mark.parametrize(
    ("name", "kind", "options", "reason"),
    [
        ("assemble", "entities", {"max_entities": 1}, "beyond max_entities 1"),
        ("budget", "relationships", {"max_context_tokens": 80}, "beyond their share of max_context_tokens 80"),
    ],
)
def test_facts_that_are_cut_have_a_reason(
    store: OneStore, name: str, kind: str, options: dict[str, Any], reason: str
) -> None:
    answer = ask(store, **options)
    count = stage(answer, name).beside[kind]
    assert count.items_in > count.items_out
    assert count.lost == {reason: count.items_in - count.items_out}
    assert answer.degraded == ()


def test_a_question_that_starts_anew_gives_up_what_it_had(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model cited in the answer that is given up is no deviation of the answer given."""

    def decided(run: Run) -> Route:
        found = dict.fromkeys(CLASSES, 0.0) | {"local": 0.7, "global": 0.3}
        return Route(route="local", mode=MODES["local"], margin=0.4, second="global", probabilities=found, signals=())

    def reply(messages: Sequence[Message]) -> str:
        return "Nobody knows of it at all [99]."

    monkeypatch.setattr(route_step, "_decided", decided)
    answer = ask(store, chat=ScriptedChat(reply), mode="auto", question="Who delivered the pumps to Tarn?")
    assert answer.evidence.mode is Mode.THEMATIC_OVERVIEW
    given_up = stage(answer, "query").lost
    assert list(given_up) == ["given up when the question was turned to the corpus as a whole"]
    assert not [one for one in answer.degraded if "at hand" in one or "[99]" in one], answer.degraded


class SecondTime(Boundary):
    """Has a stage fail the second time that it is entered."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self.entered = 0

    def enter(self, stage: str) -> None:
        self.entered += stage == self._stage
        if stage == self._stage and self.entered == 2:
            raise RuntimeError("out of order")


def test_an_attempt_that_fails_half_way_leaves_what_was_there(store: OneStore) -> None:
    """`corrective` has found other passages, and cannot fetch them."""
    question = "Who delivered pumps to Zorbulon?"
    boundary = SecondTime("assemble")
    answer = with_boundary(store.engine("notes"), boundary).ask(question, mode="naive", method="corrective")
    assert boundary.entered == 2
    assert [one for one in answer.degraded if one.endswith("the first evidence was kept")]
    assert not [one for one in answer.degraded if "at hand" in one]
    assert answer.evidence.chunks == ask(store, question=question, mode="naive").evidence.chunks


# ------------------------------------------------------------------ a reranker that fails


class Broken:
    name = "broken"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        raise RuntimeError("out of memory")


def test_what_is_cut_after_a_failed_reranker_has_a_reason(store: OneStore) -> None:
    answer = ask(store, reranker=Broken(), rerank=True, mode="naive", max_chunks=3, min_score=0.0)
    failed, kept = stage(answer, "rerank"), stage(answer, "keep_best")
    assert (failed.items_in, failed.items_out) == (12, None)
    assert failed.failed == "stage_failed: rerank: RuntimeError in it"
    assert (kept.items_in, kept.items_out, kept.lost) == (12, 3, {"beyond max_chunks 3": 9})
    assert stage(answer, "budget").items_in == 3
    assert len(answer.degraded) == 1 and "the order before it was kept" in answer.degraded[0]


# ------------------------------------------------------------------ tokens


class Telling:
    """A chat model that tells some of its tokens."""

    name = "telling"

    def __init__(self, prompt: int | None, completion: int | None) -> None:
        self._told = prompt, completion

    def complete(self, messages: Sequence[Message], *, model: str | None = None) -> ChatReply:
        text = "Corrick Vane delivered pump 1 to Tarn [1]."
        return ChatReply(text=text, model="telling", prompt_tokens=self._told[0], completion_tokens=self._told[1])


@pytest.mark.parametrize(("prompt", "completion"), [(None, None), (7, None), (None, 3), (7, 3)])
def test_tokens_that_are_not_told_are_unknown_everywhere(
    store: OneStore, prompt: int | None, completion: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = answer_to_wire(ask(store, chat=Telling(prompt, completion)))
    generation = next(one for one in wire["ledger"] if one["name"] == "generation")
    assert (generation["prompt_tokens"], generation["completion_tokens"]) == (prompt, completion)
    assert (wire["stats"]["prompt_tokens"], wire["stats"]["completion_tokens"]) == (prompt, completion)
    assert {one["prompt_tokens"] for one in wire["ledger"] if not one["llm_calls"]} == {0}
    explain(wire)
    shown = next(line for line in capsys.readouterr().out.splitlines() if line.lstrip("│ ").startswith("generation"))
    assert ("?" in shown) == (None in (prompt, completion))


def test_an_answer_from_the_cache_called_no_model(store: OneStore, capsys: pytest.CaptureFixture[str]) -> None:
    def reply(messages: Sequence[Message]) -> str:
        if '"usefulness"' in messages[0].content:
            return json.dumps({"answer": "Corrick Vane delivered pump 1 to Tarn [1].", "usefulness": 80})
        return "Corrick Vane delivered pump 1 to Tarn [1]."

    graph = store.engine("notes", chat=ScriptedChat(reply))
    options: dict[str, Any] = {"mode": "thematic_overview"}
    first, kept = graph.ask(QUESTION, **options), graph.ask(QUESTION, **options)
    assert first.stats["llm_calls"] > 0 and "cached" not in first.stats
    assert kept.text == first.text
    counted = [kept.stats[name] for name in ("cached", "llm_calls", "prompt_tokens", "completion_tokens")]
    assert counted == [True, 0, 0, 0]
    assert all(one.cached for one in kept.ledger) and not any(one.cached for one in first.ledger)
    assert sum(one.llm_calls for one in kept.ledger) == first.stats["llm_calls"]
    explain(answer_to_wire(kept))
    assert "no model was called this time" in " ".join(capsys.readouterr().out.split())


# ------------------------------------------------------------------ drafts


def critic(scores: Sequence[float], drafts: Sequence[str]) -> ScriptedChat:
    """Grades, and writes, one draft after the other."""
    left, written = list(scores), list(drafts)

    def reply(messages: Sequence[Message]) -> str:
        if '"critique"' in messages[0].content:
            return json.dumps({"score": left.pop(0), "critique": "Better."})
        return written.pop(0)

    return ScriptedChat(reply)


GOOD, WRONG = "Corrick Vane delivered pump 1 to Tarn [1].", "Corrick Vane delivered pump 1 to Tarn [1][99]."
CITED_99 = "generation: the model cited passage [99], which does not exist; removed"
BARE = "Zorbulon fell."
BARE_SAID = "generation: the model's answer cites no passage; nothing in it is verified"


DRAFTS: tuple[tuple[list[str], list[float], str, list[str], list[dict[str, Any]]], ...] = (
    ([GOOD, WRONG, GOOD], [0.6, 0.2, 0.3], GOOD, [], [{"draft": 1, "said": [CITED_99]}]),
    ([WRONG, GOOD], [0.2, 0.9], GOOD, [], [{"draft": 0, "said": [CITED_99]}]),
    ([GOOD, WRONG], [0.2, 0.9], WRONG, [CITED_99], []),
    ([WRONG, WRONG], [0.2, 0.9], WRONG, [CITED_99], [{"draft": 0, "said": [CITED_99]}]),
    ([BARE, GOOD], [0.2, 0.9], GOOD, [], [{"draft": 0, "said": [BARE_SAID]}]),
)
"""Drafts, their grades, the one kept, what is said of it, and what of the others."""


@pytest.mark.parametrize("case", DRAFTS)
def test_what_is_said_of_a_discarded_draft_is_no_deviation(
    store: OneStore, case: tuple[list[str], list[float], str, list[str], list[dict[str, Any]]]
) -> None:
    drafts, scores, kept, degraded, discarded = case
    answer = ask(store, chat=critic(scores, drafts), method="self_rag")
    assert list(answer.degraded) == degraded
    assert answer.removed_citations == ((99,) if kept == WRONG else ())
    assert answer_to_wire(answer)["method_details"]["self_rag"]["discarded"] == discarded
    assert [sentence for one in answer.ledger for sentence in one.degraded] == degraded


def test_a_draft_that_nobody_graded_is_discarded_with_what_is_said_of_it(store: OneStore) -> None:
    chat = critic([0.2], [GOOD, WRONG])
    answer = ask(store, chat=chat, method="self_rag")
    assert answer.text is not None and answer.removed_citations == ()
    assert CITED_99 not in answer.degraded
    assert len(answer.degraded) == 1 and answer.degraded[0].startswith("self_rag: ")


@pytest.mark.parametrize("shown", ["context_only", "prompt_only"])
def test_where_nothing_is_generated_nothing_is_graded(store: OneStore, shown: str) -> None:
    for chat in (None, critic([], [])):
        answer = ask(store, chat=chat, method="self_rag", **{shown: True})
        told = answer_to_wire(answer)["method_details"]["self_rag"]
        assert (told["evaluated"], told["evaluator"], told["score"], told["threshold_met"]) == (False, None, None, None)
        if chat is None:
            assert answer.degraded[0].startswith("self_rag: no chat model is configured")
            assert answer.method is Method.STANDARD
        else:
            assert "nothing was generated" in told["reason"]
            assert answer.degraded == () and answer.method is Method.SELF_RAG


def test_an_answer_that_was_withheld_is_not_graded(store: OneStore) -> None:
    answer = ask(store, chat=critic([], []), method="self_rag", question="Zorbulon", mode="naive", min_score=1.0)
    assert answer.abstained and answer.degraded == ()
    assert "nothing to grade" in answer.details["self_rag"]["reason"]
