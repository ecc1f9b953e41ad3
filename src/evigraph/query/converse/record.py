"""The last step of `ask`: the turn is added to its conversation, with all that its texts rest on."""

from __future__ import annotations

from collections.abc import Iterator

from evigraph.errors import StoreError
from evigraph.query.converse.condense import NAME
from evigraph.query.converse.exchange import Exchange
from evigraph.query.methods.attempt import attempt
from evigraph.query.run import Run
from evigraph.store.conversations import NewTurn
from evigraph.store.keys import passage_key, revision_key
from evigraph.types import Mode

NAMES_KEPT = 20
"""Names of an answer that are kept for follow-ups, those first that stand first."""


def record(run: Run) -> None:
    """Keep the turn. What only shows its context or prompt has no answer, and is no turn."""
    exchange = run.exchange
    if exchange is None or run.request.context_only or run.request.prompt_only:
        return
    try:
        attempt(run, NAME, lambda: _record(run, exchange), instead="the answer stands, but may not be kept")
    except StoreError as error:
        run.ledger.degrade(f"{NAME}: the turn could not be written ({error}); the answer stands, but is not kept")


def _record(run: Run, exchange: Exchange) -> None:
    with run.ledger.stage("record") as stage:
        answer = "" if run.abstain_reason is not None else run.text or ""
        turn = NewTurn(
            asked_by=exchange.user,
            generation=run.snapshot.generation,
            question=run.request.query,
            standalone=run.query,
            standalone_rests_on=exchange.standalone_rests_on,
            abstained=run.abstain_reason is not None,
            answer=answer,
            names=_names(run, answer),
            answer_rests_on=tuple(set(_rests_on(run, answer))) if answer else (),
        )
        recorded = exchange.append(turn)
        if recorded is None:
            run.ledger.degrade(
                f"{NAME}: it was deleted or no longer shared while the question was answered; the turn is not kept"
            )
        kind = None if recorded is None else int
        exchange.turn = stage.hand_on(recorded, because="the conversation is no more", kind=kind)


def _names(run: Run, answer: str) -> list[tuple[str, str]]:
    """`(name, type)` of the entities that the answer speaks of: those of its cited passages that it names. None lies
    within a longer one at the same place."""
    keys = {passage_key(c.document_id, c.revision, c.chunk_id) for c in run.citations if not c.web}
    mentions = run.snapshot.mentions_in(sorted(keys)) if answer else []
    said = answer.casefold()
    found = {(row.name, row.type, said.find(row.name.casefold())) for row in mentions if row.role != "alias"}
    ranked = sorted(
        (item for item in found if item[2] >= 0), key=lambda item: (item[2], -len(item[0]), item[0], item[1])
    )
    kept: list[tuple[str, str]] = []
    end = 0
    for name, kind, at in ranked:
        if at >= end:
            kept.append((name, kind))
            end = at + len(name)
    return kept[:NAMES_KEPT]


def _rests_on(run: Run, answer: str) -> Iterator[int]:
    """The key of every revision that the answer may have been taken from. Extracted sentences are those cited; what a
    model wrote may come from anything it read. What is from the web rests on no revision."""
    for citation in (one for one in run.citations if not one.web):
        yield revision_key(citation.document_id, citation.revision)
    if run.overview is not None:
        for community in run.overview.communities.values():
            yield from (revision_key(quote.document_id, quote.revision) for quote in community.quotes)
    if run.answered_by == "extractive" and run.request.mode is not Mode.PLAN:
        return
    if run.exchange is not None:
        yield from run.exchange.standalone_rests_on
    for chunk in (*run.chunks, *run.citable):
        if chunk.document_id and not chunk.web:
            yield revision_key(chunk.document_id, chunk.revision)
    plan = run.retrieved.plan
    steps = () if plan is None else plan.steps
    for relationship in (*run.relationships, *(item for step in steps for item in step.relationships)):
        yield revision_key(relationship.document_id, relationship.revision)
    yield from _described(run, answer)


def _described(run: Run, answer: str) -> Iterator[int]:
    """Revisions that the descriptions of the named entities may be from."""
    said = answer.casefold()
    documents = {
        chunk_id.rpartition("#")[0]
        for entity in run.entities
        if entity.name.casefold() in said
        for chunk_id in entity.source_chunks
    }
    for document in run.snapshot.documents_of(sorted(documents)).values():
        yield revision_key(document.document_id, document.revision)
