"""Trains the router of `auto` and says how it does: the table of weights in `query/route/weights.py`.

    python bench/routing.py            cross-validate and print
    python bench/routing.py --write    and write the weights of all questions

Development sets only: `sample/routing/dev.jsonl`, the same questions without their tell-tale words, and the sample's
own `questions.jsonl`, which say only whether a question is global. A question and its plain twin are always in the same
fold. Indexing the sample takes a minute the first time and is kept in --data.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from evigraph import Evigraph
from evigraph.query.request import parse
from evigraph.query.route.model import CLASSES
from evigraph.query.route.signals import lexical, retrieved
from evigraph.query.understand import understand
from evigraph.sample import corpus_path, questions_path

SHRINKAGE = 2.0
"""L2 penalty of the weights: half this times their square is added to the summed log loss."""
GLOBAL_COST = 2.0
"""What a question that is global weighs beside one that is not: answering it from a part of the corpus is the error
that nobody sees."""
FOLDS = 10
ROUNDS = 5
SETS = ("dev", "dev_plain")
OWN = "questions"
OUTPUT = Path(__file__).parents[1] / "src/evigraph/query/route/weights.py"

Matrix = NDArray[np.float64]


def questions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(graph: Evigraph, asked: Sequence[str]) -> tuple[list[str], Matrix]:
    """Names of the signals, and their values: one row a question."""
    rows = []
    for question in asked:
        with graph.queries.open(parse({"query": question})) as run:
            understand(run)
            rows.append({name: found.value for name, found in {**lexical(run), **retrieved(run)}.items()})
    return list(rows[0]), np.array([list(row.values()) for row in rows])


def fit(values: Matrix, allowed: Matrix) -> Matrix:
    """Weights of a multinomial logistic regression, one column a class; the last row is the prior, not shrunk.

    `allowed` has 1 for each class that a question may be of; what is likely is that it is of one of these.
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


def folds(labels: NDArray[np.int64], groups: Sequence[str], seed: int) -> NDArray[np.int64]:
    """A fold for each question: groups stay whole, classes are spread evenly."""
    generator = np.random.default_rng(seed)
    of_group: dict[str, int] = {}
    for label in range(len(CLASSES)):
        members = sorted({group for group, own in zip(groups, labels, strict=True) if own == label})
        for place, at in enumerate(generator.permutation(len(members))):
            of_group[members[at]] = place % FOLDS
    return np.array([of_group[group] for group in groups])


def allowed_classes(item: dict[str, Any], of: str) -> list[float]:
    """1 for each class that the label allows. The sample's own questions tell global ones (`local` is the rest)."""
    if of != OWN or item["route"] == "global":
        return [float(route == item["route"]) for route in CLASSES]
    return [float(route != "global") for route in CLASSES]


def cross_validate(values: Matrix, allowed: Matrix, groups: Sequence[str]) -> Matrix:
    """Probabilities of each question by models that saw neither it nor its twin: `(ROUNDS, questions, classes)`."""
    found = np.zeros((ROUNDS, len(allowed), len(CLASSES)))
    for number in range(ROUNDS):
        parts = folds(allowed.argmax(axis=1), groups, number)
        for fold in range(FOLDS):
            left_out = parts == fold
            weights = fit(values[~left_out], allowed[~left_out])
            found[number, left_out] = softmax(values[left_out] @ weights[:-1] + weights[-1])
    return found


def report(name: str, found: Matrix, labels: NDArray[np.int64], chosen: NDArray[np.bool_]) -> None:
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


def report_own(found: Matrix, labelled: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """By type, the share of the sample's own questions taken for global."""
    taken = (found.argmax(axis=2) == CLASSES.index("global")).mean(axis=0)
    print(f"\n{OWN}: taken for global")
    for kind in sorted({item["type"] for name, item in labelled if name == OWN}):
        own = [at for at, (name, item) in enumerate(labelled) if name == OWN and item["type"] == kind]
        print(f"  {kind:12}{len(own):4}{100 * taken[own].mean():8.1f}%")


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
        '"""Mean of each signal over the questions of the development sets."""\n\n'
        f"PRIOR: Mapping[RouteClass, float] = {{\n{prior}}}\n"
        '"""Score of each class for a question whose signals are all average."""\n',
        encoding="utf-8",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="./evigraph-bench")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folder = questions_path().parent / "routing"
    labelled = [(name, item) for name in SETS for item in questions(folder / f"{name}.jsonl")]
    labelled += [(OWN, item) for item in questions(questions_path())]
    with Evigraph(arguments.data) as graph:
        graph.index(corpus_path())
        names, values = measure(graph, [item["question"] for _, item in labelled])
    centres = values.mean(axis=0)
    values = values - centres
    allowed = np.array([allowed_classes(item, name) for name, item in labelled])
    found = cross_validate(values, allowed, [str(item["id"]).removesuffix("-plain") for _, item in labelled])
    for name in SETS:
        report(name, found, allowed.argmax(axis=1), np.array([of == name for of, _ in labelled]))
    report_own(found, labelled)
    if arguments.write:
        write(names, centres, fit(values, allowed))
        print(f"\nwrote {OUTPUT}")


if __name__ == "__main__":
    main()
