"""Several processes, and processes that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evigraph.errors import StoreLocked
from evigraph.store import open_store
from evigraph.testing.store_contract.base import seen
from evigraph.testing.store_contract.material import Shelf

HOLDER = """
import sys
from evigraph.store import open_store
store = open_store(sys.argv[1])
if len(sys.argv) > 2:
    store.connection.announce(url=sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
store.close()
"""

WRITER = """
import sys
from evigraph.store import open_store
from evigraph.testing.store_contract.material import Shelf
store = open_store(sys.argv[1])
shelf = Shelf(store, "w")
number = int(sys.argv[2])
draft = shelf.draft("a", f"Acme supplies New{number}", f"New{number} audits Acme", title=f"New{number}")
if sys.argv[3] == "published":
    shelf.publish(draft)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said `ready`; killed when the block ends."""
    running = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            yield running
        finally:
            running.kill()


def test_a_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "store")
    with process(HOLDER, folder) as holder:
        with pytest.raises(StoreLocked, match=f"process {holder.pid}") as caught:
            open_store(folder)
        assert "serve" in caught.value.hint
    with process(HOLDER, folder, "http://127.0.0.1:8080") as server:
        with pytest.raises(StoreLocked, match=f"process {server.pid}") as caught:
            open_store(folder)
        assert "http://127.0.0.1:8080" in caught.value.hint
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait() == 0
        open_store(folder).close()


@pytest.mark.parametrize("state", ["staged", "published"])
def test_a_killed_writer_leaves_the_old_or_the_new_revision_whole(tmp_path: Path, state: str) -> None:
    folder = str(tmp_path / "store")
    store = open_store(folder)
    Shelf(store, "w").put("a", "Acme supplies Birch")
    store.close()
    for number in range(1, 3):
        with process(WRITER, folder, str(number), state) as writer:
            writer.send_signal(signal.SIGKILL)
            assert writer.wait() == -signal.SIGKILL
        store = open_store(folder)
        shelf = Shelf(store, "w")
        shelf.vocabulary.words |= {"Acme", "Birch", *(f"New{n}" for n in range(1, 3))}
        found = seen(shelf)
        store.close()
        if state == "staged":
            assert set(found["profiles"]) == {"organization:acme", "organization:birch"}
            assert [row[5] for row in found["documents"]] == [1]
        else:
            assert set(found["profiles"]) == {"organization:acme", f"organization:new{number}"}
            assert [row[5] for row in found["documents"]] == [2]
    store = open_store(folder)
    assert store.reserve("w", ["a"]) == {"a": 4}, "no revision number is used twice"
    store.close()
