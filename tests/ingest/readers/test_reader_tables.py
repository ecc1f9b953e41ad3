from __future__ import annotations

import json
from pathlib import Path

import pytest

from evigraph.errors import CorruptDocument, EmptyDocument, UndecodableText
from evigraph.ingest.readers import reader_for
from evigraph.ingest.readers.base import Extracted, RecordError


def read(path: Path) -> list[Extracted | RecordError]:
    return list(reader_for(path)(path))


def text_of(found: Extracted | RecordError) -> str:
    assert isinstance(found, Extracted)
    return "".join(segment.text for segment in found.segments())


def csv_text(path: Path, content: str) -> str:
    path.write_text(content, encoding="utf-8")
    (found,) = read(path)
    return text_of(found)


def test_csv_becomes_a_table(tmp_path: Path) -> None:
    shown = csv_text(tmp_path / "a.csv", 'name,note\nA,"x, y"\nB,"two\nlines | bar"\n\nC\n')
    assert shown == ("| name | note |\n| --- | --- |\n| A | x, y |\n| B | two lines \\| bar |\n| C |  |\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.tsv", "a\tb,c\n1\t2\n"), ("a.csv", "a;b,c\n1;2\n3;4\n"), ("b.csv", 'a|"b,c"\n1|2\n')],
)
def test_delimiters(tmp_path: Path, name: str, content: str) -> None:
    assert csv_text(tmp_path / name, content).startswith("| a | b,c |\n| --- | --- |\n| 1 | 2 |\n")


def test_long_tables_come_in_segments_cut_between_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "".join(f"{i},name {i}\n" for i in range(60_000)))
    (found,) = read(path)
    assert isinstance(found, Extracted)
    segments = list(found.segments())
    assert len(segments) > 1
    assert all(segment.text.startswith("|") and segment.text.endswith("|\n") for segment in segments)
    assert "".join(segment.text for segment in segments).count("| id | name |") == 1


def test_an_unclosed_quote_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"never closed\n' + "more text,\n" * 20_000)
    with pytest.raises(CorruptDocument, match="line"):
        for found in read(path):
            text_of(found)


def test_a_csv_of_commas_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",,\n,,\n")
    with pytest.raises(EmptyDocument):
        read(path)


def test_jsonl_records_and_malformed_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        json.dumps({"id": 7, "title": "T", "text": "one", "lang": "en", "n": 3, "deep": {"x": 1}}),
        "{broken",
        "",
        json.dumps({"document_id": "d", "content": "two", "source": "s.html", "metadata": {"k": "v"}}),
        '"just a string"',
        '{"text": "lone \\ud800 surrogate"}',
        '{"text": "nul \\u0000"}',
        json.dumps({"name": "Ann", "age": 3, "tags": ["x", "y"]}),
        json.dumps({"text": "   "}),
    ]
    path.write_text("\n".join(lines))
    found = read(path)
    good = [item for item in found if isinstance(item, Extracted)]
    bad = [item for item in found if isinstance(item, RecordError)]
    assert [(item.record, item.record_id, text_of(item)) for item in good] == [
        (1, "7", "one"),
        (4, "d", "two"),
        (8, "", '- name: Ann\n- age: 3\n- tags: ["x", "y"]'),
    ]
    assert (good[0].title, good[0].declared) == ("T", {"lang": "en", "n": 3})
    assert good[0].warnings and "deep" in good[0].warnings[0]
    assert (good[1].source, good[1].declared) == ("s.html", {"k": "v"})
    assert [item.record for item in bad] == [2, 5, 6, 7, 9]
    assert [type(item.error) for item in bad] == [
        CorruptDocument,
        CorruptDocument,
        UndecodableText,
        UndecodableText,
        EmptyDocument,
    ]
    assert all(f"{item.record}" in str(item.error) and item.error.hint for item in bad)


def test_json_array_gives_records_and_anything_else_one_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "one"}, {"body": "two"}]))
    assert [text_of(item) for item in read(path)] == ["one", "two"]
    path.write_text('{"clé": [1, 2], "b": {"c": null}}', encoding="utf-8")
    (found,) = read(path)
    assert '"clé": [' in text_of(found)
    path.write_text("[" * 100_000)
    with pytest.raises(CorruptDocument):
        read(path)
    path.write_text(r'{"a": "\ud800"}')
    with pytest.raises(UndecodableText):
        read(path)
