"""SIGKILL at random points of index, replace, delete and prune, with readers over HTTP all the time.

After every kill the store opens again, every document is wholly the old or wholly the new one, in its rows and in the
evidence it gives, and nothing that was acknowledged is missing.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import pytest
from killing import STAGES, Server, embedder, files_with_any, item_of, main_stage, secret_of, stored

from evigraph import Evigraph
from evigraph.query.retrieve import RETRIEVERS
from evigraph.types import Mode
from evigraph.wire import answer_to_wire
from small import OneStore

NAMES = tuple(f"site{number}" for number in range(8))
MODES = tuple(mode.value for mode in RETRIEVERS if mode not in (Mode.BYPASS, Mode.TRAVERSE, Mode.PLAN))
OPERATIONS = ("index", "replace", "delete", "prune")
LEADS_TO = dict.fromkeys(STAGES[:7], ("index", "replace"))
LEADS_TO |= {"delete": ("delete",)} | dict.fromkeys(STAGES[8:], ("prune",))

State = dict[str, int | None]
"""Version of each document; None where it is absent."""


class Reference:
    """What each version of a document must look like: it alone, indexed without any interruption."""

    def __init__(self, store: OneStore) -> None:
        self._store = store
        self._engines: dict[tuple[str, int], Evigraph] = {}
        self._rows: dict[tuple[str, int], Any] = {}
        self._texts: dict[tuple[str, int], str] = {}
        self._guard = threading.RLock()

    def engine(self, name: str, version: int) -> Evigraph:
        with self._guard:
            if (name, version) not in self._engines:
                engine = self._store.engine(f"{name}-{version}", embedder=embedder())
                assert engine.index([item_of(name, version)]).errors == ()
                self._engines[name, version] = engine
            return self._engines[name, version]

    def rows(self, name: str, version: int) -> Any:
        if (name, version) not in self._rows:
            engine = self.engine(name, version)
            self._rows[name, version] = stored(engine.store, engine.workspace)["documents"][name]
        return self._rows[name, version]

    def text(self, name: str, version: int) -> str:
        with self._guard:
            if (name, version) not in self._texts:
                self._texts[name, version] = self.engine(name, version).document_text(name)
            return self._texts[name, version]

    def evidence(self, name: str, version: int, mode: str) -> Any:
        answer = self.engine(name, version).ask(**_question(name, version, mode))
        return _comparable(answer_to_wire(answer))


def _question(name: str, version: int, mode: str) -> dict[str, Any]:
    return {
        "question": f"What did Corrick Vane of {name.title()} repair near Tarn in Edition{version}?",
        "mode": mode,
        "document_filter": {"document_ids": [name]},
    }


def _comparable(value: Any) -> Any:
    """A response without times, and without what numbers the state of a store."""
    if isinstance(value, dict):
        return {
            key: _comparable(item)
            for key, item in value.items()
            if key not in ("revision", "generation", "cached") and not key.endswith("_ms")
        }
    return [_comparable(item) for item in value] if isinstance(value, list | tuple) else value


class Readers:
    """Threads that ask all the time, whichever server is up, and note every answer that shows a mixture."""

    def __init__(self, server: Server, reference: Reference, threads: int = 2) -> None:
        self.faults: list[str] = []
        self.answered = 0
        self.refused = 0
        """Connections that the kills cut off."""
        self._server = server
        self._reference = reference
        self._version_of: dict[tuple[str, int], int] = {}
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(threads)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        rng = random.Random(number)
        client = _client()
        while not self._stop.is_set():
            # Questions at all times, but the writer is what is watched here: it gets most of the processor.
            time.sleep(0.03)
            name = rng.choice(NAMES)
            body = {"query": f"Who repaired what at {name.title()} near Tarn?", "mode": rng.choice(MODES)}
            try:
                response = client.post(f"{self._server.url}/api/v1/query", json=body)
            except httpx2.TransportError:
                self.refused += 1
                continue
            try:
                assert response.status_code == 200, response.text
                self._check(response.json())
                self.answered += 1
            except Exception as error:
                self.faults.append(f"{body}: {type(error).__name__} {error}"[:2000])

    def _check(self, answer: Mapping[str, Any]) -> None:
        """All that an answer shows of a document is of one revision, and that revision holds one version."""
        shown: dict[str, set[tuple[int, int]]] = {}
        passages = [chunk for chunk in answer["chunks"] if not chunk["level"]]
        quotes = [quote for community in answer["communities"] for quote in community["quotes"]]
        citations, claims = answer["citations"], answer["relationships"]
        parts = {"chunks": passages, "quotes": quotes, "citations": citations, "relationships": claims}
        for part, items in parts.items():
            for item in items:
                text = item.get("text") or item.get("quote") or item.get("description")
                version = _edition(text)
                span = self._reference.text(item["document_id"], version)[item["start"] : item["end"]]
                assert span == text, f"{part}: {text!r} is not {span!r}"
                shown.setdefault(item["document_id"], set()).add((item["revision"], version))
        for document_id, pairs in shown.items():
            assert len(pairs) == 1, f"a mixture of {pairs} in {document_id}"
            [(revision, version)] = pairs
            with self._guard:
                known = self._version_of.setdefault((document_id, revision), version)
            assert known == version, f"revision {revision} of {document_id} was {known}, is {version}"


def _edition(text: str) -> int:
    """The one version that every sentence of a text names."""
    [found] = {int(word.removeprefix("Edition")) for word in text.split() if word.startswith("Edition")}
    return found


class Campaign:
    """Sends one operation after another, kills the server during each, and checks what is left."""

    def __init__(self, server: Server, reference: Reference, *, seed: int, rehearsals: int = 3) -> None:
        self.server = server
        self.reference = reference
        self.rng = random.Random(seed)
        self.state: State = dict.fromkeys(NAMES)
        self.versions: Counter[str] = Counter()
        self.checked: Counter[str] = Counter()
        """Versions up to which each document was looked for in the files."""
        self.kills: Counter[tuple[str, str]] = Counter()
        """`(stage, outcome)`; stage `idle` are kills that came when the operation was over."""
        self.usual: dict[str, float] = {}
        self.sender = ThreadPoolExecutor(1)
        self.client = _client()
        server.start()
        for _ in range(rehearsals):
            self._rehearse()
        self._check_state(self.state, self.state)

    @property
    def inside(self) -> Counter[str]:
        """Kills inside an operation, by stage."""
        return Counter({stage: self._count(stage) for stage in {stage for stage, _ in self.kills} - {"idle"}})

    def _count(self, stage: str) -> int:
        return sum(number for (name, _), number in self.kills.items() if name == stage)

    # ------------------------------------------------------------ operations

    def _next(self, operation: str) -> tuple[Callable[[], httpx2.Response], State]:
        """A request, and the state it leads to."""
        after = dict(self.state)
        present = sorted(name for name in NAMES if self.state[name] is not None)
        absent = sorted(set(NAMES) - set(present))
        if operation in ("delete", "replace") and not present:
            operation = "index"
        if operation == "index" and not absent:
            operation = "replace"
        url = self.server.url
        if operation == "prune":
            return lambda: self.client.post(f"{url}/api/v1/prune"), after
        if operation == "delete":
            name = self.rng.choice(present)
            after[name] = None
            return lambda: self.client.delete(f"{url}/api/v1/documents/{name}"), after
        pool = absent if operation == "index" else present
        chosen = self.rng.sample(pool, min(len(pool), self.rng.randint(1, 3)))
        for name in chosen:
            self.versions[name] += 1
            after[name] = self.versions[name]
        items = [item_of(name, self.versions[name]) for name in chosen]
        return lambda: self.client.post(f"{url}/api/v1/documents", json={"documents": items}), after

    def _rehearse(self) -> None:
        """Each operation without a kill, to learn how long it and its stages take."""
        for operation in ("index", "replace", "delete", "prune"):
            before = len(self.server.history())
            request, after = self._next(operation)
            started = time.monotonic()
            response = request()
            assert response.status_code == 200, response.text
            self.state = after
            self._learn(operation, time.monotonic() - started, before)

    def _learn(self, operation: str, seconds: float, before: int) -> None:
        spans: dict[str, list[float]] = {operation: [seconds]}
        marks = self.server.history()[max(0, before - 1) :]
        for (start, stage), (end, _) in pairwise(marks):
            if main_stage(stage) in STAGES:
                spans.setdefault(main_stage(stage), []).append(end - start)
        for name, found in spans.items():
            self.usual[name] = max(self.usual.get(name, 0.0), median(found))

    # ------------------------------------------------------------ kills

    def _supersede(self) -> None:
        """Replace a document, so that a prune has something to remove."""
        request, after = self._next("replace")
        response = request()
        assert response.status_code == 200, response.text
        self.state = after

    def strike(self, operation: str, stage: str | None = None) -> str:
        """Kill at a random moment of an operation, or of one of its stages; check; return the stage it hit."""
        if operation == "prune":
            self._supersede()
        request, after = self._next(operation)
        start = self.server.marks.stat().st_size
        sent: Future[httpx2.Response] = self.sender.submit(request)
        if stage is None:
            time.sleep(self.rng.uniform(0.0, self.usual[operation]))
        elif self.server.wait_for(stage, start, sent.done):
            # At once every other time: what is over as soon as it has begun would hardly be hit otherwise.
            time.sleep(self.rng.choice((0.0, self.rng.uniform(0.0, self.usual[stage]))))
        mark = self.server.kill()
        acknowledged = _acknowledged(sent)
        hit = main_stage(mark)
        if stage is not None and hit != stage:
            self.usual[stage] *= 0.8  # too late: the machine was slower when the stage was timed
        self.server.start()
        found = self._check_state(after if acknowledged else self.state, after, job=operation if hit in STAGES else "")
        changed = [name for name in NAMES if self.state[name] != after[name]]
        new = sum(found[name] == after[name] for name in changed)
        outcome = "no change" if not changed else "new" if new == len(changed) else "some" if new else "old"
        self.kills["idle" if acknowledged else hit, "acknowledged" if acknowledged else outcome] += 1
        self.state = found
        if hit.startswith("prune") or sum(self.kills.values()) % 10 == 0:
            self.prune()
        return hit

    def prune(self) -> None:
        """A prune that nothing interrupts works, changes nothing that is visible, and leaves nothing else."""
        response = self.client.post(f"{self.server.url}/api/v1/prune")
        assert response.status_code == 200, response.text
        self._check_state(self.state, self.state)
        hidden = self.client.get(f"{self.server.url}/state").json()["hidden"]
        assert not any(hidden.values()), hidden
        gone = [
            secret_of(name, version)
            for name in NAMES
            for version in range(self.checked[name] + 1, self.versions[name] + 1)
            if version != self.state[name]
        ]
        assert files_with_any(self.server.store, gone) == {}
        # What is still visible goes later, and is looked for then.
        self.checked = Counter({name: (self.state[name] or self.versions[name] + 1) - 1 for name in NAMES})

    def _check_state(self, old: State, new: State, job: str = "") -> State:
        """Every document is wholly `old` or wholly `new`; return which. `job` names the run that was interrupted."""
        response = self.client.get(f"{self.server.url}/state")
        assert response.status_code == 200, response.text
        shown = response.json()
        found: State = {}
        for name in NAMES:
            rows = shown["documents"].get(name)
            allowed = dict.fromkeys((old[name], new[name]))
            matching = [version for version in allowed if rows == self._rows(name, version, rows)]
            assert matching, f"{name} is neither {old[name]} nor {new[name]}: {rows}"
            found[name] = matching[0]
            if found[name] is not None and old[name] != new[name]:
                self._check_evidence(name, found[name])
        assert shown["documents"].keys() <= set(NAMES)
        assert all(state != "running" for _, state, _ in shown["jobs"]), shown["jobs"]
        if job in ("index", "replace", "prune"):
            kind, state, error = shown["jobs"][0]
            assert (kind, state) == ("prune" if job == "prune" else "index", "failed"), shown["jobs"][0]
            assert "interrupted" in error
        return found

    def _rows(self, name: str, version: int | None, like: Any) -> Any:
        if version is None or like is None:
            return None if version is None else {}
        return {**self.reference.rows(name, version), "revision": like["revision"]}

    def _check_evidence(self, name: str, version: int | None) -> None:
        assert version is not None
        for mode in (self.rng.choice(MODES), "mix"):
            asked = _question(name, version, mode)
            body = {"query": asked.pop("question"), **asked}
            response = self.client.post(f"{self.server.url}/api/v1/query", json=body)
            assert response.status_code == 200, response.text
            assert _comparable(response.json()) == self.reference.evidence(name, version, mode)


def _client() -> httpx2.Client:
    """No connection outlives a server; certificates are nothing to this test and slow to load."""
    return httpx2.Client(timeout=120, trust_env=False, verify=False, limits=httpx2.Limits(max_keepalive_connections=0))


def _acknowledged(sent: Future[httpx2.Response]) -> bool:
    try:
        response = sent.result()
    except httpx2.TransportError:
        return False
    assert response.status_code == 200, response.text
    return True


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    store = OneStore(tmp_path_factory.mktemp("reference"))
    yield Reference(store)
    store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def check_readers(readers: Readers) -> None:
    assert readers.faults == [], f"{len(readers.faults)} faults; the first: {readers.faults[0]}"
    assert readers.answered > 10


def table(campaign: Campaign, readers: Readers, seconds: float) -> str:
    outcomes = sorted({outcome for _, outcome in campaign.kills})
    lines = ["", f"{'killed in':<18}" + "".join(f"{outcome:>14}" for outcome in (*outcomes, "all"))]
    for stage in sorted({stage for stage, _ in campaign.kills}):
        numbers = [campaign.kills[stage, outcome] for outcome in outcomes]
        lines.append(f"{stage:<18}" + "".join(f"{number:>14}" for number in (*numbers, sum(numbers))))
    lines.append(
        f"{sum(campaign.inside.values())} kills inside an operation in {seconds:.0f} s; "
        f"readers: {readers.answered} answers, {readers.refused} connections cut, {len(readers.faults)} faults\n"
    )
    return "\n".join(lines)


@pytest.mark.verify
def test_a_few_kills(server: Server, reference: Reference) -> None:
    campaign = Campaign(server, reference, seed=1, rehearsals=1)
    with Readers(server, reference) as readers:
        for stage in ("embed", "stage", "publish", "delete", "prune:mutation"):
            campaign.strike(LEADS_TO[stage][0], stage)
        campaign.strike("replace")
        campaign.prune()
    check_readers(readers)


def strike_everywhere(campaign: Campaign) -> None:
    """Sixty kills at any moment of an operation; then in each stage in turn, until each was hit six times."""
    while sum(campaign.inside.values()) < 60:
        campaign.strike(campaign.rng.choices(OPERATIONS, (3, 4, 2, 2))[0])
    for attempt in range(300):
        lacking = [stage for stage in STAGES if campaign.inside[stage] < 6]
        if not lacking and sum(campaign.inside.values()) >= 110:
            break
        stage = (lacking or STAGES)[attempt % len(lacking or STAGES)]
        campaign.strike(campaign.rng.choice(LEADS_TO[stage]), stage)
    # Between what makes a revision visible and the reply lie a few milliseconds, which a loaded machine may miss.
    for _ in range(60):
        if "new" in {outcome for _, outcome in campaign.kills}:
            break
        campaign.usual["publish"] *= 1.5
        campaign.strike("index", "publish")


@pytest.mark.verify
def test_a_hundred_kills(server: Server, reference: Reference, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    campaign = Campaign(server, reference, seed=7)
    with Readers(server, reference) as readers:
        try:
            strike_everywhere(campaign)
            campaign.prune()
        finally:
            with capsys.disabled():
                sys.stdout.write(table(campaign, readers, time.monotonic() - started))
    check_readers(readers)
    assert sum(campaign.inside.values()) >= 100
    assert all(campaign.inside[stage] >= 5 for stage in STAGES), campaign.inside
    assert {"old", "new"} <= {outcome for _, outcome in campaign.kills}
