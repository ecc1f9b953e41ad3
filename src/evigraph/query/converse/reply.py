"""What is taken of a chat model's reply that should be a stand-alone question; anything else is refused, with why.

A small model says all kinds of things in place of a question: nothing, JSON, an apology, the fence it was sent.
Whatever is taken is what the corpus is searched for, so a reply has to show that it is about the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.errors import InvalidPlan
from evigraph.query.converse.patterns import BARE, EXPLETIVE, MORE, REFERENCES
from evigraph.query.plan.reply import json_of
from evigraph.store.conversations import StoredTurn
from evigraph.text.analysis import analyse
from evigraph.text.instructions import gives_orders
from evigraph.text.names import ABBREVIATED_TITLES, WORD, name_key, question_ngrams

MOST_CHARS = 1_000
"""Longest stand-alone question taken."""
SLACK = 3
"""A stand-alone question is a question with names put in: no longer than so many times what was asked, and 200
characters."""

_LABEL = re.compile(r"^(?:stand-?\s?alone\s+)?question\s*:\s*", re.IGNORECASE)
_QUOTED = (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»"))
_FENCE = re.compile(r"^```\w*\s*(?P<inside>.*?)\s*```$", re.DOTALL)
_FIELD = re.compile(r"question|query", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|```")
_NUMBER = re.compile(r"\d+")


def read_reply(reply: str, question: str, turns: Sequence[StoredTurn], language: str) -> tuple[str | None, str]:
    """The stand-alone question of a reply, or None and what is wrong with it. `language` is ISO 639-1."""
    text = _bare(reply)
    said = " ".join(part for turn in turns for part in (turn.question, turn.standalone, turn.answer) if part)
    wrong = (
        _no_line(text, question)
        or _markup(text, f"{question} {said}")
        or _invented(text, f"{question} {said}")
        or _unrelated(text, question, said, language)
    )
    return (None, wrong) if wrong else (text, "")


def _bare(reply: str) -> str:
    """The text of a reply without label, quotes and code fence; that of an object with one field for the question."""
    text = reply.strip()
    fenced = _FENCE.match(text)
    text = _LABEL.sub("", fenced.group("inside") if fenced else text).strip()
    if text.startswith("{"):
        text = _field(text) or text
    for opening, closing in _QUOTED:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            text = text[1:-1].strip()
    return text


def _field(text: str) -> str | None:
    """The text of an object's only field that is named for the question."""
    try:
        found, _ = json_of(text)
    except InvalidPlan:
        return None
    values = [value for name, value in found.items() if _FIELD.search(name)]
    return values[0].strip() if len(values) == 1 and isinstance(values[0], str) else None


def _no_line(text: str, question: str) -> str | None:
    if not WORD.search(text):
        return "was empty"
    if len(text) > min(MOST_CHARS, SLACK * len(question) + 200):
        return "was too long for a question"
    if text[0] in "{[" and not question.lstrip().startswith(text[0]):
        return "was JSON, not a question"
    if len(text.splitlines()) > 1:
        return "was more than one line"
    if gives_orders(text) and not gives_orders(question):
        return "gave an order to a model"
    return None


def _markup(text: str, said: str) -> str | None:
    """Tags that nobody has written, such as those of the fence."""
    tags = (tag for tag in _TAG.findall(text) if tag not in said)
    return "held markup, not a question alone" if next(tags, None) is not None else None


def _invented(text: str, said: str) -> str | None:
    """A name or number of the text that stands nowhere in what was said."""
    known = set(name_key(said).split())
    for ngram in question_ngrams(text, 1):
        title = ngram.key in ABBREVIATED_TITLES
        if (ngram.capital or _NUMBER.search(ngram.text)) and not title and not set(ngram.key.split()) <= known:
            return f"spoke of {ngram.text[:40]!r}, which nobody had mentioned"
    return None


def _unrelated(text: str, question: str, said: str, language: str) -> str | None:
    """Whether the text has none of the words that a stand-alone form would keep: the question's own; where that only
    points back, as in "Why?", those of the turns it points to."""
    if name_key(text) == name_key(question):
        return None
    held, own = set(analyse(text, language)), _own_words(question, language)
    wanted = own or set(analyse(said, language))
    if wanted and not wanted & held:
        return f"kept no word of the {'question' if own else 'conversation'}"
    return None


def _own_words(question: str, language: str) -> set[str]:
    """Content words of a question beside those that point back ("that company"); none of one that asks for more."""
    if MORE.match(question) or BARE.match(question):
        return set()
    rest = EXPLETIVE.sub(" ", question)
    for reference in REFERENCES:
        rest = reference.pattern.sub(" ", rest)
    return set(analyse(rest, language))
