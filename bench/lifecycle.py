"""Time to delete one document and to re-index one changed document, in a small and in a large corpus.

    python bench/lifecycle.py [--small 1000] [--large 20000] [--repetitions 25] [--out bench/results/lifecycle.json]

Each corpus is a store of its own, in a process of its own; the two take turns, so that both see the same machine. The
embedder hashes words and the extractor is a rule: no model's time is in the way. What is printed: medians in
milliseconds, elapsed and of the processor, rows and bytes that each operation inserted and read (the engine's
counters), and the ratios of the medians with their 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from evigraph import Evigraph, __version__
from evigraph.testing.models import HashEmbedder
from evigraph.text.names import entity_id, name_key
from evigraph.types import Assertion, Extraction, Mention, Passage

PER_DOCUMENT = 5
"""Passages of a document, each a paragraph about as long as the embedder reads."""
OPERATIONS = ("delete", "reindex")
COUNTERS = ("InsertedRows", "InsertedBytes", "SelectedRows", "SelectedBytes", "MergedRows")
VERBS = ("supplies", "audits", "repairs", "visits", "funds", "trains")
NAMES = 400
WORDS = 3_000


class Capitals:
    """Names such as `Site12` are places; two in one sentence are linked by the word after the first."""

    name = "capitals"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        mentions: list[Mention] = []
        assertions: list[Assertion] = []
        for passage in passages:
            for start, end in passage.sentences:
                sentence = passage.text[start - passage.start : end - passage.start]
                found = list(re.finditer(r"\b[A-Z][a-z]+\d+\b", sentence))
                mentions += [_mention(passage, match, start) for match in found]
                assertions += [
                    _assertion(passage, left, right, sentence, start)
                    for left, right in pairwise(found)
                    if left.group() != right.group()
                ]
        return Extraction(mentions=tuple(mentions), assertions=tuple(assertions))


def _identity(name: str) -> str:
    return entity_id(name_key(name), "LOCATION")


def _mention(passage: Passage, match: re.Match[str], start: int) -> Mention:
    name = match.group()
    return Mention(
        passage_index=passage.index,
        entity_id=_identity(name),
        key=name_key(name),
        name=name,
        type="LOCATION",
        start=start + match.start(),
        end=start + match.end(),
        extractor=Capitals.name,
    )


def _assertion(passage: Passage, left: re.Match[str], right: re.Match[str], sentence: str, start: int) -> Assertion:
    return Assertion(
        passage_index=passage.index,
        subject_id=_identity(left.group()),
        subject_name=left.group(),
        subject_type="LOCATION",
        predicate=sentence[left.end() :].split(maxsplit=1)[0].upper(),
        object_id=_identity(right.group()),
        object_name=right.group(),
        object_type="LOCATION",
        description=sentence,
        start=start,
        end=start + len(sentence),
        extractor=Capitals.name,
    )


def item(number: int, version: int) -> dict[str, Any]:
    """A document of five paragraphs; every version has other words."""
    rng = random.Random(f"{number} {version}")
    paragraphs = []
    for _ in range(PER_DOCUMENT):
        sentences = []
        for _ in range(4):
            left, right = (f"Site{rng.randrange(NAMES)}" for _ in range(2))
            filler = " ".join(f"word{int(rng.paretovariate(0.7)) % WORDS}" for _ in range(7))
            sentences.append(f"{left} {rng.choice(VERBS)} {right} with {filler}.")
        paragraphs.append(" ".join(sentences))
    return {"document_id": f"d{number}", "source": f"d{number}.txt", "text": "\n\n".join(paragraphs)}


# ---------------------------------------------------------------- one corpus


def serve_corpus(folder: str, passages: int) -> None:
    """Build the corpus, or, where it is built, carry out one operation per line of standard input and say what it
    took."""
    documents = passages // PER_DOCUMENT
    with Evigraph(folder, embedder=HashEmbedder(max_tokens=48), extractor=Capitals()) as graph:
        if not graph.documents():
            started = time.perf_counter()
            graph.index(item(number, 0) for number in range(documents))
            held = sum(info.passages for info in graph.documents())
            _settle(graph)
            _reply({"passages": held, "documents": documents, "build_s": round(time.perf_counter() - started, 1)})
            return
        _settle(graph)
        numbers = iter(random.Random(1).sample(range(documents), documents))
        for version, line in enumerate(sys.stdin, start=1):
            if line.strip() == "settle":
                _settle(graph)
                _reply({})
            else:
                _reply(_measure(graph, line.strip(), next(numbers), version))


def _measure(graph: Evigraph, operation: str, number: int, version: int) -> dict[str, Any]:
    changed = item(number, version)

    def delete() -> None:
        graph.delete(f"d{number}")

    def reindex() -> None:
        [document] = graph.index(changed).documents
        assert document.status == "replaced", document

    work: Callable[[], None] = {"delete": delete, "reindex": reindex}[operation]
    before = _counters(graph)
    started, computed = time.perf_counter(), time.process_time()
    work()
    seconds, busy = time.perf_counter() - started, time.process_time() - computed
    after = _counters(graph)
    return {"ms": 1000 * seconds, "cpu_ms": 1000 * busy, **{name: after[name] - before[name] for name in COUNTERS}}


def _counters(graph: Evigraph) -> dict[str, int]:
    rows = graph.store.rows(
        "SELECT event, value FROM system.events WHERE event IN {names:Array(String)}", {"names": list(COUNTERS)}
    )
    return {**dict.fromkeys(COUNTERS, 0), **dict(rows)}


def _settle(graph: Evigraph) -> None:
    """Wait until no merge of the parts just written is running."""
    quiet = 0
    while quiet < 4:
        running = graph.store.rows("SELECT count() FROM system.merges", {})[0][0]
        quiet = 0 if running else quiet + 1
        time.sleep(0.25)


def _reply(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


# ---------------------------------------------------------------- both in turns


class Corpus:
    """A corpus in a process of its own, which opened it after another had built it: what a build leaves in a process
    is not measured."""

    def __init__(self, folder: Path, passages: int) -> None:
        command = [sys.executable, __file__, "--corpus", str(passages), "--folder", str(folder)]
        self.facts: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, operation: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{operation}\n")
        self._process.stdin.flush()
        return self._hear()

    def close(self) -> None:
        self._process.communicate()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


def run(small: int, large: int, repetitions: int) -> dict[str, Any]:
    """Warm both up, then let them take turns, who is first alternating. Each operation begins when neither store is
    merging parts: what a merge costs is counted where it falls into the operation."""
    with tempfile.TemporaryDirectory() as folder:
        corpora = {name: Corpus(Path(folder) / name, size) for name, size in (("small", small), ("large", large))}
        measured: dict[str, dict[str, list[dict[str, Any]]]] = {
            operation: {name: [] for name in corpora} for operation in OPERATIONS
        }
        for repetition in range(-3, repetitions):
            for operation in OPERATIONS:
                for name in sorted(corpora, reverse=repetition % 2 == 0):
                    for corpus in corpora.values():
                        corpus.do("settle")
                    figures = corpora[name].do(operation)
                    if repetition >= 0:
                        measured[operation][name].append(figures)
        for corpus in corpora.values():
            corpus.close()
    return {
        "version": __version__,
        "repetitions": repetitions,
        "corpora": {name: corpus.facts for name, corpus in corpora.items()},
        "operations": {operation: _summary(both) for operation, both in measured.items()},
    }


def _summary(both: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians of both corpora, and the ratios of elapsed and of processor time."""
    summary: dict[str, Any] = {
        name: {
            key: round(statistics.median(figures[key] for figures in found), 2) for key in ("ms", "cpu_ms", *COUNTERS)
        }
        for name, found in both.items()
    }
    for key, label in (("ms", "ratio"), ("cpu_ms", "cpu_ratio")):
        small, large = ([figures[key] for figures in both[name]] for name in ("small", "large"))
        low, high = _interval(small, large)
        summary[label] = round(statistics.median(large) / statistics.median(small), 3)
        summary[f"{label}_95"] = [round(low, 3), round(high, 3)]
    return summary


def _interval(small: Sequence[float], large: Sequence[float], rounds: int = 4_000) -> tuple[float, float]:
    """Bootstrap interval of the ratio of medians."""
    rng = random.Random(0)
    ratios = sorted(
        statistics.median(rng.choices(large, k=len(large))) / statistics.median(rng.choices(small, k=len(small)))
        for _ in range(rounds)
    )
    return ratios[int(0.025 * rounds)], ratios[int(0.975 * rounds)]


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The result as a table."""
    sizes = {name: facts["passages"] for name, facts in result["corpora"].items()}
    head = (
        "operation",
        "passages",
        "ms",
        "cpu ms",
        "rows in",
        "bytes in",
        "rows read",
        "ratio",
        "95 %",
        "of cpu",
        "95 %",
    )
    yield "".join(f"{word:>11}" for word in head)
    for operation, found in result["operations"].items():
        for name, size in sizes.items():
            figures = found[name]
            shown = [operation, f"{size:,}", f"{figures['ms']:.1f}", f"{figures['cpu_ms']:.1f}"]
            shown += [f"{figures[counter]:,.0f}" for counter in ("InsertedRows", "InsertedBytes", "SelectedRows")]
            for label in ("ratio", "cpu_ratio") if name == "large" else ():
                low, high = found[f"{label}_95"]
                shown += [f"{found[label]:.2f}", f"{low:.2f}-{high:.2f}"]
            yield "".join(f"{word:>11}" for word in shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=25)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--corpus", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.corpus:
        serve_corpus(given.folder, given.corpus)
        return
    result = run(given.small, given.large, given.repetitions)
    print("\n".join(lines(result)))
    if given.out is not None:
        given.out.parent.mkdir(exist_ok=True)
        given.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
