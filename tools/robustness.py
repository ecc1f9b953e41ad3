"""How much `mix` loses where a corpus or a question is worse than the sets have it.

    python tools/robustness.py [FOLDER] [--only SET ...] [--variant NAME ...] [--stores DIR] [--limit N]

FOLDER (default `../shared/data`) holds the development sets. Each variant is measured beside the plain run, paired by
question, and told as a line of JSON: titles taken out of the corpus; questions in lower case; questions with two
letters of their longest name swapped; all documents of the set joined into 30 long ones, where a passage counts as the
documents that it comes from; 10,000 passages of other sets added. Indexed stores are kept beside those of
`tools/scoreboard.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoreboard import ROOT, SETS, DevSet, Opener, code_hash, explained, load, place, say

from evigraph import Evigraph
from evigraph.evaluate import Dataset, load_dataset
from evigraph.evaluate.datasets import sample
from evigraph.evaluate.metrics import bootstrap, distinct, paired_difference, recall_at
from evigraph.text.names import question_ngrams
from evigraph.types import Chunk

Item = Mapping[str, Any]

MEASURED = ("musique_train100", "hotpotqa_train100")
OTHERS = ("scifact_train", "2wiki_train500", "musique_train100", "hotpotqa_train100")
"""Sets that unrelated passages are taken from, in order."""
ADDED = 10_000
LONG = 30
WIDE = {"mode": "mix", "max_chunks": 20, "max_context_tokens": 20_000}
"""Wide enough to rank ten documents."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What is changed. `most`: how much recall@5 may be lost."""

    name: str
    most: float
    corpus: Callable[[Sequence[Item], Path], list[Item]] | None = None
    question: Callable[[str], str] = str
    joined: bool = False


def untitled(items: Sequence[Item], folder: Path) -> list[Item]:
    return [{name: value for name, value in item.items() if name != "title"} for item in items]


def long_files(items: Sequence[Item], folder: Path) -> list[Item]:
    """The texts in their order, each under a heading of its title, cut into so many documents."""
    size = -(-len(items) // LONG)
    return [
        {"document_id": f"long-{at // size:02}", "text": "\n\n".join(part(item) for item in items[at : at + size])}
        for at in range(0, len(items), size)
    ]


def part(item: Item) -> str:
    return f"# {item.get('title') or 'Untitled'}\n\n{item['text'].strip()}"


def among_others(items: Sequence[Item], folder: Path) -> list[Item]:
    """The corpus and passages of other sets, none with a title of the corpus."""
    titles = {str(item.get("title", "")).lower() for item in items}
    ids = {item["document_id"] for item in items}
    added: list[Item] = []
    for name in OTHERS:
        if (folder / name).is_dir():
            for item in load_dataset(folder / name).items:
                if str(item.get("title", "")).lower() not in titles and len(added) < ADDED:
                    added.append({**item, "document_id": f"other/{name}/{item['document_id']}"})
    assert not ids & {item["document_id"] for item in added}
    if len(added) < ADDED:
        raise SystemExit(f"only {len(added)} unrelated passages in {folder}, {ADDED} are needed")
    return [*items, *added]


def misspelt(question: str) -> str:
    """Two inner letters of the longest word of a name swapped; a question without a name stays as it is."""
    words = [one for one in question_ngrams(question) if one.size == 1 and one.capital and len(one.text) >= 5]
    if not words:
        return question
    word = max(words, key=lambda one: (len(one.text), -one.start))
    text = word.text
    # The pair nearest to the middle that differs, so that the word does.
    places = sorted(range(1, len(text) - 2), key=lambda at: (abs(2 * at + 2 - len(text)), at))
    at = next((at for at in places if text[at] != text[at + 1]), None)
    if at is None:
        return question
    swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return question[: word.start] + swapped + question[word.end :]


PLAIN = Variant(name="plain", most=0.0)
VARIANTS = (
    Variant(name="untitled", most=0.08, corpus=untitled),
    Variant(name="lower-case", most=0.03, question=str.lower),
    Variant(name="misspelt", most=0.05, question=misspelt),
    Variant(name="long-files", most=0.10, corpus=long_files, joined=True),
    Variant(name="among-others", most=0.03, corpus=among_others),
)


class Origins:
    """Which documents of the set a passage of a long file comes from: those of which it holds at least half, in their
    order; of a long one, which no passage holds half of, the one it holds most of."""

    def __init__(self, engine: Evigraph, items: Sequence[Item]) -> None:
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        size = -(-len(items) // LONG)
        for info in engine.documents():
            text = engine.store.document_text(engine.workspace, info.document_id, info.revision)
            first = int(info.document_id.removeprefix("long-")) * size
            self._spans[info.document_id] = _spans(text, items[first : first + size])

    def __call__(self, chunk: Chunk) -> list[str]:
        held = [
            (min(chunk.end, end) - max(chunk.start, start), end - start, name)
            for start, end, name in self._spans[chunk.document_id]
        ]
        wholly = [name for common, length, name in held if 2 * common >= length]
        return wholly or [max(held, key=lambda one: one[0])[2]]


def _spans(text: str, items: Sequence[Item]) -> list[tuple[int, int, str]]:
    """Where the text of each item stands in its long file."""
    starts, at = [], 0
    for item in items:
        opening = " ".join(item["text"].split(maxsplit=5)[:5])
        at = text.find(opening, at)
        if at < 0:
            raise SystemExit(f"the text of {item['document_id']} is not found in its long file")
        starts.append(at)
    return [
        (start, min(end, start + len(item["text"].strip())), item["document_id"])
        for start, end, item in zip(starts, [*starts[1:], len(text)], items, strict=True)
    ]


def measure(engine: Evigraph, dataset: Dataset, variant: Variant, asked: Sequence[Any]) -> list[float]:
    """Recall@5 of each question."""
    whose: Callable[[Chunk], list[str]] = Origins(engine, dataset.items) if variant.joined else _document
    values = []
    for question in asked:
        evidence = engine.retrieve(variant.question(question.text), **WIDE)
        values.append(recall_at(distinct(name for chunk in evidence.chunks for name in whose(chunk)), question.gold, 5))
    return values


def _document(chunk: Chunk) -> list[str]:
    return [chunk.document_id]


def report(one: DevSet, variant: Variant, values: Sequence[float], plain: Sequence[float]) -> str:
    level, loss = bootstrap({"": values})[""], paired_difference(plain, values)
    return json.dumps(
        {
            "set": one.key,
            "variant": variant.name,
            "questions": len(values),
            "recall@5": round(level.mean, 4),
            "loss": [round(number, 4) for number in (loss.mean, loss.low, loss.high)],
            "allowed": variant.most,
            "code": code_hash(),
        }
    )


def main(arguments: Sequence[str] | None = None, *, sets: Sequence[DevSet] = SETS, opener: Opener = Evigraph) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", action="append", choices=[one.key for one in sets], metavar="SET")
    parser.add_argument("--variant", action="append", choices=[one.name for one in VARIANTS], metavar="NAME")
    parser.add_argument("--stores", type=Path, default=ROOT / ".scoreboard" / "stores", metavar="DIR")
    parser.add_argument("--limit", type=int, help="so many questions, drawn by their ids")
    options = parser.parse_args(arguments)
    for one in sets:
        if one.key not in (options.only or MEASURED):
            continue
        if not place(one, options.folder).is_dir():
            say(f"{one.key}: not in {options.folder}, left out")
            continue
        with explained(one.key):
            dataset = load(one, options.folder)
            ranked = [question for question in dataset.questions if question.gold]
            asked = sample(ranked, options.limit) if options.limit else ranked
            plain: list[float] = []
            for variant in (PLAIN, *(v for v in VARIANTS if v.name in (options.variant or [v.name]))):
                name = one.key if variant.corpus is None else f"{one.key}-{variant.name}"
                say(f"{one.key}: {variant.name}")
                with opener(options.stores / name) as engine:
                    changed = variant.corpus
                    engine.index(list(dataset.items) if changed is None else changed(dataset.items, options.folder))
                    values = measure(engine, dataset, variant, asked)
                plain = plain or values
                print(report(one, variant, values, plain), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
