"""The documentation is true: its code runs, its commands and paths exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import typer.main

from evigraph import Evigraph
from evigraph.cli.local import LocalEngine
from evigraph.cli.main import app
from evigraph.sample import corpus_path
from evigraph.testing.models import HashEmbedder
from server.serving import running

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def lines(first: str) -> list[list[str]]:
    """Arguments of the shell lines that begin with a word, continued lines joined, `&` and comments left out."""
    shell = "\n".join(blocks(README, "sh")).replace("\\\n", " ")
    found = [shlex.split(line.removesuffix("&"), comments=True) for line in shell.splitlines()]
    return [words[1:] for words in found if words[:1] == [first]]


def curl(words: list[str], client: httpx2.Client, place: Path) -> httpx2.Response:
    """Send what curl would send, to the client's server; an option that is not understood fails the test."""
    request: dict[str, Any] = {"method": None, "headers": {}, "files": [], "data": {}}
    rest = iter(words)
    for word in rest:
        if word in ("-X", "--request"):
            request["method"] = next(rest)
        elif word in ("-H", "--header"):
            name, _, value = next(rest).partition(":")
            request["headers"][name] = value.strip()
        elif word in ("-d", "--data"):
            request["content"] = next(rest)
        elif word in ("-F", "--form"):
            name, _, value = next(rest).partition("=")
            if value.startswith("@"):
                request["files"].append((name, (value[1:], (place / value[1:]).read_bytes())))
            else:
                request["data"][name] = value
        elif word not in ("-s", "-f", "-sf", "-i", "-N"):
            assert word.startswith("http://localhost:8080/"), word
            request["url"] = urlsplit(word)._replace(scheme="", netloc="").geturl()
    request["method"] = request["method"] or ("POST" if request["files"] or "content" in request else "GET")
    return client.request(**{name: value for name, value in request.items() if value})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with the files that README names."""
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(corpus_path() / "2014", place / "reports", ignore=shutil.ignore_patterns("*.csv*", "*.pdf*"))
    shutil.copy(min(corpus_path().rglob("*.pdf")), place / "report.pdf")
    (place / "plan.json").write_text(blocks(README, "json")[0])
    graphs = place / "graphs"
    graphs.mkdir()
    (graphs / "corpus.jsonl").write_text('{"id": "a", "title": "Wells", "text": "Amara dug wells at Kethe."}\n')
    (graphs / "openie.jsonl").write_text('{"id": "a", "entities": [], "triples": [["Amara", "dug", "wells"]]}\n')
    return place


@pytest.fixture(scope="module")
def engine(place: Path) -> Iterator[Evigraph]:
    with Evigraph(place / "evigraph-data", embedder=HashEmbedder()) as engine:
        yield engine


def test_every_curl_line_works(engine: Evigraph, place: Path) -> None:
    assert len(lines("curl")) >= 3
    with running(engine) as client:
        for words in lines("curl"):
            response = curl(words, client, place)
            assert response.status_code == 200, (words, response.text)
            assert response.json()


def test_every_line_of_the_command_is_understood() -> None:
    spans = [shlex.split(line)[1:] for line in re.findall(r"`(evigraph [a-z-][^`]*)`", README)]
    assert len(lines("evigraph")) >= 7
    root = typer.main.get_command(app)
    for words in (*lines("evigraph"), *spans):
        outer = root.make_context("evigraph", list(words))
        name, command, rest = root.resolve_command(outer, [*outer._protected_args, *outer.args])
        complete = words not in spans  # in running text, arguments are left out
        with command.make_context(name, rest, parent=outer, resilient_parsing=not complete) as inner:
            assert inner.info_name == name


def test_every_line_of_the_command_runs(engine: Evigraph, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shared(LocalEngine):
        def prune(self) -> dict[str, Any]:
            # Removing part files from disk takes the store half a minute; its own tests wait for that.
            return {"documents": 0, "revisions": 0, "horizon": 1, "seconds": 0.0}

        def close(self) -> None:
            pass

    monkeypatch.chdir(place)
    monkeypatch.setattr("evigraph.cli.open.open_engine", lambda data, workspace: Shared(engine))
    ran = []
    for words in lines("evigraph"):
        if words[0] in ("serve", "eval", "demo"):  # they open stores of their own, in tests of their own
            continue
        known = {"DOCUMENT_ID": engine.documents()[0].document_id if ran else ""}
        with pytest.raises(SystemExit) as ended:
            app([known.get(word, word) for word in words])
        assert ended.value.code == 0 or (words[0] == "ask" and ended.value.code == 3), words
        ran.append(words[0])
    assert {"index", "ask", "documents", "delete", "prune", "graph", "plan", "export", "import"} <= set(ran)


def test_the_library_examples_run_one_after_the_other(tmp_path: Path) -> None:
    code = "\n".join(blocks(README, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "managed by Daudi Renko" in done.stdout
    assert "['memo'] ()" in done.stdout, "the filtered evidence holds the eastern memo alone"
    assert "Where is Corrick & Vane Engineering's office? ()" in done.stdout, "the follow-up stands alone"
    assert re.search(r"^2 Where is their office\?(.*\n)*Their office is in Kiln Street", done.stdout, re.MULTILINE), (
        "the turn is kept"
    )


def test_every_command_of_the_readme_exists() -> None:
    reference = (ROOT / "docs" / "cli.md").read_text()
    used = set(re.findall(r"^evigraph ([a-z]+)", "\n".join(blocks(README, "sh")), re.MULTILINE))
    assert {"index", "ask", "serve", "eval"} <= used
    for command in sorted(used):
        assert f"evigraph {command}" in reference


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+\.py|[\w/]+/)`", ARCHITECTURE))))
def test_every_path_of_the_architecture_page_exists(path: str) -> None:
    assert (ROOT / "src" / "evigraph" / path).exists() or (ROOT / path).exists()
