"""Index one text of a given size with models that cost nothing; print passages and peak memory as JSON.

A process of its own, since peak memory is that of a process. `python big_text.py FOLDER MEGABYTES`.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evigraph import Evigraph, Settings
from evigraph.models.ports import Vectors
from evigraph.types import Extraction, Passage


class NoExtractor:
    name = "none"

    def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
        return Extraction()


class ConstantEmbedder:
    name = "constant"
    dimension = 4
    max_tokens = 256

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2


def write_text(path: Path, megabytes: int) -> None:
    """Paragraphs of a small vocabulary, some with umlauts; the same for every run."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghiklmnoprstuü", k=rng.randint(2, 10))) for _ in range(2_000)]
    sentences = [" ".join(rng.choices(words, k=12)).capitalize() + "." for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(" ".join(rng.choices(sentences, k=6)) + "\n\n")


def main(folder: Path, megabytes: int) -> None:
    path = folder / "big.txt"
    write_text(path, megabytes)
    settings = Settings(max_file_bytes=10**10)
    with Evigraph(folder / "store", settings=settings, embedder=ConstantEmbedder(), extractor=NoExtractor()) as graph:
        graph.index({"text": "Open every table once."})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        report = graph.index(path)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (document,) = report.documents
        last = graph.retrieve("word", mode="naive", min_score=-1, max_chunks=1).chunks
    figures = {
        "passages": document.passages,
        "errors": len(report.errors),
        "found": len(last),
        "before_mb": before / 1024,
        "grown_mb": (after - before) / 1024,
        "seconds": report.seconds,
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
