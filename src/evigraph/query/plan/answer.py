"""What a plan says: the last step's bindings, each with the assertions that lead to it, cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evigraph.plans import Count, Filter, Hop, Intersect, Step, sources_of
from evigraph.query.answer.sentences import Sentence, cite
from evigraph.query.answer.support import LONGEST_ANSWER, marker_missing
from evigraph.query.run import Run
from evigraph.store.keys import PassageKey, revision_key
from evigraph.types import Binding, Chunk, Citation, PlanOutcome, Relationship

LISTED = 100
"""Bindings an answer lists; the outcome holds them all."""
CITED = 20
"""Assertions cited for one of them; how many more there are is counted."""

Goal = tuple[str, str]
"""A step and the id of a binding of it."""
Way = list[str] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One binding as said, and the assertions it rests on, nearest first."""

    text: str
    relationships: tuple[Relationship, ...]
    uncited: int = 0


def lines(outcome: PlanOutcome) -> list[Line]:
    """The answer of a plan that did not abstain."""
    assert outcome.plan is not None
    support = _Support(outcome)
    last = outcome.steps[-1]
    step = outcome.plan.steps[-1]
    least = "at least " if isinstance(step, Count) and support.incomplete(step.source) else ""
    said = []
    for binding in last.bindings[:LISTED]:
        text = binding.name if binding.count is None else f"{least}{binding.count}"
        if binding.count is not None and binding.name:
            text = f"{binding.name}: {text}"
        if binding.count == 0 and outcome.alternatives:
            text += f" (none is stated; what is stated: {', '.join(outcome.alternatives)})"
        relationships = support.of(binding)
        cited = relationships[:CITED]
        if not all(item.verified for item in cited):
            text += " (unverified)"
        said.append(Line(text=text, relationships=cited, uncited=len(relationships) - len(cited)))
    return said


def answer_by_plan(run: Run) -> None:
    """Leave text and citations in the run, or the reason for abstaining."""
    outcome = run.retrieved.plan
    if outcome is None:
        return
    if outcome.reason is not None:
        where = "plan" if outcome.failed_step is None else f"plan: step {outcome.failed_step}"
        run.abstain_reason = f"{where}: {outcome.reason}"
        return
    if run.request.context_only:
        return
    with run.ledger.stage("cite") as stage:
        said = lines(outcome)
        wanted = dict.fromkeys(passage_of(item) for line in said for item in line.relationships)
        chunks = {chunk.id: chunk for chunk in run.snapshot.chunks(list(wanted)).values()}
        texts = [f"{line.text} {_markers(run, line.relationships, chunks)}".rstrip() for line in said]
        left = len(outcome.steps[-1].bindings) - len(said)
        text = "\n".join([*texts, f"... and {left} more"] if left else texts)
        run.text = stage.hand_on(
            text,
            because="the last step bound nothing",
            kind=str,
            most=LONGEST_ANSWER,
            check=lambda said: marker_missing(said, run.citations),
        )
        run.answered_by = "extractive"
        unverified = sum(not item.verified for line in said for item in line.relationships)
        if unverified:
            run.ledger.degrade(
                f"plan: the answer rests on {unverified} unverified assertions, which their passages do not hold"
            )
        uncited = sum(line.uncited for line in said)
        if uncited:
            run.ledger.count("plan_assertions_uncited", uncited)


def passage_of(item: Relationship) -> PassageKey:
    """The passage that makes an assertion."""
    return PassageKey(revision_key(item.document_id, item.revision), int(item.chunk_id.rpartition("#")[2]))


def _markers(run: Run, relationships: Sequence[Relationship], chunks: dict[str, Chunk]) -> str:
    numbers = dict.fromkeys(_citation(run, item, chunks[item.chunk_id]).n for item in relationships)
    return "".join(f"[{number}]" for number in numbers)


def _citation(run: Run, item: Relationship, chunk: Chunk) -> Citation:
    """The citation of the span that makes an assertion; made once."""
    text = chunk.text[item.start - chunk.start : item.end - chunk.start]
    made = cite(len(run.citations) + 1, Sentence(chunk=0, start=item.start, end=item.end, text=text), chunk)
    for known in run.citations:
        if (known.chunk_id, known.start, known.end) == (made.chunk_id, made.start, made.end):
            return known
    run.citations.append(made)
    return made


class _Support:
    """Follows bindings back to the anchors."""

    def __init__(self, outcome: PlanOutcome) -> None:
        assert outcome.plan is not None
        self._steps: dict[str, Step] = {step.id: step for step in outcome.plan.steps}
        self._bindings = {done.id: {binding.id: binding for binding in done.bindings} for done in outcome.steps}
        self._relationships = {item.id: item for done in outcome.steps for item in done.relationships}
        self._incomplete = {done.id for done in outcome.steps if done.truncated}
        for step in outcome.plan.steps:
            if not self._incomplete.isdisjoint(sources_of(step)):
                self._incomplete.add(step.id)
        self._ways: dict[Goal, Way] = {}
        self._last = outcome.plan.steps[-1]

    def of(self, binding: Binding) -> tuple[Relationship, ...]:
        """The assertions that the binding rests on: those of one way back to an anchor, then more of its own."""
        if isinstance(self._last, Count):
            names = [*self._way_of_count(self._last, binding), *binding.relationships]
        else:
            names = [*(self._way(self._last.id, binding.id) or ()), *binding.relationships]
        return tuple(self._relationships[name] for name in dict.fromkeys(names))

    def incomplete(self, step_id: str) -> bool:
        """Whether a bound cut a step or one that it goes back to."""
        return step_id in self._incomplete

    def _way_of_count(self, step: Count, counted: Binding) -> list[str]:
        goal = None if step.by is None else (step.by, counted.id)
        for origin in counted.origins[:1]:
            return self._way(step.source, origin, goal) or []
        # Nothing was counted; what is known is how the entity counted for was reached.
        return [] if goal is None else self._way(*goal) or []

    def _way(self, step_id: str, entity: str, goal: Goal | None = None, tried: set[Goal] | None = None) -> Way:
        """Ids of the assertions on one way from a binding back to an anchor, through binding `goal` of a step where
        given; None where there is none. Ways without a goal are kept, and `tried` bounds the search for one with it:
        intersections make many ways, but each binding is traced once."""
        here = step_id, entity
        if goal is None or goal == here:
            if here not in self._ways:
                self._ways[here] = self._traced(step_id, entity, None, set())
            return self._ways[here]
        tried = set() if tried is None else tried
        if here in tried:
            return None
        tried.add(here)
        return self._traced(step_id, entity, goal, tried)

    def _traced(self, step_id: str, entity: str, goal: Goal | None, tried: set[Goal]) -> Way:
        binding = self._bindings[step_id].get(entity)
        if binding is None:
            return None
        match self._steps[step_id]:
            case Hop(source=source):
                for origin in binding.origins:
                    before = self._way(source, origin, goal, tried)
                    if before is not None:
                        return [*self._joining(binding, origin), *before]
                return None
            case Filter(source=source, to=to):
                before = self._way(source, entity, goal, tried)
                return None if before is None else [*self._compared(binding, to), *before]
            case Intersect(sources=sources):
                return self._way_of_all(sources, entity, goal, tried)
            case _:
                return None if goal is not None else []

    def _way_of_all(self, sources: Sequence[str], entity: str, goal: Goal | None, tried: set[Goal]) -> Way:
        """The ways by all sources of an intersection; one of them must pass `goal`."""
        ways = [self._way(source, entity, goal, tried) for source in sources]
        if goal is not None and all(way is None for way in ways):
            return None
        whole = [way or self._way(source, entity) or [] for source, way in zip(sources, ways, strict=True)]
        return list(dict.fromkeys(name for way in whole for name in way))

    def _joining(self, binding: Binding, origin: str) -> list[str]:
        """The best assertion that joins a binding with its origin."""
        items = [self._relationships[name] for name in binding.relationships]
        return [item.id for item in items if origin in (item.source, item.target)][:1]

    def _compared(self, binding: Binding, to: str | None) -> list[str]:
        """The best assertion that let a binding through a filter, and how what it compared with was reached."""
        found: list[str] = []
        for name in binding.relationships[:1]:
            item = self._relationships[name]
            other = item.target if item.source == binding.id else item.source
            found = [name, *((self._way(to, other) or ()) if to is not None else ())]
        return found
