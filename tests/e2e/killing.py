"""A server in a process of its own that tells, stage by stage, what it is doing, so that a test can kill it there.

As a script, `killing.py STORE MARKS`, it waits for the line `start` on its standard input, forks a server over the
store (the imports are paid once, the store is opened by the fork), says its process id, URL and end, and waits again.
`MARKS` receives a line `seconds stage` whenever the stage changes; what the operating system has taken survives.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import random
import signal
import string
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse

import evigraph.ingest.pipeline as ingest
import evigraph.ingest.prune as pruning
import evigraph.server.run as serving
from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.server.app import create_app
from evigraph.store import Store, retention
from evigraph.store.keys import revision_key
from evigraph.store.migrations import REVISION_TABLES
from evigraph.testing.models import HashEmbedder
from small import RuleExtractor

STAGES = (
    "read", "chunk", "extract", "embed", "reserve", "stage", "publish", "delete",
    "prune:horizon", "prune:wait", "prune:mutation", "prune:vanish",
)  # fmt: skip
WORKSPACE = "default"
COMPARED = tuple(table for table in REVISION_TABLES if table != "stagings")


def embedder() -> HashEmbedder:
    return HashEmbedder(max_tokens=64)


# ---------------------------------------------------------------- documents


def secret_of(document_id: str, version: int) -> str:
    """A word that only this version holds, and that no compression hides."""
    return "".join(random.Random(f"{document_id} {version}").choices(string.ascii_lowercase + string.digits, k=40))


def text_of(document_id: str, version: int) -> str:
    """Several passages; each sentence says which document and version it is from, and no version has another's."""
    edition = f"Edition{version}"
    paragraphs = [f"{edition} handed K{secret_of(document_id, version)} to Tarn."]
    for number in range(3 + version % 3):
        sentences = [
            f"{edition} of {document_id.title()} {verb} Well{number}{position} for Corrick Vane near Tarn."
            for position, verb in enumerate(("repaired", "counted", "tested", "painted"))
        ]
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def item_of(document_id: str, version: int) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "title": f"{document_id.title()} report {version}",
        "source": f"reports/{document_id}.md",
        "text": text_of(document_id, version),
        "metadata": {"edition": str(version)},
    }


def stored(store: Store, workspace: str) -> dict[str, Any]:
    """Every visible document with a digest of its rows in each table, apart from what numbers the revision; and how
    many revisions that are not visible have rows, table by table."""
    with store.snapshot(workspace) as snapshot:
        found = snapshot.documents()
    keys = {revision_key(info.document_id, info.revision): info.document_id for info in found}
    documents: dict[str, Any] = {
        info.document_id: {
            "revision": info.revision,
            "published": [info.title, info.source, info.passages, info.content_hash, dict(info.metadata)],
            "tables": {},
        }
        for info in found
    }
    hidden: dict[str, int] = {}
    for table in COMPARED:
        rows: dict[int, list[str]] = {}
        for key, row in store.rows(rows_of(store, table), {"workspace": workspace}):
            rows.setdefault(key, []).append(row)
        hidden[table] = len(rows.keys() - keys.keys())
        for key, document_id in keys.items():
            mine = sorted(rows.get(key, ()))
            digest = hashlib.sha256("\n".join(mine).encode()).hexdigest()[:16]
            documents[document_id]["tables"][table] = [len(mine), digest]
    return {"documents": documents, "hidden": hidden, "generation": store.generation(workspace)}


def files_with_any(folder: Path, words: Iterable[str]) -> dict[str, str]:
    """Files below a folder whose bytes hold one of the words, each with that word."""
    needles = {word.encode(): word for word in words}
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            found.update({str(path): word for needle, word in needles.items() if needle in content})
    return found


def rows_of(store: Store, table: str) -> str:
    """SELECT of `(revision key, row as text)`, without what tells one store, attempt or moment from another."""
    sql = """
        SELECT name FROM system.columns
        WHERE database = currentDatabase() AND table = {table:String} AND NOT startsWith(type, 'DateTime')
        ORDER BY name"""
    names = [row[0] for row in store.rows(sql, {"table": table})]
    shown = ", ".join(f"`{name}`" for name in names if name not in ("workspace", "revision_key", "revision"))
    return f"SELECT revision_key, toString(tuple({shown})) FROM {table} WHERE workspace = {{workspace:String}}"


# ---------------------------------------------------------------- the server's side


class Marks:
    """Writes the stage of the operation under way. Threads that run none (those of questions) leave no mark."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        self._local = threading.local()
        self._pauses = random.Random(0)

    @property
    def _stack(self) -> list[str]:
        stack: list[str] = self._local.__dict__.setdefault("stack", [])
        return stack

    @contextlib.contextmanager
    def stage(self, name: str, *, operation: bool = False, pause: bool = False) -> Iterator[None]:
        stack = self._stack
        # A deletion is one stage, whatever it calls; the others are told apart by what they call.
        if (not stack and not operation) or stack[:1] == ["delete"]:
            yield
            return
        stack.append(name)
        self._write(name)
        before = pause and self._pauses.random() < 0.5
        try:
            if before:
                self._pause()
            yield
            if pause and not before:
                self._pause()
        finally:
            stack.pop()
            self._write(stack[-1] if stack else "idle")

    def inside(self, name: str) -> bool:
        return self._stack[-1:] == [name]

    def _pause(self) -> None:
        """As long as models and large files take; here these stages would be over before a signal arrives."""
        time.sleep(self._pauses.uniform(0.002, 0.010))

    def _write(self, name: str) -> None:
        os.write(self._file, f"{time.monotonic():.6f} {name}\n".encode())

    # ------------------------------------------------------------ around the real functions

    def around(self, owner: Any, name: str, stage: str, **options: bool) -> None:
        real = getattr(owner, name)

        @functools.wraps(real)
        def marked(*given: Any, **named: Any) -> Any:
            with self.stage(stage, **options):
                return real(*given, **named)

        setattr(owner, name, marked)

    def around_each(self, owner: Any, name: str, stage: str) -> None:
        """The same for a generator: the stage holds while the next item is made."""
        real = getattr(owner, name)

        @functools.wraps(real)
        def marked(*given: Any, **named: Any) -> Iterator[Any]:
            items = iter(real(*given, **named))
            while True:
                with self.stage(stage, pause=True):
                    item = next(items, None)
                if item is None:
                    return
                yield item

        setattr(owner, name, marked)


def install(marks: Marks, engine: Evigraph) -> None:
    """Mark every stage of the engine's operations."""
    for operation in ("index", "delete", "prune"):
        marks.around(Evigraph, operation, operation, operation=True)
    marks.around_each(ingest, "read", "read")
    marks.around_each(ingest, "chunk", "chunk")
    marks.around(engine.extractor, "extract", "extract", pause=True)
    marks.around(engine.embedder, "embed", "embed", pause=True)
    for name, stage in (("reserve", "reserve"), ("stage_text", "stage"), ("stage", "stage"), ("publish", "publish")):
        marks.around(Store, name, stage)
    insert = Store.insert

    def marked_insert(self: Store, table: str, *given: Any) -> None:
        with marks.stage(f"stage {table}") if marks.inside("stage") else contextlib.nullcontext():
            insert(self, table, *given)

    Store.insert = marked_insert  # type: ignore[method-assign]
    record = Store.record_change

    def marked_record(self: Store, workspace: str, kind: str, detail: Any) -> int:
        with marks.stage("prune:horizon") if kind == "prune" else contextlib.nullcontext():
            return record(self, workspace, kind, detail)

    Store.record_change = marked_record  # type: ignore[method-assign]
    marks.around(Store, "wait_for_pins", "prune:wait")
    marks.around(retention, "_remove", "prune:mutation")
    marks.around(retention, "_wait_until_vanished", "prune:vanish")
    assert pruning.remove_revisions is retention.remove_revisions


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def serve(folder: str, marks: str) -> None:
    """The server, with one more route that shows what the store holds."""
    settings = Settings(data=folder, host="127.0.0.1", port=0)
    with Evigraph(settings=settings, embedder=embedder(), extractor=RuleExtractor()) as engine:

        def state() -> JSONResponse:
            jobs = [[job.kind, job.state, job.detail.get("error", "")] for job in engine.jobs()]
            return JSONResponse({**stored(engine.store, WORKSPACE), "jobs": jobs})

        def make(source: Any) -> Any:
            app = create_app(source)
            app.add_api_route("/state", state, response_model=None)
            return app

        serving.create_app = make
        install(Marks(marks), engine)
        serving.serve(engine, on_started=lambda url: _say(f"url {url}"))


def main(folder: str, marks: str) -> None:
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                serve(folder, marks)
            finally:
                os._exit(1)
        _say(f"pid {child}")
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(BrokenPipeError):
            _say(f"ended {os.waitstatus_to_exitcode(status)}")


# ---------------------------------------------------------------- the test's side


class Server:
    """Starts, watches and kills servers over one store."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self.marks = folder / "marks"
        self.url = ""
        self.pid = 0
        here = Path(__file__)
        self._parent = subprocess.Popen(
            [sys.executable, str(here), str(self.store), str(self.marks)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(here.parents[1]), "OPENBLAS_NUM_THREADS": "1"},
        )

    def start(self) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.write("start\n")
        self._parent.stdin.flush()
        # The child may be quicker to say its URL than its parent to say its number.
        said = dict(self._hear() for _ in range(2))
        assert said.keys() == {"pid", "url"}, f"the store does not open again: {said}"
        self.pid, self.url = int(said["pid"]), said["url"]

    def kill(self) -> str:
        """SIGKILL; return the stage it was in."""
        os.kill(self.pid, signal.SIGKILL)
        assert self._hear() == ("ended", str(-signal.SIGKILL)), "it ended by itself"
        return self.history()[-1][1]

    def history(self) -> list[tuple[float, str]]:
        """`(time, stage)` of every change of stage of this server."""
        lines = self.marks.read_text().splitlines()
        split = [line.split(" ", 1) for line in lines]
        return [(float(moment), stage) for moment, stage in split] or [(0.0, "idle")]

    def wait_for(self, stage: str, start: int, done: Callable[[], bool]) -> bool:
        """Block until the stage begins, from byte `start` of the marks on; False when `done` comes first."""
        with self.marks.open("rb") as file:
            file.seek(start)
            while not done():
                if any(main_stage(line.split(b" ", 1)[1].decode().strip()) == stage for line in file.readlines()):
                    return True
                time.sleep(0.0003)
        return False

    def close(self) -> None:
        if self._parent.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                if self.pid:
                    os.kill(self.pid, signal.SIGKILL)
        with self._parent:
            assert self._parent.stdin is not None
            self._parent.stdin.close()

    def _hear(self) -> tuple[str, str]:
        assert self._parent.stdout is not None
        word, _, rest = self._parent.stdout.readline().strip().partition(" ")
        return word, rest


def main_stage(mark: str) -> str:
    """`stage terms` is part of `stage`."""
    return mark.split(" ", 1)[0]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
