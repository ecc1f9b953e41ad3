"""Filters: a subset of the visible documents, in every part of what is read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase

import pytest

from evigraph.testing.store_contract.base import Contract, ShelfMaker, seen, shown
from evigraph.testing.store_contract.material import Shelf, doc
from evigraph.types import DocumentFilter

SOURCES = (
    "reports/2020/a.txt", "reports/2021/b.txt", "notes/a.txt", "a.txt", "A.txt", "ba.txt", "a+b.txt", "aab.txt",
    "a.b(c).txt", "[x].txt", "x.txt", "-.txt", "!.txt", "^.txt", "a\\b.txt", "ü.txt", "two words.md", "line\nbreak.md",
    "].txt", "$HOME|{a}.md",
)  # fmt: skip
PATTERNS = (
    "*", "", "a.txt", "*a.txt", "*/a.txt", "reports/*", "reports/*/?.txt", "?.txt", "a+b.txt", "a.b(c).txt", "[x].txt",
    "[[]x].txt", "[!x].txt", "[a-x].txt", "[x-a].txt", "[!x-a].txt", "[]x].txt", "[!]x].txt", "[^x].txt", "[-x].txt",
    "[x-].txt", "[a\\]*", "a\\b.txt", "*\\*", "[", "[!", "[]", "a[", "*words*", "*\n*", "(?i)a.txt", "a.txt|x.txt",
    "$HOME*", "*{a}*", ".*", "^a", "[[:alpha:]].txt", "[a&&b].txt", "{a}", "%",
)  # fmt: skip


class FilterContract(Contract):
    """A document filter is `(ids or pattern) and dates`; a metadata filter is all its keys; both must hold."""

    # ---------------------------------------------------------------- ids, pattern, dates

    def test_ids_or_pattern_and_dates(self, shelf: Shelf) -> None:
        dated = (("a", "x", 1), ("b", "x", 2), ("c", "y", 3), ("d", "y", 4))
        shelf.fill(
            *(doc(name, "acme", source=f"{at}/{name}.txt", date=date(2020, 1, day)) for name, at, day in dated),
            doc("undated", "acme", source="x/undated.txt"),
        )
        cases: list[tuple[DocumentFilter, list[str]]] = [
            (DocumentFilter(), ["a", "b", "c", "d", "undated"]),
            (DocumentFilter(document_ids=("a", "c", "nowhere")), ["a", "c"]),
            (DocumentFilter(document_ids=()), []),
            (DocumentFilter(document_ids=("nowhere",)), []),
            (DocumentFilter(pattern="x/*"), ["a", "b", "undated"]),
            (DocumentFilter(pattern="nothing*"), []),
            (DocumentFilter(document_ids=("c",), pattern="x/*"), ["a", "b", "c", "undated"]),
            (DocumentFilter(document_ids=(), pattern="x/*"), ["a", "b", "undated"]),
            (DocumentFilter(date_from=date(2020, 1, 2)), ["b", "c", "d"]),
            (DocumentFilter(date_to=date(2020, 1, 2)), ["a", "b"]),
            (DocumentFilter(date_from=date(2020, 1, 2), date_to=date(2020, 1, 3)), ["b", "c"]),
            (DocumentFilter(date_from=date(2020, 1, 3), date_to=date(2020, 1, 2)), []),
            (DocumentFilter(document_ids=("d",), pattern="x/*", date_from=date(2020, 1, 2)), ["b", "d"]),
        ]
        for document_filter, expected in cases:
            assert shown(shelf, document_filter=document_filter) == expected, document_filter

    @pytest.mark.parametrize("year", [1066, 1899, 2301])
    def test_dates_far_from_now_are_compared(self, shelf: Shelf, year: int) -> None:
        shelf.fill(doc("then", "acme", date=date(year, 6, 1)), doc("now", "acme", date=date(2024, 6, 1)))
        bounds = DocumentFilter(date_from=date(year, 5, 31), date_to=date(year, 6, 2))
        assert shown(shelf, document_filter=bounds) == ["then"]

    def test_undated_documents_are_left_out_by_dates_and_counted(self, shelf: Shelf) -> None:
        shelf.fill(
            doc("dated", "acme", date=date(2020, 1, 1)),
            doc("bare", "acme", metadata={"k": "v"}),
            doc("bare-too", "acme"),
            doc("gone", "acme"),
        )
        shelf.delete("gone")
        cases: list[tuple[DocumentFilter, Mapping[str, str] | None, int]] = [
            (DocumentFilter(date_from=date(2019, 1, 1)), None, 2),
            (DocumentFilter(date_to=date(2019, 1, 1)), None, 2),
            (DocumentFilter(date_to=date(2019, 1, 1), document_ids=("bare", "dated")), None, 1),
            (DocumentFilter(date_to=date(2019, 1, 1), pattern="*too*"), None, 1),
            (DocumentFilter(date_to=date(2019, 1, 1)), {"k": "v"}, 1),
        ]
        for document_filter, metadata_filter, expected in cases:
            with shelf.store.snapshot(
                shelf.workspace, document_filter=document_filter, metadata_filter=metadata_filter
            ) as snapshot:
                assert snapshot.undated_left_out() == expected, document_filter

    def test_a_pattern_means_what_fnmatch_says(self, shelf: Shelf) -> None:
        """`*` and `?` cross folder borders; case counts; nothing else but `[` is special."""
        shelf.fill(*(doc(f"d{number:02}", "acme", source=source) for number, source in enumerate(SOURCES)))
        for pattern in PATTERNS:
            found = shown(shelf, document_filter=DocumentFilter(pattern=pattern))
            expected = [f"d{number:02}" for number, source in enumerate(SOURCES) if fnmatchcase(source, pattern)]
            assert found == expected, pattern

    def test_a_long_list_of_ids_is_no_obstacle(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "acme"), doc("b", "acme"))
        ids = (*(f"document-number-{number}" for number in range(20_000)), "b")
        assert shown(shelf, document_filter=DocumentFilter(document_ids=ids)) == ["b"]

    # ---------------------------------------------------------------- metadata

    def test_metadata_must_hold_the_key_with_that_value(self, shelf: Shelf) -> None:
        shelf.fill(
            doc("a", "acme", metadata={"k": "v", "empty": ""}),
            doc("b", "acme", metadata={"k": "w", "other": "v"}),
            doc("c", "acme"),
        )
        cases = [
            ({"k": "v"}, ["a"]),
            ({"k": "V"}, []),
            ({"other": "v"}, ["b"]),
            ({"empty": ""}, ["a"]),
            ({"missing": ""}, []),
            ({"missing": "v"}, []),
            ({"k": "w", "other": "v"}, ["b"]),
            ({"k": "v", "other": "v"}, []),
            ({}, ["a", "b", "c"]),
        ]
        for metadata_filter, expected in cases:
            assert shown(shelf, metadata_filter=metadata_filter) == expected, metadata_filter

    def test_source_is_the_file_name_with_or_without_its_folders(self, shelf: Shelf) -> None:
        sources = {"a": "x/y/report.txt", "b": "report.txt", "c": "x/my-report.txt", "d": "x/ü/日.txt"}
        metadata = {"source": "misleading"}
        shelf.fill(*(doc(name, "acme", source=source, metadata=metadata) for name, source in sources.items()))
        cases = [
            ("report.txt", ["a", "b"]),
            ("x/y/report.txt", ["a"]),
            ("y/report.txt", []),
            ("report", []),
            ("Report.txt", []),
            ("x", []),
            ("日.txt", ["d"]),
            ("report*", []),
            ("", []),
            ("misleading", []),
        ]
        for value, expected in cases:
            assert shown(shelf, metadata_filter={"source": value}) == expected, value

    def test_document_id_is_the_document_not_a_metadata_key(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "acme", metadata={"document_id": "b"}), doc("b", "acme"))
        assert shown(shelf, metadata_filter={"document_id": "b"}) == ["b"]
        assert shown(shelf, metadata_filter={"document_id": "b", "source": "a.txt"}) == []

    def test_both_filters_must_hold(self, shelf: Shelf) -> None:
        shelf.fill(doc("a", "acme", metadata={"k": "v"}), doc("b", "acme", metadata={"k": "v"}))
        only = DocumentFilter(document_ids=("b", "c"))
        assert shown(shelf, document_filter=only, metadata_filter={"k": "v"}) == ["b"]
        assert shown(shelf, document_filter=only, metadata_filter={"k": "w"}) == []

    # ---------------------------------------------------------------- filters and time

    def test_a_filter_never_brings_back_an_earlier_revision(self, shelf: Shelf) -> None:
        """The latest revision is chosen first; a filter that only an earlier one met leaves the document out."""
        old = {"source": "old/a.txt", "date": date(2020, 1, 1), "metadata": {"k": "old", "gone": "x"}}
        then = shelf.put("a", "acme", **old)
        shelf.fill(doc("a", "birch", source="new/b.txt", metadata={"k": "new"}), doc("d", "acme", **old))
        shelf.delete("d")
        filters: list[tuple[DocumentFilter | None, Mapping[str, str] | None]] = [
            (None, {"k": "old"}),
            (None, {"gone": "x"}),
            (None, {"source": "a.txt"}),
            (DocumentFilter(pattern="old/*"), None),
            (DocumentFilter(date_from=date(2019, 1, 1)), None),
            (DocumentFilter(date_to=date(2021, 1, 1)), None),
            (DocumentFilter(document_ids=("d",)), None),
        ]
        for document_filter, metadata_filter in filters:
            found = shown(shelf, document_filter=document_filter, metadata_filter=metadata_filter)
            assert found == [], (document_filter, metadata_filter)
        assert shown(shelf, metadata_filter={"k": "old"}, as_of=then) == ["a"]
        assert shown(shelf, metadata_filter={"k": "new"}, as_of=then) == []

    def test_a_filtered_scope_reads_as_if_nothing_else_were_there(self, shelf: Shelf, new_shelf: ShelfMaker) -> None:
        """Ranking statistics, names, descriptions and degrees come from the documents in scope alone."""
        inside = {"source": "in/report.txt", "date": date(2020, 6, 1), "metadata": {"k": "in"}}
        chosen = (
            doc("a", "Acme supplies Birch", "Birch audits Cedar near Dorn", **inside),
            doc("c", "Cedar audits Acme. Birch", title="Acme", **inside),
        )
        shelf.fill(
            *chosen,
            doc("b", "Acme sues Birch. Zorro Acme", "Acme supplies Dorn", title="Acme", date=date(2019, 6, 1)),
            doc("d", "Birch supplies Yeti", source="out/report.txt", metadata={"k": "out"}),
        )
        apart = new_shelf()
        apart.fill(*chosen)
        expected = seen(apart, shelf)
        assert expected["counts"].documents == 2
        filters: list[tuple[DocumentFilter | None, Mapping[str, str] | None]] = [
            (DocumentFilter(document_ids=("a", "c")), None),
            (DocumentFilter(pattern="in/*", date_from=date(2020, 1, 1)), None),
            (None, {"k": "in"}),
        ]
        for document_filter, metadata_filter in filters:
            filtered = seen(shelf, apart, document_filter=document_filter, metadata_filter=metadata_filter)
            assert filtered == expected, (document_filter, metadata_filter)
