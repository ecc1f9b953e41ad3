"""What tells one kind of question from another. Each signal is a number near 0-1 that a reader can check.

`lexical` costs one statement beyond the understood question; `retrieved` one dense search, which the mode reuses, and
the vector of one short text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.query.fusion import round_robin
from evigraph.query.retrieve.arms import dense_arm
from evigraph.query.route import cues
from evigraph.query.route.likeness import reader, with_stand_ins
from evigraph.query.route.names import Thing, apart, things
from evigraph.query.run import Run
from evigraph.query.spaces import per_space
from evigraph.store.rows import Hit
from evigraph.text.analysis import ENGLISH_STOP_WORDS

HEAD = 10
"""Dense hits whose documents are counted."""
NEXT = 2
"""The dense hit, from 0, that the nearest one is compared with: what one or two passages answer stands out by then."""
LEAD = 0.2
"""By how much the nearest has to lead to count as 1."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PLURAL = re.compile(r"(?=\w{5})\w*[^\Wsui'’]s", re.IGNORECASE)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[a-z])\w+\b|\b[a-z]+-\d+\b|\b\d+-\d+\b", re.IGNORECASE)

_COMMON = ENGLISH_STOP_WORDS | {"what", "year", "years", "have", "they", "their", "there", "does", "again", "time"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The value of a signal, and the words of the question (or what else) it was read from."""

    value: float
    detail: str = ""


Signals = dict[str, Measured]


def lexical(run: Run) -> Signals:
    """What the words of the question and its names say."""
    return worded(run.asked.text, things(run))


def worded(text: str, named: Sequence[Thing]) -> Signals:
    """What a question says whose named things are known."""
    found = [thing for thing in named if not thing.everywhere]
    common = [thing.text for thing in named if thing.everywhere]
    rest = _blanked(text, named)
    weights = sorted((thing.weight for thing in found), reverse=True)
    names = ", ".join(thing.text for thing in found)
    period = cues.PERIOD.search(text)
    several = apart(text, found)
    repeated = _repeated(text)
    plurals = [word for word in _WORD.findall(rest) if _PLURAL.fullmatch(word)]
    return {
        "named": Measured(value=float(bool(found)), detail=names),
        "restriction": Measured(value=round(weights[0], 4) if weights else 0.0, detail=names),
        "everywhere": Measured(value=float(bool(common)), detail=", ".join(common)),
        "several_named": Measured(
            value=min(len(several) - 1, 1.0) if several else 0.0, detail=", ".join(thing.text for thing in several)
        ),
        "aggregate": _cue(cues.AGGREGATE, rest, 2),
        "themes": _cue(cues.THEMES, rest, 2),
        "scope": _cue(cues.SCOPE, rest, 2),
        "fact": _cue(cues.FACT, rest, 1),
        "attribute": _cue(cues.ATTRIBUTE, rest, 2),
        "open": _cue(cues.OPEN, rest, 2),
        "link": _cue(cues.LINK, rest, 2),
        "repeated": Measured(value=min(len(repeated), 2) / 2, detail=", ".join(repeated)),
        "pair": _cue(cues.PAIR, _placed(text, found), 1),
        "yes_no": Measured(value=float(bool(cues.YES_NO.match(text)))),
        "yes_no_then": Measured(value=float(bool(cues.YES_NO_THEN.match(text)))),
        "present": _cue(cues.PRESENT, rest, 1),
        "single": _cue(cues.SINGLE, rest, 2),
        "definite": _cue(cues.DEFINITE, text, 3),
        "aside": _cue(cues.ASIDE, rest, 1),
        "unit": _cue(cues.UNIT, rest, 1),
        "year": Measured(value=float(bool(cues.YEAR.search(text)) and not period)),
        "period": Measured(value=float(bool(period)), detail=period.group() if period else ""),
        "code": Measured(value=float(bool(_CODE.search(text)))),
        "plurals": Measured(value=min(len(plurals), 3) / 3, detail=", ".join(plurals)),
    }


def retrieved(run: Run) -> Signals:
    """What the nearest passages and the nearest examples say."""
    if not run.counts.passages or run.blind:
        return {}
    parts = per_space(run, lambda: _dense_hits(run))
    documents = Counter(hit.key.revision_key for hit in round_robin(parts)[:HEAD])
    hits = max(parts, key=lambda part: part[0].score if part else 0.0)
    nearest = hits[0].score if hits else 0.0
    lead = nearest - hits[NEXT].score if len(hits) > NEXT else 0.0
    return {
        "top_cosine": Measured(value=round(nearest, 4)),
        "lead": Measured(value=round(lead / LEAD, 4)),
        "spread": Measured(value=_evenness(list(documents.values())), detail=f"{len(documents)} documents"),
        **_read(run),
    }


def _dense_hits(run: Run) -> list[Hit]:
    dense_arm(run, {})
    return run.dense_hits or []


def _read(run: Run) -> Signals:
    """Which class's examples the question reads like, its names replaced."""
    embedder = run.embedder()
    vector = embedder.embed([with_stand_ins(run.asked.text, things(run))])[0]
    return {
        f"reads_like_{route}": Measured(value=value, detail=nearest)
        for route, (value, nearest) in reader(embedder).read(vector).items()
    }


def _cue(pattern: re.Pattern[str], text: str, most: int) -> Measured:
    """How many cues the text has, as a share of `most`, which is where more stop counting."""
    found = [match.group() for match in pattern.finditer(text)]
    return Measured(value=min(len(found), most) / most, detail=", ".join(found[:5]))


def _blanked(text: str, named: Sequence[Thing]) -> str:
    for thing in reversed(named):
        text = text[: thing.start] + "_" * (thing.end - thing.start) + text[thing.end :]
    return text


def _placed(text: str, named: Sequence[Thing]) -> str:
    """The question with each name as `X`."""
    for thing in reversed(named):
        text = f"{text[: thing.start]}X{text[thing.end :]}"
    return text


def _repeated(text: str) -> list[str]:
    """Words of some length that the question has twice or more: what it sets beside itself."""
    counts = Counter(re.sub(r"['’]s?$", "", word.lower()) for word in _WORD.findall(text))
    return [word for word, count in counts.items() if count > 1 and len(word) > 3 and word not in _COMMON]


def _evenness(counts: Sequence[int]) -> float:
    """Entropy of the hits over their documents, 0 (all in one) to 1 (each in its own)."""
    total = sum(counts)
    if total < 2:
        return 0.0
    entropy = -math.fsum(count / total * math.log(count / total) for count in counts)
    return round(entropy / math.log(total), 4)
