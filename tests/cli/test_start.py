"""The command as a process: help, usage errors, exit codes, and what starting it imports."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

import evigraph
from evigraph.cli import main

from .conftest import start

COMMANDS = (
    "index",
    "ask",
    "documents",
    "delete",
    "prune",
    "reembed",
    "serve",
    "jobs",
    "capabilities",
    "demo",
    "eval",
    "version",
)

HEAVY = ("pydantic", "numpy", "httpx2", "clickhouse_connect", "spacy", "onnxruntime", "fastapi", "scipy")


def test_help_names_every_command_and_exit_code(tmp_path: Path) -> None:
    shown = start("--help", cwd=tmp_path)
    assert shown.code == 0
    assert all(command in shown.out for command in COMMANDS)
    assert "3 `ask` or `plan` abstained" in shown.out
    assert shown.err == ""


def test_every_command_has_help(tmp_path: Path) -> None:
    # One process for all: the application is a value.
    script = (
        "from evigraph.cli.main import app\n"
        f"for command in {COMMANDS!r}:\n"
        "    try:\n        app([command, '--help'])\n    except SystemExit as end:\n        assert not end.code\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for command in COMMANDS:
        assert f" {command} " in done.stdout
    assert done.stdout.count("--workspace") == len(COMMANDS)


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom evigraph.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "print('evigraph.engine' in sys.modules or 'evigraph.types' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["[]", "False"]


def test_version(tmp_path: Path) -> None:
    assert start("version", cwd=tmp_path).out.strip() == evigraph.__version__


@pytest.mark.parametrize(
    "arguments",
    [("frobnicate",), ("ask",), ("ask", "x", "--max-chunks", "many"), ("index", "x", "--metadata", "novalue")],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = start(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert "Usage:" in done.err
    assert done.out == ""


def test_errors_have_no_trace(tmp_path: Path) -> None:
    done = start("documents", "show", "nope", cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith("error: no document 'nope'")
    assert "hint:" in done.err
    assert "Traceback" not in done.err


def test_settings_are_checked_and_secrets_not_repeated(tmp_path: Path) -> None:
    done = start("documents", cwd=tmp_path, EVIGRAPH_PORT="hunter2", EVIGRAPH_CHAT_API_KEY="sesame")
    assert done.code == 1
    assert "port" in done.err
    assert "hunter2" not in done.err and "sesame" not in done.err
    (tmp_path / "evigraph.toml").write_text("data = [")
    broken = start("documents", cwd=tmp_path)
    assert broken.code == 1
    assert "TOML" in broken.err


def test_a_store_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = start("--data", "file", "documents", cwd=tmp_path)
    assert done.code == 1
    assert "error:" in done.err and "hint:" in done.err and "Traceback" not in done.err


def test_a_server_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    done = start("--data", "http://127.0.0.1:1", "documents", cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith("error: "), done.err
    assert "Unexpected" not in done.err


def test_a_closed_pipe_is_no_trace(tmp_path: Path) -> None:
    command = f"{sys.executable} -m evigraph.cli --help | true"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["version", "version --json", "eval --help", "export"])
def test_standard_output_without_space_is_an_error_and_no_trace(tmp_path: Path, arguments: str) -> None:
    done = shell(f"{arguments} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: nothing more can be written: No space left on device\nhint: "), done.stderr
    assert done.stderr.count("\n") == 2


def test_an_error_is_told_although_standard_output_takes_nothing(tmp_path: Path) -> None:
    for redirection in ("> /dev/full", ">&-"):
        done = shell(f"eval nowhere --json {redirection}", tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("error: nowhere is not a folder\nhint: "), done.stderr
        assert done.stderr.count("\n") == 2


def test_standard_output_may_be_closed(tmp_path: Path) -> None:
    done = shell("version >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    export = shell("export >&-", tmp_path)
    assert export.returncode == 1
    assert export.stderr == "error: standard output is closed\nhint: name a file with --output\n"


def test_faults_are_told_apart_from_a_full_disk() -> None:
    full = main.explained(OSError(errno.ENOSPC, "No space left on device"))
    assert "fault" not in full.hint
    for fault in (OSError(errno.ENOENT, "No such file or directory"), ValueError("x")):
        assert "fault of evigraph" in main.explained(fault).hint


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("EVIGRAPH_CONFIG", "typo.toml", "typo.toml"),
        ("EVIGRAPH_CONFIG", ".", "settings file . "),
        ("EVIGRAPH_EMBEDDERS", "{bad", "EVIGRAPH_EMBEDDERS"),
    ],
)
def test_settings_that_cannot_be_read_are_named(tmp_path: Path, variable: str, value: str, named: str) -> None:
    done = start("documents", cwd=tmp_path, **{variable: value})
    assert done.code == 1
    assert named in done.err and "hint:" in done.err and "fault" not in done.err
    assert not (tmp_path / "evigraph-data").exists()


def shell(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m evigraph.cli {arguments}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
