from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import CorruptDocument, EmptyDocument, InvalidSidecar, UndecodableText, UnsupportedFormat
from evigraph.ingest.readers import READERS, reader_for
from evigraph.ingest.readers.base import Extracted, cut, in_memory
from evigraph.ingest.readers.encoding import decode, detect_encoding, probe


def only(path: Path) -> Extracted:
    (found,) = reader_for(path)(path)
    assert isinstance(found, Extracted)
    return found


def text_of(found: Extracted) -> str:
    return "".join(segment.text for segment in found.segments())


JAPANESE = "名前,年齢,住所\r\n佐藤太郎,30,東京\r\n髙橋淳,35,名古屋\r\n"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "naïve 漢字 🙂\n"),
        ("utf-8-sig", "naïve 漢字 🙂\n"),
        ("utf-16", "naïve 漢字 🙂\n"),
        ("utf-16-le", "plain words without a mark\n"),
        ("utf-16-be", "plain words without a mark\n"),
        ("utf-32", "naïve 漢字\n"),
        ("cp932", JAPANESE),
        ("euc_jp", "これは日本語の文章です。東京は日本の首都であり、人口が多い。\n"),
        ("gb18030", "这是一个中文的句子。北京是中国的首都，人口很多。\n"),
        ("big5", "這是一個中文的句子。台北是台灣的首都，人口很多。\n"),
        ("cp949", "이것은 한국어 문장입니다. 서울은 대한민국의 수도입니다.\n"),
        ("cp1252", "Le café de la région était fermé à Noël – “déjà vu”.\n"),
        ("cp1252", "The naïve résumé of Señor Núñez cost £5, he said.\n"),
        ("cp1252", "événement\n"),
        ("latin-1", "Les élèves ont été reçus à l'Élysée par le président.\n"),
        ("cp1250", "Łódź jest miastem w środkowej Polsce, żyje tam wielu ludzi.\n"),
        ("cp1251", "Это русское предложение. Москва является столицей России.\n"),
        ("koi8-r", "Это русское предложение. Москва является столицей России.\n"),
        ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη.\n"),
        ("cp1254", "İstanbul, Türkiye'nin en kalabalık şehridir ve çok güzeldir.\n"),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    assert text_of(only(path)) == text.replace("\r\n", "\n")


def test_legacy_bytes_far_behind_plain_ascii(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"plain line\n" * 20_000 + "Über die Größe der Straße in München.\n".encode("cp1252"))
    assert text_of(only(path)).endswith("Über die Größe der Straße in München.\n")


@pytest.mark.parametrize("data", [b"\x00\x01\x02binary", bytes(range(1, 32)) * 40, b"text\n" * 99999 + b"\0"])
def test_binary_is_no_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(UndecodableText) as caught:
        only(path)
    assert caught.value.hint


def test_a_declared_encoding_is_used_where_it_fits() -> None:
    assert decode("schön".encode("cp1252"), "x", "iso-8859-1") == "schön"
    assert decode("schön".encode(), "x", "ascii") == "schön"
    assert decode("schön".encode(), "x", "no-such-codec") == "schön"


def test_a_character_cut_by_the_sample_is_no_error() -> None:
    assert detect_encoding("漢".encode()[:2], "x", complete=False) == "utf-8"


@pytest.mark.parametrize("content", ["", " \n\t\n", "---\ntitle: x\n---\n\n \n"])
def test_empty(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(content)
    with pytest.raises(EmptyDocument):
        only(path)


def test_line_ends_are_normalised_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\rc\n" * 60_000)
    assert text_of(only(path)) == "a\nb\nc\n" * 60_000


def test_a_long_file_comes_in_segments_and_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    text = "".join(f"Paragraph {i} é.\n\n" for i in range(80_000))
    path.write_text(text, encoding="utf-8")
    found = only(path)
    for _ in range(2):
        segments = list(found.segments())
        assert len(segments) > 2
        assert all(segment.text.endswith("\n\n") for segment in segments)
        assert [segment.start for segment in segments] == [
            sum(len(before.text) for before in segments[:i]) for i in range(len(segments))
        ]
        assert "".join(segment.text for segment in segments) == text


def test_a_file_that_changes_meanwhile_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    found = only(path)
    path.write_text("something else")
    with pytest.raises(CorruptDocument):
        text_of(found)


def test_front_matter_is_metadata_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: The title\ntags: [a, b]\n---\n# Head\n\nBody\n")
    found = only(path)
    assert text_of(found) == "# Head\n\nBody\n"
    assert found.declared == {"title": "The title", "tags": ["a", "b"]}
    assert found.heading == "Head"


def test_a_thematic_break_is_no_front_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("---\nJust a line of prose.\n---\nMore.\n")
    assert text_of(only(path)).startswith("---\nJust")


def test_malformed_front_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: [unclosed\n---\nBody\n")
    with pytest.raises(InvalidSidecar):
        only(path)


def test_unknown_suffixes_name_what_is_supported(tmp_path: Path) -> None:
    for name in ("a.bin", "README"):
        with pytest.raises(UnsupportedFormat) as caught:
            reader_for(tmp_path / name)
        assert all(suffix in caught.value.hint for suffix in READERS)
    assert reader_for(tmp_path / "A.TXT") is READERS[".txt"]


def test_probe_reports_the_bytes_hash(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    assert probe(path).digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(st.lists(st.text(alphabet="ab \n", max_size=40)), st.integers(2, 30))
def test_cut_keeps_every_character(pieces: list[str], limit: int) -> None:
    segments = list(cut(pieces, limit))
    assert "".join(segment.text for segment in segments) == "".join(pieces)
    assert all(0 < len(segment.text) <= limit for segment in segments)


def test_pages_fall_into_their_segment() -> None:
    text = "x" * 600_000
    segments = list(in_memory(text, ((0, 1), (550_000, 2)))())
    assert [segment.pages for segment in segments] == [((0, 1),), ((550_000, 2),)]
