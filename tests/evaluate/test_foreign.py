from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile
from evigraph.evaluate import Dataset, ForeignList, load_dataset, read_lists, score_lists

from .test_run import build

CORPUS = [
    {"id": "p1", "title": "Otto I, Count of Burgundy", "text": "Otto."},
    {"id": "p2", "title": "Maurice, Prince of Orange", "text": "Maurice."},
    {"id": "p3", "title": "Maurice", "text": "A name."},
    {"id": "p4", "title": "Otto I, Count of Nassau", "text": "Otto."},
    {"id": "p5", "title": "Wrong Turn 5: Bloodlines", "text": "A film."},
]
QUESTIONS = [{"id": "q1", "question": "Who?", "gold": ["p2", "p5"]}, {"id": "q2", "question": "Nothing?", "gold": []}]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return build(tmp_path, CORPUS, QUESTIONS)


def one(*titles: str, **fields: Any) -> ForeignList:
    return ForeignList(**{"system": "s", "question_id": "q1", "titles": titles, **fields})


def test_lists_are_scored_as_ours_are(dataset: Dataset) -> None:
    (case,) = score_lists(dataset, [one("Maurice", "Maurice, Prince of Orange", "Maurice", "Wrong Turn 5")], k=8)
    assert (case.mode, case.question_id, case.ranked[:2]) == ("s", "q1", ("p3", "p2"))
    assert len(case.ranked) == 3  # twice the same document is one place; an unknown title keeps its own
    assert case.metrics == {
        "recall@1": 0.0,
        "recall@2": 0.5,
        "recall@5": 0.5,
        "all-gold@5": 0.0,
        "all-gold@8": 0.0,
        "MRR": 0.5,
    }
    assert case.notes == {"unknown_titles": 1}


def test_a_title_cut_short_stands_for_the_one_that_it_begins(dataset: Dataset) -> None:
    found = one("Otto I", "Wrong Turn 5", "Maurice")
    (case,) = score_lists(dataset, [found], k=8, begun=True)
    assert case.ranked[1:] == ("p5", "p3")  # two begin with Otto I; Maurice is a title itself
    assert case.notes == {"unknown_titles": 1}
    (strict,) = score_lists(dataset, [found], k=8)
    assert strict.notes == {"unknown_titles": 2}


def test_lists_of_other_questions_are_left_out(dataset: Dataset) -> None:
    lists = [one("Maurice"), one("x", question_id="q9"), one("y", system="t")]
    assert [case.mode for case in score_lists(dataset, lists, k=8)] == ["s", "t"]


def test_a_question_has_one_list(dataset: Dataset) -> None:
    with pytest.raises(InvalidValue, match="s has two lists for 'q1'"):
        score_lists(dataset, [one("a"), one("a")], k=8)
    with pytest.raises(InvalidValue, match="t has no list for 'q1'"):
        score_lists(dataset, [one("a"), one("a", system="t", question_id="q2")], k=8)


def test_titles_must_tell_documents_apart(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="several documents are titled 'Maurice'"):
        score_lists(build(tmp_path, [*CORPUS, {**CORPUS[2], "id": "p9"}], QUESTIONS), [one("a")], k=8)
    folder = tmp_path / "files"
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "a.md").write_text("text")
    (folder / "questions.jsonl").write_text('{"id": "q1", "question": "?", "gold": ["a.md"]}')
    with pytest.raises(InvalidValue, match="folder of files"):
        score_lists(load_dataset(folder), [one("a")], k=8)


def test_lists_are_read_from_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "lists.jsonl"
    file.write_text('{"system": "s", "n": 51, "qid": "q1", "retrieved_titles": ["a", "b"]}\n')
    assert read_lists(file) == (one("a", "b"),)
    file.write_text('\n{"system": "s", "qid": "q1", "retrieved_titles": "a"}\n')
    with pytest.raises(CorruptDocument, match=r"lists.jsonl:2: no list of titles"):
        read_lists(file)
    with pytest.raises(MissingFile):
        read_lists(tmp_path / "none.jsonl")


@pytest.mark.shared
def test_published_lists_score_as_published(shared_data: Path) -> None:
    """Perfect retrieval at 8 on the 51 questions, as fast-graphrag's table has it: .490, .471, .745, .961."""
    folder = shared_data / "2wiki_fast51"
    for corpus in ("780", "full6119"):
        dataset = load_dataset(folder, corpus=corpus).only("in_51")
        assert len(dataset.questions) == 51
        perfect: dict[str, list[float]] = {}
        for case in score_lists(dataset, read_lists(folder / "baseline_retrieved_titles.jsonl"), k=8):
            perfect.setdefault(case.mode.split()[0], []).append(case.metrics["all-gold@8"])
        assert {name: round(sum(values) / 51, 3) for name, values in perfect.items()} == {
            "VectorDB": 0.490,
            "LightRAG": 0.471,
            "GraphRAG": 0.745,
            "Circlemind": 0.961,
        }
