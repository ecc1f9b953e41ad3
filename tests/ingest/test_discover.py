from __future__ import annotations

import os
from pathlib import Path

import pytest

from evigraph.ingest.discover import FoundFile, discover
from evigraph.reports import FileError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in (
        "b.txt",
        "a.md",
        "a.md.meta.json",
        ".hidden.txt",
        "sub/c.txt",
        "sub/deep/d.md",
        ".git/x.txt",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / "evigraph-data").mkdir()
    (root / "evigraph-data" / "rows.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("s")
    return root


def sources(*inputs: str | Path, root: Path | None = None) -> list[str]:
    found = list(discover(inputs, root))
    return [item.source if isinstance(item, FoundFile) else f"{item.source}: {item.code}" for item in found]


def test_a_folder_is_searched_in_sorted_order(folder: Path) -> None:
    assert sources(folder) == ["a.md", "b.txt", "sub/c.txt", "sub/deep/d.md"]


def test_single_files_globs_and_roots(folder: Path) -> None:
    assert sources(folder / "sub" / "c.txt") == ["c.txt"]
    assert sources(folder / "sub" / "c.txt", root=folder) == ["sub/c.txt"]
    assert sources(folder / "sub", root=folder) == ["sub/c.txt", "sub/deep/d.md"]
    assert sources(f"{folder}/*.md") == ["a.md"]
    assert sources(f"{folder}/**/*.md") == ["a.md", "sub/deep/d.md"]
    assert sources(f"{folder}/sub/**") == ["c.txt", "deep/d.md"]
    assert sources(f"{folder}/s*/[cd].txt") == ["sub/c.txt"]


def test_a_name_with_brackets_is_taken_literally_first(folder: Path) -> None:
    (folder / "n[1].txt").write_text("x")
    assert sources(folder / "n[1].txt") == ["n[1].txt"]


def test_missing(folder: Path) -> None:
    for given in (folder / "none.txt", f"{folder}/*.pdf", f"{folder}/none/*.txt", "a\0b"):
        (error,) = discover([given])
        assert isinstance(error, FileError)
        assert error.code == "missing_file" and error.hint


@pytest.mark.parametrize("given", ["", " ", "\t\n"])
def test_a_blank_path_is_not_the_current_folder(folder: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (error,) = discover([given])
    assert isinstance(error, FileError)
    assert error.code == "missing_file" and "empty path" in error.message
    assert sources(".") == sources(folder)


def test_repeats_are_left_out_and_equal_sources_refused(folder: Path, tmp_path: Path) -> None:
    assert sources(folder, folder) == sources(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("other")
    assert sources(folder / "b.txt", tmp_path / "other" / "b.txt") == ["b.txt", "b.txt: unreadable"]


def test_sidecars_beside_their_document_are_left_out(folder: Path) -> None:
    assert sources(folder / "a.md.meta.json", folder / "a.md") == ["a.md"]
    (folder / "lone.meta.json").write_text("{}")
    assert sources(folder / "lone.meta.json") == ["lone.meta.json"]


def test_links(folder: Path, tmp_path: Path) -> None:
    (folder / "in.txt").symlink_to(folder / "b.txt")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "sub" / "up").symlink_to(tmp_path)
    (folder / "dead.txt").symlink_to(folder / "nothing")
    (folder / "dead-out.txt").symlink_to(tmp_path / "nothing")
    (folder / "self").symlink_to(folder / "self")
    assert sources(folder) == [
        "a.md",
        "b.txt",
        "dead-out.txt: missing_file",
        "dead.txt: missing_file",
        "in.txt",
        "out.txt: outside_root",
        "self: missing_file",
        "sub/c.txt",
        "sub/deep/d.md",
        "sub/up: outside_root",
    ]
    assert sources(f"{folder}/*.txt") == [
        "b.txt",
        "dead-out.txt: missing_file",
        "dead.txt: missing_file",
        "in.txt",
        "out.txt: outside_root",
    ]


def test_dots_do_not_lead_out_of_a_root(folder: Path) -> None:
    assert sources(f"{folder}/../secret.txt", root=folder)[0].endswith("outside_root")
    assert sources(f"{folder}/sub/../b.txt", root=folder) == ["b.txt"]
    assert sources(f"{folder}/../secret.txt") == ["secret.txt"]


def test_special_files_are_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    assert "pipe.txt: unsupported_format" in sources(folder)


def test_a_pattern_is_searched_no_deeper_than_it_can_match(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "c.txt").write_text("c")
    read: list[str] = []
    scandir = os.scandir

    def noted(path: Path) -> object:
        read.append(path.relative_to(folder).as_posix())
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    for pattern, found, folders in (
        ("*.txt", ["b.txt"], ["."]),
        ("*/*.txt", ["other/c.txt", "sub/c.txt"], [".", "other", "sub"]),
        ("s*/c.txt", ["sub/c.txt"], [".", "sub"]),
        ("s*/*/d.md", ["sub/deep/d.md"], [".", "sub", "sub/deep"]),
        ("s*/**/*.md", ["sub/deep/d.md"], [".", "sub", "sub/deep"]),
        ("**/c.txt", ["other/c.txt", "sub/c.txt"], [".", "other", "sub", "sub/deep"]),
    ):
        read.clear()
        assert sources(f"{folder}/{pattern}") == found
        assert read == folders, pattern


def test_only_links_are_resolved_one_by_one(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[Path] = []
    resolve = Path.resolve

    def noted(path: Path, strict: bool = False) -> Path:
        resolved.append(path)
        return resolve(path, strict)

    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr(Path, "resolve", noted)
    assert len(sources(folder)) == 5
    assert set(resolved) == {folder, folder / "out.txt"}


def test_a_folder_that_a_link_leads_to_outside_the_root_holds_nothing_to_read(folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (away / "in").mkdir(parents=True)
    for name in ("s.txt", "in/t.txt"):
        (away / name).write_text("s")
    (folder / "link").symlink_to(away)
    for given in (folder / "link", f"{folder}/link/**"):
        assert sources(given, root=folder) == ["link/in/t.txt: outside_root", "link/s.txt: outside_root"]
    assert sources(f"{folder}/link/*.txt", root=folder) == ["link/s.txt: outside_root"]
    # Named without a root, the link is itself the root.
    assert sources(folder / "link") == ["in/t.txt", "s.txt"]
    assert sources(f"{folder}/l*/s.txt") == [f"{folder}/l*/s.txt: missing_file"]
