"""The step that makes a follow-up question stand alone, before anything is looked up for it.

Retrieval, the weighing of evidence and extractive answers use `run.query`; a chat model that answers reads the question
as it was asked beside it (`Run.posed`).
"""

from __future__ import annotations

from evigraph.conversations import CondensedBy
from evigraph.query.converse.exchange import Exchange, used_revisions
from evigraph.query.converse.history import History, named_in
from evigraph.query.converse.prompt import messages
from evigraph.query.converse.reply import read_reply
from evigraph.query.converse.rules import Rewrite, rewrite
from evigraph.query.ledger import LONGEST_REPLY
from evigraph.query.methods.attempt import attempt
from evigraph.query.run import Run
from evigraph.types import Mode

NAME = "conversation"


def condense(run: Run) -> None:
    """Leave the question to retrieve with in `run.query`. A first turn has nothing to be read with, and is no
    deviation; nor is a plan that is given."""
    exchange = run.exchange
    if exchange is None:
        return
    exchange.read(run.snapshot)
    withheld = sum(turn.withheld for turn in exchange.earlier)
    if withheld:
        run.ledger.count("turns_withheld", withheld)
    planned = run.request.mode is Mode.PLAN and run.request.plan is not None
    if exchange.earlier and not planned:
        by_model = run.chat is not None and _by_model(run, exchange)
        if not by_model:
            attempt(run, NAME, lambda: _by_rules(run, exchange), instead="the question is used as it was asked")
    run.ledger.count("standalone_question", run.query)


def _by_model(run: Run, exchange: Exchange) -> bool:
    """One call; False, with the reason in the ledger, where its reply is of no use."""
    instead = "rules made the question stand alone"
    replies: list[str] = []
    if not attempt(run, NAME, lambda: replies.append(_reply(run, exchange)), instead=instead):
        return False
    found, wrong = read_reply(replies[0], run.request.query, exchange.earlier, _language(run))
    if found is None:
        run.ledger.degrade(f"{NAME}: the chat model's reply {wrong}; {instead}")
        return False
    return _take(run, exchange, found, by="model", rests_on=used_revisions(exchange.earlier))


def _reply(run: Run, exchange: Exchange) -> str:
    assert run.chat is not None
    with run.ledger.stage("condense") as stage:
        asked = messages(run.request.query, exchange.earlier, _language(run))
        reply = run.chat.complete(asked, model=run.request.llm_model)
        return stage.hand_on(reply.text, because="the reply was empty", kind=str, most=LONGEST_REPLY)


def _language(run: Run) -> str:
    return (run.counts.languages or ("en",))[0]


def _by_rules(run: Run, exchange: Exchange) -> None:
    question = run.request.query
    with run.ledger.stage("condense_by_rules") as stage:
        made = rewrite(question, named_in(run, question), History(run, exchange.earlier))
        made = stage.hand_on(made, kind=Rewrite, check=lambda one: None if one.text.strip() else "it left no question")
    if made.unresolved:
        words = ", ".join(f"`{word.lower()}`" for word in made.unresolved)
        run.ledger.degrade(
            f"{NAME}: no earlier turn that may be read says what {words} stands for; left in the question"
        )
    _take(run, exchange, made.text, by="rules", rests_on=made.rests_on)


def _take(run: Run, exchange: Exchange, text: str, *, by: CondensedBy, rests_on: tuple[int, ...]) -> bool:
    """Retrieve with this question; False where it is too long for one."""
    most = run.settings.max_query_chars
    if len(text) > most:
        run.ledger.degrade(
            f"{NAME}: the question would have more than {most} characters with what it means; it is used as asked"
        )
        return False
    if text.strip() != run.request.query.strip():
        run.query = text
        exchange.condensed_by = by
        exchange.standalone_rests_on = rests_on
    return True
