from __future__ import annotations

import json
import tracemalloc
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import InvalidValue
from evigraph.ingest.metadata import parse_date
from evigraph.ingest.read import document_id_of, read, readable_name
from evigraph.ingest.sources import SourceDocument
from evigraph.reports import FileError


def run(*inputs: Any, metadata: dict[str, str] | None = None, limit: int = 10**9, workspace: str = "w") -> list[Any]:
    return list(read(inputs, workspace=workspace, root=None, max_file_bytes=limit, metadata=metadata or {}))


def one(*inputs: Any, **more: Any) -> SourceDocument:
    (found,) = run(*inputs, **more)
    assert isinstance(found, SourceDocument), found
    return found


def error(*inputs: Any, **more: Any) -> FileError:
    (found,) = run(*inputs, **more)
    assert isinstance(found, FileError), found
    assert found.message and found.hint
    return found


def text_of(document: SourceDocument) -> str:
    return "".join(segment.text for segment in document.segments())


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_identity_comes_from_workspace_and_source(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "text")
    here = one(tmp_path)
    assert here.document_id == document_id_of("w", "a.txt") and len(here.document_id) == 16
    assert here.source == "a.txt" and here.origin == str(tmp_path.resolve())
    assert one(tmp_path, workspace="other").document_id != here.document_id
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    assert one(write(moved / "a.txt", "changed")).document_id == here.document_id


def test_content_hash_covers_bytes_title_date_and_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "text")
    first = one(path).content_hash
    assert one(path).content_hash == first
    hashes = {first}
    for metadata in ({"title": "T"}, {"date": "2024"}, {"k": "v"}):
        hashes.add(one(path, metadata=metadata).content_hash)
    write(path, "text ")
    hashes.add(one(path).content_hash)
    assert len(hashes) == 5


def test_titles(tmp_path: Path) -> None:
    assert one(write(tmp_path / "my_report-for-may-2024.txt", "x")).title == "my report for may-2024"
    assert one(write(tmp_path / "b.md", "intro\n\n# The **head**\n\nx")).title == "The head"
    path = write(tmp_path / "c.md", "---\ntitle: Front\n---\n# Head\n")
    assert one(path).title == "Front"
    write(tmp_path / "c.meta.json", '{"title": "Less specific"}')
    assert one(path).title == "Less specific"
    write(tmp_path / "c.md.meta.json", '{"title": "Sidecar"}')
    assert one(path).title == "Sidecar"
    assert one(path, metadata={"title": "Given"}).title == "Given"
    assert readable_name(Path("RECEIPT-2024-TXN_x.pdf")) == "RECEIPT-2024-TXN x"


def test_metadata_from_all_sides(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", "---\nk: own\nn: 3\nok: true\ntags: [a, b]\nday: 2024-05-01\nnil:\n---\nx\n")
    write(
        tmp_path / "a.md.meta.json",
        json.dumps({"k": "side", "s": 1.5, "date": "2024-02", "metadata": {"m": "x"}}),
    )
    document = one(path, metadata={"k": "given"})
    assert document.metadata == {
        "day": "2024-05-01",
        "k": "given",
        "m": "x",
        "n": "3",
        "ok": "true",
        "s": "1.5",
        "tags": "a, b",
    }
    assert document.date == date(2024, 2, 1)
    assert text_of(document) == "x\n"


def test_reserved_keys_are_left_out_with_a_warning(tmp_path: Path) -> None:
    document = one(write(tmp_path / "a.md", "---\nsource: web\n---\nx\n"))
    assert document.metadata == {} and "source" in document.warnings[0]
    with pytest.raises(InvalidValue):
        run(metadata={"source": "x"})
    with pytest.raises(InvalidValue):
        run(metadata={"date": "soon"})


@pytest.mark.parametrize(
    "content",
    [
        '{"a": {"b": 1}}',
        "[1]",
        "{broken",
        '{"date": "soon"}',
        '{"a": [[1]]}',
        '{"a": "\\ud800"}',
        '{"metadata": 1}',
    ],
)
def test_malformed_sidecars(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a.txt", "x")
    write(tmp_path / "a.txt.meta.json", content)
    assert error(path).code == "invalid_sidecar"


def test_a_sidecar_outside_the_root_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    write(folder / "a.txt", "x")
    (folder / "a.txt.meta.json").symlink_to(write(tmp_path / "private.json", '{"k": "secret"}'))
    assert error(folder).code == "outside_root"


def test_what_web_pages_say_wrongly_is_a_warning(tmp_path: Path) -> None:
    document = one(write(tmp_path / "a.html", '<title>T</title><meta name="date" content="yesterday"><p>x'))
    assert document.date is None and "date" in document.warnings[0]


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", "")
    (tmp_path / "c.txt").write_bytes(b"\0\1\2")
    write(tmp_path / "d.xyz", "?")
    (tmp_path / "e.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "f.docx").write_bytes(b"PK broken")
    write(tmp_path / "g.txt", "x" * 200)
    write(tmp_path / "h.txt", "fine too")
    found = run(tmp_path, limit=100)
    assert [getattr(item, "code", "ok") for item in found] == [
        "ok",
        "empty_document",
        "undecodable_text",
        "unsupported_format",
        "corrupt_document",
        "corrupt_document",
        "file_too_large",
        "ok",
    ]
    assert "EVIGRAPH_MAX_FILE_BYTES" in found[6].hint


def test_records_of_a_file(tmp_path: Path) -> None:
    lines = [
        '{"id": "x1", "title": "T", "text": "one", "date": "2023"}',
        "{broken",
        '{"text": "two", "lang": "en"}',
    ]
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    first, broken, second = run(path, metadata={"k": "v"})
    assert (first.document_id, first.title, first.date, first.source) == (
        "x1",
        "T",
        date(2023, 1, 1),
        "a.jsonl",
    )
    assert broken.code == "corrupt_document" and "line 2" in broken.message
    assert second.title == "a 3" and second.metadata == {"k": "v", "lang": "en"}
    assert [item.document_id for item in run(path) if isinstance(item, SourceDocument)] == [
        "x1",
        second.document_id,
    ]
    write(path, '{"text": "x", "date": "soon"}')
    assert error(path).code == "invalid_item"


def test_items() -> None:
    document = one(
        {
            "document_id": "d",
            "title": "T",
            "text": "a\r\nb",
            "source": "s.md",
            "date": "2024-05",
            "metadata": {"n": 1},
        }
    )
    assert (document.document_id, document.title, document.source) == ("d", "T", "s.md")
    assert (document.date, document.metadata, document.origin) == (date(2024, 5, 1), {"n": "1"}, "")
    assert text_of(document) == "a\nb"
    bare = one({"text": "# Head\n\nbody"})
    assert bare.title == "Head" and bare.source == bare.document_id and len(bare.document_id) == 16
    assert one({"text": "# Head\n\nbody"}).document_id == bare.document_id
    assert one({"text": "x", "source": "s.md"}).document_id == document_id_of("w", "s.md")


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({}, "invalid_item"),
        ({"text": 3}, "invalid_item"),
        ({"text": "x", "titel": "y"}, "invalid_item"),
        ({"text": "x\0"}, "invalid_item"),
        ({"text": "x\ud800"}, "invalid_item"),
        ({"text": "x", "date": "soon"}, "invalid_item"),
        ({"text": "x", "document_id": 3}, "invalid_item"),
        ({"text": "x", "source": "a\0"}, "invalid_item"),
        ({"text": "x", "metadata": "k=v"}, "invalid_item"),
        ({"text": "x", "metadata": {"k": {"nested": 1}}}, "invalid_item"),
        ({"text": "x", "metadata": {"k": object()}}, "invalid_item"),
        ({"text": "x", "metadata": {"source": "y"}}, "invalid_item"),
        ({"text": "  \n"}, "empty_document"),
    ],
)
def test_malformed_items(item: dict[str, Any], code: str) -> None:
    assert error(item).code == code


def test_inputs_keep_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "x")
    found = run({"text": "1", "document_id": "i1"}, path, {"text": "2", "document_id": "i2"})
    assert [item.source for item in found] == ["i1", "a.txt", "i2"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-06", date(2024, 5, 6)),
        ("2024-05", date(2024, 5, 1)),
        (2024, date(2024, 1, 1)),
        ("2023-04-21T00:00:00.000Z", date(2023, 4, 21)),
        (datetime(2024, 5, 6, 7), date(2024, 5, 6)),
    ],
)
def test_dates(value: object, expected: date) -> None:
    assert parse_date(value) == expected


@pytest.mark.parametrize("value", ["", "soon", "2024-13", "2024-02-30", "24", "0000", True, 3.5])
def test_no_dates(value: object) -> None:
    with pytest.raises(ValueError, match="is no date"):
        parse_date(value)


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("w", encoding="utf-8") as file:
        for i in range(400_000):
            file.write(f"This is line number {i} of a long file.\n\n")
    size = path.stat().st_size
    tracemalloc.start()
    document = one(path)
    length = sum(len(segment.text) for segment in document.segments())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length == size > 15_000_000
    assert peak < size / 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["text", "title", "source", "date", "metadata", "document_id", "x"]), VALUES))
def test_any_item_gives_a_document_or_a_typed_error(item: dict[str, Any]) -> None:
    (found,) = run(item)
    assert isinstance(found, SourceDocument) or (found.code in ("invalid_item", "empty_document") and found.hint)


@pytest.mark.parametrize(
    "item",
    [
        {"document_id": "d" * 501},
        {"document_id": "a\nb"},
        {"source": "s" * 1_001},
        {"source": "a\x1b[31mb"},
        {"source": "a\u2028b"},
    ],
)
def test_names_of_items_are_short_lines(item: dict[str, Any], tmp_path: Path) -> None:
    refused = error({"text": "x", **item})
    assert (refused.code, refused.source) == ("invalid_item", "item 1")
    assert len(refused.message) < 200
    (key,) = item
    path = write(tmp_path / "a.jsonl", json.dumps({"text": "x", **item}))
    assert error(path).code == "invalid_item" and key in error(path).message
    assert one({"text": "x", key: item[key][:500].split("\n")[0].split("\x1b")[0].split("\u2028")[0]})


def test_titles_are_cut_and_kept_on_a_line(tmp_path: Path) -> None:
    document = one({"text": "x", "title": "a\x00\tb\x1bc\n" + "d" * 400})
    assert document.title == ("a b c " + "d" * 400)[:300]
    assert "300" in document.warnings[0]
    headed = one(write(tmp_path / "a.md", f"# {'word ' * 100}\n\nx"))
    assert len(headed.title) <= 300 and headed.warnings
    assert one({"text": "x", "title": "t" * 300}).warnings == ()


def test_an_id_is_no_title(tmp_path: Path) -> None:
    assert one({"text": "It rose.", "document_id": "pub"}).title == ""
    assert one({"text": "It rose.", "document_id": "pub", "source": "pub"}).title == ""
    assert one({"text": "It rose."}).title == ""
    assert one({"text": "It rose.", "document_id": "pub", "source": "notes/tarn_pumps.md"}).title == "tarn pumps"
    records = ['{"id": "inj", "text": "one"}', '{"id": "inj2", "text": "two", "source": "web/the_mill.html"}']
    path = write(tmp_path / "a.jsonl", "\n".join(records))
    assert [document.title for document in run(path)] == ["a 1", "the mill"]


def test_punctuation_is_no_title(tmp_path: Path) -> None:
    assert one({"text": "# ***\n\n# Head\n\nx", "title": "---"}).title == "Head"
    assert one(write(tmp_path / "pumps.html", "<title>*****</title><h1>---</h1><p>x")).title == "pumps"
    assert readable_name(Path("___.txt")) == "___.txt"


def test_messages_name_what_is_wrong(tmp_path: Path) -> None:
    dated = error({"text": "x", "date": "tomorrow"})
    assert "YYYY-MM-DD" in dated.hint and "number" not in dated.hint
    nested = error({"text": "x", "metadata": {"k": {"a": 1}}})
    assert "number" in nested.hint
    for matter in ("date: tomorrow", "k: {a: 1}", "k: [broken"):
        wrong = error(write(tmp_path / "a.md", f"---\n{matter}\n---\nx"))
        assert "front matter" in wrong.message and "sidecar" not in wrong.message + wrong.hint


def test_a_number_of_thousands_of_digits_is_named(tmp_path: Path) -> None:
    number = '{"k": ' + "1" * 10_000 + "}"
    for name in ("a.json", "a.jsonl"):
        refused = error(write(tmp_path / name, number))
        assert refused.code == "corrupt_document" and "too many digits" in refused.message
    path = write(tmp_path / "b.txt", "x")
    write(tmp_path / "b.meta.json", number)
    assert "too many digits" in error(path).message
    assert "too many digits" in error({"text": "x", "metadata": {"k": 10**9_999}}).message
