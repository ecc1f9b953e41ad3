"""`multi_query`: up to three other wordings of the question, each searched for, the results merged.

The chat model writes them. Without one, rules do: the other names that the scope has for what the question names, other
verbs that mean the same, and the bare keywords. What a model writes is searched for only if it is about the question:
it shares a content word or a name with it, or is near to it by vector."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evigraph.models.ports import Message
from evigraph.query.ledger import LONGEST_REPLY, wordless
from evigraph.query.methods.attempt import attempt
from evigraph.query.methods.lists import bare, listed
from evigraph.query.methods.synonyms import exchanged, keywords
from evigraph.query.run import Question, Run
from evigraph.query.understand import question_terms, understood
from evigraph.types import Method

NAME = "multi_query"
REPHRASINGS = 3
LONGEST = 500
"""Characters of a rephrasing."""
OTHER_NAMES = 50
LOOKED_AT = 12
"""Items of a reply that are compared with the question; each may cost an embedding."""
NEAR = 0.25
"""Cosine with the question from which a text without any word of it counts as a rephrasing. Measured with the default
model: rephrasings that share no word with their question lie at 0.3 to 0.7, refusals and small talk below 0.1."""
BEYOND_A_REFUSAL = 0.1
"""By how much it must be nearer than a refusal is: some models put any two texts close to each other."""
A_REFUSAL = "I am sorry, I cannot help with that."
SHOWN = 200
"""Characters that are shown of what was left out."""

SYSTEM = f"""Rewrite the question in up to {REPHRASINGS} other ways that ask for the same thing in different words: \
other nouns and verbs, another order. Keep every name and number. Reply with a JSON list of texts and nothing else."""

_DECLINES = re.compile(
    r"(?:(?:oh|unfortunately|regrettably),? )?"
    r"(?:(?:i(?:['’]m| am) )?(?:so |very )?sorry\b|(?:my )?apologies\b|i apologi[sz]e\b"
    r"|i(?:['’]m| am) (?:unable|not able|afraid)\b|i (?:can(?:no|['’])t|can not|won['’]t|will not|do not|don['’]t) "
    r"|as an (?:ai|artificial|assistant)\b)",
    re.IGNORECASE,
)


@dataclass(kw_only=True, slots=True)
class _Chosen:
    """Rephrasings to search for, and what a model wrote besides, with the reason."""

    wordings: list[Question] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    by: str = "model"


def rephrase(run: Run) -> None:
    """Leave the question and its rephrasings as what is to be searched for; the question alone, asked as `standard`,
    where there are none."""
    chosen = _rephrasings(run)
    details: dict[str, Any] = {"rephrasings": [one.text for one in chosen.wordings], "written_by": chosen.by}
    details["left_out"] = [{"text": text[:SHOWN], "reason": reason} for text, reason in chosen.left_out]
    run.details[NAME] = details
    if chosen.wordings:
        run.wordings = [run.asked, *chosen.wordings]
    else:
        run.method = Method.STANDARD


def _rephrasings(run: Run) -> _Chosen:
    instead = "only the question was searched for"
    replies: list[str] = []
    if run.chat is not None and attempt(
        run, NAME, lambda: replies.append(_reply(run)), instead="rules rephrased the question"
    ):
        chosen = _chosen(run, replies[0])
        if not chosen.wordings and replies[0].strip():  # that a reply is empty is said by its stage
            run.ledger.degrade(f"{NAME}: the chat model's reply held no usable rephrasing; {instead}")
        return chosen
    with run.ledger.stage("rephrase_by_rules") as stage:
        made = list(dict.fromkeys(text for text in by_rules(run) if text.casefold() != run.asked.text.casefold()))
        texts = stage.hand_on(made[:REPHRASINGS], because="no rule has another wording", kind=str, most=REPHRASINGS)
    if not made:
        run.ledger.degrade(f"{NAME}: no rule has another wording for the question; {instead}")
    return _Chosen(wordings=[_understood(run, text) for text in texts], by="rules")


def _reply(run: Run) -> str:
    assert run.chat is not None
    with run.ledger.stage(NAME) as stage:
        messages = [Message(role="system", content=SYSTEM), Message(role="user", content=run.asked.text)]
        reply = run.chat.complete(messages, model=run.request.llm_model)
        return stage.hand_on(reply.text, kind=str, most=LONGEST_REPLY, check=wordless)


def _chosen(run: Run, reply: str) -> _Chosen:
    """The first of the texts in a reply that are about the question."""
    found = listed(reply, longest=LONGEST)
    chosen = _Chosen(left_out=found.left_out)
    for place, text in enumerate(found.items):
        if len(chosen.wordings) == REPHRASINGS:
            reason: str | None = f"beyond the first {REPHRASINGS}"
        elif place >= LOOKED_AT:
            reason = f"beyond the {LOOKED_AT} that are looked at"
        else:
            reason = _unlike(run, text)
            if reason is None:
                wording = _understood(run, text)
                reason = None if _is_about(run, wording) else "it has nothing in common with the question"
                if reason is None:
                    chosen.wordings.append(wording)
        if reason is not None:
            chosen.left_out.append((text, reason))
    return chosen


def _unlike(run: Run, text: str) -> str | None:
    """Why a text is no rephrasing, by its words alone."""
    asked = run.asked.text
    if bare(text) == bare(asked):
        return "it is the question itself"
    return "it declines" if _DECLINES.match(text) and not _DECLINES.match(asked) else None


def _is_about(run: Run, wording: Question) -> bool:
    """Whether a text shares a content word or a name with the question, or lies near it."""
    asked = run.asked
    words, names = _content(run, wording), _names(wording)
    if words & _content(run, asked) or names & _names(asked):
        return True
    if run.blind or not run.counts.passages:
        return False
    refusal = float(run.embedder().embed([A_REFUSAL])[0] @ asked.vector)
    return float(wording.vector @ asked.vector) >= max(NEAR, refusal + BEYOND_A_REFUSAL)


def _content(run: Run, question: Question) -> set[str]:
    """Terms of a text but for those of function words, of which English ones alone are known."""
    return set(question_terms(keywords(question.text), run.counts.languages))


def _names(question: Question) -> set[str]:
    return {key for anchor in question.anchors for key in (anchor.key, *anchor.keys)}


def _understood(run: Run, text: str) -> Question:
    return understood(run, text, by=NAME, what="a rephrasing")


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
