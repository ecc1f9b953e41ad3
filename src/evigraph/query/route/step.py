"""The step that chooses the mode of an `auto` question, and the one that thinks again when that mode comes up empty."""

from __future__ import annotations

from dataclasses import replace

from evigraph.query.answer.generate import WRITING
from evigraph.query.answer.strength import strength
from evigraph.query.answer.support import question_weights
from evigraph.query.ledger import repeated
from evigraph.query.route import cues
from evigraph.query.route.judge import judge
from evigraph.query.route.model import MODES, decide, probabilities, ranked
from evigraph.query.route.names import is_calendar
from evigraph.query.route.signals import lexical, retrieved
from evigraph.query.run import Retrieved, Run
from evigraph.routing import Route
from evigraph.types import Mode

PLAUSIBLE = 0.15
"""Probability of `global`, as the second class, from which a question that is answered poorly otherwise may be about
the corpus as a whole."""
NEARLY_TIED = 0.45
"""The same for a question that names nothing known but has evidence. Across halves, no development question that is not
global lies above it while global is its second class (`bench/routing.py`)."""
SOUNDS_WIDE = 0.2
"""Probability of `global` by the words alone from which a question with a cue for it counts as corpus-wide under modes
that were not chosen. Without examples and passages to compare with, all probabilities are small. Of the questions that
the weights were learnt from it finds 87 % of the global ones in which such words were left, 53 % of those from which
they were taken, and takes 2 % of the others for one."""


def route(run: Run) -> None:
    """Under `auto`, put the mode that fits the question in the place of the one asked for. Under every mode, say
    whether the question is about the corpus as a whole."""
    if run.question is None:
        return
    if run.request.mode is not Mode.AUTO:
        run.corpus_wide = run.corpus_wide or _sounds_wide(run)
        return
    with run.ledger.stage("route") as stage:
        chosen = _allowed(run, _decided(run))
        if chosen.mode != MODES["global"] and not run.asked.anchors and _may_be_wide(run, chosen, NEARLY_TIED):
            chosen = _turned(run, chosen, "nothing that it names is known here")
        chosen = stage.hand_on(chosen, kind=Route, check=_no_mode)
    _take(run, chosen)


def _no_mode(chosen: Route) -> str | None:
    if chosen.mode not in set(Mode):
        return f"it chose no mode: {chosen.mode!r}"
    return repeated("signal", (signal.name for signal in chosen.signals))


def reconsider(run: Run) -> bool:
    """Whether the evidence, or the answer made of it, is so poor that the question is to be answered from the corpus as
    a whole. If so, the run is as before retrieval."""
    chosen = run.route
    if chosen is None or run.overview is not None or chosen.mode == MODES["global"] or not run.counts.passages:
        return False
    weakness = _weakness(run)
    if weakness is None:
        return False
    if not run.settings.route_global and _plausible(run, chosen, PLAUSIBLE):
        run.ledger.degrade(
            f"route: {weakness}, and EVIGRAPH_ROUTE_GLOBAL keeps `auto` from answering from the corpus as a whole"
        )
    if not _may_be_wide(run, chosen, PLAUSIBLE):
        return False
    _forget(run)
    _take(run, _turned(run, chosen, weakness))
    return True


def _decided(run: Run) -> Route:
    if run.settings.router == "llm":
        judged = judge(run)
        if judged is not None:
            return judged
    return decide({**lexical(run), **retrieved(run)})


def _allowed(run: Run, chosen: Route) -> Route:
    """The route with the mode of its next class where the setting keeps it off global."""
    if chosen.route != "global" or run.settings.route_global:
        return chosen
    other = next(name for name in ranked(chosen.probabilities) if name != "global")
    reason = "EVIGRAPH_ROUTE_GLOBAL keeps `auto` off corpus-wide answers"
    run.ledger.degrade(
        f"route: the question is about the corpus as a whole, but {reason}; answered in mode `{MODES[other]}`"
    )
    return replace(chosen, mode=MODES[other], fell_back=reason)


def _take(run: Run, chosen: Route) -> None:
    run.route = chosen
    run.request = replace(run.request, mode=Mode(chosen.mode))
    run.corpus_wide = chosen.route == "global" or chosen.mode == MODES["global"]


def _turned(run: Run, chosen: Route, why: str) -> Route:
    """The route turned to the corpus as a whole, as the answer says."""
    run.ledger.degrade(
        f"route: chosen as `{chosen.route}`, but {why}; answered from the corpus as a whole (`{MODES['global']}`)"
    )
    return replace(chosen, mode=MODES["global"], fell_back=why)


def _plausible(run: Run, chosen: Route, needed: float) -> bool:
    """Whether the question may be about the corpus as a whole. One that names what nobody knows is not: it is answered
    by saying so."""
    unknown = [name for name in run.asked.unknown_names if not is_calendar(name)]
    return not unknown and chosen.probabilities["global"] >= needed


def _may_be_wide(run: Run, chosen: Route, needed: float) -> bool:
    return run.settings.route_global and chosen.second == "global" and _plausible(run, chosen, needed)


def _weakness(run: Run) -> str | None:
    """Why the evidence or the answer is poor, or None."""
    if run.abstain_reason is not None:
        return run.abstain_reason
    if run.text is not None:
        return None if run.citations else "generation: the answer cites no passage"
    if not run.chunks:
        return run.retrieved.empty or "retrieval: no passage matched the question"
    weakness = strength(run, question_weights(run)).weakness
    return None if weakness is None else f"evidence: {weakness}"


def _forget(run: Run) -> None:
    """Take back what retrieval and answering left."""
    run.retrieved = Retrieved()
    run.chunks, run.entities, run.relationships = [], [], []
    run.ledger.write_off("given up when the question was turned to the corpus as a whole")
    run.text, run.abstain_reason, run.answered_by = None, None, "none"
    run.context, run.prompt = "", ""
    run.citations, run.unsupported, run.removed_citations = [], [], []
    run.numbered = None
    run.ledger.take_back(WRITING)
    if "web_search" in run.details:
        run.details["web_search"] = {**run.details["web_search"], "used": 0}


def _sounds_wide(run: Run) -> bool:
    """Whether the question's words alone say that it is about the corpus as a whole: some of them speak of many cases,
    of themes or of all there is, and the others do not gainsay it."""
    text = run.asked.text
    if not any(cue.search(text) for cue in (cues.AGGREGATE, cues.THEMES, cues.SCOPE, cues.PERIOD)):
        return False
    return probabilities(lexical(run))["global"] >= SOUNDS_WIDE
