"""Plans over a small graph: bindings, what they rest on, and abstentions that say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evigraph import Answer, Evigraph
from evigraph.query.plan import answer as support
from evigraph.query.plan import execute as bounds
from evigraph.query.plan.parse import MAX_STEPS
from evigraph.types import Extraction, Passage, PlanOutcome, StepOutcome
from small import OneStore
from triples import FAMILY, TripleExtractor, hop, match, steps


def outcome(answer: Answer) -> PlanOutcome:
    assert answer.evidence.plan is not None
    return answer.evidence.plan


def names(step: StepOutcome) -> list[str]:
    return [binding.name for binding in step.bindings]


def last(graph: Evigraph, *given: dict[str, Any], **options: Any) -> list[str]:
    found = outcome(graph.plan(steps(*given), **options))
    assert found.reason is None, found.reason
    return names(found.steps[-1])


def counts(graph: Evigraph, *given: dict[str, Any]) -> dict[str, int | None]:
    found = outcome(graph.plan(steps(*given)))
    assert found.reason is None, found.reason
    return {binding.name: binding.count for binding in found.steps[-1].bindings}


FRIENDS = ("friend", "friends")


def test_hops_bind_with_the_assertions_they_rest_on(family: Evigraph) -> None:
    answer = family.plan(steps(match("Ada"), hop("m", "a", "MOTHER"), hop("f", "m", "FATHER")))
    assert answer.text == "Cyril [1][2]"
    assert [citation.quote for citation in answer.citations] == ["Bea | father | Cyril", "Ada | mother | Bea"]
    found = outcome(answer)
    assert [(step.id, step.op, step.bindings_in, len(step.bindings), step.rows) for step in found.steps] == [
        ("a", "match", 0, 1, 0),
        ("m", "hop", 1, 1, 1),
        ("f", "hop", 1, 1, 1),
    ]
    binding, said = found.steps[2].bindings[0], found.steps[2].relationships[0]
    assert (binding.id, binding.type, binding.origins) == ("person:cyril", "PERSON", ("person:bea",))
    assert binding.relationships == (said.id,)
    text = family.document_text(said.document_id)
    assert text[said.start : said.end] == "Bea | father | Cyril"
    assert [chunk.document_id for chunk in answer.evidence.chunks] == ["births"]
    assert not answer.degraded


def test_a_set_of_predicates_and_directions(family: Evigraph) -> None:
    assert last(family, match("Ada"), hop("b", "a", *FRIENDS)) == ["Dee", "Eve"]
    assert last(family, match("Ada"), hop("b", "a", "FRIEND", direction="in")) == ["Cyril", "Eve"]
    assert last(family, match("Ada"), hop("b", "a", *FRIENDS, direction="both")) == ["Cyril", "Dee", "Eve"]
    assert last(family, match("person:ada"), hop("b", "a", "lives in")) == ["Tarn"]


def test_a_hop_may_come_back(family: Evigraph) -> None:
    assert last(family, match("Ada"), hop("b", "a", *FRIENDS), hop("c", "b", *FRIENDS)) == ["Ada"]


def test_intersect_and_filter(family: Evigraph) -> None:
    friends = (match("Ada"), hop("b", "a", *FRIENDS))
    tarn = match("Tarn", "t")
    lives = hop("l", "t", "LIVES_IN", direction="in")
    both = {"id": "i", "op": "intersect", "sources": ["b", "l"]}
    assert last(family, *friends, tarn, lives, both) == ["Dee"]
    there = {"id": "w", "op": "filter", "source": "b", "predicates": ["LIVES_IN"], "to": "t"}
    answer = family.plan(steps(*friends, tarn, there))
    assert answer.text == "Dee [1][2]"
    assert {c.quote for c in answer.citations} == {"Dee | LIVES_IN | Tarn", "Ada | FRIEND | Dee"}
    children = {"id": "w", "op": "filter", "source": "b", "predicates": ["mother"], "direction": "out"}
    assert last(family, *friends, children) == ["Dee", "Eve"]
    assert last(family, match("Ada"), hop("x", "a", "OWNS", "LIVES_IN"), filtered("x", "location")) == ["Tarn"]


def filtered(source: str, kind: str) -> dict[str, Any]:
    return {"id": "k", "op": "filter", "source": source, "type": kind}


def test_counts_of_bindings_and_by_group(family: Evigraph) -> None:
    number = {"id": "n", "op": "count", "source": "c"}
    assert counts(family, match("Ada"), hop("c", "a", *FRIENDS), number) == {"": 2}
    grouped = {**number, "by": "b"}
    assert counts(family, match("Ada"), hop("b", "a", *FRIENDS), hop("c", "b", *FRIENDS), grouped) == {
        "Dee": 0,
        "Eve": 1,
    }
    # Two of the group lead to one entity: one binding, counted for both.
    bea = (match("Bea"), hop("b", "a", "mother", direction="in"), hop("c", "b", "mother"))
    assert counts(family, *bea, grouped) == {"Ada": 1, "Dee": 1}
    assert family.plan(steps(*bea, grouped)).text == "Ada: 1 [1]\nDee: 1 [2]"


def test_nothing_of_something_known_is_0_and_nothing_of_nothing_no_count(family: Evigraph) -> None:
    number = {"id": "n", "op": "count", "source": "c"}
    assert family.plan(steps(match("Fay"), hop("c", "a", *FRIENDS), number)).text == "0"
    answer = family.plan(steps(match("Fay"), hop("b", "a", "mother"), hop("c", "b", *FRIENDS), number))
    assert answer.abstained
    assert outcome(answer).failed_step == "b"


def test_a_count_of_0_names_what_is_stated_instead(family: Evigraph) -> None:
    number = {"id": "n", "op": "count", "source": "b"}
    answer = family.plan(steps(match("Bea"), hop("b", "a", *FRIENDS), number))
    assert answer.text == "0 (none is stated; what is stated: WORKS_FOR, father)"
    assert outcome(answer).alternatives == ("WORKS_FOR", "father")


def test_what_rests_on_unverified_assertions_is_marked(store: OneStore) -> None:
    class Doubtful(TripleExtractor):
        name = "doubtful"

        def extract(self, passages: Sequence[Passage], *, title: str, language: str) -> Extraction:
            found = super().extract(passages, title=title, language=language)
            return replace(found, assertions=tuple(replace(item, verified=False) for item in found.assertions))

    graph = store.engine(extractor=Doubtful())
    graph.index(FAMILY)
    answer = graph.plan(steps(match("Ada"), hop("m", "a", "MOTHER")))
    assert answer.text == "Bea (unverified) [1]"
    assert answer.degraded == ("plan: the answer rests on 1 unverified assertions, which their passages do not hold",)


def test_groups_pass_through_intersections(family: Evigraph) -> None:
    plan = steps(
        match("Tarn"),
        hop("p", "a", "LIVES_IN", direction="in"),
        hop("f", "p", *FRIENDS),
        hop("g", "p", *FRIENDS, direction="in"),
        {"id": "i", "op": "intersect", "sources": ["f", "g"]},
        {"id": "n", "op": "count", "source": "i", "by": "p"},
    )
    answer = family.plan(plan)
    assert [(b.name, b.count) for b in outcome(answer).steps[-1].bindings] == [("Ada", 1), ("Dee", 0)]
    assert answer.citations


@pytest.mark.parametrize(
    ("given", "step", "reason", "alternatives"),
    [
        ([match("Adda")], "a", "unknown entity 'Adda'", ("person:ada",)),
        ([match("Zzyzx")], "a", "unknown entity 'Zzyzx'", ()),
        ([match("person:zoe")], "a", "unknown entity 'person:zoe'", ()),
        (
            [match("Mercury")],
            "a",
            "ambiguous entity: 2 carry the name 'Mercury'",
            ("person:mercury", "product:mercury"),
        ),
        ([match("Ada", type="LOCATION")], "a", "unknown entity: 'Ada' is no LOCATION", ("person:ada",)),
        ([match("Ada", type="PERSN")], "a", "unknown type 'PERSN'", ("PERSON",)),
        ([match("Ada"), hop("b", "a", "MOTHRE")], "b", "unknown predicate 'MOTHRE'", ("MOTHER",)),
        ([match("Ada"), hop("b", "a", "mother", "aunt")], "b", "unknown predicate 'aunt'", None),
        ([match("Ada"), hop("b", "a", "WORKS_FOR")], "b", "empty step: no visible assertion of WORKS_FOR", None),
        (
            [match("Ada"), hop("b", "a", "WORKS_FOR"), hop("c", "b", "mother")],
            "b",
            "empty step: no visible assertion of WORKS_FOR leads on from a",
            ("FRIEND", "FRIENDS", "LIVES_IN", "OWNS", "mother"),
        ),
        ([match("Ada"), filtered("a", "ORGANIZATION")], "k", "empty step: no binding is of that type", ("PERSON",)),
        (
            [match("Ada"), match("Dee", "d"), {"id": "i", "op": "intersect", "sources": ["a", "d"]}],
            "i",
            "empty step: a, d have no entity in common",
            (),
        ),
    ],
)
def test_it_abstains_with_step_reason_and_alternatives(
    family: Evigraph, given: list[dict[str, Any]], step: str, reason: str, alternatives: tuple[str, ...] | None
) -> None:
    answer = family.plan(steps(*given))
    found = outcome(answer)
    assert answer.abstained and answer.text is None and not answer.citations
    assert found.failed_step == step
    assert reason in str(found.reason)
    assert answer.abstain_reason == f"plan: step {step}: {found.reason}"
    if alternatives is not None:
        assert found.alternatives == alternatives
    assert not answer.degraded


def test_candidates_settle_an_ambiguous_name(family: Evigraph) -> None:
    assert last(family, match("person:mercury"), hop("b", "a", "FRIEND")) == ["Cyril"]
    assert last(family, match("Mercury", type="product"), hop("b", "a", "OWNS", direction="in")) == ["Ada"]
    both = {"id": "a", "op": "match", "entities": ["person:mercury", "product:mercury"]}
    assert last(family, both, hop("b", "a", "FRIEND", "OWNS", direction="both")) == ["Ada", "Cyril"]


def test_filters_hold_for_every_step_name_and_alternative(family: Evigraph) -> None:
    only = {"metadata_filter": {"kind": "register"}}
    assert last(family, match("Ada"), hop("b", "a", "mother"), **only) == ["Bea"]
    unknown = outcome(family.plan(steps(match("Ada"), hop("b", "a", "FRIEND")), **only))
    assert unknown.reason == "unknown predicate 'FRIEND'"
    assert set(unknown.alternatives) <= {"MOTHER", "FATHER"}
    assert outcome(family.plan(steps(match("Tarm")), **only)).alternatives == ()
    assert outcome(family.plan(steps(match("Tarm")))).alternatives == ("location:tarn",)


def test_what_was_deleted_is_no_step(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index(FAMILY)
    before = graph.store.generation(graph.workspace)
    plan = steps(match("Ada"), hop("b", "a", *FRIENDS))
    graph.delete("letters")
    assert graph.plan(plan).abstained
    assert graph.plan(plan, as_of=before).text == "Dee [1]\nEve [2]"


def test_contradicting_sources_are_both_cited(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index([{"document_id": n, "text": f"Ada | LIVES_IN | {n}"} for n in ("Tarn", "Lowani")])
    graph.index([{"document_id": "again", "text": "Ada | LIVES_IN | Tarn"}])
    answer = graph.plan(steps(match("Ada"), hop("b", "a", "LIVES_IN")))
    assert answer.text == "Lowani [1]\nTarn [2][3]"
    assert {citation.document_id for citation in answer.citations} == {"Tarn", "Lowani", "again"}


def test_merged_entities_are_one(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index(
        [{"document_id": "d", "text": "Ada | FRIEND | Bea\nCountess | FRIEND | Cyril\nDee | FRIEND | Countess"}]
    )
    graph.store.record_change(
        graph.workspace,
        "merge",
        {"canonical": "person:ada", "entities": ["person:ada", "person:countess"], "reason": ""},
    )
    for name in ("Ada", "Countess", "person:countess"):
        answer = graph.plan(steps(match(name), hop("b", "a", "FRIEND")))
        assert names(outcome(answer).steps[-1]) == ["Bea", "Cyril"]
        assert {item.source for item in outcome(answer).steps[-1].relationships} == {"person:ada"}
    assert outcome(graph.plan(steps(match("Dee"), hop("b", "a", "FRIEND")))).steps[-1].bindings[0].id == "person:ada"


def test_bounds_cut_and_say_so(family: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = steps(match("Ada"), hop("b", "a", *FRIENDS), {"id": "n", "op": "count", "source": "b"})
    for name in ("MAX_BINDINGS", "MAX_FAN_OUT", "MAX_ROWS"):
        with monkeypatch.context() as patch:
            patch.setattr(bounds, name, 1)
            answer = family.plan(plan)
        assert answer.text == "at least 1 [1]", name
        assert outcome(answer).steps[1].truncated
        assert len(answer.degraded) == 1 and "step b was cut" in answer.degraded[0]


def test_rows_are_bounded_for_all_steps_together(family: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_ROWS", 2)
    answer = family.plan(steps(match("Ada"), hop("b", "a", *FRIENDS), hop("c", "b", *FRIENDS)))
    assert answer.abstained
    assert [step.truncated for step in outcome(answer).steps] == [False, False, True]
    assert answer.degraded


def test_a_plan_needs_no_embedder_and_never_asks_a_model(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index(FAMILY)
    embedded = graph.embedder.embedded  # type: ignore[attr-defined]
    assert graph.plan(steps(match("Ada"))).text == "Ada"
    assert graph.embedder.embedded == embedded  # type: ignore[attr-defined]


def test_modes_of_asking(family: Evigraph) -> None:
    plan = steps(match("Ada"), hop("b", "a", "mother"))
    asked = family.ask("Who is Ada's mother?", mode="plan", plan=plan)
    assert asked.text == family.plan(plan).text
    assert asked.evidence.question == "Who is Ada's mother?"
    context = family.plan(plan, context_only=True)
    assert context.text is None and "Ada | mother | Bea" in str(context.context)
    assert family.retrieve("q", mode="plan", plan=plan).plan == asked.evidence.plan
    assert family.in_workspace("nobody").plan(plan).abstain_reason == "scope: the workspace holds no documents"


def test_the_same_plan_gives_the_same_bytes(family: Evigraph) -> None:
    plan = steps(match("Ada"), hop("b", "a", *FRIENDS, direction="both"), hop("c", "b", *FRIENDS, direction="both"))
    first = family.plan(plan)
    assert outcome(first) == outcome(family.plan(plan))


@pytest.mark.verify
def test_a_hub_of_a_million_edges_is_cut_in_time(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index([{"document_id": "d", "text": "Hub | FRIEND | Ada\nAda | FRIEND | Bea"}])
    graph.store.command(
        """
        INSERT INTO assertions SELECT workspace, hex(sipHash64(number)), revision_key, passage_index, document_id,
            subject_id, subject_name, subject_type, predicate, 'person:p' || toString(number), 'P', 'PERSON',
            description, start, end, confidence, weight, extractor, verified
        FROM (SELECT * FROM assertions WHERE workspace = {w:String} AND subject_id = 'person:hub') AS one,
            numbers(1000000) AS many""",
        {"w": graph.workspace},
    )
    plan = steps(
        match("Hub"), hop("b", "a", "FRIEND"), hop("c", "b", "FRIEND"), {"id": "n", "op": "count", "source": "b"}
    )
    answer = graph.plan(plan)
    found = outcome(answer)
    assert found.steps[1].truncated and len(found.steps[1].bindings) == bounds.MAX_FAN_OUT
    assert str(answer.text).startswith("at least 5000")
    assert answer.evidence.stats["plan.b_ms"] < 20_000
    # A filter looks for the one edge it needs, and is not cut.
    to = {"id": "f", "op": "filter", "source": "a", "predicates": ["FRIEND"], "to": "x"}
    joined = graph.plan(steps(match("Hub"), match("Ada", "x"), to))
    assert str(joined.text).startswith("Hub") and not joined.degraded


MIXED = [
    {"document_id": "sales", "text": "Acme | SELLS | Mercury"},
    {"document_id": "founding", "text": "Acme Tea Person | FOUNDED | Tarn"},
]
ENDS = {
    "predicates": [
        {"name": "SELLS", "domain": ["ORGANIZATION"], "range": ["PRODUCT"]},
        {"name": "FOUNDED", "domain": ["PERSON"]},
    ]
}


def test_an_entity_merged_of_two_types_is_of_both(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    assert graph.index(MIXED).ok
    person = "person:acme tea person"
    graph.entities.merge(["organization:acme", person], canonical=person)
    graph.set_schema(ENDS)
    assert last(graph, match("Acme"), hop("b", "a", "SELLS")) == ["Mercury"]
    assert last(graph, match("Acme"), hop("b", "a", "FOUNDED")) == ["Tarn"]
    for kind in ("ORGANIZATION", "PERSON"):
        found = outcome(graph.plan(steps({**match("Acme"), "type": kind}, filtered("a", kind))))
        assert found.reason is None
        assert [[(b.id, b.type) for b in step.bindings] for step in found.steps] == [[(person, "PERSON")]] * 2
    counted = {item.name: item.count for item in graph.set_schema(None) and graph.schema().types}
    assert (counted["ORGANIZATION"], counted["PERSON"]) == (1, 1)
    # The scope decides: a type that only unseen passages give is none.
    there = {"document_ids": ["founding"]}
    answer = graph.plan(steps({**match(person), "type": "ORGANIZATION"}), document_filter=there)
    assert answer.abstained and "ORGANIZATION" in (answer.abstain_reason or "")
    graph.set_schema(ENDS)
    assert outcome(graph.plan(steps(match(person), hop("b", "a", "SELLS")), document_filter=there)).reason is not None


def repeated(times: int) -> list[dict[str, Any]]:
    said = "Ada | KNOWS | Bob\nAda | KNOWS | Cyd"
    return [{"document_id": f"d{number}", "text": f"{said}{number}"} for number in range(times)]


def test_a_hop_cites_every_assertion_up_to_its_bound(store: OneStore) -> None:
    graph = store.engine(extractor=TripleExtractor())
    assert graph.index(repeated(8)).ok
    answer = graph.plan(steps(match("Ada"), hop("b", "a", "KNOWS")))
    step = outcome(answer).steps[1]
    assert step.rows == 16 and not step.truncated and not answer.degraded
    assert {binding.name: len(binding.relationships) for binding in step.bindings}["Bob"] == 8
    assert len(step.relationships) == 16
    assert answer.text.splitlines()[0].count("[") == 8


def test_what_a_hop_does_not_cite_is_said(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = store.engine(extractor=TripleExtractor())
    assert graph.index(repeated(23)).ok
    answer = graph.plan(steps(match("Ada"), hop("b", "a", "KNOWS"), {"id": "n", "op": "count", "source": "b"}))
    step = outcome(answer).steps[1]
    assert len(step.bindings) == 24 and step.rows == 43 and not step.truncated
    assert answer.stats["plan.b.assertions_omitted"] == 3
    assert ["leaves out 3 further assertions" in sentence for sentence in answer.degraded] == [True]
    assert answer.text.startswith("24 [") and answer.stats["plan_assertions_uncited"] == 23
    # A bound on one entity leaves out further support before it leaves out entities.
    monkeypatch.setattr(bounds, "MAX_FAN_OUT", 24)
    answer = graph.plan(steps(match("Ada"), hop("b", "a", "KNOWS")))
    step = outcome(answer).steps[1]
    assert len(step.bindings) == 24 and step.rows == 24 and not step.truncated
    assert answer.stats["plan.b.assertions_omitted"] == 22
    monkeypatch.setattr(bounds, "MAX_FAN_OUT", 23)
    assert outcome(graph.plan(steps(match("Ada"), hop("b", "a", "KNOWS")))).steps[1].truncated


def deep(width: int) -> list[dict[str, Any]]:
    """Two hops, then `width` intersections of all steps before them that bind people of Tarn."""
    given = [match("Tarn"), hop("p", "a", "LIVES_IN", direction="in"), {**filtered("p", "PERSON"), "id": "q"}]
    names = ["p", "q"]
    for number in range(width):
        given.append({"id": f"i{number}", "op": "intersect", "sources": list(names)})
        names.append(f"i{number}")
    return given


@pytest.mark.parametrize("by", ["a", "p", None])
def test_a_plan_of_intersections_of_intersections_reads_each_step_once(
    family: Evigraph, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(made: Any) -> Any:
        def call(self: Any, step_id: str, *given: Any) -> Any:
            read.append(step_id)
            assert len(read) < 500, "2 ** 16 ways lead back"
            return made(self, step_id, *given)

        return call

    monkeypatch.setattr(bounds._Execution, "_grouped", counted(bounds._Execution._grouped))
    monkeypatch.setattr(support._Support, "_traced", counted(support._Support._traced))
    plan = steps(*deep(16), {"id": "n", "op": "count", "source": "i15", "by": by})
    assert len(plan["steps"]) == MAX_STEPS
    answer = family.plan(plan)
    found = [(binding.name, binding.count) for binding in outcome(answer).steps[-1].bindings]
    assert found == {"a": [("Tarn", 2)], "p": [("Ada", 1), ("Dee", 1)], None: [("", 2)]}[by]
    assert answer.citations
    last_of_all = family.plan(steps(*deep(17)))
    assert last_of_all.text == "Ada [1]\nDee [2]"
