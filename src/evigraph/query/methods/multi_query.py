"""`multi_query`: up to three other wordings of the question, each searched for, the results merged.

The chat model writes them. Without one, rules do: the other names that the scope has for what the question names, other
verbs that mean the same, and the bare keywords."""

from __future__ import annotations

from collections.abc import Iterator

from evigraph.models.ports import Message
from evigraph.query.ledger import LONGEST_REPLY, wordless
from evigraph.query.methods.attempt import attempt
from evigraph.query.methods.lists import listed
from evigraph.query.methods.synonyms import exchanged, keywords
from evigraph.query.run import Run
from evigraph.query.understand import understood

NAME = "multi_query"
REPHRASINGS = 3
LONGEST = 500
"""Characters of a rephrasing."""
OTHER_NAMES = 50

SYSTEM = f"""Rewrite the question in up to {REPHRASINGS} other ways that ask for the same thing in different words: \
other nouns and verbs, another order. Keep every name and number. Reply with a JSON list of texts and nothing else."""


def rephrase(run: Run) -> None:
    """Leave the question and its rephrasings as what is to be searched for."""
    texts, by = _rephrasings(run)
    asked = run.asked.text
    others = [text for text in texts if text.casefold() != asked.casefold()]
    run.details[NAME] = {"rephrasings": others, "written_by": by}
    run.wordings = [run.asked, *(understood(run, text) for text in others)]


def _rephrasings(run: Run) -> tuple[list[str], str]:
    written: list[str] = []
    if run.chat is not None and attempt(
        run, NAME, lambda: written.extend(_by_model(run)), instead="rules rephrased the question"
    ):
        return written, "model"
    with run.ledger.stage("rephrase_by_rules") as stage:
        made = list(dict.fromkeys(by_rules(run)))[:REPHRASINGS]
        return stage.hand_on(made, because="no rule has another wording", kind=str, most=REPHRASINGS), "rules"


def _by_model(run: Run) -> list[str]:
    assert run.chat is not None
    with run.ledger.stage(NAME) as stage:
        messages = [Message(role="system", content=SYSTEM), Message(role="user", content=run.asked.text)]
        reply = run.chat.complete(messages, model=run.request.llm_model)
        text = stage.hand_on(reply.text, kind=str, most=LONGEST_REPLY, check=wordless)
    texts = listed(text, most=REPHRASINGS, longest=LONGEST)
    if not texts and text.strip():
        run.ledger.degrade(f"{NAME}: the chat model's reply held no rephrasing; only the question was searched for")
    return texts


def by_rules(run: Run) -> Iterator[str]:
    """Other wordings of the question, the most promising first."""
    yield from _renamed(run)
    question = run.asked
    other = exchanged(question.text)
    if other:
        yield other
    words = keywords(question.text)
    if len(words.split()) > 1:
        yield words


def _renamed(run: Run) -> Iterator[str]:
    """The question with another name of the first thing it names, where passages use one."""
    question = run.asked
    for anchor in question.anchors:
        entities = [entity for entity, _ in run.snapshot.entity_ids([anchor.key]).get(anchor.key, ())]
        if not entities:
            continue
        names, _ = run.snapshot.surface_names(run.snapshot.identities.expand(entities), limit=OTHER_NAMES)
        for name in names:
            if name.name.casefold() not in question.text.casefold():
                yield f"{question.text[: anchor.start]}{name.name}{question.text[anchor.end :]}"
                return
