from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from evigraph.errors import InvalidValue
from evigraph.evaluate.cases import FoundDocument, RankingCase
from evigraph.evaluate.compare import Change, Comparison, best_arms, compare
from evigraph.evaluate.comparison_text import format_comparison
from evigraph.evaluate.metrics import score
from evigraph.evaluate.report import EvalReport

RUN = {"corpus_hash": "ab" * 32, "embedder": "minilm", "k": 10}


def case(name: str, ranked: Sequence[str], gold: Sequence[str] = ("g",), **fields: Any) -> RankingCase:
    fields = {"mode": "mix", "type": "", "options": {}, "question": f"{name}?", **fields}
    metrics = score(ranked, dict.fromkeys(gold, 1.0), fields.pop("k", 10))
    return RankingCase(question_id=name, gold=tuple(gold), ranked=tuple(ranked), metrics=metrics, seconds=0.0, **fields)


def report(*cases: RankingCase, **run: Any) -> EvalReport:
    dataset = run.pop("dataset", "set")
    return EvalReport(dataset=dataset, corpus_documents=9, run={**RUN, **run}, rankings=cases)


def row(found: Comparison, metric: str, kind: str = "all") -> Any:
    (one,) = [row for row in found.rows if (row.metric, row.type) == (metric, kind)]
    return one


def test_differences_are_paired_and_counted() -> None:
    """recall@2 of A: 1, 0, 0, 1/2; of B: 1, 1, 0, 0. Won q2, lost q4; means 3/8 and 1/2."""
    a = report(
        case("q1", ["g"], type="x"),
        case("q2", ["x", "y", "g"], type="x"),
        case("q3", [], type="y"),
        case("q4", ["g", "x"], ("g", "h"), type="y"),
    )
    b = report(
        case("q4", ["x", "y", "z"], ("g", "h"), type="y"),
        case("q3", ["x"], type="y"),
        case("q2", ["g"], type="x"),
        case("q1", ["x", "g"], type="x"),
    )
    found = compare(a, b, metric="recall@2")
    both = row(found, "recall@2")
    assert (both.n, both.a, both.b, both.won, both.lost, both.tied) == (4, 0.375, 0.5, 1, 1, 2)
    assert both.gain.mean == pytest.approx(0.125)
    assert both.gain.low < 0 < both.gain.high
    x, y = row(found, "recall@2", "x"), row(found, "recall@2", "y")
    assert (x.n, x.a, x.b, x.won, x.lost, x.tied) == (2, 0.5, 1.0, 1, 0, 1)
    assert (y.n, y.a, y.b, y.won, y.lost, y.tied) == (2, 0.25, 0.0, 0, 1, 1)
    assert [change.question_id for change in found.won] == ["q2"]
    assert [change.question_id for change in found.lost] == ["q4"]
    # MRR of A: 1, 1/3, 0, 1; of B: 1/2, 1, 0, 0. q1 is lost by it, though tied by recall@2.
    mrr = row(found, "MRR")
    assert (mrr.won, mrr.lost, mrr.tied) == (1, 2, 1)
    assert mrr.gain.mean == pytest.approx((0.5 + 1) / 4 - (1 + 1 / 3 + 1) / 4)
    by_mrr = compare(a, b, metric="MRR")
    assert [change.question_id for change in by_mrr.lost] == ["q4", "q1"]  # the larger loss first


def test_a_question_won_says_which_gold_came_in_and_by_which_arm() -> None:
    before = case(
        "q",
        ["x", "g", "y", "z", "u", "v", "h"],
        ("g", "h", "i"),
        found=(
            FoundDocument(document="g", rank=2, title="Gee", vector_rank=2, bm25_rank=2, graph_rank=9),
            FoundDocument(document="h", rank=7, vector_rank=40, graph_rank=30),
            FoundDocument(document="i", rank=14, vector_rank=41),
        ),
        notes={"gate": "plain", "anchors": ["Ada", "Bo"], "chunks_found": 7},
        retrieval="dense+bm25",
    )
    after = dataclasses.replace(
        before,
        ranked=("x", "y", "h", "z", "u", "g", "i"),
        metrics=score(("x", "y", "h", "z", "u", "g", "i"), dict.fromkeys("ghi", 1.0), 10),
        found=(
            FoundDocument(document="h", rank=3, title="Aitch", vector_rank=40, graph_rank=2),
            FoundDocument(document="g", rank=6, title="Gee", vector_rank=2, bm25_rank=2, graph_rank=9),
            FoundDocument(document="i", rank=7, bm25_rank=3, graph_rank=3),
        ),
        notes={"gate": "graph", "anchors": ["Bo", "Cy"], "bridges": ["dee"], "chunks_found": 9},
        retrieval="dense+bm25+graph",
    )
    by_recall = compare(report(before), report(after), metric="recall@5")
    assert (by_recall.won, by_recall.lost) == ((), ())  # one in, one out: 1/3 on both sides
    (won,) = compare(report(before), report(after), metric="recall@10").won
    assert (won.a, won.b) == (pytest.approx(2 / 3), 1.0)
    assert [(gold.document, gold.change, gold.by) for gold in won.gold] == [
        ("g", "down", ("dense", "bm25")),
        ("h", "up", ("graph",)),
        ("i", "in", ("graph", "bm25")),
    ]
    assert won.gold[2].a is not None
    assert (won.gold[2].a.rank, won.gold[2].a.vector_rank) == (14, 41)  # below what was ranked, and still known
    assert won.notes == (
        Change(name="anchors", a=["Ada", "Bo"], b=["Bo", "Cy"]),
        Change(name="bridges", a=None, b=["dee"]),
        Change(name="chunks_found", a=7, b=9),
        Change(name="gate", a="plain", b="graph"),
        Change(name="retrieval", a="dense+bm25", b="dense+bm25+graph"),
    )
    text = format_comparison(compare(report(before), report(after), metric="recall@10"))
    lines = [line.strip() for line in text.splitlines()]
    assert "q 66.7 -> 100.0: q?" in lines
    assert (
        "down: A has g (Gee) at 2 by dense and bm25 (graph 9, dense 2, bm25 2); B: 6 (graph 9, dense 2, bm25 2)"
        in lines
    )
    assert "in: B found i at 7 by graph and bm25 (graph 3, dense -, bm25 3); A: 14 (graph -, dense 41, bm25 -)" in lines
    assert "anchors: only A Ada; only B Cy" in lines
    assert "bridges: - -> dee" in lines
    assert "gate: plain -> graph" in lines
    assert not any(line.startswith("chunks_found") for line in lines)  # a size is no reason; the JSON has it


def test_a_question_lost_says_what_fell_out() -> None:
    a = report(case("q", ["g", "x"], found=(FoundDocument(document="g", rank=1, vector_rank=1),)))
    b = report(case("q", [], error="invalid_query: boom"))
    found = compare(a, b)
    (lost,) = found.lost
    assert [(gold.document, gold.change, gold.b, gold.by) for gold in lost.gold] == [("g", "out", None, ("dense",))]
    assert lost.notes == (Change(name="error", a="", b="invalid_query: boom"),)
    assert (found.a.failed, found.b.failed) == (0, 1)
    text = format_comparison(found)
    assert "out: A found g at 1 by dense (graph -, dense 1, bm25 -); B: not found" in text
    assert "error: - -> invalid_query: boom" in text
    assert "B: 1 retrievals failed and score 0" in text


def test_files_without_signals_say_where_a_document_was() -> None:
    found = compare(report(case("q", ["x", "y", "z", "u", "v", "g"])), report(case("q", ["g"])))
    (won,) = found.won
    (gold,) = won.gold
    assert (gold.change, gold.by) == ("in", ())
    assert gold.a is not None and gold.b is not None
    assert (gold.a.rank, gold.b.rank) == (6, 1)
    assert "in: B found g at 1; A: 6\n" in format_comparison(found)


def test_what_lies_below_the_ranking_is_outside_for_a_metric_without_a_cut() -> None:
    deep = (FoundDocument(document="g", rank=12),)
    a, b = report(case("q", ["x"] * 1, found=deep)), report(case("q", ["x", "g"]))
    (won,) = compare(a, b, metric="MRR").won
    assert [gold.change for gold in won.gold] == ["in"]


def test_questions_of_one_side_are_reported_and_left_out() -> None:
    a = report(case("q1", ["g"]), case("q2", ["g"]), *(case(f"r{n}", []) for n in range(6)))
    b = report(case("q1", []), case("q3", ["g"]))
    found = compare(a, b)
    assert (found.questions, found.only_a[0], found.only_b) == (1, "q2", ("q3",))
    text = format_comparison(found)
    assert "left out: 7 questions only in A: q2, r0, r1, r2, r3, ...\n" in text
    assert "left out: 1 questions only in B: q3\n" in text
    with pytest.raises(InvalidValue, match="no question in common"):
        compare(report(case("q1", [])), report(case("q2", [])))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (report(case("q", []), dataset="other"), "A is of dataset 'set', B of 'other'"),
        (report(case("q", []), corpus_hash="cd" * 32), "the corpus of set is another: abababababab in A, cdcdcdcdcdcd"),
        (report(case("q", [], question="else?")), "question 'q' has another text: 'q\\?' in A, 'else\\?' in B"),
        (report(case("q", [], ("h",))), "question 'q' has another gold: \\['g'\\] in A, \\['h'\\] in B"),
        (report(case("q", [], type="x")), "question 'q' has another type: '' in A, 'x' in B"),
    ],
)
def test_what_is_not_the_same_is_refused_with_the_difference(other: EvalReport, said: str) -> None:
    with pytest.raises(InvalidValue, match=said) as caught:
        compare(report(case("q", [])), other)
    assert caught.value.hint


def test_modes_are_chosen_for_both_sides_or_for_each() -> None:
    several = report(case("q", [], mode="dense"), case("q", ["g"], mode="mix"), case("q", ["x", "g"], mode="local"))
    found = compare(several, several, modes=["dense", "mix"], names=("f.jsonl", "f.jsonl"))
    assert (found.a.mode, found.b.mode, len(found.won)) == ("dense", "mix", 1)
    one = report(case("q", ["g"], mode="mix"))
    assert compare(one, several, modes=["mix"]).won == ()
    assert compare(report(case("q", [], mode="dense")), one).b.mode == "mix"
    with pytest.raises(InvalidValue, match=r"b.jsonl holds several modes: dense, mix, local") as caught:
        compare(one, several, names=("a.jsonl", "b.jsonl"))
    assert "--mode" in caught.value.hint
    with pytest.raises(InvalidValue, match="A holds no mode 'global'"):
        compare(several, several, modes=["global"])
    with pytest.raises(InvalidValue, match="3 modes are given"):
        compare(several, several, modes=["mix", "local", "dense"])
    with pytest.raises(InvalidValue, match="B holds no ranking"):
        compare(one, report())


def test_the_metric_must_be_on_both_sides() -> None:
    deep, shallow = report(case("q", ["g"])), report(case("q", ["g"], k=5), k=5)
    found = compare(deep, shallow)
    assert {one.metric for one in found.rows} == {"recall@1", "recall@2", "recall@5", "all-gold@5"}
    assert Change(name="k", a=10, b=5) in found.differing
    # MRR is one of the depth that was ranked: with another depth it is another metric.
    for metric in ("recall@10", "MRR", "made-up"):
        with pytest.raises(InvalidValue, match=f"no metric '{metric}' on both sides") as caught:
            compare(deep, shallow, metric=metric)
    assert "recall@5" in caught.value.hint


def test_what_differs_between_the_runs_is_told() -> None:
    a = report(case("q", ["g"], options={"mode": "mix"}))
    b = report(case("q", ["g"], options={"mode": "mix", "rerank": True}), embedder="e5")
    found = compare(a, b, names=("a.jsonl", "b.jsonl"))
    assert found.differing == (Change(name="embedder", a="minilm", b="e5"), Change(name="rerank", a=None, b=True))
    text = format_comparison(found)
    assert text.startswith("set, corpus abababababab: 1 questions\nA: a.jsonl, mix\nB: b.jsonl, mix\n")
    assert "differs: embedder: minilm -> e5\n" in text
    assert "differs: rerank: - -> True\n" in text


def test_the_table_has_every_metric_and_the_chosen_one() -> None:
    a, b = report(case("q1", []), case("q2", [])), report(case("q1", ["g"]), case("q2", ["g"]))
    lines = [line.split() for line in format_comparison(compare(a, b, metric="all-gold@8")).splitlines()]
    table = {line[0]: line[1:] for line in lines if len(line) > 8}
    won = ["all", "2", "0.0", "100.0", "+100.0", "[+100.0,", "+100.0]", "2", "0", "0"]
    assert table["recall@5"] == table["all-gold@8"] == table["nDCG@10"] == won


def test_the_best_arms_of_a_document() -> None:
    found = FoundDocument(document="g", rank=1)
    assert best_arms(found) == ()
    assert best_arms(dataclasses.replace(found, vector_rank=3, bm25_rank=2, graph_rank=4)) == ("bm25",)
    assert best_arms(dataclasses.replace(found, vector_rank=3, graph_rank=3)) == ("graph", "dense")


def test_the_same_twice_is_the_same_text() -> None:
    a = report(*(case(f"q{n}", ["g"] if n % 3 else []) for n in range(9)))
    b = report(*(case(f"q{n}", ["g"] if n % 2 else []) for n in reversed(range(9))))
    assert format_comparison(compare(a, b)) == format_comparison(compare(a, b))
    assert [change.question_id for change in compare(a, b).won] == ["q3"]
    assert [change.question_id for change in compare(a, b).lost] == ["q2", "q4", "q8"]
