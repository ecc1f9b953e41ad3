"""`hyde`: search with the vector of a hypothetical answer (Gao et al., Precise Zero-Shot Dense Retrieval without
Relevance Labels, 2022). The question's own words and names are searched for as before."""

from __future__ import annotations

from dataclasses import replace

from evigraph.models.ports import Message
from evigraph.query.ledger import LONGEST_REPLY, wordless
from evigraph.query.methods.attempt import NO_CHAT, attempt
from evigraph.query.run import Run
from evigraph.types import Method

NAME = "hyde"
READ = 4_000
"""Characters of the reply that are embedded."""

SYSTEM = """Write one short paragraph, as it might stand in a report, that answers the question.
Invent plausible details where you do not know them: the paragraph is only used to search with.
Write the paragraph and nothing else."""


def hypothesize(run: Run) -> None:
    """Put the hypothetical answer in the question's place for dense search; leave the question where there is none."""
    instead = "the question itself was searched for"
    if run.chat is None:
        run.ledger.degrade(f"{NAME}: {NO_CHAT} that could write a hypothetical answer; {instead}")
    if run.chat is None or not attempt(run, NAME, lambda: _hypothesize(run), instead=instead):
        run.method = Method.STANDARD


def _hypothesize(run: Run) -> None:
    assert run.chat is not None
    with run.ledger.stage(NAME) as stage:
        messages = [Message(role="system", content=SYSTEM), Message(role="user", content=run.asked.text)]
        reply = run.chat.complete(messages, model=run.request.llm_model)
        text = stage.hand_on(reply.text.strip(), kind=str, most=LONGEST_REPLY, check=wordless)[:READ]
    if not text:
        run.method = Method.STANDARD
        return
    run.details[NAME] = {"hypothetical_answer": text}
    run.wordings = [replace(run.asked, vector=run.embedder().embed([text])[0])]
