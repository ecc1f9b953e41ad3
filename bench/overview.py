"""Documents that corpus-wide answers cite, against the labelled documents of the sample: the table behind
`query/overview/relevance.py`.

    python bench/overview.py

Offline, over the corpus-wide questions of the sample. *Rankings* compare ways to order documents: average precision,
and recall among the best 36 (half of them), over the questions with a topic. *Cuts* compare how far down the chosen
ranking citing goes. *Held out* chooses the cut on all questions but one and reports that one, for each. *Levels* ask
the mode itself at each level of the tree. A document's score is that of its best passage or sentence.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evigraph import Evigraph
from evigraph.query.fusion import z_scores
from evigraph.query.overview import relevance
from evigraph.query.overview.relevance import rank, unit
from evigraph.query.overview.state import Relevance
from evigraph.query.overview.topic import Topic, metadata_keys, topic_of
from evigraph.query.request import parse
from evigraph.query.run import Run
from evigraph.query.understand import understand
from evigraph.sample import corpus_path, questions_path

DEPTHS = (0.9, 0.95, 1.0, 1.05, 1.1, 1.2)
WANTED = 0.85
"""Mean recall that a cut must reach to be chosen; of those that do, the one of best precision is."""
HALF = 36

Scores = Mapping[str, float]
"""By source."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    gold: frozenset[str]
    topical: bool
    rankings: Mapping[str, Scores]
    found: Relevance


def passage_rankings(run: Run, topic: Topic) -> dict[str, Scores]:
    """Simpler rankings, by passages alone."""
    snapshot, asked = run.snapshot, run.asked
    keys = sorted(hit.key for hit in snapshot.nearest_passages(asked.vector, 100_000))
    chunks = snapshot.chunks(keys)
    vectors = snapshot.passage_vectors(keys)
    matrix = np.array([vectors[key] for key in keys])

    def words(terms: Sequence[str]) -> NDArray[np.float64]:
        hits = {hit.key: hit.score for hit in snapshot.lexical(terms, run.counts, 100_000)}
        return np.array([hits.get(key, 0.0) for key in keys])

    def best(scores: NDArray[np.floating]) -> Scores:
        found: dict[str, float] = {}
        for key, score in zip(keys, scores.tolist(), strict=True):
            source = chunks[key].source
            found[source] = max(found.get(source, -1e9), score)
        return found

    dense = (matrix @ asked.vector).astype(np.float64)
    mixed = unit(asked.vector + run.embedder().embed([topic.text])[0]) if topic.text else asked.vector
    plain = z_scores(dense) + relevance.LEXICAL_WEIGHT * z_scores(words(asked.terms))
    lexical = relevance.LEXICAL_WEIGHT * z_scores(words(topic.terms))
    fused = z_scores((matrix @ mixed).astype(np.float64)) + lexical
    first = np.argsort(-fused, kind="stable")[: relevance.FED_BACK_PASSAGES]
    moved = unit(mixed + unit(matrix[first].mean(axis=0)))
    return {
        "dense passages": best(dense),
        "BM25 passages": best(words(asked.terms)),
        "dense + BM25": best(plain),
        "dense + BM25, topic": best(fused),
        "dense + BM25, topic, feedback": best(z_scores((matrix @ moved).astype(np.float64)) + lexical),
    }


def ask(graph: Evigraph, question: str, gold: Sequence[str]) -> Asked:
    with graph.queries.open(parse({"query": question})) as run:
        understand(run)
        topic = topic_of(question, run.counts.languages, metadata_keys(run))
        found = rank(run, topic, lambda keys: {})
        rankings = passage_rankings(run, topic)
    rankings["the mode: and sentences"] = {item.chunk.source: item.score for item in found.sentences}
    return Asked(gold=frozenset(gold), topical=bool(topic.terms), rankings=rankings, found=found)


def precision_at_gold(scores: Scores, gold: frozenset[str]) -> float:
    """Average precision; labelled documents that were not ranked count as never found."""
    hits, total = 0, 0.0
    for place, source in enumerate(sorted(scores, key=lambda source: (-scores[source], source)), start=1):
        if source in gold:
            hits += 1
            total += hits / place
    return total / len(gold)


def recall_among(scores: Scores, gold: frozenset[str], best: int) -> float:
    return len(gold & set(sorted(scores, key=lambda source: (-scores[source], source))[:best])) / len(gold)


def cited(asked: Asked, depth: float) -> set[str]:
    """What the mode would cite with another depth of its cut."""
    sentences = asked.found.sentences
    average = sum(item.worth for item in sentences) / len(sentences)
    return {item.chunk.source for item in sentences if not asked.topical or item.worth >= 1.0 - depth * (1.0 - average)}


def figures(asked: Sequence[Asked], depth: float) -> tuple[float, float, float]:
    """Mean recall, precision and number of cited documents."""
    found = [(item.gold, cited(item, depth)) for item in asked]
    return (
        float(np.mean([len(gold & chosen) / len(gold) for gold, chosen in found])),
        float(np.mean([len(gold & chosen) / len(chosen) for gold, chosen in found])),
        float(np.mean([len(chosen) for _, chosen in found])),
    )


def chosen_depth(asked: Sequence[Asked]) -> float:
    enough = [depth for depth in DEPTHS if figures(asked, depth)[0] >= WANTED] or [DEPTHS[-1]]
    return max(enough, key=lambda depth: figures(asked, depth)[1])


def show_levels(graph: Evigraph, questions: Sequence[Mapping[str, object]]) -> None:
    levels = [status.level for status in graph.communities.build().levels]
    for level in levels:
        rows: list[tuple[float, ...]] = []
        for question in questions:
            started = time.perf_counter()
            answer = graph.ask(str(question["question"]), mode="thematic_overview", community_level=level)
            gold = set(question["gold"])  # type: ignore[call-overload]
            found = {citation.source for citation in answer.citations}
            themes = sum(1 for block in (answer.text or "").split("\n\n") if "\n" in block)
            recall = len(gold & found) / len(gold)
            rows.append((recall, len(gold & found) / max(1, len(found)), len(answer.citations), themes,
                         len(answer.text or ""), time.perf_counter() - started))  # fmt: skip
        recall, precision, citations, themes, length, seconds = np.mean(np.array(rows), axis=0).tolist()
        communities = len(graph.communities.show(level, limit=1_000).communities)
        print(
            f"level {level} ({communities:4} communities)  recall {recall:.3f}  precision {precision:.3f}  "
            f"citations {citations:4.1f}  themes {themes:4.1f}  characters {length:.0f}  {seconds:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="./evigraph-bench")
    arguments = parser.parse_args()
    questions = [json.loads(line) for line in questions_path().read_text().splitlines()]
    questions = [item for item in questions if item["type"] == "corpus_wide"]
    with Evigraph(arguments.data, workspace="sample") as graph:
        graph.index(corpus_path())
        asked = [ask(graph, item["question"], item["gold"]) for item in questions]
        topical = [item for item in asked if item.topical]
        print(f"{len(asked)} questions, {len(topical)} with a topic\n\nrankings (questions with a topic)")
        mean: Callable[[list[float]], float] = lambda values: sum(values) / len(values)  # noqa: E731
        for name in asked[0].rankings:
            precision = mean([precision_at_gold(item.rankings[name], item.gold) for item in topical])
            recall = mean([recall_among(item.rankings[name], item.gold, HALF) for item in topical])
            print(f"{name:32} average precision {precision:.3f}  recall among {HALF} {recall:.3f}")
        print("\ncuts (all questions | with a topic)")
        for depth in DEPTHS:
            every, some = figures(asked, depth), figures(topical, depth)
            mark = " <- in force" if depth == relevance.DEPTH else ""
            print(f"depth {depth:4}  recall {every[0]:.3f}  precision {every[1]:.3f}  documents {every[2]:4.1f} | "
                  f"{some[0]:.3f}  {some[1]:.3f}  {some[2]:4.1f}{mark}")  # fmt: skip
        print("\nheld out")
        out = []
        for place, item in enumerate(asked):
            depth = chosen_depth([other for at, other in enumerate(asked) if at != place])
            out.append((depth, *figures([item], depth)))
            print(f"{questions[place]['id']}  depth {depth:4}  recall {out[-1][1]:.2f}  precision {out[-1][2]:.2f}  "
                  f"documents {out[-1][3]:.0f}")  # fmt: skip
        print(f"mean recall {mean([row[1] for row in out]):.3f}, precision {mean([row[2] for row in out]):.3f}")
        print("\nlevels")
        show_levels(graph, questions)


if __name__ == "__main__":
    main()
