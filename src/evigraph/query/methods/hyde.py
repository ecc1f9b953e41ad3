"""`hyde`: search with the vector of a hypothetical answer (Gao et al., Precise Zero-Shot Dense Retrieval without
Relevance Labels, 2022). The question's own words and names are searched for as before."""

from __future__ import annotations

from dataclasses import replace

from evigraph.models.ports import Message
from evigraph.query.ledger import LONGEST_REPLY, wordless
from evigraph.query.methods.attempt import NO_CHAT, attempt
from evigraph.query.methods.search import INSTEAD
from evigraph.query.run import Run
from evigraph.query.understand import embedded
from evigraph.types import Method

NAME = "hyde"
READ = 4_000
"""Characters of the reply that are taken."""

SYSTEM = """Write one short paragraph, as it might stand in a report, that answers the question.
Invent plausible details where you do not know them: the paragraph is only used to search with.
Write the paragraph and nothing else."""


def hypothesize(run: Run) -> None:
    """Put the hypothetical answer in the question's place for dense search; leave the question where there is none."""
    lacking = _lacking(run)
    if lacking is not None:
        run.ledger.degrade(f"{NAME}: {lacking}; {INSTEAD}")
    if lacking is not None or not attempt(run, NAME, lambda: _hypothesize(run), instead=INSTEAD):
        run.method = Method.STANDARD


def _lacking(run: Run) -> str | None:
    """What a hypothetical answer would need, before anybody pays for one."""
    if run.chat is None:
        return f"{NO_CHAT} that could write a hypothetical answer"
    if run.blind:
        return "no document in scope is searched by vector, which is all that a hypothetical answer is for"
    return None


def _hypothesize(run: Run) -> None:
    assert run.chat is not None
    with run.ledger.stage(NAME) as stage:
        messages = [Message(role="system", content=SYSTEM), Message(role="user", content=run.asked.text)]
        reply = run.chat.complete(messages, model=run.request.llm_model)
        said = stage.hand_on(reply.text.strip(), kind=str, most=LONGEST_REPLY, check=wordless)
    text = said[:READ]
    if not text:
        run.method = Method.STANDARD
        return
    run.details[NAME] = {"hypothetical_answer": text}
    if len(said) > READ:
        run.ledger.degrade(f"{NAME}: only the first {READ:,} characters of the hypothetical answer were taken")
    vector = embedded(run, text, by=NAME, what="the hypothetical answer")
    run.wordings = [replace(run.asked, vector=vector, vector_of=text)]
