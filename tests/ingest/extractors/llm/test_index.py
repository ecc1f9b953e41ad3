"""Extraction by a chat model through the whole engine: index, cache, budget, account, prune, a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph, Settings
from evigraph.errors import ModelNotConfigured, ModelTimeout
from evigraph.ingest.extractors.llm.records import Parsed
from evigraph.models.ports import Message
from evigraph.store.migrations import REVISION_TABLES
from evigraph.testing.models import ScriptedChat, ScriptedOpenAIServer
from evigraph.wire import answer_to_wire, plain
from small import CountingEmbedder, OneStore, item

from .talk import is_extraction, passage_of, read_aloud

LLM = Settings(extractor="llm")
DOCUMENTS = [item(f"d{i}", f"Hana Sefu visited Tarn{i}. Nothing else happened.", title=f"Note {i}") for i in range(5)]


def answer(messages: Sequence[Message]) -> str:
    return read_aloud(messages) if is_extraction(messages) else "Corrick Vane delivered to Tarn [1]."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("llm"))
    yield opened
    opened.close()


def engine(store: OneStore, chat: ScriptedChat, workspace: str = "", **settings: Any) -> Evigraph:
    return store.engine(workspace, chat=chat, extractor=None, settings=Settings(extractor="llm", **settings))


def test_index_and_ask(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    graph = engine(store, chat)
    report = graph.index(item("memo", "Corrick Vane delivered Tarn pumps. It rained.", title="Memo"))
    assert report.extraction is not None
    assert (report.extraction.calls, report.extraction.assertions, report.extraction.unverified) == (1, 1, 0)
    assert report.extraction.prompt_tokens > 100
    assert graph.jobs()[0].detail["extraction"] == plain(report.extraction)
    answered = graph.ask("What did Corrick Vane deliver?", mode="local")
    [said] = answered.evidence.relationships
    assert (said.source, said.type, said.target, said.verified) == (
        "person:corrick vane",
        "DELIVERED",
        "location:tarn",
        True,
    )
    assert graph.document_text("memo")[said.start : said.end] == "Corrick Vane delivered Tarn"
    assert answer_to_wire(answered)["relationships"][0]["verified"] is True
    assert answered.citations
    calls = len(chat.calls)
    assert (
        graph.index(item("memo", "Corrick Vane delivered Tarn pumps. It rained.", title="Memo")).count("unchanged") == 1
    )
    assert len(chat.calls) == calls


def test_over_a_real_socket(store: OneStore) -> None:
    def serve(body: dict[str, Any]) -> str:
        return answer([Message(**message) for message in body["messages"]])

    with ScriptedOpenAIServer(serve) as server:
        settings = Settings(
            extractor="llm", chat_url=server.url, chat_model="m", extraction_reply_tokens=300, model_concurrency=2
        )
        graph = store.engine(extractor=None, settings=settings)
        report = graph.index(
            item("long", "\n\n".join(f"Hana Sefu visited Tarn{i}. " + "It rained. " * 60 for i in range(6)))
        )
        assert report.extraction is not None and report.extraction.calls == report.documents[0].passages > 2
        assert {request.body["max_tokens"] for request in server.requests} == {300}
        assert server.most_at_once <= 2
        assert graph.retrieve("Whom did Hana Sefu visit?", mode="local").relationships


def test_without_a_chat_model_it_is_refused_with_the_setting(store: OneStore) -> None:
    graph = store.engine(extractor=None, settings=LLM)
    with pytest.raises(ModelNotConfigured) as caught:
        graph.index(DOCUMENTS[0])
    assert "EVIGRAPH_CHAT_URL" in caught.value.hint
    assert graph.documents() == []


def test_the_same_text_is_never_asked_twice(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    graph = engine(store, chat)
    graph.index([item("a", "Hana Sefu visited Tarn."), item("b", "Hana Sefu visited Tarn.", title="")])
    first = len(chat.calls)
    graph.delete("a")
    report = graph.index(item("a", "Hana Sefu visited Tarn."))
    assert len(chat.calls) == first
    assert report.extraction is not None and report.extraction.cached == 1
    other = engine(store, chat)
    other.index(item("a", "Hana Sefu visited Tarn."))
    assert len(chat.calls) == first + 1, "nothing crosses a workspace"


def test_a_run_that_broke_continues_where_it_was(store: OneStore) -> None:
    broken = CountingEmbedder()
    broken.fail_after = 3
    chat = ScriptedChat(answer)
    graph = store.engine("resumed", chat=chat, extractor=None, embedder=broken, settings=LLM)
    with pytest.raises(RuntimeError):
        graph.index(DOCUMENTS)
    asked = len(chat.calls)
    assert asked >= 2 and graph.documents() == []
    broken.fail_after = None
    report = graph.index(DOCUMENTS)
    assert len(chat.calls) == len(DOCUMENTS)
    assert report.extraction is not None and report.extraction.cached == asked


def test_the_budget_stops_cleanly_and_the_next_run_goes_on(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    graph = engine(store, chat, extraction_token_budget=2_000, extraction_reply_tokens=200)
    done: list[int] = []
    for _ in range(10):
        report = graph.index(DOCUMENTS)
        assert report.extraction is not None and report.extraction.tokens <= 2_000
        done.append(len(graph.documents()))
        late = [error for error in report.errors if error.code == "token_budget_reached"]
        assert len(late) == len(DOCUMENTS) - done[-1]
        assert bool(late) == (report.extraction.stopped_at is not None)
        if not late:
            break
        assert [error.source for error in late] == [d["document_id"] for d in DOCUMENTS[done[-1] :]]
        assert "passage 0 of d" in late[0].message and "EVIGRAPH_EXTRACTION_TOKEN_BUDGET" in late[0].hint
    assert done[-1] == len(DOCUMENTS) and len(done) > 1 and done == sorted(done)
    assert len(chat.calls) == len(DOCUMENTS)


def test_a_document_that_does_not_fit_the_budget_is_not_half_published(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    graph = engine(store, chat, extraction_token_budget=5_000, extraction_reply_tokens=200, model_concurrency=1)
    long = item("long", "\n\n".join(f"Hana Sefu visited Tarn{i}. " + "It rained. " * 60 for i in range(30)))
    report = graph.index([DOCUMENTS[0], long, DOCUMENTS[1]])
    assert [info.document_id for info in graph.documents()] == ["d0"]
    assert [error.source for error in report.errors] == ["long", "d1"]
    assert all(chunk.document_id == "d0" for chunk in graph.retrieve("Who visited Tarn3?", mode="mix").chunks)


def test_failed_calls_leave_a_warning_and_are_made_up_for(store: OneStore) -> None:
    failing = True

    def sometimes(messages: Sequence[Message]) -> str:
        if failing and "Tarn1" in passage_of(messages):
            raise ModelTimeout("too slow")
        return answer(messages)

    chat = ScriptedChat(sometimes)
    graph = engine(store, chat)
    report = graph.index(DOCUMENTS[:3])
    assert [bool(d.warnings) for d in report.documents] == [False, True, False]
    assert [d.assertions for d in report.documents] == [1, 0, 1]
    failing = False
    again = graph.index(DOCUMENTS[:3])
    assert (again.count("unchanged"), again.count("replaced")) == (2, 1)
    assert len(chat.calls) == 4
    assert graph.index(DOCUMENTS[:3]).count("unchanged") == 3


def test_the_estimate_calls_nothing_and_writes_nothing(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    graph = engine(store, chat, extraction_gleaning=1, extraction_token_budget=100)
    expected = graph.estimate(DOCUMENTS)
    assert (expected.documents, expected.passages, expected.calls, expected.cached) == (5, 5, 10, 0)
    assert expected.prompt_tokens > 2_000 and expected.completion_tokens > 500 and expected.over_budget
    assert not chat.calls and graph.store.generation(graph.workspace) == 0
    offline = store.engine()
    assert (offline.estimate(DOCUMENTS).calls, offline.estimate(DOCUMENTS).passages) == (0, 5)
    offline.index(DOCUMENTS)
    assert (offline.estimate(DOCUMENTS).unchanged, offline.estimate(DOCUMENTS).passages) == (5, 0)


def test_other_settings_of_the_extractor_index_anew(store: OneStore) -> None:
    chat = ScriptedChat(answer)
    engine(store, chat, "renewed").index(DOCUMENTS[0])
    again = engine(store, chat, "renewed", extraction_gleaning=1).index(DOCUMENTS[0])
    assert again.count("replaced") == 1
    assert len(chat.calls) == 2, "the first pass was known"


BAD_REPLIES = {
    "huge number": '"confidence": 1' + "0" * 400,
    "no number": '"confidence": NaN',
    "half a pair": '"description": "half \\ud800 a pair"',
    "NUL": '"description": "\\u0000"',
    "predicate": '"predicate": "visited\\ud800"',
    "deep": '"evidence": ' + "[" * 3_000,
}


@pytest.mark.parametrize("field", BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_one_bad_reply_ends_no_run(store: OneStore, field: str) -> None:
    escape = "\\ud800" if "ud800" in field else ""
    bad = (
        f'{{"entities": [{{"name": "Tarn1{escape}", "type": "LOCATION", "description": "d{escape}"}}], "assertions":'
        f' [{{"subject": "Hana Sefu", "predicate": "visited", "object": "Tarn1", {field}}}]}}'
    )
    graph = engine(store, ScriptedChat(lambda messages: bad if "Tarn1" in passage_of(messages) else answer(messages)))
    report = graph.index(DOCUMENTS)
    assert report.errors == () and len(graph.documents()) == len(DOCUMENTS)
    assert report.extraction is not None and report.extraction.assertions >= len(DOCUMENTS) - 1
    assert (report.extraction.notes.get("not_text", 0) > 0) == (escape != "" or "u0000" in field)
    assert graph.index(DOCUMENTS).count("unchanged") == len(DOCUMENTS)
    assert "\\ud" not in "".join(graph.export()) and "location:tarn1" in [
        e.id for e in graph.entities.search("Tarn1").entities
    ]


def test_a_reply_that_breaks_the_reader_costs_its_passage_only(
    store: OneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str, parsed: Parsed) -> str:
        if "Tarn1" in text:
            raise ZeroDivisionError
        return text

    monkeypatch.setattr("evigraph.ingest.extractors.llm.parse.read_tuples", broken)
    report = engine(store, ScriptedChat(answer)).index(DOCUMENTS)
    assert report.errors == () and report.extraction is not None
    assert (report.extraction.unusable, report.extraction.dropped) == (1, {"unreadable": 1})
    assert [bool(document.warnings) for document in report.documents] == [False, True, False, False, False]


def test_after_a_prune_a_deleted_reply_is_nowhere(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parents[3]), str(Path(__file__).parents[1])]!r}
from pathlib import Path
from evigraph import Evigraph, Settings
from evigraph.testing.models import HashEmbedder, ScriptedChat
from llm.test_index import REPLY_WITH_A_MARK, everywhere
chat = ScriptedChat(lambda messages: REPLY_WITH_A_MARK)
with Evigraph(sys.argv[1], chat=chat, embedder=HashEmbedder(), settings=Settings(extractor="llm")) as graph:
    graph.index({{"document_id": "x", "text": "Hana Sefu visited Tarn."}})
    assert everywhere(graph), "the mark is in the cache"
    graph.delete("x")
    graph.prune()
    assert not everywhere(graph), everywhere(graph)
for file in Path(sys.argv[1]).rglob("*"):
    assert not file.is_file() or b"Zwischenruf" not in file.read_bytes(), file
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=True, timeout=120)


REPLY_WITH_A_MARK = '{"entities": [{"name": "Hana Sefu", "type": "PERSON", "description": "Zwischenruf"}]}'


def everywhere(graph: Evigraph) -> list[str]:
    found = []
    for table in REVISION_TABLES:
        dumped = graph.store.rows(f"SELECT * FROM {table}", {})
        found += [table for row in dumped if "Zwischenruf" in str(row)]
    return found


KILLED = """
import sys, os, signal
sys.path[:0] = {paths!r}
from evigraph import Evigraph, Settings
from evigraph.testing.models import HashEmbedder, ScriptedChat
from llm.test_index import DOCUMENTS, answer
calls = 0
def count(messages):
    global calls
    calls += 1
    print(calls, flush=True)
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(messages)
settings = Settings(extractor="llm", model_concurrency=1)
with Evigraph(sys.argv[1], chat=ScriptedChat(count), embedder=HashEmbedder(), settings=settings) as graph:
    report = graph.index(DOCUMENTS)
    print("cached", report.extraction.cached, len(graph.documents()))
"""


@pytest.mark.verify
def test_a_killed_run_pays_for_nothing_twice(tmp_path: Path) -> None:
    """A real SIGKILL during the third and again during a later call; each reply that arrived is kept."""
    program = KILLED.format(paths=[str(Path(__file__).parents[3]), str(Path(__file__).parents[1])])

    def run(kill_at: int) -> tuple[int, list[str]]:
        arguments = [sys.executable, "-c", program, str(tmp_path / "store"), str(kill_at)]
        ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
        return ended.returncode, ended.stdout.split("\n")

    code, said = run(3)
    assert code == -signal.SIGKILL and said[:3] == ["1", "2", "3"]
    code, said = run(2)
    assert code == -signal.SIGKILL and said[:2] == ["1", "2"]
    code, said = run(99)
    assert code == 0, said
    assert said[:3] == ["1", "2", "cached 3 5"], "2 and 1 replies were kept, 2 of 5 were left"
