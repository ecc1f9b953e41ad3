from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, EvigraphError, InvalidValue, MissingFile, ReadError
from evigraph.evaluate.datasets import Question, corpus_hash, load_dataset, sample

CORPUS = [{"id": "p1", "title": "Ada", "text": "Ada wrote."}, {"id": "p2", "title": "Bo", "text": "Bo sang."}]


def write_lines(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def test_own_layout(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", CORPUS)
    questions = [
        {
            "id": "q1",
            "question": "Who wrote?",
            "gold": ["p1", "p9"],
            "answer": "Ada",
            "type": 0,
            "route": "local",
        },
        {"id": "q2", "question": "Who flew?", "gold": [], "answer": ["x", "y"], "type": "absent"},
        {"question": "Bare?"},
    ]
    write_lines(tmp_path / "questions.jsonl", questions)
    data = load_dataset(tmp_path)
    assert (data.layout, data.name, data.gold_by) == ("evigraph", tmp_path.name, "document_id")
    assert data.items[0] == {"document_id": "p1", "title": "Ada", "text": "Ada wrote."}
    first, second, third = data.questions
    assert (first.gold, first.type, first.answers, first.route) == (
        {"p1": 1.0, "p9": 1.0},
        "0",
        ("Ada",),
        "local",
    )
    assert (second.answers, second.type) == (("x", "y"), "absent")
    assert (third.id, third.gold, third.type) == ("2", {}, "")
    assert data.warnings == ("1 questions have gold outside the corpus, counted as missed (first: q1)",)


def test_one_of_several_corpora_must_be_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus_small.jsonl", CORPUS[:1])
    write_lines(tmp_path / "corpus_full.jsonl", CORPUS)
    write_lines(tmp_path / "questions.jsonl", [])
    with pytest.raises(InvalidValue, match=r"several corpus files: corpus_full.jsonl, corpus_small.jsonl"):
        load_dataset(tmp_path)
    with pytest.raises(InvalidValue, match="no corpus file is named 'tiny'"):
        load_dataset(tmp_path, corpus="tiny")
    for name in ("corpus_full.jsonl", "corpus_full", "full"):
        assert load_dataset(tmp_path, corpus=name).corpus_ids == {"p1", "p2"}


def test_the_corpus_hash_depends_on_content_alone() -> None:
    same = corpus_hash(list(reversed(CORPUS)))
    assert corpus_hash(CORPUS) == same
    assert corpus_hash([CORPUS[0], {**CORPUS[1], "text": "Bo sings."}]) != same
    assert len(same) == 64


def test_folder_layout(tmp_path: Path) -> None:
    for name in ("2014/a.md", "2014/a.md.meta.json", "b.txt", ".hidden/c.md"):
        (tmp_path / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "corpus" / name).write_text(name, encoding="utf-8")
    write_lines(tmp_path / "questions.jsonl", [{"id": "q", "question": "?", "gold": ["2014/a.md"]}])
    data = load_dataset(tmp_path)
    assert (data.layout, data.gold_by, list(data.items)) == ("folder", "source", [tmp_path / "corpus"])
    assert data.corpus_ids == {"2014/a.md", "b.txt"}
    (tmp_path / "corpus" / "2014/a.md.meta.json").write_text("{}", encoding="utf-8")
    assert load_dataset(tmp_path).corpus_hash != data.corpus_hash
    assert data.warnings == ()


def test_beir_layout(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", [{"_id": 7, "title": "", "text": "seven"}, {"_id": "8", "text": "eight"}])
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "two"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t7\t2\nq1\t8\t0\n", encoding="utf-8")
    (tmp_path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\t8\t1\n", encoding="utf-8")
    data = load_dataset(tmp_path)
    assert data.layout == "beir"
    assert [(q.id, q.text, q.gold) for q in data.questions] == [("q1", "one", {"7": 2.0})]
    assert data.items[0]["document_id"] == "7"
    assert [q.id for q in load_dataset(tmp_path, split="train").questions] == ["q2"]
    with pytest.raises(InvalidValue, match="no split file is named 'dev'"):
        load_dataset(tmp_path, split="dev")
    (tmp_path / "qrels" / "test.tsv").write_text("q1 7 2\n", encoding="utf-8")
    with pytest.raises(CorruptDocument, match=r"test.tsv:1"):
        load_dataset(tmp_path)


def test_hipporag_layout_with_paragraphs(tmp_path: Path) -> None:
    corpus = [
        {"title": "Ada", "text": "Ada  wrote."},
        {"title": "Ada", "text": "Another Ada."},
        {"title": "Bo", "text": "Bo sang."},
    ]
    write_json(tmp_path / "musique_corpus.json", corpus)
    paragraphs = [
        {"title": "Ada", "paragraph_text": "Another Ada.", "is_supporting": True},
        {"title": "Bo", "paragraph_text": "Bo sang, differently.", "is_supporting": True},
        {"title": "Ada", "paragraph_text": "Ada wrote.", "is_supporting": False},
    ]
    question = {"id": "2hop__1", "question": "Who?", "answer": "Ada", "paragraphs": paragraphs}
    write_json(tmp_path / "musique.json", [question])
    data = load_dataset(tmp_path)
    assert data.layout == "hipporag"
    assert data.questions[0].gold == {"000001": 1.0, "000002": 1.0}
    assert data.questions[0].answers == ("Ada",)
    paragraphs[0]["paragraph_text"] = "A third Ada."
    write_json(tmp_path / "musique.json", [question])
    with pytest.raises(CorruptDocument, match="supporting passage 'Ada' is in the corpus 2 times"):
        load_dataset(tmp_path)


def test_hipporag_layout_with_supporting_facts(tmp_path: Path) -> None:
    write_json(
        tmp_path / "hotpotqa_corpus.json",
        [{"title": "A", "text": "One. Two."}, {"title": "B", "text": "Three."}],
    )
    write_json(tmp_path / "musique_corpus.json", [])
    question = {
        "_id": "h1",
        "question": "?",
        "type": "bridge",
        "context": [["A", ["One.", " Two."]], ["B", ["Three."]]],
        "supporting_facts": [["A", 0], ["A", 1]],
    }
    write_json(tmp_path / "hotpotqa.json", [question])
    (found,) = load_dataset(tmp_path, corpus="hotpotqa").questions
    assert (found.id, found.gold, found.type) == ("h1", {"000000": 1.0}, "bridge")
    with pytest.raises(MissingFile, match=r"musique_corpus.json has no questions"):
        load_dataset(tmp_path, corpus="musique")


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({}, MissingFile, "holds no corpus"),
        ({"questions.jsonl": ""}, InvalidValue, "there is no corpus files"),
        ({"corpus.jsonl": "{", "questions.jsonl": ""}, CorruptDocument, r"corpus.jsonl:1"),
        (
            {"corpus.jsonl": "[]", "questions.jsonl": ""},
            CorruptDocument,
            r"corpus.jsonl:1: not a JSON object",
        ),
        (
            {"corpus.jsonl": '\n{"id": 1}', "questions.jsonl": ""},
            CorruptDocument,
            r"corpus.jsonl:2: field 'text'",
        ),
        (
            {"corpus.jsonl": "", "questions.jsonl": '{"question": "?", "gold": "p1"}'},
            CorruptDocument,
            "gold is not a list",
        ),
        ({"x_corpus.json": "{}", "x.json": "[]"}, CorruptDocument, "not an array"),
        ({"x_corpus.json": "[", "x.json": "[]"}, CorruptDocument, r"x_corpus.json"),
        ({"corpus.jsonl": "", "questions.jsonl": '{"question": "?"}'}, InvalidValue, "holds no document"),
        ({"corpus/.hidden": "", "questions.jsonl": '{"question": "?"}'}, InvalidValue, "holds no document"),
        ({"corpus.jsonl": "[" * 100_000, "questions.jsonl": ""}, CorruptDocument, r"corpus.jsonl:1"),
        ({"corpus.jsonl": '{"id": ' + "1" * 5_000 + "}", "questions.jsonl": ""}, CorruptDocument, r"corpus.jsonl:1"),
        ({"x_corpus.json": "[" * 100_000, "x.json": "[]"}, CorruptDocument, r"x_corpus.json"),
    ],
)
def test_malformed_folders(tmp_path: Path, files: dict[str, str], error: type[EvigraphError], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message) as caught:
        load_dataset(tmp_path)
    assert caught.value.hint


OWN = {"corpus.jsonl": '{"id": "p1", "text": "t"}', "questions.jsonl": '{"question": "?"}'}
BEIR = {
    "corpus.jsonl": '{"_id": "p1", "text": "t"}',
    "queries.jsonl": '{"_id": "q", "text": "?"}',
    "qrels/test.tsv": "q\tp1\t1\n",
}
HIPPORAG = {"x_corpus.json": '[{"title": "T", "text": "t"}]', "x.json": '[{"question": "?"}]'}


@pytest.mark.parametrize(("files", "name"), [(files, name) for files in (OWN, BEIR, HIPPORAG) for name in files])
@pytest.mark.parametrize("wrong", [b"\xff", b"\xe9 latin-1", "utf-16".encode("utf-16")])
def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path, files: dict[str, str], name: str, wrong: bytes) -> None:
    for each, text in files.items():
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).write_text(text, encoding="utf-8")
    assert load_dataset(tmp_path).questions
    (tmp_path / name).write_bytes(wrong)
    with pytest.raises(CorruptDocument, match=rf"{Path(name).name}.*not UTF-8") as caught:
        load_dataset(tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize("files", [OWN, HIPPORAG])
def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for each, text in files.items():
        (tmp_path / each).write_text(text, encoding="utf-8")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ReadError, match=r"corpus.jsonl? cannot be read: Permission denied"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"answer": {"text": "Ada"}}, "field 'answer' is neither a text nor"),
        ({"answer": ["Ada", None]}, "field 'answer' is neither a text nor"),
        ({"answer": True}, "field 'answer' is neither a text nor"),
        ({"answers": 5}, "field 'answers' is not read"),
        ({"answers": ["Ada"]}, "field 'answers' is not read"),
        ({"gold": [{"id": "p1"}]}, "gold is not a list of ids"),
        ({"gold": None}, "gold is not a list of ids"),
        ({"question": ["?"]}, "field 'question' is not text"),
        ({"question": True}, "field 'question' is not text"),
        ({"question": None}, "field 'question' is missing"),
        ({"id": ["q"]}, "field 'id' is not text"),
        ({"type": {}}, "field 'type' is not text"),
        ({"route": ["local"]}, "field 'route' is not text"),
    ],
)
def test_a_question_with_a_field_of_the_wrong_type_is_named(
    tmp_path: Path, field: dict[str, Any], message: str
) -> None:
    write_lines(tmp_path / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "questions.jsonl", [{"question": "fine?"}, {"question": "?", **field}])
    with pytest.raises(CorruptDocument, match=rf"questions.jsonl:2: {message}") as caught:
        load_dataset(tmp_path)
    assert caught.value.hint


def test_answers_may_be_numbers_and_a_set_may_have_both_fields(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", CORPUS)
    records = [
        {"id": None, "question": "How many?", "answer": 5},
        {"question": "Which?", "answer": ["a", 2, " "], "answers": 5},
    ]
    write_lines(tmp_path / "questions.jsonl", records)
    first, second = load_dataset(tmp_path).questions
    assert (first.id, first.answers) == ("0", ("5",))
    assert (second.answers, second.extra) == (("a", "2"), {"answers": 5})


@pytest.mark.parametrize(
    "record",
    [
        {"supporting_facts": [[]], "context": []},
        {"supporting_facts": 3},
        {"supporting_facts": [["T", 0]]},
        {"supporting_facts": [["T", 0]], "context": [["T"]]},
        {"supporting_facts": [["T", 0]], "context": [["T", 3]]},
        {"paragraphs": [3]},
        {"paragraphs": [{"is_supporting": True}]},
        {"paragraphs": [{"is_supporting": True, "title": "T", "text": 3}]},
    ],
)
def test_malformed_support_names_its_record(tmp_path: Path, record: dict[str, Any]) -> None:
    write_json(tmp_path / "x_corpus.json", [{"title": "T", "text": "t"}])
    write_json(tmp_path / "x.json", [{"question": "?"}, {"question": "?", **record}])
    with pytest.raises(CorruptDocument, match=r"x.json\[1\]: its supporting passages are malformed") as caught:
        load_dataset(tmp_path)
    assert caught.value.hint


def test_remedies_say_where_the_layouts_are(tmp_path: Path) -> None:
    for files in ({}, {"corpus.jsonl": "", "questions.jsonl": "{}"}, {"corpus.jsonl": "{}", "questions.jsonl": ""}):
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(EvigraphError) as caught:
            load_dataset(tmp_path)
        assert "evigraph eval --help" in caught.value.hint


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="is not a folder"):
        load_dataset(tmp_path / "none")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "corpus", "documents", "questions"),
    [
        ("musique_train100", None, 1890, 100),
        ("hotpotqa_train100", None, 994, 100),
        ("2wiki_fast51", "780", 780, 51),
        ("phantomwiki_easy", None, 402, 280),
    ],
)
def test_labelled_corpora(shared_data: Path, folder: str, corpus: str | None, documents: int, questions: int) -> None:
    data = load_dataset(shared_data / folder, corpus=corpus)
    assert len(data.corpus_ids) == documents
    assert len(data.questions) == questions
    assert all(question.gold for question in data.questions)
    assert data.warnings == ()


def test_a_sample_depends_on_the_ids_alone() -> None:
    questions = [Question(id=f"q{n}", text="?", gold={}) for n in range(50)]
    drawn = sample(questions, 10)
    assert len({question.id for question in drawn}) == 10
    assert sample(list(reversed(questions)), 10) == drawn
    assert sample(questions, 4) == drawn[:4]
    assert [question.id for question in drawn] != [question.id for question in questions[:10]]
    assert len(sample(questions, 99)) == 50
    # The seed is fixed: measured files of different days hold the same questions.
    assert [question.id for question in drawn[:3]] == ["q28", "q2", "q32"]


def test_further_fields_of_a_question_are_kept(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", CORPUS)
    lines = [
        {"id": "q1", "question": "?", "gold": [], "type": "x", "in_51": True, "hops": [1, 2]},
        {"id": "q2", "question": "?", "in_51": False},
        {"id": "q3", "question": "?", "in_51": "yes"},
    ]
    write_lines(tmp_path / "questions.jsonl", lines)
    data = load_dataset(tmp_path)
    assert data.questions[0].extra == {"in_51": True, "hops": [1, 2]}
    kept = data.only("in_51")
    assert [question.id for question in kept.questions] == ["q1"]
    assert (kept.corpus_hash, kept.name) == (data.corpus_hash, data.name)
    with pytest.raises(InvalidValue, match=r"no question of .* is marked 'in_52'"):
        data.only("in_52")


def test_further_fields_in_other_layouts_are_kept_without_repeated_texts(tmp_path: Path) -> None:
    write_json(tmp_path / "m_corpus.json", [{"title": "Ada", "text": "Ada wrote."}])
    paragraphs = [{"title": "Ada", "paragraph_text": "Ada wrote.", "is_supporting": True}]
    write_json(tmp_path / "m.json", [{"question": "?", "paragraphs": paragraphs, "answerable": True}])
    assert load_dataset(tmp_path).questions[0].extra == {"answerable": True}
    beir = tmp_path / "beir"
    write_lines(beir / "corpus.jsonl", [{"_id": "d", "title": "", "text": "t"}])
    write_lines(beir / "queries.jsonl", [{"_id": "q", "text": "?", "metadata": {"year": 1}}])
    (beir / "qrels").mkdir()
    (beir / "qrels" / "test.tsv").write_text("q\td\t1\n")
    assert load_dataset(beir).questions[0].extra == {"metadata": {"year": 1}}
