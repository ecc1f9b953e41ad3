"""A comparison of two evaluations, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evigraph.evaluate.cases import FoundDocument
from evigraph.evaluate.compare import ARMS, Change, Comparison, Difference, GoldChange, QuestionChange, Side
from evigraph.evaluate.report import TABLE_METRICS, aligned

LISTED = 5
"""Ids named where questions are left out."""


def format_comparison(found: Comparison) -> str:
    """Differences per metric and type with their intervals, then the questions won and lost by the chosen metric, each
    with what became of its gold and what else differs. Numbers of the ledger are left to the JSON."""
    lines = [
        f"{found.dataset}, corpus {found.corpus_hash[:12]}: {found.questions} questions",
        *_side_lines("A", found.a),
        *_side_lines("B", found.b),
        *(f"differs: {change.name}: {_value(change.a)} -> {_value(change.b)}" for change in found.differing),
        *_left_out("A", found.only_a),
        *_left_out("B", found.only_b),
        "",
        *aligned(_table(found)),
        "",
        "mean %, B - A in points [95 % paired bootstrap interval]",
        "where nothing differs, about one interval in twenty excludes 0 by chance",
    ]
    for name, changes in (("won", found.won), ("lost", found.lost)):
        lines += ["", f"{found.metric}: {len(changes)} {name} by B"]
        lines += [line for change in changes for line in _question_lines(change)]
    return "\n".join(lines) + "\n"


def _side_lines(letter: str, side: Side) -> Iterator[str]:
    yield f"{letter}: {side.name}, {side.mode}"
    if side.failed:
        yield f"{letter}: {side.failed} retrievals failed and score 0"
    if side.degraded:
        yield f"{letter}: {side.degraded} retrievals were degraded"


def _left_out(letter: str, questions: Sequence[str]) -> Iterator[str]:
    if questions:
        named = ", ".join(questions[:LISTED]) + (", ..." if len(questions) > LISTED else "")
        yield f"left out: {len(questions)} questions only in {letter}: {named}"


def _table(found: Comparison) -> list[list[str]]:
    shown = dict.fromkeys([*TABLE_METRICS, found.metric])
    table = [["metric", "type", "n", "A", "B", "B - A", "won", "lost", "tied"]]
    return table + [_cells(row) for row in found.rows if row.metric in shown]


def _cells(row: Difference) -> list[str]:
    gain = f"{100 * row.gain.mean:+.1f} [{100 * row.gain.low:+.1f}, {100 * row.gain.high:+.1f}]"
    means = [f"{100 * row.a:.1f}", f"{100 * row.b:.1f}"]
    return [row.metric, row.type, str(row.n), *means, gain, str(row.won), str(row.lost), str(row.tied)]


def _question_lines(change: QuestionChange) -> Iterator[str]:
    kind = f" ({change.type})" if change.type else ""
    yield f"{change.question_id}{kind} {100 * change.a:.1f} -> {100 * change.b:.1f}: {change.question}"
    yield from (f"    {_gold_line(gold)}" for gold in change.gold)
    yield from (f"    {line}" for line in map(_note_line, change.notes) if line)


def _gold_line(gold: GoldChange) -> str:
    """`B found p1 (Title) at 3 by graph 1 (dense 40, bm25 -); A: 14 (graph 12, dense 41, bm25 -)`."""
    name = f"{gold.document} ({gold.title})" if gold.title else gold.document
    risen = gold.change in ("in", "up")
    better, worse = (gold.b, gold.a) if risen else (gold.a, gold.b)
    letters = "BA" if risen else "AB"
    assert better is not None
    verb = {"in": "found", "up": "has", "out": "found", "down": "has"}[gold.change]
    by = f" by {' and '.join(gold.by)}" if gold.by else ""
    other = "not found" if worse is None else f"{worse.rank}{_arms(worse)}"
    return f"{gold.change}: {letters[0]} {verb} {name} at {better.rank}{by}{_arms(better)}; {letters[1]}: {other}"


def _arms(place: FoundDocument) -> str:
    """The rank in each arm, where any ranked it."""
    ranks = {arm: getattr(place, field) for arm, field in ARMS.items()}
    if all(rank is None for rank in ranks.values()):
        return ""
    return " (" + ", ".join(f"{arm} {'-' if rank is None else rank}" for arm, rank in ranks.items()) + ")"


def _note_line(change: Change) -> str:
    """What says why: words and names. Numbers are sizes, which differ in nearly every question."""
    sides = [side for side in (change.a, change.b) if side is not None]
    if all(isinstance(side, int | float) and not isinstance(side, bool) for side in sides):
        return ""
    if all(isinstance(side, list) for side in (change.a, change.b)):
        gone = [item for item in change.a if item not in change.b]
        come = [item for item in change.b if item not in change.a]
        parts = [f"only {letter} {_value(items)}" for letter, items in (("A", gone), ("B", come)) if items]
        return f"{change.name}: {'; '.join(parts) or 'in another order'}"
    return f"{change.name}: {_value(change.a)} -> {_value(change.b)}"


def _value(value: Any) -> str:
    if value in (None, "", [], {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_value(item)}" for name, item in value.items()) + "}"
    return str(value)
