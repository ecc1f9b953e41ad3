"""The settings file: which one is read, and what is said of one that cannot be."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from evigraph.cli.open import load_settings
from evigraph.config import Settings
from evigraph.errors import InvalidValue


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working folder, and no settings from outside."""
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(f"EVIGRAPH_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_of_the_folder_is_read_where_there_is_one(folder: Path) -> None:
    assert Settings().data == "./evigraph-data"
    (folder / "evigraph.toml").write_text('data = "here"\nport = 81\n')
    assert (Settings().data, Settings().port) == ("here", 81)


def test_a_file_that_is_named_goes_before_that_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "evigraph.toml").write_text('data = "here"\n')
    (folder / "other.toml").write_text('data = "there"\n')
    monkeypatch.setenv("EVIGRAPH_CONFIG", "other.toml")
    assert Settings().data == "there"
    assert Settings(data="given").data == "given"
    monkeypatch.setenv("EVIGRAPH_DATA", "variable")
    assert Settings().data == "variable"


def test_an_empty_name_names_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "evigraph.toml").write_text('data = "here"\n')
    monkeypatch.setenv("EVIGRAPH_CONFIG", "")
    assert Settings().data == "here"


@pytest.mark.parametrize("named", ["typo.toml", "folder", "folder/none/x.toml"])
def test_a_named_file_that_is_not_there_is_refused_by_its_name(
    named: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "folder").mkdir()
    (folder / "evigraph.toml").write_text('data = "here"\n')
    monkeypatch.setenv("EVIGRAPH_CONFIG", named)
    for read in (Settings, load_settings):
        with pytest.raises(InvalidValue, match=f"settings file {named} cannot be read") as refused:
            read()
        assert "EVIGRAPH_CONFIG" in refused.value.hint


def test_a_named_file_need_not_be_a_regular_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIGRAPH_CONFIG", os.devnull)
    assert Settings().data == "./evigraph-data"
    os.mkfifo(folder / "pipe")
    monkeypatch.setenv("EVIGRAPH_CONFIG", str(folder / "pipe"))
    writer = threading.Thread(target=(folder / "pipe").write_text, args=('data = "piped"\n',))
    writer.start()
    assert Settings().data == "piped"
    writer.join()
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.parametrize("content", [b'chat_api_key = "sesame\xff"', b'chat_api_key = "sesame'])
@pytest.mark.parametrize("named", [True, False])
def test_a_file_that_is_not_toml_is_named_and_what_it_holds_is_not(
    content: bytes, named: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evigraph.toml").write_bytes(content)
    if named:
        (folder / "evigraph.toml").rename(folder / "mine.toml")
        monkeypatch.setenv("EVIGRAPH_CONFIG", "mine.toml")
    with pytest.raises(InvalidValue, match=("mine" if named else "evigraph") + r".toml is not valid TOML") as refused:
        Settings()
    assert refused.value.hint
    assert "sesame" not in f"{refused.value} {refused.value.hint}"
    assert refused.value.__cause__ is None and refused.value.__context__ is None


def test_the_folder_s_file_that_cannot_be_read_does_not_blame_the_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evigraph.toml").write_text("")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InvalidValue, match=r"evigraph.toml cannot be read: Permission denied") as refused:
        Settings()
    assert "EVIGRAPH_CONFIG" not in refused.value.hint


def test_a_variable_that_should_be_json_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIGRAPH_EMBEDDERS", '{"x": "sesame')
    with pytest.raises(InvalidValue, match="EVIGRAPH_EMBEDDERS is not valid JSON") as refused:
        load_settings()
    assert refused.value.hint
    assert "sesame" not in f"{refused.value} {refused.value.hint}"
