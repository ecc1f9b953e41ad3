"""The map step by a chat model: one call for each community (the most useful ones, as measured without a model, up to
`MAP_CALLS`), and what is kept of its reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evigraph.communities import Community
from evigraph.community.ask import Asker
from evigraph.community.check import checked
from evigraph.errors import InvalidPlan, ModelError
from evigraph.query.answer.sentences import sentences_of
from evigraph.query.communities import MAP_CALLS, MAP_PASSAGES
from evigraph.query.overview.prompt import map_messages
from evigraph.query.overview.state import Overview, Theme
from evigraph.query.plan.reply import json_of
from evigraph.query.run import Run
from evigraph.store.keys import PassageKey, passage_key
from evigraph.text.instructions import chunk_without_orders, without_obedience, without_orders
from evigraph.text.markers import renumbered
from evigraph.types import Chunk

PER_DOCUMENT = 2
"""Passages of one document among those a call shows."""
USEFUL = 20
"""Usefulness below which a partial answer is left out."""


@dataclass(kw_only=True, slots=True)
class Mapped:
    """What became of the calls. `kept` are themes with partial answers, most useful first; `numbered` are the passages
    by number, from 1. `failed` calls raised or replied what cannot be read; they are not scored. `unsupported`
    sentences of partial answers were left out, since the passages they cite do not hold them; an `uncited` one had no
    others. `orders` are sentences of passages and summaries that give orders to a model and were not shown, `obeyed`
    counts sentences of partial answers that repeat one."""

    numbered: list[Chunk] = field(default_factory=list)
    kept: list[Theme] = field(default_factory=list)
    scored: dict[int, int] = field(default_factory=dict)
    asked: int = 0
    failed: int = 0
    low: int = 0
    uncited: int = 0
    unsupported: int = 0
    orders: set[str] = field(default_factory=set)
    obeyed: int = 0
    gone: ModelError | None = None


def map_by_model(run: Run, overview: Overview) -> Mapped:
    """Ask about each community; the order of themes and the numbers of passages do not depend on when replies come."""
    assert run.chat is not None
    themes = overview.themes[:MAP_CALLS]
    _fetch(overview, themes)
    mapped = Mapped(asked=len(themes))
    passages, chunks = _passages(run, overview, themes, mapped.orders)
    numbers: dict[PassageKey, int] = {}
    for theme in themes:
        for key in passages[theme.number]:
            numbers.setdefault(key, len(numbers) + 1)
    mapped.numbered = [chunks[key] for key in numbers]
    shown = {theme.number: {numbers[key]: chunks[key] for key in passages[theme.number]} for theme in themes}
    questions = [
        map_messages(run.posed, _cleaned(run, overview, theme.number, mapped.orders), shown[theme.number])
        for theme in themes
    ]
    with run.ledger.stage("map_by_model", given=len(themes)) as stage:
        asker = Asker(run.chat, run.settings.model_concurrency, model=run.request.llm_model)
        replies = asker.ask(questions, lambda: None)
        stage.lose(sum(reply is None for reply in replies), "the call brought no reply")
        replies = stage.hand_on(
            replies, most=len(themes), count=lambda came: sum(reply is not None for reply in came), check=_as_asked
        )
    mapped.gone = asker.gone
    for theme, reply in zip(themes, replies, strict=True):
        _take(mapped, theme, reply, shown[theme.number], run.counts.languages)
    mapped.kept.sort(key=lambda theme: (-theme.usefulness, theme.number))
    return mapped


def _as_asked(replies: Sequence[object]) -> str | None:
    wrong = [reply for reply in replies if not isinstance(reply, str | None)]
    return f"a reply is a {type(wrong[0]).__name__}" if wrong else None


def _fetch(overview: Overview, themes: Sequence[Theme]) -> None:
    missing = [theme.number for theme in themes if theme.number not in overview.communities]
    for community in overview.view.communities(missing):
        overview.communities[int(community.id[1:])] = community


def _cleaned(run: Run, overview: Overview, number: int, orders: set[str]) -> Community:
    """A community whose summary gives no orders; those it gave are added to `orders`."""
    community = overview.communities[number]
    summary = without_orders(community.summary, _language(run))
    orders.update(summary.orders)
    return replace(community, summary=summary.text)


def _language(run: Run) -> str:
    return (run.counts.languages or ("en",))[0]


def _passages(
    run: Run, overview: Overview, themes: Sequence[Theme], orders: set[str]
) -> tuple[dict[int, list[PassageKey]], dict[PassageKey, Chunk]]:
    """The passages each call shows: those most relevant to the question that speak of the community; where none was
    ranked, those its summary rests on. Within the token budget, but one at least. Sentences that give orders to a
    model are left out of them and added to `orders`."""
    chosen = {theme.number: _chosen(overview, theme.number) for theme in themes}
    fetched = run.snapshot.chunks(sorted({key for keys in chosen.values() for key in keys}))
    chunks: dict[PassageKey, Chunk] = {}
    for key, chunk in fetched.items():
        cleaned = chunk_without_orders(chunk, _language(run))
        orders.update(cleaned.orders)
        if cleaned.chunk is not None:
            chunks[key] = cleaned.chunk
    within: dict[int, list[PassageKey]] = {}
    for number, keys in chosen.items():
        used = 0
        within[number] = []
        for key in filter(chunks.__contains__, keys):
            used += chunks[key].token_count
            if used <= run.request.max_context_tokens or not within[number]:
                within[number].append(key)
    return within, chunks


def _chosen(overview: Overview, number: int) -> list[PassageKey]:
    found: list[PassageKey] = []
    documents: dict[int, int] = {}
    for key, _ in overview.relevance.passages:
        if len(found) == MAP_PASSAGES:
            break
        if number in overview.affinity.get(key, {}) and documents.get(key.revision_key, 0) < PER_DOCUMENT:
            documents[key.revision_key] = documents.get(key.revision_key, 0) + 1
            found.append(key)
    if found:
        return found
    quotes = overview.communities[number].quotes
    keys = [passage_key(quote.document_id, quote.revision, quote.chunk_id) for quote in quotes]
    return list(dict.fromkeys(keys))[:MAP_PASSAGES]


def _take(
    mapped: Mapped, theme: Theme, reply: str | None, shown: Mapping[int, Chunk], languages: Sequence[str]
) -> None:
    """A reply as a partial answer, if it can be read and is useful: those of its sentences that the passages they cite
    do hold. Those that repeat an order of a document are not among them, so that they do not reach the reduce step."""
    try:
        answer, usefulness = read_reply(reply)
    except ValueError:
        mapped.failed += 1
        return
    mapped.scored[theme.number] = usefulness
    if usefulness < USEFUL:
        mapped.low += 1
        return

    def text_of(number: int) -> str:
        chunk = mapped.numbered[number - 1]
        return f"{chunk.context}\n{chunk.text}"

    evidence = [sentence.text for sentence in sentences_of(list(shown.values()))]
    kept = without_obedience(answer, sorted(mapped.orders), evidence, languages)
    mapped.obeyed += kept.dropped
    own = renumbered(kept.text, {number: number for number in shown})
    found = checked(own, len(mapped.numbered), text_of, languages)
    mapped.unsupported += found.unsupported
    if found.text:
        mapped.kept.append(Theme(number=theme.number, usefulness=usefulness, partial=found.text))
    elif found.unsupported or not kept.dropped:
        mapped.uncited += 1


def read_reply(reply: str | None) -> tuple[str, int]:
    """The partial answer and its usefulness, 0-100. Raises `ValueError` for no reply and for what is not as asked."""
    if reply is None:
        raise ValueError("no reply")
    try:
        found, _ = json_of(reply)
    except InvalidPlan as error:
        raise ValueError(str(error)) from None
    answer, usefulness = found.get("answer"), found.get("usefulness")
    if not isinstance(answer, str) or isinstance(usefulness, bool) or not isinstance(usefulness, int | float):
        raise ValueError("not as asked")
    if not math.isfinite(usefulness) or not 0 <= usefulness <= 100:
        raise ValueError("usefulness out of range")
    return answer.strip(), round(usefulness)
