"""Plans proposed by a model: right ones are executed; what is invalid, ambiguous or unknown abstains."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evigraph import Answer, Evigraph
from evigraph.errors import ModelNotConfigured, ModelUnavailable
from evigraph.models.ports import Message
from evigraph.testing.models import ScriptedChat
from evigraph.types import PlanOutcome
from small import OneStore
from triples import FAMILY, TripleExtractor, hop, match, steps

Ask = Callable[..., tuple[Answer, PlanOutcome, ScriptedChat]]
MOTHER = steps(match("Ada"), hop("b", "a", "mother"))


@pytest.fixture
def ask(store: OneStore, family: Evigraph) -> Ask:
    def asked(question: str, *replies: Any, **options: Any) -> tuple[Answer, PlanOutcome, ScriptedChat]:
        chat = ScriptedChat([reply if isinstance(reply, str | Exception) else json.dumps(reply) for reply in replies])  # type: ignore[misc]
        graph = store.engine(family.workspace, chat=chat, extractor=TripleExtractor())
        answer = graph.plan(question, **options)
        assert answer.evidence.plan is not None
        assert answer.evidence.plan.proposed_by == "model"
        return answer, answer.evidence.plan, chat

    return asked


def content(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.content for message in messages)


@pytest.mark.parametrize(
    ("question", "plan", "text"),
    [
        ("Who is Ada's mother?", MOTHER, "Bea [1]"),
        ("Name the woman who bore Ada.", MOTHER, "Bea [1]"),
        ("Where do friends of Ada live?", steps(match("Ada"), hop("b", "a", "FRIEND", "FRIENDS"),
         hop("c", "b", "LIVES_IN")), "Lowani [1][2]\nTarn [3][4]"),
        ("How many friends has Ada?", steps(match("person:ada"), hop("b", "a", "friend", "friends"),
         {"id": "n", "op": "count", "source": "b"}), "2 [1][2]"),
    ],
)  # fmt: skip
def test_a_right_plan_answers(ask: Ask, question: str, plan: dict[str, Any], text: str) -> None:
    answer, found, chat = ask(question, plan)
    assert answer.text == text
    assert found.reason is None and answer.citations
    assert len(chat.calls) == 1 and answer.stats["llm_calls"] == 1


@pytest.mark.parametrize(
    "reply",
    [
        "```json\n" + json.dumps(MOTHER) + "\n```",
        "Here is the plan you asked for:\n" + json.dumps(MOTHER) + "\nI hope it helps.",
        json.dumps(MOTHER).replace('"', "'"),
        json.dumps(MOTHER).replace("}]", "},]"),
    ],
)
def test_json_that_is_not_quite_json_is_repaired(ask: Ask, reply: str) -> None:
    answer, _, chat = ask("Who is Ada's mother?", reply)
    assert answer.text == "Bea [1]"
    assert bool(answer.degraded) == bool(answer.stats.get("plan_json_repaired"))
    assert len(chat.calls) == 1


def test_the_model_sees_schema_and_names_and_no_text(ask: Ask) -> None:
    _, _, chat = ask("Who is Ada's mother?", MOTHER)
    shown = content(chat.calls[0])
    assert "mother: PERSON -> PERSON" in shown
    assert "person:ada: Ada" in shown
    assert "| mother |" not in shown, "text of a document"


def test_a_fault_is_told_once(ask: Ask) -> None:
    answer, _, chat = ask("Who is Ada's mother?", steps(hop("b", "a", "mother")), MOTHER)
    assert answer.text == "Bea [1]"
    assert "step b: field source: it refers to 'a', which is no earlier step" in chat.calls[1][-1].content


@pytest.mark.parametrize(
    "reply",
    [
        "Bea is Ada's mother.",
        "",
        "[]",
        "null",
        "{" * 5_000,
        "[" * 100_000,
        '{"steps": "SELECT * FROM assertions"}',
        json.dumps(steps({"id": "a", "op": "sql", "query": "DROP TABLE passages"})),
        json.dumps({**MOTHER, "code": "import os"}),
        json.dumps(steps(match("x" * 600))),
        "x" * 50_000,
    ],
)
def test_what_stays_invalid_abstains(ask: Ask, reply: str) -> None:
    answer, found, chat = ask("Who is Ada's mother?", reply, reply)
    assert answer.abstained and answer.text is None
    assert str(found.reason).startswith("the model proposed no valid plan in 2 attempts; plan:")
    assert found.plan is None and len(chat.calls) == 2


@pytest.mark.parametrize(
    ("question", "reply", "reason", "alternatives"),
    [
        ("Who is her mother?", {"abstain": "Nobody is named."}, "the model declined: Nobody is named.", ()),
        (
            "What does Mercury befriend?",
            steps(match("Mercury"), hop("b", "a", "FRIEND")),
            "ambiguous entity: 2 carry the name 'Mercury'",
            ("person:mercury", "product:mercury"),
        ),
        ("Who is Adda's mother?", steps(match("Adda"), hop("b", "a", "mother")), "unknown entity", ("person:ada",)),
        (
            "Who is Adda's mother?",
            MOTHER,
            "the model starts from 'Ada', which the question does not name",
            ("person:ada",),
        ),
        (
            "Who is Ada's aunt?",
            steps(match("Ada"), hop("b", "a", "AUNT")),
            "unknown predicate 'AUNT'",
            None,
        ),
        ("Whom does Ada work for?", steps(match("Ada"), hop("b", "a", "WORKS_FOR")), "empty step", None),
    ],
)
def test_it_abstains_rather_than_guess(
    ask: Ask, question: str, reply: Any, reason: str, alternatives: tuple[str, ...] | None
) -> None:
    answer, found, chat = ask(question, reply)
    assert answer.abstained and answer.text is None and not answer.citations
    assert reason in str(found.reason) and reason in str(answer.abstain_reason)
    assert len(chat.calls) == 1
    if alternatives is not None:
        assert found.alternatives == alternatives


def test_without_plan_and_model_it_is_refused(family: Evigraph) -> None:
    with pytest.raises(ModelNotConfigured) as raised:
        family.ask("Who is Ada's mother?", mode="plan")
    assert "EVIGRAPH_CHAT_URL" in raised.value.hint
    with pytest.raises(ModelNotConfigured):
        family.retrieve("Who is Ada's mother?", mode="plan")


def test_a_model_that_fails_is_an_error(ask: Ask) -> None:
    with pytest.raises(ModelUnavailable):
        ask("Who is Ada's mother?", ModelUnavailable("gone"))


def test_prompt_only_shows_what_would_be_asked(family: Evigraph) -> None:
    answer = family.plan("Who is Ada's mother?", prompt_only=True)
    assert "QUESTION\nWho is Ada's mother?" in str(answer.prompt)
    assert answer.text is None


def test_the_given_schema_is_what_the_model_sees(store: OneStore) -> None:
    chat = ScriptedChat([json.dumps(MOTHER)])
    graph = store.engine(chat=chat, extractor=TripleExtractor())
    graph.index(FAMILY)
    graph.set_schema({"predicates": [{"name": "MOTHER", "domain": ["PERSON"], "description": "Who bore them."}]})
    assert graph.plan("Who is Ada's mother?").text == "Bea [1]"
    assert "MOTHER: PERSON -> any (Who bore them.)" in content(chat.calls[0])


@pytest.mark.parametrize("mark", ['{"id": "c"', ', "source": "b"', '"friend"'])
def test_a_plan_cut_off_is_never_executed_as_a_shorter_one(ask: Ask, mark: str) -> None:
    whole = json.dumps(
        steps(match("Ada"), hop("b", "a", "FRIENDS", "friend"), {"id": "c", "op": "count", "source": "b"})
    )
    cut = whole[: whole.index(mark)]
    answer, found, chat = ask("How many friends has Ada?", cut, cut)
    assert answer.abstained and found.plan is None and len(chat.calls) == 2
    assert found.reason is not None and "cut off" in found.reason
    answer, _, _ = ask("How many friends has Ada?", cut, whole)
    assert answer.text == "2 [1][2]"
