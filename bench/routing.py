"""Trains the router of `auto` and says how it does: the table of weights in `query/route/weights.py`.

    python bench/routing.py            measure and print
    python bench/routing.py --write    and write the weights of all questions

What it learns from: the development questions of `sample/routing` (each with a twin without its tell-tale words), the
sample's own `questions.jsonl`, which say only whether a question is global, and the everyday examples of
`query/route/examples.py`. Measured across halves, where each half is routed by a model that learnt from the other, and
by cross-validation over all. A question and its twin are always on the same side. Word lists and examples were written
with all these questions in view: what an unseen question can expect, only a test set tells.

Indexing the sample takes a minute the first time and is kept in --data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from evigraph import Evigraph
from evigraph.query.request import parse
from evigraph.query.route.examples import EXAMPLES, NAMES
from evigraph.query.route.likeness import reader
from evigraph.query.route.model import CLASSES
from evigraph.query.route.names import Thing
from evigraph.query.route.signals import lexical, retrieved, worded
from evigraph.query.understand import understand
from evigraph.sample import corpus_path, questions_path

SHRINKAGE = 1.0
"""L2 penalty of the weights: half this times their square is added to the summed log loss."""
GLOBAL_COST = 2.0
"""What a question that is global weighs beside one that is not: answering it from a part of the corpus is the error
that nobody sees."""
FOLDS = 10
ROUNDS = 5
HALVES = ("dev", "test")
SETS = ("dev", "dev_plain", "test", "test_plain")
OWN = "questions"
EVERYDAY = "examples"
EXAMPLE_WEIGHT = 0.75
"""Rarity of a name in the examples, which are of no corpus: that of an ordinary name in the sample."""
OUTPUT = Path(__file__).parents[1] / "src/evigraph/query/route/weights.py"

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Data:
    """One row a question: where it is from, its group (itself and its twin), its signals, and 1 for each class that its
    label allows."""

    source: NDArray[np.str_]
    group: list[str]
    kind: NDArray[np.str_]
    names: list[str]
    values: Matrix
    allowed: Matrix

    @property
    def labels(self) -> NDArray[np.int64]:
        return self.allowed.argmax(axis=1)


def questions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measured(graph: Evigraph) -> Data:
    """All questions and examples with their signals. What only a corpus tells is average for an example."""
    folder = questions_path().parent / "routing"
    labelled = [(name, item) for name in SETS for item in questions(folder / f"{name}.jsonl")]
    labelled += [(OWN, item) for item in questions(questions_path())]
    rows: list[Mapping[str, float]] = []
    for _, item in labelled:
        with graph.queries.open(parse({"query": item["question"]})) as run:
            understand(run)
            rows.append({name: found.value for name, found in {**lexical(run), **retrieved(run)}.items()})
    centres = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    rows += [{**centres, **row} for row in example_rows(graph)]
    everyday = [(route, text) for route, examples in EXAMPLES.items() for text in examples]
    return Data(
        source=np.array([name for name, _ in labelled] + [EVERYDAY] * len(everyday)),
        group=[str(item["id"]).removesuffix("-plain") for _, item in labelled] + [text for _, text in everyday],
        kind=np.array([str(item.get("type", "")) for _, item in labelled] + [""] * len(everyday)),
        names=list(centres),
        values=np.array([[row[name] for name in centres] for row in rows]),
        allowed=np.array(
            [allowed_classes(item["route"], name) for name, item in labelled]
            + [allowed_classes(route, EVERYDAY) for route, _ in everyday]
        ),
    )


def example_rows(graph: Evigraph) -> list[dict[str, float]]:
    """Signals of the examples: what their words say, and what they read like to the other examples."""
    with graph.queries.open(parse({"query": "x"})) as run:
        unseen = reader(run.embedder()).unseen
    rows = []
    for text, read in zip((text for examples in EXAMPLES.values() for text in examples), unseen, strict=True):
        named = [
            Thing(text=found.group(), start=found.start(), end=found.end(), weight=EXAMPLE_WEIGHT, known=True)
            for found in NAMES.finditer(text)
        ]
        row = {name: found.value for name, found in worded(text, named).items()}
        rows.append(row | {f"reads_like_{route}": float(read[at]) for at, route in enumerate(EXAMPLES)})
    return rows


def allowed_classes(label: str, of: str) -> list[float]:
    """1 for each class that the label allows. The sample's own questions tell global ones (`local` is the rest)."""
    if of != OWN or label == "global":
        return [float(route == label) for route in CLASSES]
    return [float(route != "global") for route in CLASSES]


def fit(values: Matrix, allowed: Matrix) -> Matrix:
    """Weights of a multinomial logistic regression, one column a class; the last row is the prior, not shrunk.

    What is likely of a question is that it is of one of the allowed classes.
    """
    count, width = values.shape
    extended = np.hstack([values, np.ones((count, 1))])
    # What only `global` fits is the class that must not be missed.
    costs = np.where(allowed[:, [CLASSES.index("global")]] == 1, GLOBAL_COST, 1.0)
    shrunk = np.append(np.full(width, SHRINKAGE), 0.0)[:, None]

    def loss(flat: Matrix) -> tuple[float, Matrix]:
        weights = flat.reshape(width + 1, len(CLASSES))
        found = softmax(extended @ weights)
        right = found * allowed
        likelihood = right.sum(axis=1, keepdims=True)
        value = -(costs * np.log(likelihood)).sum() + 0.5 * (shrunk * weights**2).sum()
        return float(value), (extended.T @ (costs * (found - right / likelihood)) + shrunk * weights).ravel()

    start = np.zeros((width + 1) * len(CLASSES))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2_000})
    weights = found.x.reshape(width + 1, len(CLASSES))
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def softmax(scores: Matrix) -> Matrix:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def routed(data: Data, learnt: Flags, asked: Flags) -> Matrix:
    """Probabilities of the asked questions by a model that learnt from the others."""
    centres = data.values[learnt].mean(axis=0)
    weights = fit(data.values[learnt] - centres, data.allowed[learnt])
    return softmax((data.values[asked] - centres) @ weights[:-1] + weights[-1])


def across_halves(data: Data) -> Matrix:
    """Probabilities `(1, questions, classes)`: each half by a model that learnt from the other half, the examples and
    the sample's own questions. Those of the latter two are left 0."""
    found = np.zeros((1, len(data.group), len(CLASSES)))
    for half in HALVES:
        asked = np.isin(data.source, (half, f"{half}_plain"))
        found[0, asked] = routed(data, ~asked, asked)
    return found


def cross_validate(data: Data) -> Matrix:
    """Probabilities `(ROUNDS, questions, classes)` of each question by models that saw neither it nor its twin."""
    found = np.zeros((ROUNDS, len(data.group), len(CLASSES)))
    everyday = data.source == EVERYDAY
    for number in range(ROUNDS):
        parts = folds(data.labels, data.group, number)
        for fold in range(FOLDS):
            asked = (parts == fold) & ~everyday
            found[number, asked] = routed(data, ~asked, asked)
    return found


def folds(labels: NDArray[np.int64], groups: Sequence[str], seed: int) -> NDArray[np.int64]:
    """A fold for each question: groups stay whole, classes are spread evenly."""
    generator = np.random.default_rng(seed)
    of_group: dict[str, int] = {}
    for label in range(len(CLASSES)):
        members = sorted({group for group, own in zip(groups, labels, strict=True) if own == label})
        for place, at in enumerate(generator.permutation(len(members))):
            of_group[members[at]] = place % FOLDS
    return np.array([of_group[group] for group in groups])


def report(name: str, found: Matrix, labels: NDArray[np.int64], chosen: Flags) -> None:
    """Accuracy, misses of global, and the confusion matrix in per cent of the class, over all rounds."""
    predicted, wanted = found.argmax(axis=2)[:, chosen], labels[chosen]
    share = np.zeros((len(CLASSES), len(CLASSES)))
    for row in predicted:
        np.add.at(share, (wanted, row), 1)
    share /= share.sum(axis=1, keepdims=True)
    at = CLASSES.index("global")
    print(f"\n{name}: {int(chosen.sum())} questions, accuracy {(predicted == wanted).mean():.3f}, ", end="")
    print(f"global missed {1 - share[at, at]:.3f}, others taken for global {np.delete(share, at, 0)[:, at].mean():.3f}")
    print(f"{'':10}" + "".join(f"{route:>10}" for route in CLASSES))
    for route, row in zip(CLASSES, share, strict=True):
        print(f"{route:10}" + "".join(f"{100 * value:9.1f}%" for value in row))


def report_own(data: Data, found: Matrix) -> None:
    """By type, the share of the sample's own questions taken for global."""
    taken = (found.argmax(axis=2) == CLASSES.index("global")).mean(axis=0)
    print(f"\n{OWN}: taken for global")
    for kind in sorted(set(data.kind[data.source == OWN])):
        own = (data.source == OWN) & (data.kind == kind)
        print(f"  {kind:12}{own.sum():4}{100 * taken[own].mean():8.1f}%")


def report_second(found: Matrix, labels: NDArray[np.int64], chosen: Flags) -> None:
    """How likely global is where it is only second: what the thresholds of `step.py` rest on."""
    at = CLASSES.index("global")
    order = np.argsort(-found[:, chosen], axis=2)
    second = (order[:, :, 1] == at) & (order[:, :, 0] != at)
    likely = found[:, chosen][:, :, at]
    wanted = np.broadcast_to(labels[chosen] == at, second.shape)
    for name, kept in (("global", second & wanted), ("other", second & ~wanted)):
        values = np.sort(likely[kept]).round(2)
        print(f"\nsecond is global, label {name}: {len(values)} decisions, least {values[:3]}, most {values[-3:]}")


def write(names: Sequence[str], centres: Matrix, weights: Matrix) -> None:
    rows = "".join(
        f'    "{name}": ({", ".join(f"{value:.3f}" for value in row)}),\n'
        for name, row in zip(names, weights, strict=False)
    )
    means = "".join(f'    "{name}": {value:.4f},\n' for name, value in zip(names, centres, strict=True))
    prior = "".join(f'    "{route}": {value:.3f},\n' for route, value in zip(CLASSES, weights[-1], strict=True))
    OUTPUT.write_text(
        '"""Weights of the router, written by `bench/routing.py --write`."""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Mapping\n\n"
        "from evigraph.routing import RouteClass\n\n"
        f"WEIGHTS: Mapping[str, tuple[float, float, float, float]] = {{\n{rows}}}\n"
        f'"""What one unit of a signal adds to the score of {", ".join(CLASSES)}."""\n\n'
        f"CENTRES: Mapping[str, float] = {{\n{means}}}\n"
        '"""Mean of each signal over the questions that the weights were learnt from."""\n\n'
        f"PRIOR: Mapping[RouteClass, float] = {{\n{prior}}}\n"
        '"""Score of each class for a question whose signals are all average."""\n',
        encoding="utf-8",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="./evigraph-bench")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with Evigraph(arguments.data) as graph:
        graph.index(corpus_path())
        data = measured(graph)
    for title, found in (("across halves", across_halves(data)), ("cross-validated", cross_validate(data))):
        for name in SETS:
            report(f"{title}, {name}", found, data.labels, data.source == name)
        report(f"{title}, all", found, data.labels, np.isin(data.source, SETS))
        report_second(found, data.labels, np.isin(data.source, SETS))
    report_own(data, found)
    if arguments.write:
        centres = data.values.mean(axis=0)
        write(data.names, centres, fit(data.values - centres, data.allowed))
        print(f"\nwrote {OUTPUT}")


if __name__ == "__main__":
    main()
