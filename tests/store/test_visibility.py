"""Globs as regular expressions, against `fnmatch` and in the engine."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evigraph.store import Store, open_store
from evigraph.store.visibility import glob_to_regex

LETTERS = "ab-]![*?^\\./ \né&~|z$({+#"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("globs") / "store"))
    yield store
    store.close()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pattern=st.text(LETTERS, max_size=8),
    sources=st.lists(st.text(LETTERS, max_size=5), min_size=1, max_size=12),
)
def test_a_glob_matches_what_fnmatch_matches(store: Store, pattern: str, sources: list[str]) -> None:
    sql = "SELECT arrayMap(source -> match(source, {pattern:String}), {sources:Array(String)})"
    [[matched]] = store.rows(sql, {"pattern": glob_to_regex(pattern), "sources": sources})
    assert [bool(hit) for hit in matched] == [fnmatch.fnmatchcase(source, pattern) for source in sources]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(source=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0[]*?"), max_size=12))
def test_a_source_without_wildcards_matches_itself_alone(store: Store, source: str) -> None:
    sql = "SELECT match({source:String}, {pattern:String}), match({other:String}, {pattern:String})"
    bound = {"source": source, "other": f"{source}x", "pattern": glob_to_regex(source)}
    assert store.rows(sql, bound) == [(1, 0)]
