"""What `index` does to a workspace: statuses, revisions, sync, failures, resumption, job records, progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph import Evigraph, Settings
from evigraph.errors import EmbedderMismatch, InvalidItem, InvalidValue, ModelUnavailable, NotFound
from evigraph.ingest import pipeline
from evigraph.reports import IndexReport, Progress
from small import PUMPS, CountingEmbedder, OneStore, RuleExtractor, item


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("pipeline"))
    yield opened
    opened.close()


@pytest.fixture
def graph(store: OneStore) -> Evigraph:
    return store.engine()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three small files, one of them in a folder of its own."""
    root = tmp_path / "reports"
    for name, text in {"a.md": "# Alpha\n\nAlpha rose.", "b.txt": "Beta fell.", "sub/c.md": "Gamma stayed."}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def statuses(report: IndexReport) -> dict[str, str]:
    return {document.source: document.status for document in report.documents}


def sources(graph: Evigraph) -> list[str]:
    return [info.source for info in graph.documents()]


def codes(report: IndexReport) -> list[tuple[str, str]]:
    return [(error.source, error.code) for error in report.errors]


# ------------------------------------------------------------------ statuses and revisions


def test_added_unchanged_replaced_deleted(graph: Evigraph) -> None:
    first = graph.index(item("x", "Alpha rose."))
    assert [(d.status, d.revision, d.passages) for d in first.documents] == [("added", 1, 1)]
    assert graph.index(item("x", "Alpha rose.")).documents[0].status == "unchanged"
    assert [(d.status, d.revision) for d in graph.index(item("x", "Alpha fell.")).documents] == [("replaced", 2)]
    assert graph.document_text("x") == "Alpha fell."
    generation = graph.delete("x")
    assert graph.documents() == []
    assert [r.deleted for r in graph.revisions("x")] == [False, False, True]
    assert graph.revisions("x")[-1].generation == generation
    with pytest.raises(NotFound):
        graph.delete("x")


def test_a_deleted_document_comes_back_with_the_same_content(graph: Evigraph) -> None:
    graph.index(item("x", "Alpha rose."))
    graph.delete("x")
    assert graph.ask("Who rose?").abstained
    report = graph.index(item("x", "Alpha rose."))
    assert [(d.status, d.revision) for d in report.documents] == [("added", 3)]
    assert graph.retrieve("Alpha rose").chunks[0].revision == 3


def test_unchanged_content_costs_nothing(store: OneStore) -> None:
    embedder, extractor = CountingEmbedder(), RuleExtractor()
    graph = store.engine(embedder=embedder, extractor=extractor)
    before = graph.index(PUMPS)
    spent = embedder.embedded, extractor.calls
    again = graph.index(PUMPS)
    assert (embedder.embedded, extractor.calls) == spent
    assert {d.status for d in again.documents} == {"unchanged"}
    assert again.generation == before.generation
    assert len(graph.revisions("tarn")) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Alpha fell."},
        {"title": "Another title"},
        {"date": "2020-01-02"},
        {"metadata": {"region": "south"}},
        {"metadata": {}},
        {"source": "elsewhere.md"},
    ],
    ids="-".join,
)
def test_any_change_gives_a_new_revision(graph: Evigraph, change: dict[str, Any]) -> None:
    document = item("x", "Alpha rose.", title="T", date="2020-01-01", metadata={"region": "north"}, source="x.md")
    graph.index(document)
    report = graph.index({**document, **change})
    assert [(d.status, d.revision) for d in report.documents] == [("replaced", 2)]
    info = graph.document("x")
    expected = {**document, **change}
    assert (info.title, str(info.date), dict(info.metadata), info.source) == (
        expected["title"],
        expected["date"],
        expected["metadata"],
        expected["source"],
    )


def test_another_extractor_gives_new_revisions(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS)
    graph = store.engine(graph.workspace, extractor=RuleExtractor("rules-2"))
    assert {d.status for d in graph.index(PUMPS).documents} == {"replaced"}
    claims = graph.retrieve("Who delivered pumps to Tarn?", mode="local").relationships
    assert {claim.extractor for claim in claims} == {"rules-2"}


def test_metadata_of_the_call_is_part_of_every_document(graph: Evigraph, folder: Path) -> None:
    graph.index(folder, metadata={"batch": 7})
    assert {info.metadata["batch"] for info in graph.documents()} == {"7"}
    assert set(statuses(graph.index(folder, metadata={"batch": 8})).values()) == {"replaced"}


def test_as_of_reads_the_earlier_revision(graph: Evigraph) -> None:
    before = graph.index(item("x", "Alpha rose.")).generation
    graph.index(item("x", "Alpha fell."))
    assert graph.retrieve("Alpha", as_of=before).chunks[0].text == "Alpha rose."
    assert graph.retrieve("Alpha").chunks[0].text == "Alpha fell."


# ------------------------------------------------------------------ one call's inputs


def test_duplicate_ids_are_refused_across_batches(graph: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LOOKAHEAD", 2)
    report = graph.index([item(name, f"Alpha number {n}.") for n, name in enumerate("abcdab")])
    assert [d.document_id for d in report.documents] == ["a", "b", "c", "d"]
    assert codes(report) == [("a", "duplicate_id"), ("b", "duplicate_id")]
    assert graph.document_text("a") == "Alpha number 0."


def test_errors_of_single_inputs_do_not_stop_the_rest(graph: Evigraph, folder: Path) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "image.png").write_bytes(b"\x89PNG")
    report = graph.index([folder, folder / "missing.md", {"text": 5}, item("good", "Delta rose.")])
    assert sorted(statuses(report)) == ["a.md", "b.txt", "good", "sub/c.md"]
    assert dict(codes(report)) == {
        "empty.txt": "empty_document",
        "scan.pdf": "corrupt_document",
        "image.png": "unsupported_format",
        (folder / "missing.md").as_posix(): "missing_file",
        "item 1": "invalid_item",
    }
    assert all(error.message and error.hint for error in report.errors)
    assert not report.ok
    assert report.count("added") == 4


def test_a_file_that_breaks_while_it_is_read_is_one_error(
    graph: Evigraph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pipeline.chunk

    def breaking(document: Any, **options: Any) -> Any:
        yield from whole(document, **options)
        if document.source == "a.md":
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(pipeline, "chunk", breaking)
    report = graph.index(folder)
    assert codes(report) == [("a.md", "unreadable")]
    assert "Input/output error" in report.errors[0].message
    assert sources(graph) == ["b.txt", "sub/c.md"]


@pytest.mark.parametrize("wrong", [5, None, b"a.md", ["a.md"]])
def test_inputs_of_another_type_are_refused(graph: Evigraph, wrong: Any) -> None:
    with pytest.raises(InvalidItem) as caught:
        graph.index([wrong])
    assert caught.value.hint
    assert graph.jobs() == []


def test_no_inputs_give_an_empty_report(graph: Evigraph) -> None:
    report = graph.index([])
    assert (report.documents, report.errors, report.ok) == ((), (), True)


def test_a_text_beyond_the_limit_is_refused_with_the_setting(store: OneStore, tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.truncate(300_000_000)  # a hole: no disk is used
    graph = store.engine()
    report = graph.index(big)
    assert codes(report) == [("big.txt", "file_too_large")]
    assert "50,000,000" in report.errors[0].message
    assert "EVIGRAPH_MAX_FILE_BYTES" in report.errors[0].hint


@pytest.mark.parametrize(
    ("megabytes", "grown"), [(20, 300), pytest.param(300, 600, marks=pytest.mark.verify)], ids=["20 MB", "300 MB"]
)
def test_memory_is_bounded_whatever_the_size(tmp_path: Path, megabytes: int, grown: int) -> None:
    """Beside the engine's own 410 MB: measured 100 MB for a text of 20 MB, 360 MB for one of 300 MB."""
    script = Path(__file__).with_name("big_text.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(megabytes)], capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["errors"] == 0
    assert figures["passages"] > 600 * megabytes
    assert figures["found"] == 1
    assert figures["grown_mb"] < grown


# ------------------------------------------------------------------ sync


def test_sync_deletes_what_is_gone_and_nothing_else(graph: Evigraph, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.md").write_text("Delta came.")
    graph.index([folder, other])
    graph.index(item("api", "Epsilon left.", source="a-note.md"))
    (folder / "a.md").unlink()
    report = graph.index(folder, sync=True)
    assert statuses(report) == {"a.md": "deleted", "b.txt": "unchanged", "sub/c.md": "unchanged"}
    deleted = next(d for d in report.documents if d.status == "deleted")
    assert deleted.revision == graph.revisions(deleted.document_id)[-1].revision
    assert sources(graph) == ["a-note.md", "b.txt", "d.md", "sub/c.md"]
    assert graph.index(folder).generation == report.generation


def test_without_sync_nothing_is_deleted(graph: Evigraph, folder: Path) -> None:
    graph.index(folder)
    (folder / "a.md").unlink()
    graph.index(folder)
    assert sources(graph) == ["a.md", "b.txt", "sub/c.md"]


def test_sync_keeps_what_is_unreadable_today(graph: Evigraph, folder: Path) -> None:
    graph.index(folder)
    (folder / "a.md").write_bytes(b"\x00\x01\x02\x03")
    report = graph.index(folder, sync=True)
    assert [source for source, _ in codes(report)] == ["a.md"]
    assert sources(graph) == ["a.md", "b.txt", "sub/c.md"]


def test_sync_keeps_documents_below_a_folder_that_cannot_be_listed(
    graph: Evigraph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.index(folder)
    listed = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)
    report = graph.index(folder, sync=True)
    assert codes(report) == [("sub", "unreadable")]
    assert sources(graph) == ["a.md", "b.txt", "sub/c.md"]


def test_sync_follows_the_records_of_a_file(graph: Evigraph, folder: Path) -> None:
    def write(*names: str) -> None:
        lines = [json.dumps({"id": name, "text": f"{name} rose.", "source": f"{name}.rec"}) for name in names]
        (folder / "records.jsonl").write_text("\n".join(lines))

    write("one", "two", "three")
    graph.index(folder)
    write("one", "three")
    assert statuses(graph.index(folder, sync=True))["two.rec"] == "deleted"
    with (folder / "records.jsonl").open("a") as file:
        file.write('\n{"id": "three", "text"')
    write_broken = (folder / "records.jsonl").read_text().splitlines()
    (folder / "records.jsonl").write_text("\n".join([write_broken[0], write_broken[-1]]))
    graph.index(folder, sync=True)
    assert "three.rec" in sources(graph)  # its line is broken, not gone
    (folder / "records.jsonl").unlink()
    graph.index(folder, sync=True)
    assert sources(graph) == ["a.md", "b.txt", "sub/c.md"]


def test_sync_below_a_wider_root(graph: Evigraph, folder: Path) -> None:
    graph.index(folder)
    assert sources(graph) == ["a.md", "b.txt", "sub/c.md"]
    (folder / "sub" / "c.md").unlink()
    (folder / "sub" / "d.md").write_text("Delta came.")
    (folder / "a.md").unlink()
    report = graph.index(folder / "sub", root=folder, sync=True)
    assert statuses(report) == {"sub/c.md": "deleted", "sub/d.md": "added"}
    assert sources(graph) == ["a.md", "b.txt", "sub/d.md"]
    with pytest.raises(InvalidValue):
        graph.index(folder, root=folder / "sub", sync=True)


def test_sync_needs_folders(graph: Evigraph, folder: Path) -> None:
    for inputs in ([folder / "a.md"], [str(folder / "*.md")], [item("x", "Alpha")], [folder, folder / "a.md"]):
        with pytest.raises(InvalidValue) as caught:
            graph.index(inputs, sync=True)
        assert "folder" in caught.value.hint
    assert graph.documents() == []


# ------------------------------------------------------------------ batches, flushes, interruption


@pytest.mark.parametrize("lookahead", [1, 3, 32])
@pytest.mark.parametrize("flush", [1, 4, 512])
def test_every_document_is_published_however_passages_are_batched(
    graph: Evigraph, monkeypatch: pytest.MonkeyPatch, lookahead: int, flush: int
) -> None:
    monkeypatch.setattr(pipeline, "LOOKAHEAD", lookahead)
    monkeypatch.setattr(pipeline, "FLUSH_PASSAGES", flush)
    monkeypatch.setattr(pipeline, "WINDOW", 2)
    sizes = [1, 3, 1, 5, 2, 0, 1]
    documents = [
        item(f"d{n}", "\n\n".join(f"# Part {i}\n\n{'word ' * 200}" for i in range(k))) for n, k in enumerate(sizes)
    ]
    report = graph.index(documents)
    assert [d.document_id for d in report.documents] == ["d0", "d1", "d2", "d3", "d4", "d6"]
    assert codes(report) == [("d5", "empty_document")]
    assert [(info.document_id, info.passages) for info in graph.documents()] == [
        (f"d{n}", size) for n, size in enumerate(sizes) if size
    ]
    assert graph.index(documents).count("unchanged") == 6


def test_what_was_staged_before_a_failure_is_invisible_and_the_run_resumes(
    store: OneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "LOOKAHEAD", 2)
    monkeypatch.setattr(pipeline, "FLUSH_PASSAGES", 1)
    documents = [item(f"d{n}", f"Place{n} received {n} pumps.") for n in range(6)]
    embedder = CountingEmbedder()
    graph = store.engine(embedder=embedder)
    graph.index(item("old", "Omega rested."))
    embedder.fail_after = embedder.embedded + 8
    embedder.error = ModelUnavailable("connection refused", hint="start it")
    with pytest.raises(ModelUnavailable):
        graph.index(documents)
    embedder.fail_after = None
    visible = {info.document_id for info in graph.documents()}
    assert "old" in visible
    assert visible < {"old", *(d["document_id"] for d in documents)}
    assert {chunk.document_id for chunk in graph.retrieve("pumps", max_chunks=50).chunks} <= visible
    assert graph.jobs()[0].state == "failed"
    assert "model_unavailable: connection refused" in graph.jobs()[0].detail["error"]
    report = graph.index(documents)
    assert {d.document_id for d in report.documents if d.status == "unchanged"} == visible - {"old"}
    assert len(graph.documents()) == 7
    assert all(len(graph.revisions(d["document_id"])) == 1 for d in documents)


def test_a_replacement_that_fails_leaves_the_old_revision_whole(store: OneStore) -> None:
    embedder = CountingEmbedder()
    graph = store.engine(embedder=embedder)
    graph.index(item("x", "Alpha rose in Tarn."))
    before = graph.retrieve("Alpha Tarn")
    embedder.fail_after = embedder.embedded
    with pytest.raises(RuntimeError):
        graph.index(item("x", "Beta fell in Lowani."))
    embedder.fail_after = None
    after = graph.retrieve("Alpha Tarn")
    assert after.chunks == before.chunks
    assert after.entities == before.entities
    assert after.generation == before.generation
    assert graph.document_text("x") == "Alpha rose in Tarn."
    report = graph.index(item("x", "Beta fell in Lowani."))
    assert [(d.status, d.revision) for d in report.documents] == [("replaced", 3)]


def test_text_of_a_revision_that_was_never_published_is_invisible(store: OneStore) -> None:
    embedder = CountingEmbedder()
    graph = store.engine(embedder=embedder)
    graph.index(item("x", "Alpha rose."))
    embedder.fail_after = embedder.embedded
    with pytest.raises(RuntimeError):
        graph.index(item("x", "Beta fell."))
    with pytest.raises(NotFound):
        graph.document_text("x", revision=2)
    assert graph.document_text("x", revision=1) == "Alpha rose."


def test_prune_removes_what_an_interrupted_run_left(store: OneStore) -> None:
    embedder = CountingEmbedder()
    graph = store.engine(embedder=embedder)
    graph.index(item("x", "Alpha rose."))
    embedder.fail_after = embedder.embedded
    with pytest.raises(RuntimeError):
        graph.index(item("y", "Beta fell."))
    report = graph.prune()
    assert (report.documents, report.revisions) == (1, 1)
    assert graph.document_text("x") == "Alpha rose."
    assert graph.jobs()[0].kind == "prune"
    assert graph.jobs()[0].detail["horizon"] == report.horizon


# ------------------------------------------------------------------ the embedding model of a workspace


def test_another_embedder_is_refused_before_anything_is_read(store: OneStore) -> None:
    graph = store.engine()
    graph.index(PUMPS)
    graph = store.engine(graph.workspace, embedder=CountingEmbedder(32))
    with pytest.raises(EmbedderMismatch) as caught:
        graph.index(item("new", "Alpha rose."))
    assert "reembed" in caught.value.hint
    with pytest.raises(EmbedderMismatch):
        graph.ask("Who delivered pumps?")
    graph.reembed()
    assert graph.index(item("new", "Alpha rose.")).documents[0].status == "added"
    assert graph.ask("Corrick Vane delivered four pumps to Tarn").citations
    assert graph.in_workspace(f"{graph.workspace}-other").index(PUMPS).ok


# ------------------------------------------------------------------ jobs and progress


def test_jobs_record_every_run(graph: Evigraph) -> None:
    report = graph.index([*PUMPS, {"text": ""}])
    job = graph.jobs()[0]
    assert (job.job_id, job.kind, job.state) == (report.job_id, "index", "done")
    assert job.detail == {"inputs": 5, "documents": 4, "unchanged": 0, "failed": 1, "passages": 4}
    assert job.started_at <= job.updated_at
    assert graph.in_workspace(f"{graph.workspace}-other").jobs() == []


def test_jobs_show_a_run_under_way(graph: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LOOKAHEAD", 2)
    seen: list[tuple[str, int]] = []

    def watch(step: Progress) -> None:
        job = graph.jobs()[0]
        seen.append((job.state, job.detail.get("documents", 0)))

    graph.index(PUMPS, progress=watch)
    assert {state for state, _ in seen} == {"running"}
    assert seen[-1][1] == 2


def test_progress_counts_up_to_a_total_known_from_the_start(graph: Evigraph, folder: Path) -> None:
    steps: list[Progress] = []
    (folder / "empty.txt").write_text("")
    graph.index([folder, item("x", "Alpha rose.")], progress=steps.append)
    done = [step.documents_done for step in steps]
    assert done == sorted(done)
    assert done[-1] == 5
    assert {step.documents_total for step in steps} == {5}
    assert steps[-1].passages == 4
    assert all(step.seconds >= 0 for step in steps)
    unchanged: list[Progress] = []
    graph.index(folder, progress=unchanged.append)
    assert (unchanged[-1].documents_done, unchanged[-1].documents_total) == (4, 4)


def test_the_total_grows_with_the_records_of_a_file(graph: Evigraph, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps({"id": str(n), "text": f"Record {n} stayed."}) for n in range(70)))
    steps: list[Progress] = []
    graph.index(path, progress=steps.append)
    assert all(step.documents_done <= step.documents_total for step in steps)
    assert (steps[-1].documents_done, steps[-1].documents_total) == (70, 70)


def test_a_progress_callback_can_stop_the_run(graph: Evigraph) -> None:
    def stop(step: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.index(PUMPS, progress=stop)
    assert graph.jobs()[0].state == "failed"
    assert graph.index(PUMPS).ok


# ------------------------------------------------------------------ the order of things does not matter


def evidence_of(graph: Evigraph) -> list[Any]:
    """Evidence of several questions and modes, generations and timings left out."""
    return [
        (found.chunks, found.entities, found.relationships, found.degraded)
        for question in ("Who delivered pumps to Tarn?", "What did Hana Sefu do?", "Which wells were repaired?")
        for mode in ("mix", "hybrid", "keyword_lookup")
        for found in [graph.retrieve(question, mode=mode)]
    ]


@pytest.mark.parametrize(
    "way",
    [
        lambda graph: graph.index(PUMPS[::-1]),
        lambda graph: [graph.index(document) for document in PUMPS],
        lambda graph: [graph.index(PUMPS[2:]), graph.index(PUMPS)],
    ],
    ids=["reversed", "one by one", "in two calls"],
)
def test_order_and_calls_do_not_change_the_evidence(graph: Evigraph, way: Callable[[Evigraph], Any]) -> None:
    graph.index(PUMPS)
    other = graph.in_workspace(f"{graph.workspace}-other")
    way(other)
    assert evidence_of(other) == evidence_of(graph)


# ------------------------------------------------------------------ one engine, several workspaces


def test_workspaces_share_the_models_but_no_documents(graph: Evigraph) -> None:
    graph.index(PUMPS)
    other = graph.in_workspace(f"{graph.workspace}-other")
    assert other.embedder is graph.embedder
    assert other.extractor is graph.extractor
    assert other.documents() == []
    other.index(item("tarn", "Another text under the same id."))
    assert graph.document("tarn").title == "Tarn monthly note"
    with pytest.raises(InvalidValue):
        graph.in_workspace("../other")


def test_settings_bound_what_is_read(store: OneStore, tmp_path: Path) -> None:
    settings = Settings(max_file_bytes=10)
    path = tmp_path / "a.txt"
    path.write_text("Longer than ten bytes.")
    assert codes(store.engine(settings=settings).index(path)) == [("a.txt", "file_too_large")]
