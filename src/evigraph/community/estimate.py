"""What a run would ask of the chat model, before it asks."""

from __future__ import annotations

from collections.abc import Container

from evigraph.communities import BuildCost
from evigraph.community.draft import PARTS, Draft, lengths

CHARACTERS_PER_TOKEN = 4
RULES = 300
"""Tokens of the rules around the evidence."""
PER_SENTENCE = 30
"""Tokens of a sentence's number, title and facts."""
REPLY = 120
"""Tokens of a summary."""


def expected_cost(made: Draft, reused: Container[int]) -> BuildCost:
    """Summaries to write and calls to make; one that no sentence speaks of needs no call. Tokens are expected values,
    of a vocabulary with four characters a token."""
    waiting = [node.number for node in made.tree.nodes if node.number not in reused]
    calls = prompt = 0
    long = lengths(made.statements, made.shown) if made.writer else {}
    for number in waiting if made.writer else ():
        if not made.chosen[number]:
            continue
        calls += 1
        if number in made.parts:
            prompt += RULES + min(PARTS, len(made.parts[number])) * (REPLY + PER_SENTENCE)
        else:
            prompt += RULES + long[number] // CHARACTERS_PER_TOKEN + PER_SENTENCE * len(made.shown[number])
    return BuildCost(
        communities=len(made.tree.nodes),
        written=len(waiting),
        reused=len(made.tree.nodes) - len(waiting),
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=REPLY * calls,
    )
