"""Files that are written whole or not at all, and files that are read line by line."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile, ReadError
from evigraph.files import byte_lines, check_output, text_lines, write_records, writing


def put(path: str | Path, content: bytes = b"new") -> None:
    with writing(path) as file:
        file.write(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    with writing(tmp_path / "o") as file:
        file.write(b"new")
        assert not (tmp_path / "o").exists()
    assert (tmp_path / "o").read_bytes() == b"new"
    assert names(tmp_path) == ["o"]


def test_what_fails_on_the_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("old")
    with pytest.raises(KeyError), writing(tmp_path / "o") as file:
        file.write(b"half")
        raise KeyError
    assert (tmp_path / "o").read_text() == "old"
    assert names(tmp_path) == ["o"]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("old")
    (tmp_path / "o").chmod(0o600)
    put(tmp_path / "o")
    assert (tmp_path / "o").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "o").stat().st_mode) == 0o600


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_points_to_is_written(there: bool, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    if there:
        (tmp_path / "far" / "real").write_text("old")
    (tmp_path / "middle").symlink_to("far/real")
    (tmp_path / "link").symlink_to(tmp_path / "middle")
    check_output(tmp_path / "link")
    assert (tmp_path / "far" / "real").exists() == there
    put(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "middle").is_symlink()
    assert (tmp_path / "far" / "real").read_text() == "new"
    assert names(tmp_path / "far") == ["real"]


def test_a_relative_name_is_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_output("o")
    put("o")
    assert names(tmp_path) == ["o"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_fifo_is_written_to_and_stays(linked: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    check_output(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    put(tmp_path / ("link" if linked else "pipe"))
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["link", "pipe"]


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    # A device of the test's own: a fault here would destroy one of the machine's.
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.read_bytes()
    except PermissionError:
        pytest.skip("only root makes devices, and not in every folder")
    check_output(device)
    put(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert names(tmp_path) == ["null"]


def test_an_open_descriptor_is_written_on_from_where_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("kept\n")
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    before = log.stat().st_ino
    (tmp_path / "link").symlink_to(f"/dev/fd/{descriptor}")
    try:
        for name in (f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}", tmp_path / "link"):
            check_output(name)
            put(name, b"more\n")
        os.write(descriptor, b"end\n")
    finally:
        os.close(descriptor)
    assert log.read_text() == "kept\n" + 3 * "more\n" + "end\n"
    assert log.stat().st_ino == before
    with pytest.raises(InvalidValue):
        put(f"/dev/fd/{descriptor}")
    with pytest.raises(InvalidValue):
        put("/dev/fd/none")


def refused(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "to-folder").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "astray").symlink_to("none/o")
    (tmp_path / "file").write_text("old")
    yield from (tmp_path / name for name in ("folder", "to-folder", "loop", "astray", "none/o", "file/o"))


def test_what_cannot_be_written_is_refused_before_and_when_writing(tmp_path: Path) -> None:
    for path in refused(tmp_path):
        before = names(tmp_path)
        for attempt in (check_output, put):
            with pytest.raises(InvalidValue, match="cannot be written: ") as told:
                attempt(path)
            assert str(path) in str(told.value) and told.value.hint
        assert names(tmp_path) == before
        assert list((tmp_path / "folder").iterdir()) == []


def test_a_check_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("old")
    check_output(tmp_path / "o")
    check_output(tmp_path / "new")
    assert names(tmp_path) == ["o"]
    assert (tmp_path / "o").read_text() == "old"


def test_a_check_refuses_a_device_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InvalidValue, match="pipe cannot be written: Permission denied"):
        check_output(tmp_path / "pipe")


def test_a_partial_file_of_others_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    planted = tmp_path / f".o.{os.getpid()}.part"
    planted.symlink_to("theirs")
    with pytest.raises(InvalidValue):
        put(tmp_path / "o")
    assert planted.is_symlink()
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_a_record_with_what_utf_8_cannot_say_is_read_back_the_same(tmp_path: Path) -> None:
    record: dict[str, Any] = {"question": "half a pair \ud83d, and é"}
    write_records(tmp_path / "o", [record])
    (line,) = (tmp_path / "o").read_bytes().splitlines()
    assert json.loads(line) == record
    assert "é".encode() in line


def test_lines_are_numbered_and_without_their_ends(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("a\r\n\nb\u2028c".encode())
    assert list(text_lines(tmp_path / "f")) == [("f:1", "a"), ("f:2", ""), ("f:3", "b\u2028c")]


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"fine\nab\xff\n")
    with pytest.raises(CorruptDocument, match=r"f:2: not UTF-8 at byte 3") as told:
        list(text_lines(tmp_path / "f"))
    assert told.value.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingFile, match="f is missing in"):
        list(byte_lines(tmp_path / "f"))
    (tmp_path / "f").write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ReadError, match="f cannot be read: Permission denied") as told:
        list(byte_lines(tmp_path / "f"))
    assert told.value.hint
