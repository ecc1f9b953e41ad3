from __future__ import annotations

import gzip
import http.client
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import urllib.parse
import urllib.request
import zlib
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import clickhouse_connect
import numpy as np
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError
from clickhouse_connect.driver.external import ExternalData
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evigraph.errors import StoreLocked
from evigraph.testing.clickhouse_engine import split_statement
from evigraph.testing.clickhouse_http import serve_clickhouse

ALL_TYPES = """
CREATE TABLE all_types (
    id UInt64, m Map(String, String), v Array(Float32), d Nullable(Date32), t DateTime64(6, 'UTC'),
    e Enum8('added' = 1, 'deleted' = 2), p Tuple(UInt32, UInt32), ps Array(Tuple(UInt32, UInt32)),
    l LowCardinality(String), f FixedString(4), b Array(BFloat16), s String, n Nullable(Int32), u UUID,
    ok Bool
) ENGINE = MergeTree ORDER BY id
"""
COLUMNS = ["id", "m", "v", "d", "t", "e", "p", "ps", "l", "f", "b", "s", "n", "u", "ok"]
NASTY = "NUL \0 quote ' \" back \\ tab \t line \n {p:String} 日本 🜁"
ID = "12345678-1234-5678-1234-567812345678"


def rows() -> list[list[Any]]:
    when = datetime(2026, 1, 2, 3, 4, 5, 678901)
    full = [
        1,
        {"a'b": NASTY, "": ""},
        [0.5, -1.25, 0.0],
        date(1901, 2, 3),
        when,
        "added",
        (0, 7),
        [(0, 3), (4, 9)],
        "en",
        b"\0\x01ab",
        [1.5, -2.0],
        NASTY,
        -5,
        ID,
        True,
    ]
    empty = [2, {}, [], None, when, "deleted", (0, 0), [], "", b"\0" * 4, [], "", None, ID, False]
    return [full, empty]


STATEMENTS: list[tuple[str, dict[str, Any]]] = [
    ("SELECT * FROM all_types ORDER BY id", {}),
    ("SELECT * FROM all_types WHERE id > 100", {}),
    ("SELECT * FROM all_types LIMIT 0", {}),
    ("SELECT {s:String} AS s, length({s:String})", {"s": NASTY}),
    (
        "SELECT {a:Array(String)}, {i:Array(UInt64)}, {e:Array(String)}",
        {"a": ["x'", "\\"], "i": [1, 2], "e": []},
    ),
    ("SELECT {v:Array(Float32)}", {"v": [0.5, 1e-7, -3.0]}),
    ("SELECT {m:Map(String, String)}['k']", {"m": {"k": "v'"}}),
    ("SELECT {d:Date32}, {t:DateTime64(6)}", {"d": date(2020, 2, 29), "t": datetime(2020, 1, 1, 1, 2, 3, 4)}),
    ("SELECT {n:Nullable(String)}", {"n": None}),
    ("SELECT id FROM {tbl:Identifier} ORDER BY id", {"tbl": "all_types"}),
    ("SELECT %(x)s", {"x": NASTY}),
    ("SELECT number, toString(number) FROM numbers(70000)", {}),
    ("SELECT count(), sum(cosineDistance(v, [1, 2, 3])) FROM all_types WHERE length(v) = 3", {}),
    ("SHOW TABLES", {}),
    ("SELECT 1 AS `FORMAT`, 'INSERT INTO x FORMAT Native' -- FORMAT CSV", {}),
    ("SELECT nope FROM all_types", {}),
    ("SELECT * FROM missing", {}),
    ("SELEC 1", {}),
    ("SELECT throwIf(number = 3) FROM numbers(5)", {}),
    ("SELECT toUInt8('x')", {}),
]
COMMANDS = [
    "CREATE TABLE kv (k String, v UInt32) ENGINE = MergeTree ORDER BY k",
    "CREATE TABLE kv (k String, v UInt32) ENGINE = MergeTree ORDER BY k",
    "INSERT INTO kv VALUES ('a;b', 1), ('FORMAT Native', 2)",
    "INSERT INTO kv SELECT toString(number), number FROM numbers(3)",
    "SELECT count() FROM kv",
    "SELECT k, v FROM kv WHERE v > 5",
    "ALTER TABLE kv ADD COLUMN extra Nullable(String)",
    "DELETE FROM kv WHERE v = 2",
    "SELECT arrayStringConcat(arraySort(groupArray(k)), '|') FROM kv",
    "EXISTS TABLE kv",
    "TRUNCATE TABLE kv",
    "DROP TABLE kv",
    "DROP TABLE kv",
]


def outcomes(dsn: str) -> list[tuple[str, str]]:
    """What a driver shows for the same inserts, queries and commands, errors included."""
    client = clickhouse_connect.get_client(dsn=dsn, show_clickhouse_errors="scrub")
    client.command(ALL_TYPES)
    client.insert("all_types", rows(), column_names=COLUMNS)
    seen: list[tuple[str, str]] = []
    for sql, parameters in STATEMENTS:
        try:
            result = client.query(sql, parameters=parameters)
            names = [kind.name for kind in result.column_types]
            seen.append((sql, repr((result.column_names, names, result.result_rows))))
        except DatabaseError as error:
            seen.append((sql, f"{error.code} {error.name}"))
    for sql in COMMANDS:
        try:
            value = client.command(sql)
            seen.append(
                (
                    sql,
                    value if isinstance(value, str) else repr(value) if not hasattr(value, "summary") else "-",
                )
            )
        except DatabaseError as error:
            seen.append((sql, f"{error.code} {error.name}"))
    client.close()
    return seen


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_clickhouse(tmp_path_factory.mktemp("served")) as address:
        yield address


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with clickhouse_connect.get_client(dsn=dsn) as made:
        yield made


def request(dsn: str, target: str, *, method: str = "POST", body: Any = None, **headers: str) -> tuple[int, Any, bytes]:
    """One bare request, for what the driver never sends."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(dsn).netloc.rpartition("@")[2], timeout=30)
    connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    answer = (response.status, response.headers, response.read())
    connection.close()
    return answer


def test_a_server_and_the_embedded_engine_show_the_same(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path / "served") as address:
        served = outcomes(address)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other_process:
        embedded = other_process.submit(outcomes, f"chdb://{tmp_path}/embedded").result()
    assert served == embedded
    assert dict(served)["SELECT nope FROM all_types"] == "47 UNKNOWN_IDENTIFIER"


@pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip"])
def test_rows_of_every_type_come_back_in_every_encoding(dsn: str, compress: bool | str) -> None:
    with clickhouse_connect.get_client(dsn=dsn, compress=compress) as client:
        client.command("DROP TABLE IF EXISTS all_types")
        client.command(ALL_TYPES)
        summary = client.insert("all_types", rows(), column_names=COLUMNS)
        assert summary.written_rows == 2
        full, empty = client.query("SELECT * FROM all_types ORDER BY id").result_rows
    assert full[1] == {"a'b": NASTY, "": ""}
    assert full[2:8] == ([0.5, -1.25, 0.0], date(1901, 2, 3), rows()[0][4], "added", (0, 7), [(0, 3), (4, 9)])
    assert full[9:12] == (b"\0\x01ab", [1.5, -2.0], NASTY)
    assert empty[1:4] == ({}, [], None)
    assert empty[10:13] == ([], "", None)


def test_large_batches_and_numpy_columns(client: Client) -> None:
    client.command("CREATE TABLE vectors (id UInt64, v Array(Float32), t String) ENGINE = MergeTree ORDER BY id")
    vectors = np.random.default_rng(7).standard_normal((10_000, 32), dtype=np.float32)
    columns = [np.arange(10_000, dtype=np.uint64), list(vectors), [f"text {n}" for n in range(10_000)]]
    summary = client.insert("vectors", columns, column_names=["id", "v", "t"], column_oriented=True)
    assert summary.written_rows == 10_000
    found = client.query("SELECT id, v, t FROM vectors ORDER BY id").result_columns
    assert np.array_equal(np.array(found[1], dtype=np.float32), vectors)
    assert found[2][-1] == "text 9999"
    blocks = client.query_row_block_stream("SELECT id FROM vectors", settings={"max_block_size": 1000})
    with blocks as stream:
        assert sum(len(block) for block in stream) == 10_000


def test_an_empty_insert_writes_nothing(client: Client) -> None:
    client.command("CREATE TABLE nothing (a UInt8) ENGINE = MergeTree ORDER BY a")
    client.insert("nothing", [], column_names=["a"])
    assert client.query("SELECT a FROM nothing").result_rows == []
    assert client.command("SELECT count() FROM nothing") == 0


def test_raw_inserts_in_text_formats(client: Client) -> None:
    client.command("CREATE TABLE raw (a UInt8, format String) ENGINE = MergeTree ORDER BY a")
    client.raw_insert("raw", ["a", "format"], "1,one\n2,two\n", fmt="CSV")
    client.raw_insert(
        "raw",
        ["a", "format"],
        gzip.compress(b'{"a":3,"format":"x"}\n'),
        fmt="JSONEachRow",
        compression="gzip",
    )
    client.raw_insert("raw", ["a", "format"], iter([b"4\tfour\n", b"5\tfive\n"]), fmt="TabSeparated")
    assert client.raw_query("SELECT arraySort(groupArray(a)) FROM raw", fmt="TSV") == b"[1,2,3,4,5]\n"
    with pytest.raises(DatabaseError) as caught:
        client.raw_insert("raw", ["a", "format"], "no,number\n", fmt="CSV")
    assert caught.value.code == 27
    assert client.command("SELECT count() FROM raw") == 5


def test_long_parameters_travel_as_a_form(client: Client) -> None:
    numbers = list(range(20_000))
    found = client.query("SELECT length({n:Array(UInt32)}), {s:String}", parameters={"n": numbers, "s": NASTY})
    assert found.result_rows == [(20_000, NASTY)]
    with clickhouse_connect.get_client(dsn=str(client.url), form_encode_query_params=True) as form:
        assert form.query("SELECT {s:String}", parameters={"s": NASTY}).result_rows == [(NASTY,)]


def test_external_data_is_refused(client: Client) -> None:
    external = ExternalData(file_name="ext", data=b"1\n", fmt="CSV", structure=["a UInt8"])
    with pytest.raises(DatabaseError, match="external data is not supported here") as caught:
        client.query("SELECT * FROM ext", external_data=external)
    assert caught.value.code == 48


def test_settings_hold_for_their_request_alone(client: Client) -> None:
    sql = "SELECT getSetting('max_threads'), getSetting('max_result_rows')"
    plain = client.query(sql).first_row
    assert client.query(sql, settings={"max_threads": 3, "max_result_rows": 77}).first_row == (3, 77)
    assert client.query(sql).first_row == plain
    client.command("SET max_result_rows = 5")
    assert client.query(sql).first_row[1] == 5
    assert client.query(sql, settings={"max_result_rows": 6}).first_row[1] == 6
    assert client.query(sql).first_row[1] == 5
    with pytest.raises(DatabaseError) as caught:
        client.query("SELECT number FROM numbers(10)")
    assert caught.value.code == 396


def test_an_unknown_setting_is_an_error_and_does_not_stay(dsn: str, client: Client) -> None:
    status, headers, body = request(dsn, "/?no_such_setting=1&query=SELECT+1&session_id=s1")
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (404, "115")
    assert b"no_such_setting" in body
    assert request(dsn, "/?query=SELECT+1&session_id=s1")[2] == b"1\n"


def test_sessions_keep_temporary_tables_to_themselves(dsn: str, client: Client) -> None:
    client.command("CREATE TEMPORARY TABLE mine (a UInt8)")
    client.insert("mine", [[1]], column_names=["a"])
    assert client.command("SELECT count() FROM mine") == 1
    with clickhouse_connect.get_client(dsn=dsn) as other, pytest.raises(DatabaseError) as caught:
        other.command("SELECT count() FROM mine")
    assert caught.value.code == 60
    assert (
        request(dsn, "/?query=SELECT+1&session_id=unknown&session_check=1")[1]["X-ClickHouse-Exception-Code"] == "372"
    )


def test_databases(dsn: str, client: Client) -> None:
    client.command("CREATE DATABASE other_db")
    client.command("CREATE TABLE other_db.t (a UInt8) ENGINE = MergeTree ORDER BY a")
    with clickhouse_connect.get_client(dsn=dsn.removesuffix("default") + "other_db") as other:
        other.insert("t", [[9]], column_names=["a"])
        assert other.query("SELECT currentDatabase(), a FROM t").result_rows == [("other_db", 9)]
    assert client.command("SELECT currentDatabase()") == "default"
    status, headers, _ = request(dsn, "/?database=nowhere&query=SELECT+1")
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (404, "81")


def test_headers_and_statuses_are_those_of_a_server(dsn: str) -> None:
    status, headers, body = request(dsn, "/?query_id=q1", body="SELECT number FROM numbers(3) FORMAT JSONEachRow")
    assert (status, body.count(b"\n"), headers["X-ClickHouse-Query-Id"]) == (200, 3, "q1")
    assert headers["X-ClickHouse-Format"] == "JSONEachRow"
    assert json.loads(headers["X-ClickHouse-Summary"])["result_rows"] == "3"
    assert {"X-ClickHouse-Server-Display-Name", "X-ClickHouse-Timezone"} <= set(headers)
    status, headers, body = request(dsn, "/", body="SELECT broken(")
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (400, "62")
    assert body.startswith(b"Code: 62. DB::Exception: Syntax error")
    assert request(dsn, "/nowhere", method="GET")[0] == 404
    assert request(dsn, "/", method="GET")[2] == b"Ok.\n"
    assert request(dsn, "/ping", method="GET")[2] == b"Ok.\n"
    assert request(dsn, "/?query=DROP+TABLE+x", method="GET")[1]["X-ClickHouse-Exception-Code"] == "164"
    assert request(dsn, "/?default_format=CSV", body="SELECT 'a'")[2] == b'"a"\n'
    assert request(dsn, "/?compress=1", body="SELECT 1")[0] == 501
    assert request(dsn, "/", body=b"not gzip", Content_Encoding="gzip")[1]["X-ClickHouse-Exception-Code"] == "271"
    deflated = request(dsn, "/?enable_http_compression=1", body="SELECT 7", Accept_Encoding="deflate")
    assert zlib.decompress(deflated[2]) == b"7\n"
    assert request(dsn, "/", body=b"x", Content_Encoding="snappy")[0] == 501


def test_one_connection_survives_errors_and_chunked_bodies(dsn: str) -> None:
    netloc = urllib.parse.urlsplit(dsn).netloc.rpartition("@")[2]
    connection = http.client.HTTPConnection(netloc, timeout=30)
    for _ in range(2):
        connection.request(
            "POST",
            "/missing",
            iter([b"SELECT ", b"1"]),
            {"Transfer-Encoding": "chunked"},
            encode_chunked=True,
        )
        assert connection.getresponse().read().startswith(b"There is no handle")
        connection.request(
            "POST", "/", iter([b"SELECT ", b"40 + 2"]), {"Transfer-Encoding": "chunked"}, encode_chunked=True
        )
        assert connection.getresponse().read() == b"42\n"
    connection.close()


def test_credentials_are_checked(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path, user="reader", password="s3'c@ret/") as address:
        with clickhouse_connect.get_client(dsn=address) as client:
            assert client.command("SELECT 1") == 1
        wrong = {"Authorization": "Basic " + b64encode(b"reader:guess").decode()}
        for headers in ({}, wrong, {"X-ClickHouse-User": "default"}):
            status, answer, body = request(address, "/?query=SELECT+1", **headers)
            assert (status, answer["X-ClickHouse-Exception-Code"]) == (403, "516")
            assert b"s3'c@ret/" not in body
        right = {"X_ClickHouse_User": "reader", "X_ClickHouse_Key": "s3'c@ret/"}
        assert request(address, "/?query=SELECT+1", **right)[0] == 200
        assert request(address, "/ping", method="GET")[0] == 200


def test_eight_threads_insert_and_select_at_once(dsn: str, client: Client) -> None:
    client.command("CREATE TABLE busy (worker UInt8, n UInt32, s String) ENGINE = MergeTree ORDER BY (worker, n)")

    def work(worker: int) -> list[int]:
        counts = []
        with clickhouse_connect.get_client(dsn=dsn) as own:
            for turn in range(6):
                batch = [[worker, turn * 50 + n, f"{worker}/{n}"] for n in range(50)]
                own.insert("busy", batch, column_names=["worker", "n", "s"])
                sql = "SELECT count(), countIf(NOT startsWith(s, {p:String})) FROM busy "
                sql += "WHERE worker = {w:UInt8}"
                count, foreign = own.query(sql, parameters={"w": worker, "p": f"{worker}/"}).first_row
                assert foreign == 0
                counts.append(count)
        return counts

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(8)))
    assert seen == [[50, 100, 150, 200, 250, 300]] * 8
    assert client.command("SELECT count() FROM busy") == 2400


def test_data_survives_a_restart_and_a_locked_folder_is_named(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path / "s") as address, clickhouse_connect.get_client(dsn=address) as client:
        client.command("CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a")
        client.insert("kept", [[1], [2]], column_names=["a"])
        with pytest.raises(StoreLocked, match="another process holds"), serve_clickhouse(tmp_path / "s"):
            pass
    with serve_clickhouse(tmp_path / "s") as address, clickhouse_connect.get_client(dsn=address) as client:
        assert client.command("SELECT sum(a) FROM kept") == 3


def test_the_server_ends_with_a_killed_parent(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, time
        from evigraph.testing.clickhouse_http import serve_clickhouse
        with serve_clickhouse(sys.argv[1]) as dsn:
            print(dsn, flush=True)
            time.sleep(60)
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().strip()
        assert request(address, "/ping", method="GET")[0] == 200
        os.kill(parent.pid, signal.SIGKILL)
    for _ in range(400):
        try:
            with serve_clickhouse(tmp_path / "s"):
                return
        except StoreLocked:
            continue
    pytest.fail("the orphaned server still holds the folder")


@pytest.mark.parametrize(
    ("text", "sql", "insert_format", "data"),
    [
        (b"INSERT INTO t FORMAT Native\n\x01\x02", b"INSERT INTO t ", "Native", b"\x01\x02"),
        (
            b'insert into t (`format`, "format") format CSV \r\n\n1',
            b'insert into t (`format`, "format") ',
            "CSV",
            b"\n1",
        ),
        (
            b"INSERT INTO t (a) SETTINGS x = 'FORMAT A' FORMAT TSV",
            b"INSERT INTO t (a) SETTINGS x = 'FORMAT A' ",
            "TSV",
            b"",
        ),
        (
            b"/* FORMAT A */ INSERT INTO t -- FORMAT B\n FORMAT C\n",
            b"/* FORMAT A */ INSERT INTO t -- FORMAT B\n ",
            "C",
            b"",
        ),
        (
            b"INSERT INTO t VALUES ('FORMAT CSV') FORMAT",
            b"INSERT INTO t VALUES ('FORMAT CSV') FORMAT",
            None,
            b"",
        ),
        (b"INSERT INTO t SELECT 1 FORMAT CSV", b"INSERT INTO t SELECT 1 FORMAT CSV", None, b""),
        (b"SELECT 1 FORMAT CSV", b"SELECT 1 FORMAT CSV", None, b""),
        (b"", b"", None, b""),
    ],
)
def test_split_statement(text: bytes, sql: bytes, insert_format: str | None, data: bytes) -> None:
    cut = split_statement(text)
    assert (cut.sql, cut.insert_format, cut.data) == (sql, insert_format, data)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
    numbers=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5),
)
def test_any_text_and_vector_travels_unchanged(client: Client, text: str, numbers: list[float]) -> None:
    sql = "SELECT {t:String}, {v:Array(Float64)}"
    shown, vector = client.query(sql, parameters={"t": text, "v": numbers}).first_row
    assert shown == text
    assert all(math.isclose(a, b, rel_tol=1e-15) for a, b in zip(vector, numbers, strict=True))
