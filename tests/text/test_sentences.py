from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.text.markdown import MAX_BLOCK, Kind, blocks, lines, plain_heading
from evigraph.text.sentences import sentence_spans


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


def test_abbreviations_do_not_end_a_sentence() -> None:
    assert sentences("Dr. Smith left. Mrs. Jones stayed.") == ["Dr. Smith left.", "Mrs. Jones stayed."]


def test_a_line_end_inside_a_paragraph_ends_nothing() -> None:
    text = "Three reasons con-\nfirming it were given. The fourth\nwas not."
    assert sentences(text) == ["Three reasons con-\nfirming it were given.", "The fourth\nwas not."]


def test_structure_counts_as_one_sentence_each() -> None:
    text = (
        "# One. Two\nA. Text here.\n\n- first. item\n  goes on\n- second\n\n"
        "| a. b | c |\n| --- | --- |\n| 1. 2 | 3 |\n\n```\nx = 1. y\n```\n"
    )
    assert sentences(text) == [
        "# One. Two",
        "A. Text here.",
        "- first. item\n  goes on",
        "- second",
        "| a. b | c |",
        "| 1. 2 | 3 |",
        "x = 1. y",
    ]


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("ja", "これは文です。次の文です。元気ですか？", 3),
        ("zh", "这是一句话。这是第二句。", 2),
        ("ar", "هذه جملة. وهذه جملة أخرى؟ نعم.", 3),
        ("", "One here. Two here.", 2),
        ("xx", "One here. Two here.", 2),
    ],
)
def test_languages(language: str, text: str, count: int) -> None:
    assert len(sentences(text, language)) == count


def test_offsets_count_code_points() -> None:
    text = "Fine 👨‍👩‍👧 day. Cafe\u0301 open. 𝔘𝔫𝔦 ends."
    assert sentences(text) == ["Fine 👨‍👩‍👧 day.", "Cafe\u0301 open.", "𝔘𝔫𝔦 ends."]


def test_white_space_has_no_sentences() -> None:
    assert sentence_spans(" \n\n \t", "en") == ()
    assert sentence_spans("", "en") == ()


def test_a_paragraph_longer_than_a_block_is_cut_between_sentences() -> None:
    sentence = "This one sentence says the same as all the others. "
    text = sentence * (3 * MAX_BLOCK // len(sentence))
    assert set(sentences(text)) == {sentence.strip()}


def test_a_wrapped_year_is_no_list() -> None:
    text = "It was founded in\n1998. The next year it closed."
    assert [block.kind for block in blocks(lines([(0, text)]))] == [Kind.PARAGRAPH]


def test_underlined_headings_and_tables_without_outer_bars() -> None:
    text = "Title\n=====\ntext\n\na | b\n--|--\n1 | 2\n\nNot a heading\n-\n"
    found = list(blocks(lines([(0, text)])))
    assert [(block.kind, block.level) for block in found[:2]] == [(Kind.HEADING, 1), (Kind.PARAGRAPH, 0)]
    assert [block.kind for block in found[2:5]] == [Kind.HEADER, Kind.MARK, Kind.ROW]
    assert found[0].title == "Title"
    assert all(block.kind is not Kind.HEADING for block in found[5:])


@pytest.mark.parametrize(
    ("heading", "plain"),
    [
        ("The **bold** end", "The bold end"),
        ("_All_ of `it`", "All of it"),
        ("A [link](http://x.y) here", "A link here"),
        ("snake_case_name * 2", "snake_case_name * 2"),
    ],
)
def test_headings_without_marks(heading: str, plain: str) -> None:
    assert plain_heading(heading) == plain


def test_a_fence_hides_structure() -> None:
    text = "```py\n# no heading\n\n| no | row |\n```\nafter\n"
    kinds = [block.kind for block in blocks(lines([(0, text)]))]
    assert kinds == [Kind.MARK, Kind.CODE, Kind.CODE, Kind.MARK, Kind.PARAGRAPH]


MARKDOWN = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            [
                "# h",
                "## h2",
                "| a | b |",
                "| --- | --- |",
                "| 1 | 2 |",
                "- x",
                "1. y",
                "```",
                "===",
                "---",
                "",
                "a | b",
            ]
        ),
    ),
    max_size=30,
).map("\n".join)


@given(MARKDOWN, st.sampled_from(["en", "ja", "", "de"]))
def test_spans_are_ordered_stripped_and_apart(text: str, language: str) -> None:
    last = 0
    for start, end in sentence_spans(text, language):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end


@given(MARKDOWN, st.lists(st.integers(0, 200), max_size=4))
def test_blocks_do_not_depend_on_how_the_text_is_cut(text: str, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [(start, text[start:end]) for start, end in pairwise(edges)]
    assert list(blocks(lines(pieces))) == list(blocks(lines([(0, text)])))


@given(MARKDOWN)
def test_blocks_are_slices_and_leads_are_white_space(text: str) -> None:
    shown, at = "", 0
    for block in blocks(lines([(0, text)])):
        assert not block.lead.strip()
        assert text[block.start : block.start + len(block.text)] == block.text
        assert text[at : block.start] == block.lead
        at = block.start + len(block.text)
        shown += block.lead + block.text
    assert not text[at:].strip()
