"""The answer to a corpus-wide question: map and reduce by a chat model, or by themes without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evigraph.errors import ModelError, StageFailed
from evigraph.query.answer.generate import NOTHING_SAID, take_reply
from evigraph.query.assemble import CHARS_PER_TOKEN
from evigraph.query.ledger import LONGEST_REPLY
from evigraph.query.overview.model_map import Mapped, map_by_model
from evigraph.query.overview.offline import answer_offline
from evigraph.query.overview.prompt import context_of, partial_block, reduce_messages
from evigraph.query.overview.state import Overview, Theme, left_out
from evigraph.query.run import Run
from evigraph.text.markers import cited_numbers, renumbered
from evigraph.types import Chunk

Partial = tuple[str, int, str]
"""Title, usefulness, text."""


def overview_context(run: Run, overview: Overview) -> str:
    """Summaries and their numbered sentences, as `context_only` gives them."""
    known = {community.id: community for community in overview.communities.values()}
    language = (run.counts.languages or ("en",))[0]
    found = context_of([chunk for chunk in run.chunks if chunk.id in known], known, language)
    _leave_out(run, overview, found.orders, "context")
    return found.text


def overview_prompt(run: Run, overview: Overview) -> str:
    """The reduce prompt with partial answers made without a model, since `prompt_only` asks none."""
    answer_offline(run, overview)
    run.text, run.citations, run.answered_by = None, [], "none"
    partials = _within_budget(run, overview, [theme for theme in overview.themes if theme.partial])
    messages = reduce_messages(run.posed, partials)
    _cite_as_the_answer(run, overview, Mapped())
    return "\n\n".join(f"{message.role.upper()}:\n{message.content}" for message in messages)


def answer_overview(run: Run, overview: Overview) -> None:
    """Leave text and citations, or the reason for abstaining, in the run."""
    if run.chat is None or not overview.themes:
        answer_offline(run, overview)
        return
    mapped = map_by_model(run, overview)
    _report(run, overview, mapped)
    if mapped.kept:
        _reduce(run, overview, mapped)
    elif mapped.scored and not mapped.uncited and not mapped.failed and not mapped.obeyed:
        _show(overview, mapped)
        run.answered_by = "model"
        run.abstain_reason = "generation: the model found no community useful for the question"
    else:
        _fall_back(run, overview, "no partial answer of the model can be used")


def _report(run: Run, overview: Overview, mapped: Mapped) -> None:
    count, degrade = run.ledger.count, run.ledger.degrade
    count("communities_mapped", mapped.asked)
    count("communities_cut", len(overview.themes) - mapped.asked)
    count("map_failed", mapped.failed)
    count("map_low", mapped.low)
    count("map_uncited", mapped.uncited)
    count("map_unsupported", mapped.unsupported)
    if len(overview.themes) > mapped.asked:
        degrade(f"map: {mapped.asked} of {len(overview.themes)} communities were asked about (safety cap)")
    if mapped.failed:
        run.repeatable = False
        why = "" if mapped.gone is None else f"; the model was given up: {mapped.gone}"
        degrade(f"map: {mapped.failed} of {mapped.asked} steps failed and were left out{why}")
    if mapped.uncited:
        degrade(f"map: {mapped.uncited} partial answers say nothing that the passages they cite hold; dropped")
    if mapped.unsupported:
        degrade(f"map: {mapped.unsupported} sentences were not held by the passages they cite; left out")
    count("map_obeyed", mapped.obeyed)
    _leave_out(run, overview, mapped.orders, "map")
    if mapped.obeyed:
        told = "sentence that gave or repeated" if mapped.obeyed == 1 else "sentences that gave or repeated"
        degrade(f"map: {mapped.obeyed} {told} an order to a model was dropped from partial answers")
    overview.consulted = frozenset(mapped.scored)


def _leave_out(run: Run, overview: Overview, orders: Iterable[str], stage: str) -> None:
    """Count and report sentences that give orders to a model."""
    orders = set(orders)
    overview.orders |= orders
    run.ledger.count("instructions_left_out", len(overview.orders))
    if orders:
        run.ledger.degrade(f"{stage}: {left_out(len(orders))}")


def _reduce(run: Run, overview: Overview, mapped: Mapped) -> None:
    assert run.chat is not None
    partials, numbered = _renumbered(_within_budget(run, overview, mapped.kept), mapped.numbered)
    try:
        with run.ledger.stage("reduce") as stage:
            messages = reduce_messages(run.posed, partials)
            reply = run.chat.complete(messages, model=run.request.llm_model)
            text = stage.hand_on(reply.text, because=NOTHING_SAID, kind=str, most=LONGEST_REPLY)
    except (ModelError, StageFailed) as error:
        run.repeatable = False
        _fall_back(run, overview, f"the reduce step failed ({error})")
        return
    _show(overview, mapped)
    run.numbered = numbered
    take_reply(run, text)
    _cite_as_the_answer(run, overview, mapped)


def _cite_as_the_answer(run: Run, overview: Overview, mapped: Mapped) -> None:
    """Give the shown partial answers the numbers of the answer's citations; of what that does not cite, none."""
    of_chunk: dict[str, int] = {}
    for citation in run.citations:
        of_chunk.setdefault(citation.chunk_id, citation.n)
    cited = {n: of_chunk[chunk.id] for n, chunk in enumerate(mapped.numbered, start=1) if chunk.id in of_chunk}
    for theme in overview.themes:
        if theme.partial is not None:
            theme.partial = renumbered(theme.partial, cited)


def _renumbered(partials: Sequence[Partial], numbered: Sequence[Chunk]) -> tuple[list[Partial], list[Chunk]]:
    """Partial answers with the passages they cite numbered anew from 1, and these: no others can be cited."""
    cited = dict.fromkeys(number for _, _, text in partials for number in cited_numbers(text))
    places = {number: place for place, number in enumerate(cited, start=1)}
    anew = [(title, usefulness, renumbered(text, places)) for title, usefulness, text in partials]
    return anew, [numbered[number - 1] for number in cited]


def _within_budget(run: Run, overview: Overview, themes: Sequence[Theme]) -> list[Partial]:
    """Partial answers, best first, within the token budget; the first in any case."""
    kept: list[Partial] = []
    used = 0
    for theme in themes:
        partial = _title(overview, theme), theme.usefulness, theme.partial or ""
        used += len(partial_block(*partial)) // CHARS_PER_TOKEN + 1
        if kept and used > run.request.max_context_tokens:
            break
        kept.append(partial)
    run.ledger.count("partials_reduced", len(kept))
    run.ledger.count("partials_cut", len(themes) - len(kept))
    return kept


def _title(overview: Overview, theme: Theme) -> str:
    community = overview.communities.get(theme.number)
    return community.title if community is not None else ""


def _show(overview: Overview, mapped: Mapped) -> None:
    """What the model made of each community takes the place of what was measured."""
    kept = {theme.number: theme for theme in mapped.kept}
    for theme in overview.themes:
        theme.mapped = theme.number in mapped.scored
        theme.usefulness = mapped.scored.get(theme.number, 0)
        theme.partial = kept[theme.number].partial if theme.number in kept else None


def _fall_back(run: Run, overview: Overview, why: str) -> None:
    run.ledger.degrade(f"overview: {why}; the answer was made without the model")
    overview.consulted = overview.spoken_of(overview.relevance.read)
    answer_offline(run, overview)
