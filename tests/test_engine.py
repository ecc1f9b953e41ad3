"""The engine as its users hold it: opening, closing, sharing, and what it takes and returns."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evigraph import Evigraph, Settings
from evigraph.errors import InputError, InvalidValue, NotFound, StoreError, StorePathInUse
from evigraph.testing.models import ScriptedChat
from evigraph.types import Mode
from small import PUMPS, CountingEmbedder, RuleExtractor, item

QUESTION = "Who delivered four pumps to Tarn?"


def opened(folder: Path, **options: object) -> Evigraph:
    return Evigraph(folder / "store", embedder=CountingEmbedder(), extractor=RuleExtractor(), **options)  # type: ignore[arg-type]


def test_index_ask_close_and_open_again(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        assert graph.index(PUMPS).ok
        before = graph.ask(QUESTION)
        assert "Corrick Vane" in (before.text or "")
    with pytest.raises(StoreError):
        graph.documents()
    graph.close()
    with opened(tmp_path) as again:
        after = again.ask(QUESTION)
        assert (after.text, after.citations) == (before.text, before.citations)
        assert after.evidence.chunks == before.evidence.chunks


def test_what_index_takes(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Alpha rose.")
    (tmp_path / "b.md").write_text("Beta fell.")
    with opened(tmp_path) as graph:
        assert graph.index(str(tmp_path / "a.md")).count("added") == 1
        assert graph.index(tmp_path / "b.md").count("added") == 1
        assert graph.index({"text": "Gamma stayed."}).count("added") == 1
        assert graph.index(str(tmp_path / "*.md")).count("unchanged") == 2
        generated = graph.index(item(f"n{n}", f"Number {n} stayed.") for n in range(3))
        assert generated.count("added") == 3
        assert graph.index(iter([tmp_path / "a.md", item("n0", "Number 0 stayed.")])).count("unchanged") == 2


def test_documents_are_listed_by_source_and_told_in_full(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        graph.index(PUMPS)
        assert [info.source for info in graph.documents()] == [
            "letters/ferry.md",
            "north/tarn.md",
            "south/lowani.md",
            "south/memo.txt",
        ]
        tarn = graph.document("tarn")
        assert (tarn.title, str(tarn.date), dict(tarn.metadata)) == (
            "Tarn monthly note",
            "2014-05-02",
            {"region": "north"},
        )
        assert (tarn.revision, tarn.passages, tarn.language) == (1, 1, "en")
        assert graph.document_text("tarn") == PUMPS[0]["text"]
        for missing in (graph.document, graph.document_text, graph.revisions, graph.delete):
            with pytest.raises(NotFound) as caught:
                missing("nobody")
            assert caught.value.hint


def test_two_engines_share_a_folder_and_a_second_folder_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path, workspace="other") as other:
        one.index(PUMPS)
        assert other.documents() == []
        with pytest.raises(StorePathInUse):
            opened(tmp_path / "second")
        other.close()
        assert one.ask(QUESTION).citations


@pytest.mark.parametrize("name", ["", "../x", "a b", "é", "x" * 65, "-x", "a/b", "a\x00"])
def test_workspace_names_are_checked(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        opened(tmp_path, workspace=name)
    assert caught.value.hint
    assert not (tmp_path / "store").exists()


def test_settings_name_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVIGRAPH_DATA", "from-environment")
    with Evigraph(embedder=CountingEmbedder(), extractor=RuleExtractor()) as graph:
        assert graph.index(PUMPS).ok
    assert (tmp_path / "from-environment").is_dir()
    with Evigraph(settings=Settings(data="from-settings"), embedder=CountingEmbedder()) as graph:
        assert graph.documents() == []
    assert (tmp_path / "from-settings").is_dir()


def test_a_folder_with_odd_letters_is_a_store_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "with blank & ümlaut #%20"
    folder.mkdir()
    with opened(folder) as graph:
        assert graph.index(PUMPS).ok
    with opened(folder) as graph:
        assert len(graph.documents()) == 4


def test_bad_options_are_refused_before_anything_is_done(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with Evigraph(tmp_path / "store", embedder=embedder, extractor=RuleExtractor()) as graph:
        graph.index(PUMPS)
        spent = embedder.embedded
        for wrong in ({"mode": "fast"}, {"top_k": 3}, {"max_chunks": 0}, {"document_filter": {"ids": []}}):
            for call in (graph.ask, graph.retrieve):
                with pytest.raises(InputError):
                    call(QUESTION, **wrong)
        with pytest.raises(InputError):
            graph.ask("")
        assert embedder.embedded == spent


def test_capabilities_name_what_is_active(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        found = graph.capabilities()
        assert found["embedder"] == {"name": "hash-64", "dimension": 64, "max_tokens": 256}
        assert found["extractor"]["name"] == "rules"
        assert found["chat"] == {"available": False, "model": None}
        assert set(found["modes"]) == {mode.value for mode in Mode}
        assert [mode for mode, entry in found["modes"].items() if not entry["available"]] == ["bypass"]
        assert "EVIGRAPH_CHAT_URL" in found["modes"]["bypass"]["needs"]
        assert found["limits"]["max_chunks"] == {"min": 1, "max": 200}
    with opened(tmp_path, chat=ScriptedChat([])) as graph:
        found = graph.capabilities()
        assert found["chat"] == {"available": True, "model": "scripted"}
        assert all(entry["available"] for entry in found["modes"].values())


def test_questions_and_indexing_run_side_by_side(tmp_path: Path) -> None:
    """Every answer belongs to one generation: what it cites was visible then."""
    with opened(tmp_path) as graph:
        graph.index(PUMPS)
        stop = threading.Event()

        def write() -> int:
            for number in range(6):
                text = f"Corrick Vane delivered {number} pumps to Tarn."
                graph.index(item("tarn", text, title="Tarn monthly note", source="north/tarn.md"))
            stop.set()
            return 6

        def read() -> list[tuple[int, int, str]]:
            seen = []
            while not stop.is_set():
                found = graph.retrieve(QUESTION, mode="keyword_lookup")
                seen += [
                    (found.generation, chunk.revision, chunk.text)
                    for chunk in found.chunks
                    if chunk.document_id == "tarn"
                ]
            return seen

        with ThreadPoolExecutor(4) as pool:
            writer, readers = pool.submit(write), [pool.submit(read) for _ in range(3)]
            assert writer.result() == 6
            seen = [entry for reader in readers for entry in reader.result()]
        published = {entry.revision: entry.generation for entry in graph.revisions("tarn")}
        assert seen
        for generation, revision, text in seen:
            newest = max(number for number, at in published.items() if at <= generation)
            assert revision == newest
            assert text == graph.document_text("tarn", revision=revision)


def test_the_same_call_in_many_threads_gives_the_same_answer(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        graph.index(PUMPS)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: graph.ask(QUESTION), range(12)))
        assert len({(answer.text, answer.citations, answer.evidence.chunks) for answer in answers}) == 1


def test_a_run_whose_process_died_is_closed_as_failed_on_the_next_open(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        graph.store.start_job("default", "index", {"inputs": 3})
        with opened(tmp_path) as second:
            assert second.jobs()[0].state == "running", "its process is still here"
    with opened(tmp_path) as graph:
        (job,) = graph.jobs()
        assert job.state == "failed"
        assert job.detail["inputs"] == 3
        assert "interrupted" in job.detail["error"]
