"""Every number of `mix`, in one place.

Chosen on development sets by averages (MuSiQue and HotpotQA, 100 questions each, with SciFact as the set where a graph
must not harm); what each step is worth, `make ablation` tells. The same for every corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(kw_only=True, slots=True)
class Parameters:
    """How far the subgraph reaches, how the walk goes, and what each score weighs."""

    per_anchor: int = 100
    """Passages fetched for each name in the question."""
    name_like: float = 0.5
    """Weight from which a mention in the text is one of a name. A common noun phrase ("the committee") weighs less, and
    ties passages together that have nothing to do with each other."""
    alias_weight: float = 5.0
    """A passage about a name (title, lead name) is tied to it this much more than one that mentions it."""
    read: int = 40
    """Inner passages whose capitalised words are looked up as names that the extractor missed."""
    subject: float = 0.5
    """Weight of an alias from which it counts as what a passage is about, wherever a text writes it with capitals."""
    bridges: int = 80
    """Names followed one step further, the rarest of the best passages first."""
    per_bridge: int = 12
    """Passages fetched for each of those."""

    damping: float = 0.6
    """Share of the walk's mass that moves on in each round; the rest starts over."""
    rounds: int = 12
    """Rounds of the walk."""
    seed_share: float = 0.5
    """Share of the restart mass on the question's names; the rest lies on passages."""
    gain: float = 0.25
    """How much a passage near the residual question is favoured when a name passes its mass on."""

    residual_hits: int = 400
    """Passages, best first, whose BM25 score with the residual question counts in that."""

    asked_from: int = 4
    """Passages, best first, whose names are asked about."""
    asked_about: int = 4
    """Names asked about; each costs one embedding."""
    per_asked: int = 30
    """Passages of each name that its question is compared with."""
    about: float = 1.5
    """Worth of a name that some passage is about, beside one only mentioned."""

    title_like: float = 0.9
    """Weight of an alias from which a passage is about it: its title, with or without a parenthesis. That a text begins
    with a name (.8) is not enough: an abstract that begins with "T cells" is one of many about them."""
    residual_weight: float = 5.0
    """Weight of the nearness to the residual and bridge questions, beside the log of the mass."""
    plain_weight: float = 3.0
    """Weight of the plain score where the question's names are only mentioned."""
    dense_weight: float = 0.7
    lexical_weight: float = 0.3
    """Shares of cosine and BM25 in the plain score, both as standard scores."""


MIX = Parameters()
"""Those in force."""


@contextmanager
def altered(**values: float) -> Iterator[None]:
    """Other values for the while, of the whole process: to measure what a step is worth."""
    before = {name: getattr(MIX, name) for name in values}
    try:
        for name, value in values.items():
            setattr(MIX, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(MIX, name, value)
