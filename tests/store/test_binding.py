"""A list is bound exactly as the driver would have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clickhouse_connect.driver.binding import format_bind_value
from hypothesis import given
from hypothesis import strategies as st

from evigraph.store import Store
from evigraph.store.binding import Bound, bound
from evigraph.store.keys import PassageKey

TEXTS = ["", "It's", 'a "b" `c`', "\\", "\\'", "line\nline\ttab\r", "{x:String}", "\0", "東京", "]", "', '"]

parts = st.one_of(st.text(), st.integers(), st.floats())
lists = st.recursive(st.lists(parts), lambda inner: st.lists(inner) | st.lists(st.tuples(parts, parts)), max_leaves=20)


@given(lists)
def test_a_list_is_written_as_the_driver_writes_it(values: list[Any]) -> None:
    written = bound({"values": values})["values"]
    assert isinstance(written, Bound)
    assert format_bind_value(written) == format_bind_value(values)


def test_a_list_of_keys_is_one_of_tuples() -> None:
    keys = [PassageKey(2**127, 3), PassageKey(1, 0)]
    assert str(bound({"keys": keys})["keys"]) == format_bind_value([tuple(key) for key in keys])


@pytest.mark.parametrize("value", [[True], [None, "a"], [np.float32(1)], [{"a": 1}], "text", 3, {"a": "b"}, None])
def test_the_driver_writes_what_else_there_is(value: Any) -> None:
    assert bound({"value": value}) == {"value": value}


def test_the_engine_reads_what_was_bound(store: Store) -> None:
    pairs = [(text, number) for number, text in enumerate(TEXTS)]
    sql = "SELECT {texts:Array(String)}, {pairs:Array(Tuple(String, UInt32))}, {vectors:Array(Array(Float64))}"
    vectors = [[0.1, -2.5e-9, 1e300], []]
    [row] = store.rows(sql, {"texts": TEXTS, "pairs": pairs, "vectors": vectors})
    assert list(row[0]) == TEXTS
    assert [tuple(pair) for pair in row[1]] == pairs
    assert [list(vector) for vector in row[2]] == vectors
