"""The tool that measures the development sets, on tiny ones."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest

from evigraph import Evigraph
from evigraph.evaluate import read_cases
from evigraph.reports import IndexReport
from evigraph.testing.models import HashEmbedder
from small import PUMPS, RuleExtractor

from .fakes import WordEngine

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "scoreboard.py"
CORPUS = [{"id": item["document_id"], "title": item["title"], "text": item["text"]} for item in PUMPS]
QUESTIONS = [
    {"id": "a", "question": "Who accused Corrick Vane?", "gold": ["memo"], "type": "one", "in_it": True},
    {"id": "b", "question": "Who trained mechanics in Tarn?", "gold": ["tarn"], "type": "two", "in_it": True},
    {"id": "c", "question": "Which ferry crosses the lake?", "gold": ["ferry"], "type": "one", "in_it": False},
]
LISTS = [
    {"system": "Theirs", "qid": "a", "retrieved_titles": ["Memo on rods", "Tarn monthly"]},
    {"system": "Theirs", "qid": "b", "retrieved_titles": ["Lowani committee", "Tarn monthly"]},
]


@pytest.fixture(scope="module")
def board() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("scoreboard", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scoreboard"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["scoreboard"]


def tiny(folder: Path, name: str, corpus: list[dict[str, str]] = CORPUS) -> None:
    for file, records in (("corpus", corpus), ("questions", QUESTIONS), ("lists", LISTS)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / f"{file}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")


class KeptWords(WordEngine):
    """A word engine that keeps its documents in a folder, as a store does; opening one costs nothing."""

    chat: Any = None
    embedder = HashEmbedder()

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def __enter__(self) -> Self:
        if (self.path / "kept.json").is_file():
            super().index(json.loads((self.path / "kept.json").read_text(encoding="utf-8")))
        return self

    def index(self, items: Any, /) -> IndexReport:
        self.path.mkdir(parents=True, exist_ok=True)
        kept = [item for item in items if item["text"].strip()]
        (self.path / "kept.json").write_text(json.dumps(kept), encoding="utf-8")
        return super().index([{**item, "text": item["text"].strip()} for item in items])

    def __exit__(self, *_: object) -> None:
        self.chunks.clear()


class Talking(KeptWords):
    chat = "a model"


class Bench:
    """Runs the tool on tiny sets, and counts which stores it opened."""

    def __init__(self, board: ModuleType, folder: Path, engine: Callable[[Path], Any] = KeptWords) -> None:
        self.board, self.folder, self.engine, self.out = board, folder, engine, folder / "page.md"
        self.opened: list[str] = []
        one = board.DevSet(
            key="small", folder="small", about="A tiny set.", corpus="corpus", only="in_it", lists="lists.jsonl"
        )
        self.sets = (one, board.DevSet(key="drawn", folder="drawn", about="Two drawn.", sample=2, gain="nDCG@10"))
        for name in ("small", "drawn"):
            tiny(folder / "data", name)

    def open(self, path: Path) -> Any:
        self.opened.append(path.name)
        return self.engine(path)

    def __call__(self, *options: str, **given: Any) -> str:
        cases = self.folder / "cases"
        arguments = [str(self.folder / "data"), "--cases", str(cases), *options]
        given = {"sets": self.sets, "opener": self.open, "out": self.out, **given}
        assert self.board.main(arguments, **given) == 0
        return self.out.read_text(encoding="utf-8")

    def case(self, key: str, row: str) -> Path:
        return self.folder / "cases" / key / f"{row}.jsonl"


def opened(path: Path) -> Evigraph:
    return Evigraph(path, embedder=HashEmbedder(), extractor=RuleExtractor())


@pytest.fixture
def bench(board: ModuleType, tmp_path: Path) -> Bench:
    return Bench(board, tmp_path)


@pytest.fixture(scope="module")
def measured(board: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The tiny sets as the engine itself ranks them. Tests read what it left."""
    bench = Bench(board, tmp_path_factory.mktemp("board"), opened)
    bench()
    return bench


def table_of(page: str, key: str) -> list[list[str]]:
    section = section_of(page, key)
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]


def section_of(page: str, key: str) -> str:
    return page.partition(f"\n## {key}\n")[2].partition("\n## ")[0]


def test_every_set_and_row_is_measured_and_the_page_comes_from_the_cases_alone(measured: Bench) -> None:
    page = measured.out.read_text(encoding="utf-8")
    assert measured.opened == ["small", "drawn"]
    rows = table_of(page, "small")
    assert [row[0] for row in rows[2:11]] == [*measured.board.NAMES.values(), "Theirs"]
    assert "| own hybrid |" in page and "recall@5 beside own hybrid" in page
    assert "nDCG@10 beside own hybrid" in page
    assert "4 documents, corpus `" in page and "; 2 questions; hash-64; evigraph 0.1.0, code `" in page
    assert "`python tools/scoreboard.py --only small`" in page
    assert "| recall@5 | one (1) | two (1) |" in page
    assert str(measured.folder) not in page
    assert page.endswith(measured.board.CLAIMS)
    measured.out.unlink()
    assert measured("--render") == page
    assert measured.opened == ["small", "drawn"]
    assert measured() == page  # nothing is missing, so nothing is measured
    assert measured.opened == ["small", "drawn"]


def test_only_the_chosen_questions_are_measured_and_say_what_explains_them(measured: Bench) -> None:
    cases = read_cases(measured.case("small", "mix"))
    assert [case.question_id for case in cases.rankings] == ["a", "b"]  # c is not marked
    assert cases.run["code"] == cases.run["indexed_by"] == measured.board.code_hash()
    first = cases.rankings[0]
    assert first.found[0].document == first.ranked[0]
    assert first.found[0].graph_rank is not None and first.found[0].vector_rank is not None
    assert first.notes["anchors"] == ["Corrick Vane"]
    assert first.notes["gate"] in ("graph", "both", "plain")
    drawn = read_cases(measured.case("drawn", "mix"))
    assert len(drawn.rankings) == drawn.run["sample"] == 2


def test_published_lists_stand_beside_ours(measured: Bench) -> None:
    page = measured.out.read_text(encoding="utf-8")
    theirs = table_of(page, "small")[10]
    assert theirs[:8] == ["Theirs", "50.0", "50.0", "-", "50.0", "50.0", "-", "-"]
    assert theirs[8].split()[0] != "-"
    assert (
        "- Theirs: 2 titles, cut short as published, name no document; read as the one title that they begin,"
        " all-gold@8 is 100.0 instead of 50.0"
    ) in page
    assert "Theirs" not in section_of(page, "drawn")


def test_a_run_that_was_cut_goes_on_where_it_stopped(bench: Bench) -> None:
    bench()
    kept = bench.case("small", "dense").read_bytes()
    bench.case("small", "mix").unlink()
    page = bench("--render")
    assert "- not measured yet: mix" in page
    bench.opened.clear()
    assert "not measured yet" not in bench()
    assert bench.opened == ["small"]
    assert bench.case("small", "dense").read_bytes() == kept
    bench.case("small", "local").unlink()
    bench("--only", "small", "--resume")
    assert bench.case("small", "dense").read_bytes() == kept and bench.case("small", "local").is_file()


def test_one_set_is_measured_anew_and_the_others_stay(bench: Bench) -> None:
    bench()
    for key in ("small", "drawn"):
        bench.case(key, "dense").write_text("not read\n")
    bench.opened.clear()
    with pytest.raises(SystemExit, match=r"the page: dense.jsonl:1: not JSON"):
        bench("--only", "small")
    assert bench.opened == ["small"]
    assert read_cases(bench.case("small", "dense")).rankings
    bench("--only", "drawn")
    assert bench.opened == ["small", "drawn"]


def test_a_set_that_is_not_there_is_left_out_and_named(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    more = (*bench.sets, dataclasses.replace(bench.sets[0], key="gone", folder="gone"))
    assert "\nNot measured: gone.\n" in bench(sets=more)
    assert "gone: not in" in capsys.readouterr().err


def test_a_changed_corpus_is_indexed_from_nothing(bench: Bench) -> None:
    bench()
    tiny(bench.folder / "data", "drawn", CORPUS[:3])
    page = bench("--only", "drawn")
    assert "3 documents" in section_of(page, "drawn")
    found = {name for case in read_cases(bench.case("drawn", "dense")).rankings for name in case.ranked}
    assert "ferry" not in found  # the store holds nothing of the corpus before


def test_rows_of_different_code_and_an_older_index_are_told(
    bench: Bench, board: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench()
    monkeypatch.setattr(board, "code_hash", lambda: "another")
    bench.case("small", "mix").unlink()
    page = bench()
    assert "measured by different code or models" in page and "older than the code that was asked" in page
    page = section_of(bench("--only", "small", "--fresh"), "small")
    assert "measured by different code or models" not in page and "older than the code" not in page
    assert "code `another`" in page


def test_what_would_make_the_page_untrue_ends_the_run(bench: Bench) -> None:
    bench.engine = Talking
    with pytest.raises(SystemExit, match="a chat model is configured"):
        bench()
    bench.engine = KeptWords
    tiny(bench.folder / "data", "drawn", [*CORPUS, {"id": "empty", "title": "", "text": " "}])
    with pytest.raises(SystemExit, match="drawn: 1 documents were refused"):
        bench("--only", "drawn")


def test_without_cases_there_is_no_page(bench: Bench) -> None:
    with pytest.raises(SystemExit, match="there are no cases"):
        bench("--render")
    assert not bench.out.exists()


@pytest.mark.shared
def test_the_sets_are_the_agreed_ones(board: ModuleType, shared_data: Path) -> None:
    for one in board.SETS:
        dataset = board.load(one, shared_data)
        assert dataset.questions
        assert one.lists is None or (board.place(one, shared_data) / one.lists).is_file()
    assert [len(board.load(one, shared_data).corpus_ids) for one in board.SETS] == [
        1890,
        994,
        3112,
        780,
        6119,
        5183,
        72,
    ]


@pytest.mark.shared
def test_published_lists_of_the_51_need_no_index(board: ModuleType, shared_data: Path, tmp_path: Path) -> None:
    (one,) = [one for one in board.SETS if one.lists]
    board.publish(one, board.load(one, shared_data), shared_data, tmp_path)
    published = read_cases(tmp_path / one.key / "published.jsonl")
    assert published.run["corpus_hash"] == board.load(one, shared_data).corpus_hash
    assert [round(published.row(mode).metrics["all-gold@8"].mean, 3) for mode in published.modes] == [
        0.490,
        0.471,
        0.745,
        0.961,
    ]
