"""The last steps: context, then an answer or an abstention."""

from __future__ import annotations

from evigraph.errors import ModelNotConfigured
from evigraph.models.ports import Message
from evigraph.query.answer.extractive import answer_extractively
from evigraph.query.answer.generate import NOTHING_SAID, abstain_from_nothing, answer_by_model, says_nothing
from evigraph.query.answer.leaves import cite_leaves
from evigraph.query.answer.prompt import context_text, prompt_text
from evigraph.query.answer.strength import strength
from evigraph.query.answer.support import question_weights
from evigraph.query.ledger import LONGEST_REPLY
from evigraph.query.overview.answer import answer_overview, overview_context, overview_prompt
from evigraph.query.plan.answer import answer_by_plan
from evigraph.query.plan.propose import require_planner
from evigraph.query.run import Run
from evigraph.types import Mode


def require_model(run: Run) -> None:
    """`bypass` is nothing without a chat model, nor is `plan` without a plan."""
    if run.request.mode is Mode.PLAN:
        require_planner(run)
    if run.request.mode is Mode.BYPASS and run.chat is None and not run.request.prompt_only:
        raise ModelNotConfigured(
            "mode `bypass` asks the chat model alone, and none is configured",
            hint="set EVIGRAPH_CHAT_URL and EVIGRAPH_CHAT_MODEL, or choose another mode",
        )


def answer(run: Run) -> None:
    """Leave text and citations, or the reason for abstaining, in the run."""
    cite_leaves(run)
    run.context = _context(run)
    if run.request.mode is Mode.BYPASS:
        _bypass(run)
        return
    if run.request.llm_model is not None and run.chat is None:
        run.ledger.degrade("llm_model: no chat model is configured (EVIGRAPH_CHAT_URL); the answer is extractive")
    if run.request.mode is Mode.PLAN:
        _plan(run)
        return
    run.abstain_reason = _empty_stage(run)
    if run.request.prompt_only:
        overview = run.overview
        run.prompt = prompt_text(run.posed, run.context) if overview is None else overview_prompt(run, overview)
        return
    if run.request.context_only:
        return
    if run.overview is not None:
        answer_overview(run, run.overview)
        return
    run.abstain_reason = run.abstain_reason or _weakness(run)
    if run.abstain_reason is None:
        if run.chat is not None:
            answer_by_model(run)
        else:
            answer_extractively(run)


def settle(run: Run) -> None:
    """Whatever came of it: an answer, or an abstention with its reason."""
    shown = run.request.context_only or run.request.prompt_only
    if not shown and not (run.text or "").strip() and run.abstain_reason is None:
        run.abstain_reason = "generation: no text came of the evidence"


def _context(run: Run) -> str:
    if run.overview is not None:
        return overview_context(run, run.overview)
    summaries = [chunk for chunk in run.chunks if chunk.level]
    return context_text(run.citable, run.entities, run.relationships, summaries)


def _empty_stage(run: Run) -> str | None:
    """The first stage that left nothing to answer from."""
    if not run.counts.documents:
        asked = run.request.document_filter
        if asked is not None and not run.request.metadata_filter and asked.only_bases:
            return "scope: the knowledge bases hold no document"
        if run.snapshot.scope.filtered:
            return "scope: no document matches the filters"
        return "scope: the workspace holds no documents"
    if not run.chunks and run.overview is None:
        return run.retrieved.empty or "retrieval: no passage matched the question"
    return None


def _weakness(run: Run) -> str | None:
    """What the evidence lacks to bear an answer."""
    measured = strength(run, question_weights(run))
    run.ledger.count("evidence_cosine", round(measured.cosine, 4))
    run.ledger.count("evidence_coverage", round(measured.coverage, 4))
    weakness = measured.weakness
    return None if weakness is None else f"evidence: {weakness}"


def _plan(run: Run) -> None:
    """The bindings are the answer; no weighing of passages can add to them."""
    if not run.counts.documents:
        run.abstain_reason = _empty_stage(run)
    elif run.request.prompt_only:
        run.prompt = run.prompt or prompt_text(run.posed, run.context)
    else:
        answer_by_plan(run)


def _bypass(run: Run) -> None:
    if run.request.prompt_only:
        run.prompt = f"USER:\n{run.posed}"
        return
    if run.request.context_only:
        return
    assert run.chat is not None
    with run.ledger.stage("generation") as stage:
        reply = run.chat.complete([Message(role="user", content=run.posed)], model=run.request.llm_model)
        text = stage.hand_on(reply.text, because=NOTHING_SAID, kind=str, most=LONGEST_REPLY)
    run.text = text.strip()
    run.answered_by = "model"
    if says_nothing(text):
        abstain_from_nothing(run)
