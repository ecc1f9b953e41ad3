"""Every command on a real store, in this process, with a quick embedder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from evigraph.cli.commands import ask_options, demo
from evigraph.cli.render import _where, clean, shorten
from evigraph.cli.values import generation_or_time, key_values
from evigraph.sample import questions_path
from evigraph.types import Mode, QueryRequest

from .conftest import Invoke

QUESTION = "Who trained the mechanics in Tarn?"


def test_index_ask_and_history(invoke: Invoke, folder: Path) -> None:
    indexed = invoke("index", "reports", "--metadata", "region=north")
    assert indexed.code == 0, indexed.err
    assert "2 added, 0 replaced, 0 unchanged, 0 deleted, 0 failed" in indexed.out

    asked = invoke("ask", QUESTION)
    assert asked.code == 0
    assert "Hana Sefu" in asked.out and "[1]" in asked.out
    assert "2014/tarn.md" in asked.out and "quote" in asked.out

    listed = invoke("documents", "--json").json["documents"]
    assert [d["source"] for d in listed] == ["2014/tarn.md", "2017/memo.txt"]
    assert listed[0]["metadata"] == {"region": "north"}
    tarn = listed[0]["document_id"]

    (folder / "reports/2014/tarn.md").write_text("# Tarn note\n\nThe pumps were stolen.\n")
    again = invoke("--json", "index", "reports", "--metadata", "region=north").json
    assert [d["status"] for d in again["documents"]] == ["unchanged", "replaced"] or [
        d["status"] for d in again["documents"]
    ] == ["replaced", "unchanged"]
    history = invoke("documents", "revisions", tarn, "--json").json["revisions"]
    assert [r["revision"] for r in history] == [1, 2]
    assert "published" in invoke("documents", "revisions", tarn).out

    earlier = invoke("ask", QUESTION, "--as-of", str(history[0]["generation"] + 1), "--json").json
    assert "Hana Sefu" in earlier["answer"]
    shown = invoke("documents", "show", tarn, "--text")
    assert "The pumps were stolen." in shown.out
    assert invoke("documents", "show", tarn, "--text", "--json").json["text"].endswith("stolen.\n")

    assert invoke("delete", tarn).code == 0
    assert invoke("delete", tarn).code == 1
    assert len(invoke("documents", "list", "--json").json["documents"]) == 1
    assert "index" in invoke("jobs").out
    assert invoke("jobs", "--json").json["jobs"][0]["state"] == "done"


def test_build_tree_makes_and_tells_trees(invoke: Invoke, folder: Path) -> None:
    parts = [f"# Part {n}\n\n" + f"Crew {n} repaired the pump at Tarn. " * 40 for n in range(8)]
    (folder / "reports" / "long.md").write_text("\n\n".join(parts))
    made = invoke("--json", "index", "reports", "--build-tree").json
    assert made["trees"]["trees"] == 1 and made["trees"]["summaries"] > 0
    (folder / "reports" / "more.md").write_text("\n\n".join(reversed(parts)))
    assert "1 trees of " in invoke("index", "reports", "--build-tree").out
    assert "not part of the estimate" in invoke("index", "reports", "--build-tree", "--estimate").err


def test_sync_deletes_what_is_gone(invoke: Invoke, folder: Path) -> None:
    invoke("index", "reports")
    (folder / "reports/2017/memo.txt").unlink()
    assert "1 deleted" in invoke("index", "reports", "--sync").out
    assert [d["source"] for d in invoke("documents", "--json").json["documents"]] == ["2014/tarn.md"]


def test_files_that_fail_are_listed_and_make_exit_code_1(invoke: Invoke, folder: Path) -> None:
    (folder / "reports/empty.md").write_text("")
    done = invoke("index", "reports", "missing.md")
    assert done.code == 1
    assert "2 added" in done.out and "2 failed" in done.out
    assert "empty_document" in done.out and "missing_file" in done.out
    report = invoke("index", "reports", "missing.md", "--json")
    assert report.code == 1
    assert {error["code"] for error in report.json["errors"]} == {"empty_document", "missing_file"}


def test_abstaining_is_exit_code_3(invoke: Invoke) -> None:
    done = invoke("ask", QUESTION)
    assert done.code == 3
    assert done.out.startswith("No answer: ")
    assert invoke("ask", QUESTION, "--json").json["abstained"] is True


def test_filters_and_debug_flags(invoke: Invoke) -> None:
    invoke("index", "reports", "--metadata", "region=north")
    hit = invoke("ask", "Corrick and Vane", "--pattern", "2017/*", "--mode", "naive", "--json").json
    assert {chunk["source"] for chunk in hit["chunks"]} == {"2017/memo.txt"}
    assert invoke("ask", QUESTION, "--meta", "region=south").code == 3
    context = invoke("ask", QUESTION, "--context-only")
    assert context.code == 0
    assert "Hana Sefu" in context.out and "passage" in context.out
    assert invoke("ask", QUESTION, "--prompt-only", "--json").json["prompt"]
    ranked = invoke("ask", QUESTION, "--rerank", "--mode", "naive", "--max-chunks", "1", "--json").json
    assert [chunk["rerankScore"] is None for chunk in ranked["chunks"]] == [False]
    ignored = invoke("ask", QUESTION, "--hybrid", "--mode", "mix", "--max-chunks", "1")
    assert "degraded: hybrid: " in " ".join(ignored.out.split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask", ""), "invalid_query"),
        (("ask", "x", "--mode", "vector"), "unknown_mode"),
        (("ask", "x", "--max-chunks", "100000"), "invalid_value"),
        (("ask", "x", "--date-from", "soon"), "invalid_value"),
        (("ask", "x", "--as-of", "soon"), "invalid_value"),
        (("ask", "x", "--mode", "bypass"), "model_not_configured"),
        (("documents", "--as-of", "soon"), "invalid_value"),
        (("documents", "show", "nope"), "not_found"),
        (("--workspace", "'; DROP", "documents"), "invalid_value"),
        (("index", "reports/2014/tarn.md", "--sync"), "invalid_value"),
    ],
)
def test_errors_are_typed_for_programs_and_people(invoke: Invoke, arguments: tuple[str, ...], code: str) -> None:
    done = invoke(*arguments, "--json")
    assert done.code == 1
    assert done.json["error"]["code"] == code
    assert done.err.startswith("error: ")
    assert invoke(*arguments).out == ""


def test_an_unforeseen_error_has_no_trace(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("out of cheese")

    monkeypatch.setattr("evigraph.cli.local.LocalEngine.jobs", fail)
    done = invoke("jobs")
    assert done.code == 1
    assert done.err.startswith("error: RuntimeError: out of cheese")


def test_workspaces_and_global_options_on_either_side(invoke: Invoke) -> None:
    assert invoke("--workspace", "one", "index", "reports").code == 0
    assert len(invoke("documents", "--workspace", "one", "--json").json["documents"]) == 2
    assert invoke("--json", "--workspace", "one", "documents", "list").json["documents"]
    assert invoke("documents", "list").out == "no documents\n"
    assert invoke("--data", "elsewhere", "documents").out == "no documents\n"


def test_prune_reembed_and_capabilities(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned = {"documents": 1, "revisions": 2, "horizon": 7, "seconds": 0.5}
    monkeypatch.setattr("evigraph.cli.local.LocalEngine.prune", lambda self: pruned)
    assert "removed 2 revisions of 1 documents" in invoke("prune").out
    assert invoke("prune", "--json").json == pruned
    invoke("index", "reports")
    assert "generation" in invoke("reembed").out
    shown = invoke("capabilities")
    assert "embedder:" in shown.out and "hash-64" in shown.out
    assert invoke("capabilities", "--json").json["embedder"]["name"] == "hash-64"


def test_demo_asks_four_questions_of_the_sample(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_corpus", lambda: str(Path("reports").resolve()))
    done = invoke("demo", "--json")
    assert done.code == 0
    assert [answer["kind"] for answer in done.json["answers"]] == [kind for kind, _ in demo.QUESTIONS]
    assert Path(".demo/evigraph-data").is_dir()
    spoken = invoke("demo")
    assert spoken.out.count("\n[") == 4
    assert "--data .demo/evigraph-data" in spoken.out


def test_the_demo_s_questions_are_labelled_ones() -> None:
    labelled = questions_path().read_text(encoding="utf-8")
    for _, question in demo.QUESTIONS:
        assert f'"{question}"' in labelled


@pytest.fixture
def labelled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small labelled corpus, and a quick embedder to measure with."""
    corpus = folder / "labelled"
    corpus.mkdir()
    (corpus / "corpus.jsonl").write_text(
        '{"id": "a", "title": "Tarn", "text": "Hana Sefu trained the mechanics in Tarn."}\n'
        '{"id": "b", "title": "Lake", "text": "The ferry crosses the lake twice a week."}\n'
    )
    (corpus / "questions.jsonl").write_text(
        '{"id": "q1", "question": "Who trained the mechanics?", "gold": ["a"]}\n'
        '{"id": "q2", "question": "Which bank?", "gold": [], "type": "absent"}\n'
    )
    quick = lambda settings: __import__("evigraph.testing.models", fromlist=["x"]).HashEmbedder()  # noqa: E731
    monkeypatch.setattr("evigraph.wiring.make_embedder", quick)
    return corpus


def test_eval_measures_a_small_corpus(folder: Path, labelled: Path, invoke: Invoke) -> None:
    done = invoke("eval", "labelled", "--mode", "naive", "--mode", "bm25", "--output", "cases.jsonl")
    assert done.code == 0, done.err
    assert "recall@5" in done.out and "bm25" in done.out
    assert (folder / "cases.jsonl").read_text().count("\n") >= 3
    assert invoke("eval", "labelled", "--mode", "naive", "--json").json["dataset"] == "labelled"
    assert invoke("eval", "nowhere").code == 1
    reranked = invoke(
        "eval", "labelled", "--mode", "naive", "--set", "rerank=true", "--set", "rerank_top_k=5", "--output", "r.jsonl"
    )
    assert reranked.code == 0
    assert (
        '"rerank": true' in (folder / "r.jsonl").read_text() and '"rerank_top_k": 5' in (folder / "r.jsonl").read_text()
    )
    assert invoke("eval", "labelled", "--set", "rerank=maybe").code == 1
    assert invoke("eval", "labelled", "--set", "mode=mix").code == 2
    assert invoke("eval", "labelled", "--set", "reranks=true").code == 1


@pytest.mark.parametrize("output", ["none/o.jsonl", ".", ""])
@pytest.mark.parametrize("routing", [True, False])
def test_eval_refuses_an_output_before_anything_runs(
    output: str, routing: bool, labelled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (labelled / "routes.jsonl").write_text('{"question": "Who?", "route": "local"}\n')
    monkeypatch.setattr("evigraph.engine.Evigraph", None)  # nobody is to call it
    done = invoke("eval", "labelled", *(("--routing", "labelled/routes.jsonl") if routing else ()), "--output", output)
    assert done.code == 1
    assert "cannot be written" in done.err and "hint:" in done.err and "fault" not in done.err
    assert done.out == ""


def test_eval_shows_what_it_measured_although_the_file_cannot_be_written(
    folder: Path, labelled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evigraph.files.check_output", lambda _: None)
    done = invoke("eval", "labelled", "--mode", "naive", "--output", "none/o.jsonl")
    assert done.code == 1
    assert "recall@5" in done.out
    assert "none/o.jsonl cannot be written" in done.err
    machine = invoke("eval", "labelled", "--mode", "naive", "--output", "none/o.jsonl", "--json")
    assert machine.json["error"]["code"] == "invalid_value"


def test_eval_writes_routes_through_a_link(folder: Path, labelled: Path, invoke: Invoke) -> None:
    (labelled / "routes.jsonl").write_text('{"question": "Who?", "route": "local"}\n')
    (folder / "link").symlink_to("real")
    assert invoke("eval", "labelled", "--routing", "labelled/routes.jsonl", "--output", "link").code == 0
    assert (folder / "link").is_symlink()
    assert '"case": "routing"' in (folder / "real").read_text()


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        (b"", "labelled holds no question"),
        (b"\n\n", "labelled holds no question"),
        (b'{"question": "?", "answers": 5}', "questions.jsonl:1: field 'answers'"),
        (b'{"question": "\xff"}', "questions.jsonl:1: not UTF-8"),
    ],
)
def test_eval_refuses_questions_that_cannot_be_measured(
    questions: bytes, said: str, labelled: Path, invoke: Invoke
) -> None:
    (labelled / "questions.jsonl").write_bytes(questions)
    done = invoke("eval", "labelled")
    assert done.code == 1
    assert said in done.err and "hint:" in done.err and "fault" not in done.err


def test_eval_of_routes_needs_no_other_questions(labelled: Path, invoke: Invoke) -> None:
    (labelled / "questions.jsonl").write_text("")
    (labelled / "routes.jsonl").write_text('{"question": "Who?", "route": "local"}\n')
    assert invoke("eval", "labelled", "--routing", "labelled/routes.jsonl").code == 0


def test_ask_passes_on_what_was_given_and_nothing_else() -> None:
    assert ask_options.AskOptions(predicate=[], document_id=None).request() == {}
    given = ask_options.AskOptions(
        min_score=0.0,
        pattern="",
        rerank=True,
        document_id=["a"],
        predicate=["owns"],
        meta=["k=v"],
        as_of="3",
        no_web_search=True,
    )
    assert given.request() == {
        "min_score": 0.0,
        "rerank": True,
        "predicates": ["owns"],
        "document_filter": {"document_ids": ["a"], "pattern": ""},
        "metadata_filter": {"k": "v"},
        "as_of": 3,
        "web_search": False,
    }
    fields = {field.name for field in dataclasses.fields(ask_options.AskOptions)} - set(ask_options._TRANSLATED)
    assert fields < {field.name for field in dataclasses.fields(QueryRequest)}


def test_modes_in_the_help_are_those_there_are() -> None:
    assert ask_options.MODES.split(", ") == [mode.value for mode in Mode]


def test_values() -> None:
    assert key_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    assert generation_or_time("12") == 12
    assert generation_or_time("2026-01-01") == "2026-01-01"
    assert clean("a\x1b[31mb\u202ec\ud800") == "a [31mb c "
    assert shorten("one\ntwo  three", 9) == "one two …"
    assert _where({"source": "https://a.example/", "document_id": "", "web": True}) == "https://a.example/ (web)"
    assert _where({"source": "a.pdf", "document_id": "a", "page": 2, "web": False}) == "a.pdf p. 2"
