from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile
from evigraph.evaluate.cases import AnswerCase, FoundDocument, RankingCase
from evigraph.evaluate.report import EvalReport
from evigraph.evaluate.results import READERS, read_cases

RUN = {"corpus_hash": "ab" * 32, "embedder": "minilm", "k": 10, "evigraph": "0.1.0", "date": "2026-01-01T00:00:00"}
FOUND = FoundDocument(document="g", rank=1, title="Gé", score=1.5, graph_rank=2, graph_score=-3.25)
RANKING = RankingCase(
    mode="mix",
    question_id="q1",
    question="Où ?",
    type="two",
    gold=("g",),
    ranked=("g", "x"),
    metrics={"recall@5": 1.0},
    seconds=0.25,
    options={"mode": "mix"},
    degraded=("walk: gave up",),
    retrieval="dense+bm25+graph",
    found=(FOUND, FoundDocument(document="x", rank=2)),
    notes={"gate": "graph", "anchors": ["Ada"]},
)
ANSWER = AnswerCase(
    mode="mix",
    question_id="q1",
    question="?",
    type="corpus_wide",
    abstained=False,
    abstain_reason="",
    text="Ada [1]",
    citations=("g",),
    longest_quote=7,
    cites_gold=True,
    answer_recall=None,
    seconds=0.5,
    options={},
    gold_recall=0.5,
    gold_precision=1.0,
    groups={"region": 0.5},
)
REPORT = EvalReport(dataset="set", corpus_documents=3, run=RUN, rankings=(RANKING,), answers=(ANSWER,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    REPORT.write_jsonl(tmp_path / "cases.jsonl")
    return tmp_path / "cases.jsonl"


def rewrite(file: Path, line: int, **changes: Any) -> None:
    """Change fields of a line (from 1); one that is `...` is taken out."""
    lines = file.read_text(encoding="utf-8").splitlines()
    record = {**json.loads(lines[line - 1]), **changes}
    lines[line - 1] = json.dumps({name: value for name, value in record.items() if value is not ...})
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_what_is_written_is_read_back(file: Path) -> None:
    assert read_cases(file) == REPORT


def test_signals_that_ranked_nothing_take_no_room(file: Path) -> None:
    record = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    assert record["found"][1] == {"document": "x", "rank": 2, "title": ""}
    assert record["found"][0]["graph_score"] == -3.25


def test_every_declared_type_can_be_read() -> None:
    declared = {str(one.type) for kind in (RankingCase, AnswerCase, FoundDocument) for one in dataclasses.fields(kind)}
    assert declared <= set(READERS)


def test_an_older_file_has_defaults_and_a_newer_one_is_understood(file: Path) -> None:
    older = dict.fromkeys(("found", "notes", "retrieval", "degraded", "error", "corpus_documents"), ...)
    rewrite(file, 1, **older, invented=[1], found_by="x")
    (case,) = read_cases(file).rankings
    assert (case.found, case.notes, case.retrieval, case.degraded, case.error) == ((), {}, "", (), "")
    assert read_cases(file).corpus_documents == 0
    assert "invented" not in read_cases(file).run


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ranked": ...}, "cases.jsonl:1: field 'ranked' is missing"),
        ({"ranked": "g"}, "cases.jsonl:1: field 'ranked' is not a list of texts"),
        ({"gold": [1]}, "field 'gold' is not a list of texts"),
        ({"metrics": {"recall@5": "1"}}, "field 'metrics' is not an object of numbers"),
        ({"metrics": {"recall@5": float("nan")}}, "field 'metrics' is not an object of numbers"),
        ({"metrics": [1]}, "field 'metrics' is not an object of numbers"),
        ({"seconds": True}, "field 'seconds' is not a number"),
        ({"question_id": 7}, "field 'question_id' is not a text"),
        ({"found": [1]}, "field 'found' is not a list of objects"),
        ({"found": [{"document": "g"}]}, "field 'found' is not a list of found documents .*'rank' is missing"),
        ({"found": [{"document": "g", "rank": -1}]}, "'rank' is not a count"),
        ({"notes": []}, "field 'notes' is not an object"),
        ({"case": "route"}, "cases.jsonl:1: neither a ranking nor an answer"),
        ({"corpus_hash": ...}, "cases.jsonl:1: field 'corpus_hash' is not a text"),
        ({"dataset": 1}, "field 'dataset' is not a text"),
        ({"corpus_documents": 1.5}, "field 'corpus_documents' is not a count"),
    ],
)
def test_malformed_cases_are_named_by_line_and_field(file: Path, changes: dict[str, Any], said: str) -> None:
    rewrite(file, 1, **changes)
    with pytest.raises(CorruptDocument, match=said) as caught:
        read_cases(file)
    assert "--output" in caught.value.hint


def test_a_malformed_answer_is_named_too(file: Path) -> None:
    rewrite(file, 2, abstained="no")
    with pytest.raises(CorruptDocument, match=r"cases.jsonl:2: field 'abstained' is not true or false"):
        read_cases(file)


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_lines_that_are_no_objects(file: Path, line: bytes) -> None:
    file.write_bytes(file.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(CorruptDocument, match=r"cases.jsonl:4: not "):
        read_cases(file)


def test_files_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="nowhere"):
        read_cases(tmp_path / "nowhere.jsonl")
    with pytest.raises(MissingFile):
        read_cases(tmp_path)
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InvalidValue, match=r"empty.jsonl holds no case"):
        read_cases(tmp_path / "empty.jsonl")


def test_one_run_a_file(file: Path) -> None:
    rewrite(file, 2, date="2026-02-02T00:00:00")
    assert read_cases(file).run == RUN  # joined files differ in their dates
    rewrite(file, 2, embedder="other")
    with pytest.raises(InvalidValue, match=r"cases.jsonl:2: embedder is 'other', on the lines before it was 'minilm'"):
        read_cases(file)
    rewrite(file, 2, embedder="minilm", dataset="elsewhere")
    with pytest.raises(InvalidValue, match=r"cases.jsonl:2: dataset is 'elsewhere'"):
        read_cases(file)


def test_a_case_is_there_once(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") * 2, encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"cases.jsonl:3: mix has question 'q1' twice"):
        read_cases(file)
