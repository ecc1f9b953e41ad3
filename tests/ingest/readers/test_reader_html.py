from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import CorruptDocument, EmptyDocument, ReadError
from evigraph.ingest.readers.base import Extracted
from evigraph.ingest.readers.html import read_html
from evigraph.ingest.readers.html_depth import too_deep


def read(path: Path, content: str | bytes) -> Extracted:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (found,) = read_html(path)
    return found


def text_of(found: Extracted) -> str:
    return "".join(segment.text for segment in found.segments())


PAGE = """<!doctype html><html><head><title>Report for May | Example Ltd</title>
<meta charset="utf-8"><meta name="author" content="A. Author"><meta name="viewport" content="width=1">
<meta name="date" content="2024-05-01"><meta property="og:title" content="x"><style>p {}</style></head>
<body><nav>Home About</nav><header>Banner</header><main><h1>Report for May</h1>
<p>First <b>para</b>graph with H<sub>2</sub>O and
<a href="/x">a link</a>.<br>Second line.</p>
<script>var x = "hidden"</script><aside>Related</aside>
<ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol start="3"><li>three</li></ol>
<table><caption>Prices in <i>euro</i></caption><thead><tr><th>name<th colspan=2>price</tr></thead>
<tr><td>a|b<td>1<td>2</table>
<pre>x = 1
  y = 2</pre><dl><dt>Term</dt><dd>Meaning</dd></dl></main><footer>Imprint</footer></body></html>"""


def test_a_page(tmp_path: Path) -> None:
    found = read(tmp_path / "a.html", PAGE)
    assert text_of(found) == (
        "# Report for May\n\nFirst paragraph with H2O and a link.\nSecond line.\n\n- one\n  - inner\n"
        "- two\n\n3. three\n\nPrices in euro\n\n| name | price |  |\n| --- | --- | --- |\n"
        "| a\\|b | 1 | 2 |\n\n"
        "```\nx = 1\n  y = 2\n```\n\nTerm\n\nMeaning\n"
    )
    assert found.title == "Report for May"
    assert found.declared == {"author": "A. Author", "date": "2024-05-01"}


def test_without_main_the_whole_body_is_read(tmp_path: Path) -> None:
    found = read(tmp_path / "a.html", "<title>T</title><header>Head</header><p>Text<footer>Foot</footer>")
    assert text_of(found) == "Head\n\nText\n\nFoot\n"
    assert found.title == "T"


def test_an_empty_main_is_passed_over(tmp_path: Path) -> None:
    assert text_of(read(tmp_path / "a.html", "<main></main><div>Content</div>")) == "Content\n"


def test_several_articles_are_all_read(tmp_path: Path) -> None:
    content = "<article>One</article><article>Two</article>"
    assert text_of(read(tmp_path / "a.html", content)) == "One\n\nTwo\n"


def test_layout_tables_are_no_tables(tmp_path: Path) -> None:
    content = "<table><tr><td><h2>Head</h2><p>Text</td><td>Side</td></tr></table><table><tr><td>only</table>"
    assert text_of(read(tmp_path / "a.html", content)) == "## Head\n\nText\n\nSide\n\nonly\n"


def test_nested_tables_stay_in_their_cell(tmp_path: Path) -> None:
    inner = "<table><tr><td>a<td>b</tr><tr><td>c<td>d</tr></table>"
    shown = text_of(read(tmp_path / "a.html", f"<table><tr><td>x<td>{inner}</tr></table>"))
    assert shown.startswith("| x | a, b; c, d |")


@pytest.mark.parametrize(
    ("encoding", "declared"), [("cp1252", "iso-8859-1"), ("shift_jis", "Shift_JIS"), ("utf-8", "utf-8")]
)
def test_declared_encodings(tmp_path: Path, encoding: str, declared: str) -> None:
    word = "東京" if encoding == "shift_jis" else "Größe"
    content = f'<meta http-equiv="Content-Type" content="text/html; charset={declared}"><p>{word}'
    assert text_of(read(tmp_path / "a.html", content.encode(encoding))) == f"{word}\n"


@pytest.mark.parametrize("content", ["", "<html><body><script>x</script></body></html>"])
def test_nothing_to_read(tmp_path: Path, content: str) -> None:
    with pytest.raises(EmptyDocument):
        read(tmp_path / "a.html", content)


def test_deep_nesting_is_an_error_or_text_but_no_crash(tmp_path: Path) -> None:
    try:
        assert "deep" in text_of(read(tmp_path / "a.html", "<div>" * 5_000 + "deep"))
    except ReadError as error:
        assert error.hint


@pytest.mark.parametrize("tag", ["div", "b", "section", "blockquote", "ul><li", "table><tr><td", "div/"])
def test_deep_nesting_is_refused_before_a_tree_is_built(
    tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selectolax.lexbor.LexborHTMLParser", None)
    with pytest.raises(CorruptDocument, match="nested too deeply"):
        read(tmp_path / "a.html", f"<{tag}>" * 1_001 + "deep")


@pytest.mark.parametrize(
    "sloppy",
    [
        "<p>x",
        "<li>x",
        "<br>",
        "<img src='<div>'>",
        "<tr><td>x",
        "<a name=x>",
        "<dt>x<dd>y",
        "<div><b><i>x</div>",
        "<div title='>'>x</div></span>",
        "<!-- <div> -->",
        "<script>'<div>'</script>",
        "<svg><path d=x /><g/></svg>",
        "1 < 2",
        "<x",
    ],
)
def test_tags_left_open_as_pages_do_are_no_depth(sloppy: str) -> None:
    assert not too_deep(sloppy * 2_000)


@given(st.text(alphabet="<>/!-='\" abdiv", max_size=200))
def test_any_markup_has_a_depth(markup: str) -> None:
    assert too_deep("<div>" + markup.replace("<", ""), limit=0)
    assert not too_deep(markup, limit=markup.count("<"))


def test_headings_and_titles_of_punctuation_name_nothing(tmp_path: Path) -> None:
    found = read(tmp_path / "a.html", "<title>---</title><h1>* * *</h1><h1>Head</h1><p>x")
    assert (text_of(found), found.heading) == ("* * *\n\n# Head\n\nx\n", "Head")
