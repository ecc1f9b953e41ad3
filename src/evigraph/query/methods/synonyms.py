"""Other words for the same: groups of verbs and nouns that questions about reports use, and the bare keywords."""

from __future__ import annotations

import re

from evigraph.text.analysis import ENGLISH_STOP_WORDS

GROUPS: tuple[tuple[str, ...], ...] = (
    ("supplied", "delivered", "provided"),
    ("supply", "deliver", "provide"),
    ("supplier", "vendor", "provider"),
    ("built", "constructed", "erected"),
    ("build", "construct", "erect"),
    ("repaired", "fixed", "mended"),
    ("repair", "fix", "mend"),
    ("bought", "purchased", "acquired"),
    ("buy", "purchase", "acquire"),
    ("founded", "established", "created"),
    ("leads", "heads", "directs"),
    ("led", "headed", "directed"),
    ("leader", "head", "director"),
    ("wrote", "authored", "penned"),
    ("author", "writer"),
    ("born", "native"),
    ("died", "passed away"),
    ("married", "wed"),
    ("spouse", "husband", "wife"),
    ("trained", "taught", "instructed"),
    ("hired", "employed", "engaged"),
    ("works", "is employed"),
    ("located", "situated", "found"),
    ("reported", "stated", "noted"),
    ("said", "stated", "told"),
    ("caused", "led to", "brought about"),
    ("cause", "reason"),
    ("problem", "fault", "defect"),
    ("problems", "faults", "defects"),
    ("failed", "broke down"),
    ("increased", "rose", "grew"),
    ("decreased", "fell", "dropped"),
    ("cost", "price", "expense"),
    ("company", "firm", "corporation"),
    ("began", "started", "commenced"),
    ("ended", "finished", "concluded"),
    ("won", "received", "was awarded"),
    ("country", "nation", "state"),
    ("film", "movie", "picture"),
    ("child", "son", "daughter"),
)
_OTHER = {word: group[(place + 1) % len(group)] for group in GROUPS for place, word in enumerate(group)}
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def exchanged(text: str) -> str | None:
    """The text with the next word of its group for each lower-case word that has one; None where none has."""
    other = _WORD.sub(lambda found: _OTHER.get(found.group(), found.group()), text)
    return None if other == text else other


def keywords(text: str) -> str:
    """The words of a text that are no stop words, in their order."""
    return " ".join(word for word in _WORD.findall(text) if word.casefold() not in ENGLISH_STOP_WORDS)
