"""Time of opening, indexing and asking on the sample corpus, written to bench/results/latest.json.

    python bench/run.py

Medians of repeated runs in one process; compare ratios within one run, these figures move with the machine.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evigraph import Evigraph, __version__
from evigraph.sample import corpus_path, questions_path

MODES = ("naive", "keyword_lookup", "local", "global", "hybrid", "mix")


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    asked = [json.loads(line)["question"] for line in questions_path().read_text().splitlines()][::4]
    with tempfile.TemporaryDirectory() as folder:
        opening = time.perf_counter()
        with Evigraph(folder) as graph:
            figures: dict[str, object] = {"version": __version__, "open_s": time.perf_counter() - opening}
            figures["index_s"] = timed(lambda: graph.index(corpus_path()))
            figures["index_unchanged_s"] = timed(lambda: graph.index(corpus_path()))
            for mode in MODES:
                runs = [timed(lambda q=question, m=mode: graph.retrieve(q, mode=m)) for question in asked]
                figures[f"retrieve_{mode}_ms"] = round(1000 * statistics.median(runs), 1)
            runs = [timed(lambda q=question: graph.ask(q)) for question in asked]
            figures["ask_ms"] = round(1000 * statistics.median(runs), 1)
    result = json.dumps(figures, indent=2)
    (Path(__file__).parent / "results" / "latest.json").write_text(result + "\n")
    print(result)


if __name__ == "__main__":
    main()
