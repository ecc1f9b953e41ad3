"""DSNs, folders and their locks, closed stores, servers that do not answer."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from evigraph.errors import InvalidValue, StoreError, StorePathInUse, StoreUnavailable
from evigraph.store import open_store
from evigraph.store.connect import LOCK_NAME, FolderLock, embedded_folder, lock_holder
from evigraph.testing.clickhouse_http import serve_clickhouse
from evigraph.testing.store_contract.base import seen
from evigraph.testing.store_contract.material import Shelf


@pytest.mark.parametrize(
    ("dsn", "folder"),
    [
        ("/var/data", "/var/data"),
        ("/var/../data/", "/data"),
        ("chdb:///var/data", "/var/data"),
        ("chdb:////var//data", "/var/data"),
        ("chdb:///with%20space/50%25", "/with space/50%"),
        ("chdb:///a#b", "/a#b"),
        ("/a#b%20c", "/a#b%20c"),
        ("/ünï/日本", "/ünï/日本"),
    ],
)
def test_a_path_or_a_chdb_dsn_names_a_folder(dsn: str, folder: str) -> None:
    assert embedded_folder(dsn) == Path(folder)


def test_relative_paths_and_the_home_folder_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert embedded_folder("data") == embedded_folder("./data/") == embedded_folder("chdb://data") == tmp_path / "data"
    assert embedded_folder("~/data") == tmp_path / "home" / "data"


@pytest.mark.parametrize("dsn", ["http://h", "https://u:p@h:8443/db", "clickhouse://h/db", "clickhouses://h"])
def test_a_server_dsn_names_no_folder(dsn: str) -> None:
    assert embedded_folder(dsn) is None


@pytest.mark.parametrize("dsn", ["chdb://", "chdb:///", "postgres://h/db", "file:///data", "://x"])
def test_a_dsn_that_is_none_is_refused(dsn: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        open_store(dsn)
    assert "chdb:///" in caught.value.hint


@pytest.mark.parametrize("name", ["with space", "50%", "a#b", "ünï 日本", "it's", "a:b", "a&b=c"])
def test_a_folder_may_have_any_name_but_one_with_a_question_mark(tmp_path: Path, name: str) -> None:
    store = open_store(str(tmp_path / name))
    shelf = Shelf(store, "w")
    shelf.put("a", "Acme")
    assert seen(shelf)["counts"].documents == 1
    store.close()
    assert (tmp_path / name / LOCK_NAME).exists()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with pytest.raises(InvalidValue, match=r"\?"):
        open_store(str(tmp_path / "a?b"))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_one_process_opens_one_folder_at_a_time(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "one"))
    with pytest.raises(StorePathInUse, match="one") as caught:
        open_store(str(tmp_path / "two"))
    assert caught.value.hint
    assert not (tmp_path / "two").exists()
    again = open_store(f"chdb://{tmp_path}/one")
    store.close()
    with pytest.raises(StorePathInUse):
        open_store(str(tmp_path / "two"))
    assert again.documents("w") == [], "an engine goes on when another one on its folder is closed"
    again.close()
    other = open_store(str(tmp_path / "two"))
    Shelf(other, "w").put("a", "Acme")
    other.close()
    back = open_store(str(tmp_path / "one"))
    assert back.documents("w") == []
    back.close()


def test_a_closed_store_refuses_to_work_and_lets_go_of_its_folder(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    store.close()
    store.close()
    for use in (lambda: store.documents("w"), lambda: store.delete("w", "a"), lambda: store.start_job("w", "x", {})):
        with pytest.raises(StoreError, match="closed"):
            use()
    assert FolderLock._held == {}


def test_each_thread_has_its_own_client_and_close_closes_them_all(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    clients = {id(store.connection.client)}
    thread = threading.Thread(target=lambda: clients.add(id(store.connection.client)))
    thread.start()
    thread.join()
    assert len(clients) == len(store.connection._opened) == 2
    store.close()
    assert store.connection._opened == []


@pytest.mark.parametrize("below", ["file", "file/inside"])
def test_a_folder_that_cannot_be_is_unavailable(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="file") as caught:
        open_store(str(tmp_path / below))
    assert "EVIGRAPH_DATA" in caught.value.hint
    assert FolderLock._held == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="rights do not bind root")
def test_a_folder_without_write_permission_is_unavailable(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreUnavailable, match="store"):
        open_store(str(folder))


def test_the_lock_file_is_private_and_says_who_holds_it(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    assert (tmp_path / "store" / LOCK_NAME).stat().st_mode & 0o777 == 0o600
    assert lock_holder(tmp_path / "store") == {"pid": os.getpid()}
    store.connection.announce(url="http://127.0.0.1:8080")
    assert lock_holder(tmp_path / "store") == {"pid": os.getpid(), "url": "http://127.0.0.1:8080"}
    store.connection.announce()
    assert lock_holder(tmp_path / "store") == {"pid": os.getpid()}
    store.close()
    assert lock_holder(tmp_path / "nowhere") == {}
    (tmp_path / "store" / LOCK_NAME).write_text("[1]")
    assert lock_holder(tmp_path / "store") == {}


def test_files_left_in_the_temporary_folder_are_swept_when_the_store_opens(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    open_store(str(folder)).close()
    temporary = folder / "tmp"
    (temporary / "sort" / "deep").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("not ours")
    (temporary / "link").symlink_to(outside)
    for path in (temporary / "tmp123", temporary / "sort" / "deep" / "spill"):
        path.write_text("left by a killed process")
    long_ago = time.time() - 3600
    for path in (temporary / "tmp123", temporary / "sort", temporary / "link"):
        os.utime(path, (long_ago, long_ago), follow_symlinks=False)
    store = open_store(str(folder))
    assert sorted(path.name for path in temporary.iterdir()) == []
    assert (outside / "kept").exists()
    in_use = temporary / "of-a-running-query"
    in_use.write_text("spilled")
    os.utime(in_use, (long_ago, long_ago))
    open_store(str(folder)).close()
    assert in_use.exists(), "a second engine of the process leaves the first one's files alone"
    store.close()


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for dsn in (f"http://user:hidden@127.0.0.1:{port}/db", f"clickhouse://127.0.0.1:{port}"):
            with pytest.raises(StoreUnavailable) as caught:
                open_store(dsn)
            assert "EVIGRAPH_DATA" in caught.value.hint
            assert "hidden" not in str(caught.value)


def test_a_server_that_goes_away_is_unavailable_and_a_wrong_password_is_refused(tmp_path: Path) -> None:
    with serve_clickhouse(tmp_path / "store", password="right") as dsn:
        with pytest.raises(StoreError) as caught:
            open_store(dsn.replace("right", "wr0ng"))
        assert "wr0ng" not in str(caught.value)
        store = open_store(dsn)
        Shelf(store, "w").put("a", "Acme")
    with pytest.raises(StoreUnavailable):
        store.documents("w")
    with pytest.raises(StoreUnavailable):
        Shelf(store, "w")
    store.close()
