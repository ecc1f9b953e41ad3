"""What `corrective` grades, and what it says of the passages that it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evigraph.models.ports import Message
from evigraph.query.methods.corrective import GRADED
from evigraph.testing.models import ScriptedChat
from evigraph.types import Answer
from small import CountingEmbedder, OneStore, item

QUESTION = "Why do the pumps of Tarn stand idle?"
WIDE = {"mode": "naive", "min_score": -1.0, "max_context_tokens": 20_000}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("corrective"))
    notes = [item(f"d{n:02}", f"Pumps of Tarn stand idle for want of part {n}.", title=f"N{n}") for n in range(40)]
    assert not opened.engine("notes").index(notes).errors
    yield opened
    opened.close()


def grading(best: float, refined: str = "") -> ScriptedChat:
    """Gives the first passage this grade and the others almost none."""

    def say(messages: Sequence[Message]) -> str:
        if '"grades"' in messages[0].content:
            shown = messages[-1].content.count("<passage n=")
            return json.dumps({"grades": [best] + [0.1] * (shown - 1), "refined_question": refined})
        return "The pumps stand idle for want of parts [1]."

    return ScriptedChat(say)


def ask(store: OneStore, chat: ScriptedChat | None, max_chunks: int, **options: Any) -> Answer:
    made = {} if chat is None else {"chat": chat}
    embedder = options.pop("embedder", None)
    graph = store.engine("notes", **made, **({} if embedder is None else {"embedder": embedder}))
    return graph.ask(QUESTION, method="corrective", max_chunks=max_chunks, **WIDE, **options)


@pytest.mark.parametrize("best", [0.9, 0.2])
def test_passages_that_were_not_graded_are_counted_and_told(store: OneStore, best: float) -> None:
    answer = ask(store, grading(best), 40)
    told = answer.details["corrective"]
    assert (told["graded"], told["ungraded"]) == (GRADED, 40 - GRADED)
    assert answer.degraded == (
        f"corrective: {40 - GRADED} of 40 passages were not graded, since one call grades {GRADED}; they were kept as"
        " they are",
    )


def test_they_are_kept_where_the_irrelevant_are_left_out(store: OneStore) -> None:
    answer = ask(store, grading(0.9), 40)
    assert answer.details["corrective"]["irrelevant_left_out"] == GRADED - 1
    assert len(answer.evidence.chunks) == 1 + 40 - GRADED


def test_where_all_are_graded_there_is_nothing_to_tell(store: OneStore) -> None:
    answer = ask(store, grading(0.9), GRADED)
    assert (answer.details["corrective"]["graded"], answer.details["corrective"]["ungraded"]) == (GRADED, 0)
    assert answer.degraded == ()


def test_rules_grade_no_passage_by_itself(store: OneStore) -> None:
    answer = ask(store, None, 40)
    told = answer.details["corrective"]
    assert (told["graded_by"], told["graded"], told["ungraded"]) == ("rules", None, None)
    assert answer.degraded == ()


def test_a_refined_question_that_is_cut_is_told(store: OneStore) -> None:
    answer = ask(store, grading(0.1, refined="idle pumps " * 60), 5)
    assert len(answer.details["corrective"]["refined_question"]) == 500
    assert answer.degraded == ("corrective: only the first 500 characters of the refined question were taken",)


def test_a_refined_question_that_the_embedder_does_not_read_whole_is_told(store: OneStore) -> None:
    chat = grading(0.1, refined="which spare parts were wanting for the pumps of the village of Tarn in May")
    answer = ask(store, chat, 5, embedder=CountingEmbedder(max_tokens=12))
    assert [one for one in answer.degraded if one.startswith("corrective: the refined question is longer than")]
