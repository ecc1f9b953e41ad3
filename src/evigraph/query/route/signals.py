"""What tells one kind of question from another. Each signal is a number near 0-1 that a reader can check.

`lexical` costs one statement beyond the understood question; `retrieved` one dense search, which the mode reuses, and
the vector of one short text.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evigraph.query.retrieve.arms import dense_arm
from evigraph.query.route import cues
from evigraph.query.route.examples import EXAMPLES
from evigraph.query.route.names import Thing, things
from evigraph.query.run import Run

STAND_INS = ("Paris", "London", "Rome")
"""What replaces the names of a question before it is compared with examples, in order; the last one for all others."""
ANYWHERE = "the organisation"
"""What replaces a name that is everywhere."""
NEAREST = 3
"""Examples of a class that count: the mean of the nearest few forgives one that is odd."""
HEAD = 10
"""Dense hits whose documents are counted."""
LONG = 25
"""Words beyond which a question is simply long."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PLURAL = re.compile(r"(?=\w{5})\w*[^\Wsui'’]s", re.IGNORECASE)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[a-z])\w+\b|\b[a-z]+-\d+\b|\b\d+-\d+\b", re.IGNORECASE)

_vectors: dict[tuple[str, int], NDArray[np.float32]] = {}
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The value of a signal, and the words of the question (or what else) it was read from."""

    value: float
    detail: str = ""


Signals = dict[str, Measured]


def lexical(run: Run) -> Signals:
    """What the words of the question and its names say."""
    named = things(run)
    found = [thing for thing in named if not thing.everywhere]
    common = [thing.text for thing in named if thing.everywhere]
    text = run.asked.text
    rest = _blanked(text, named)
    weights = sorted((thing.weight for thing in found), reverse=True)
    names = ", ".join(thing.text for thing in found)
    period = cues.PERIOD.search(text)
    linking = _cue(cues.LINK, rest, 2)
    plurals = [word for word in _WORD.findall(rest) if _PLURAL.fullmatch(word)]
    return {
        "named": Measured(value=float(bool(found)), detail=names),
        "restriction": Measured(value=round(weights[0], 4) if weights else 0.0, detail=names),
        "everywhere": Measured(value=float(bool(common)), detail=", ".join(common)),
        "several_named": Measured(value=float(len(found) > 1), detail=names),
        "aggregate": _cue(cues.AGGREGATE, rest, 2),
        "themes": _cue(cues.THEMES, rest, 2),
        "scope": _cue(cues.SCOPE, rest, 2),
        "fact": _cue(cues.FACT, rest, 1),
        "attribute": _cue(cues.ATTRIBUTE, rest, 2),
        "open": _cue(cues.OPEN, rest, 2),
        "link": linking,
        "named_link": Measured(value=float(len(found) > 1 and linking.value > 0), detail=linking.detail),
        "yes_no": Measured(value=float(bool(cues.YES_NO.match(text)))),
        "present": _cue(cues.PRESENT, rest, 1),
        "past": _cue(cues.PAST, rest, 2),
        "single": _cue(cues.SINGLE, rest, 2),
        "definite": _cue(cues.DEFINITE, text, 3),
        "aside": _cue(cues.ASIDE, rest, 1),
        "year": Measured(value=float(bool(cues.YEAR.search(text)) and not period)),
        "period": Measured(value=float(bool(period)), detail=period.group() if period else ""),
        "code": Measured(value=float(bool(_CODE.search(text)))),
        "plurals": Measured(value=min(len(plurals), 3) / 3, detail=", ".join(plurals)),
        "length": Measured(value=round(min(len(_WORD.findall(text)), LONG) / LONG, 4)),
    }


def retrieved(run: Run) -> Signals:
    """What the nearest passages and the nearest examples say."""
    if not run.counts.passages:
        return {}
    dense_arm(run, {})
    hits = run.dense_hits or []
    documents = Counter(hit.key.revision_key for hit in hits[:HEAD])
    nearest = round(hits[0].score, 4) if hits else 0.0
    return {
        "top_cosine": Measured(value=nearest),
        "spread": Measured(value=_evenness(list(documents.values())), detail=f"{len(documents)} documents"),
        **_like(run),
    }


def _cue(pattern: re.Pattern[str], text: str, most: int) -> Measured:
    """How many cues the text has, as a share of `most`, which is where more stop counting."""
    found = [match.group() for match in pattern.finditer(text)]
    return Measured(value=min(len(found), most) / most, detail=", ".join(found[:5]))


def _blanked(text: str, named: Sequence[Thing]) -> str:
    for thing in reversed(named):
        text = text[: thing.start] + "_" * (thing.end - thing.start) + text[thing.end :]
    return text


def _evenness(counts: Sequence[int]) -> float:
    """Entropy of the hits over their documents, 0 (all in one) to 1 (each in its own)."""
    total = sum(counts)
    if total < 2:
        return 0.0
    entropy = -math.fsum(count / total * math.log(count / total) for count in counts)
    return round(entropy / math.log(total), 4)


def _like(run: Run) -> Signals:
    """How near the question is to each class's examples, in standard deviations of its nearness to all of them: models
    differ in how near unrelated texts are."""
    cosines = _examples(run) @ run.embedder().embed([_with_stand_ins(run.asked.text, things(run))])[0]
    spread = float(cosines.std())
    scaled = (cosines - cosines.mean()) / spread if spread > 0 else np.zeros_like(cosines)
    found: Signals = {}
    at = 0
    for route, examples in EXAMPLES.items():
        own = scaled[at : at + len(examples)]
        order = np.argsort(-own, kind="stable")[:NEAREST]
        found[f"like_{route}"] = Measured(value=round(float(own[order].mean()), 4), detail=examples[int(order[0])])
        at += len(examples)
    return found


def _with_stand_ins(text: str, named: Sequence[Thing]) -> str:
    """The question with other names: what is asked stays, of whom does not."""
    names = iter([*STAND_INS, *[STAND_INS[-1]] * len(named)])
    replaced = [(thing, ANYWHERE if thing.everywhere else next(names)) for thing in named]
    for thing, name in reversed(replaced):
        text = text[: thing.start] + name + text[thing.end :]
    return text


def _examples(run: Run) -> NDArray[np.float32]:
    """Vectors of all examples by the run's embedder, made once a process: a model's name stands for the model."""
    embedder = run.embedder()
    key = embedder.name, embedder.dimension
    with _lock:
        if key not in _vectors:
            _vectors[key] = embedder.embed([text for examples in EXAMPLES.values() for text in examples])
        return _vectors[key]
