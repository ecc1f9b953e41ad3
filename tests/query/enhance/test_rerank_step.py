"""Re-ranking in a query: order, candidates, backends, and whatever can go wrong with one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.errors import InvalidValue, ModelNotConfigured, ModelTimeout
from evigraph.testing.models import Fault, ScriptedChat, ScriptedOpenAIServer
from evigraph.types import Evidence
from small import OneStore, item

QUESTION = "Who delivered pumps to Tarn?"


class Scored:
    """A reranker that gives each text what a function of it says."""

    def __init__(self, score: Callable[[str], float]) -> None:
        self.name = "scored"
        self.asked: list[tuple[str, list[str]]] = []
        self._score = score

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((question, list(texts)))
        return [self._score(text) for text in texts]


class Returning:
    """A reranker that returns, or raises, whatever it is given."""

    name = "broken"

    def __init__(self, result: Any) -> None:
        self._result = result

    def score(self, question: str, texts: Sequence[str]) -> Any:
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result(texts) if callable(self._result) else self._result


def notes() -> list[dict[str, Any]]:
    """Forty notes, each with its number."""
    return [
        item(
            f"note{n:02}",
            f"Corrick Vane delivered pumps to Tarn. {'Barley grew. ' * (n % 3)}Mark {n:02}.",
            title="Note",
        )
        for n in range(40)
    ]


def number(text: str) -> float:
    return float(text.rpartition("Mark ")[2].rstrip("."))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("rerank"))
    opened.engine("notes").index(notes())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def plain(store: OneStore) -> Evigraph:
    return store.engine("notes")


def ids(found: Evidence) -> list[str]:
    return [chunk.id for chunk in found.chunks]


@pytest.mark.parametrize("mode", ["naive", "mix", "local", "global", "hybrid"])
def test_a_passage_from_further_down_can_come_up(store: OneStore, plain: Evigraph, mode: str) -> None:
    wide = plain.retrieve(QUESTION, mode=mode, max_chunks=30, max_context_tokens=200_000)
    reranker = Scored(number)
    found = store.engine("notes", reranker=reranker).retrieve(QUESTION, mode=mode, max_chunks=3, rerank=True)
    assert ids(found) == sorted(ids(wide), key=lambda name: -int(name[4:6]))[:3]
    assert [chunk.rerank_score for chunk in found.chunks] == [number(chunk.text) for chunk in found.chunks]
    assert [chunk.score for chunk in found.chunks] == [1.0, 0.5, round(1 / 3, 9)]
    assert found.degraded == ()
    ((question, texts),) = reranker.asked
    assert question == QUESTION
    assert 10 < len(texts) == len(wide.chunks) <= 30
    assert found.stats["rerank"] == {"backend": "scored", "candidates": len(texts), "applied": True}
    assert texts[0].startswith("Note\n"), "what is searched with a passage is judged with it"


@pytest.mark.parametrize("mode", ["keyword_lookup", "entity_connections", "traverse"])
def test_modes_about_the_passages_shown_keep_them(store: OneStore, plain: Evigraph, mode: str) -> None:
    before = plain.retrieve(QUESTION, mode=mode, max_chunks=4)
    found = store.engine("notes", reranker=Scored(number)).retrieve(QUESTION, mode=mode, max_chunks=4, rerank=True)
    assert ids(found) == sorted(ids(before), key=lambda name: -int(name[4:6]))
    assert (found.entities, found.relationships, found.connections) == (
        before.entities,
        before.relationships,
        before.connections,
    )


def test_what_is_not_judged_keeps_its_order_behind(store: OneStore, plain: Evigraph) -> None:
    before = ids(plain.retrieve(QUESTION, mode="naive"))
    engine = store.engine("notes", reranker=Scored(number))
    found = engine.retrieve(QUESTION, mode="naive", rerank=True, rerank_top_k=4)
    assert ids(found) == [*sorted(before[:4], key=lambda name: -int(name[4:6])), *before[4:]]
    assert [chunk.rerank_score is None for chunk in found.chunks] == [False] * 4 + [True] * 6
    assert [chunk.score for chunk in found.chunks] == sorted((chunk.score for chunk in found.chunks), reverse=True)


def test_ties_keep_the_order_before(store: OneStore, plain: Evigraph) -> None:
    engine = store.engine("notes", reranker=Scored(lambda text: 0.5))
    assert ids(engine.retrieve(QUESTION, rerank=True)) == ids(plain.retrieve(QUESTION))


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda texts: [1.0] * (len(texts) - 1), "29 scores for 30 passages"),
        (lambda texts: [1.0] * (len(texts) + 1), "31 scores for 30 passages"),
        ([], "0 scores"),
        (lambda texts: [float("nan")] * len(texts), "not finite"),
        (lambda texts: [float("inf")] * len(texts), "not finite"),
        (lambda texts: ["high"] * len(texts), "other than numbers"),
        (lambda texts: [None] * len(texts), "other than numbers"),
        (lambda texts: [10**400] * len(texts), "other than numbers"),
        (None, "other than numbers"),
        (7, "other than numbers"),
        (ModelTimeout("no answer within 60 s"), "model_timeout: no answer within 60 s"),
        (TimeoutError("slow"), "took too long"),
        (RuntimeError("key sk-secret"), "RuntimeError"),
    ],
)
def test_a_reranker_that_fails_leaves_the_order_before(
    store: OneStore, plain: Evigraph, result: Any, said: str
) -> None:
    before = plain.retrieve(QUESTION, mode="naive")
    found = store.engine("notes", reranker=Returning(result)).retrieve(QUESTION, mode="naive", rerank=True)
    assert found.chunks == before.chunks
    (sentence,) = found.degraded
    assert sentence.startswith("rerank: the reranker `broken` failed (")
    assert said in sentence
    assert "sk-secret" not in sentence
    assert found.stats["rerank"]["applied"] is False


def test_a_failure_is_not_kept_for_the_next_question(store: OneStore) -> None:
    results = iter([RuntimeError(), None])

    def once(texts: Sequence[str]) -> list[float]:
        if (error := next(results)) is not None:
            raise error
        return [number(text) for text in texts]

    engine = store.engine("notes", reranker=Returning(once))
    first = engine.ask(QUESTION, rerank=True, context_only=True)
    second = engine.ask(QUESTION, rerank=True, context_only=True)
    assert first.degraded and not second.degraded
    assert "cached" in engine.ask(QUESTION, rerank=True, context_only=True).stats


def test_modes_without_passages_say_so(store: OneStore) -> None:
    reranker = Scored(number)
    engine = store.engine("notes", reranker=reranker, chat=ScriptedChat(["Hello."]))
    assert "rerank: mode `bypass` has no passages; ignored" in engine.ask(QUESTION, mode="bypass", rerank=True).degraded
    overview = engine.retrieve("What recurs across all notes?", mode="thematic_overview", rerank=True)
    assert "rerank: mode `thematic_overview` answers from summaries" in " ".join(overview.degraded)
    assert reranker.asked == []


def test_an_empty_scope_asks_nobody(store: OneStore) -> None:
    reranker = Scored(number)
    found = store.engine("nothing", reranker=reranker).retrieve(QUESTION, rerank=True)
    assert (found.chunks, reranker.asked) == ((), [])


# ------------------------------------------------------------------ backends


def test_rules_are_the_default_and_repeat_themselves(plain: Evigraph) -> None:
    one = plain.retrieve("Who wrote mark 17?", mode="naive", rerank=True, min_score=-1)
    assert one.chunks[0].id == "note17#0"
    assert one.chunks == plain.retrieve("Who wrote mark 17?", mode="naive", rerank=True, min_score=-1).chunks
    assert one.stats["rerank"]["backend"] == "rules"
    assert all(0 <= (chunk.rerank_score or 0) <= 1.4 for chunk in one.chunks)


def test_the_chat_model_grades_in_one_counted_call(store: OneStore) -> None:
    chat = ScriptedChat([json.dumps([0] * 29 + [10]), "Corrick Vane delivered pumps to Tarn [1]."])
    engine = store.engine("notes", chat=chat, settings=Settings(reranker="llm"))
    answer = engine.ask(QUESTION, mode="naive", rerank=True, llm_model="other")
    assert answer.evidence.chunks[0].rerank_score == 10
    assert (answer.stats["llm_calls"], chat.models) == (2, ["other", "other"])
    assert answer.evidence.stats["rerank"]["backend"] == "llm:other"


def test_grades_that_cannot_be_read_leave_the_order(store: OneStore, plain: Evigraph) -> None:
    engine = store.engine("notes", chat=ScriptedChat(["All are good."]), settings=Settings(reranker="llm"))
    found = engine.retrieve(QUESTION, mode="naive", rerank=True)
    assert ids(found) == ids(plain.retrieve(QUESTION, mode="naive"))
    assert "does not grade each of 30 passages once" in found.degraded[0]


def test_without_a_chat_model_rules_step_in_and_say_so(store: OneStore, plain: Evigraph) -> None:
    found = store.engine("notes", settings=Settings(reranker="llm")).retrieve(QUESTION, rerank=True)
    assert ids(found) == ids(plain.retrieve(QUESTION, rerank=True))
    (sentence,) = found.degraded
    assert "no chat model is configured (EVIGRAPH_CHAT_URL)" in sentence and "rules instead" in sentence


def test_a_server_re_ranks_and_may_fail(store: OneStore, plain: Evigraph) -> None:
    with ScriptedOpenAIServer(faults=[None, Fault(status=400)]) as server:
        settings = Settings(reranker="http", rerank_url=server.url, rerank_model="tiny", model_retries=1)
        engine = store.engine("notes", settings=settings)
        found = engine.retrieve("mark 17 pumps", mode="naive", rerank=True, min_score=-1)
        assert (found.chunks[0].id, found.chunks[0].rerank_score) == ("note17#0", 1.0)
        failed = engine.retrieve("mark 17 pumps", mode="naive", rerank=True, min_score=-1)
        reranker = engine._models.reranker
        assert reranker is not None
        reranker.close()  # type: ignore[attr-defined]
    assert ids(failed) == ids(plain.retrieve("mark 17 pumps", mode="naive", min_score=-1))
    assert "the reranker `tiny` failed (model_unavailable" in failed.degraded[0]
    assert found.stats["rerank"]["backend"] == "tiny"


def test_a_setting_that_names_nothing_is_refused_where_it_is_needed(store: OneStore, tmp_path: Path) -> None:
    lost = store.engine("notes", settings=Settings(reranker=str(tmp_path / "absent")))
    assert lost.retrieve(QUESTION).degraded == ()
    with pytest.raises(InvalidValue, match="EVIGRAPH_RERANKER"):
        lost.retrieve(QUESTION, rerank=True)
    half = store.engine("notes", settings=Settings(reranker="http"))
    with pytest.raises(ModelNotConfigured, match="EVIGRAPH_RERANK_URL"):
        half.retrieve(QUESTION, rerank=True)
    assert half.capabilities()["rerank"]["available"] is False
    assert "EVIGRAPH_RERANK_URL" in half.capabilities()["rerank"]["needs"]


def test_capabilities_name_the_backend(store: OneStore) -> None:
    def backend(**options: Any) -> Any:
        return store.engine("notes", **options).capabilities()["rerank"]

    assert backend() == {"available": True, "backend": "rules", "needs": None}
    assert backend(reranker=Scored(number))["backend"] == "scored"
    assert backend(settings=Settings(reranker="llm"), chat=ScriptedChat([]))["backend"] == "llm:scripted"
    lacking = backend(settings=Settings(reranker="llm"))
    assert (lacking["backend"], lacking["needs"]) == ("rules", "EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL")
    served = backend(settings=Settings(reranker="http", rerank_url="http://127.0.0.1:9/v1", rerank_model="tiny"))
    assert served["backend"] == "tiny"


def test_a_view_of_another_workspace_has_the_same_reranker(store: OneStore) -> None:
    engine = store.engine("empty", reranker=Scored(number))
    assert ids(engine.in_workspace("notes").retrieve(QUESTION, rerank=True))[0] > "note20"
