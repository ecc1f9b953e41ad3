"""`plan`: evidence is what the steps of a typed plan rest on. The plan is the request's, or proposed by the model."""

from __future__ import annotations

from dataclasses import replace

from evigraph.plans import Plan
from evigraph.query.plan.answer import lines, passage_of
from evigraph.query.plan.execute import execute
from evigraph.query.plan.propose import planner_messages, propose
from evigraph.query.run import Retrieved, Run, Signals
from evigraph.types import PlanOutcome, Relationship


def retrieve(run: Run) -> Retrieved:
    if run.request.plan is not None:
        outcome = execute(run.request.plan, run.snapshot, run.ledger)
    elif run.request.prompt_only:
        run.prompt = "\n\n".join(f"{message.role.upper()}:\n{message.content}" for message in planner_messages(run))
        return Retrieved(retrieval="plan")
    else:
        outcome = _proposed(run)
    cited = _cited(outcome)
    passages = dict.fromkeys(passage_of(item) for item in cited)
    ranked = tuple((key, Signals(graph_rank=rank, score=1.0 / rank)) for rank, key in enumerate(passages, start=1))
    ends = dict.fromkeys(end for item in cited for end in (item.source, item.target))
    answered = {} if outcome.reason or not outcome.steps else {b.id: None for b in outcome.steps[-1].bindings if b.id}
    return Retrieved(
        passages=ranked,
        entities=tuple((entity, None) for entity in answered | ends),
        relationships=tuple(cited),
        plan=outcome,
        retrieval="plan",
    )


def _proposed(run: Run) -> PlanOutcome:
    found = propose(run)
    if isinstance(found, Plan):
        return replace(execute(found, run.snapshot, run.ledger), proposed_by="model")
    return found


def _cited(outcome: PlanOutcome) -> list[Relationship]:
    """What the answer cites, then the other assertions of the steps, the last step's first."""
    found: dict[str, Relationship] = {}
    if outcome.reason is None:
        found = {item.id: item for line in lines(outcome) for item in line.relationships}
    for done in reversed(outcome.steps):
        for item in done.relationships:
            found.setdefault(item.id, item)
    return list(found.values())
