"""Words by which a question tells what it asks for."""

from __future__ import annotations

import re

import pytest

from evigraph.query.route import cues


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (cues.AGGREGATE, "what are the most common complaints"),
        (cues.AGGREGATE, "why does it keep breaking, as a rule"),
        (cues.THEMES, "Which themes come back?"),
        (cues.SCOPE, "Across all sites, what breaks?"),
        (cues.SCOPE, "place by place"),
        (cues.FACT, "how many beds"),
        (cues.ATTRIBUTE, "serial number of the boiler"),
        (cues.OPEN, "tell me about the ferry"),
        (cues.LINK, "what is the connection"),
        (cues.LINK, "are they siblings"),
        (cues.PAIR, "the mill and the bridge"),
        (cues.PAIR, "X's brother and the owner of X"),
        (cues.PAIR, "old mill and new bridge, what joined them"),
        (cues.ASIDE, "the mill and its owners"),
        (cues.UNIT, "length of the rope, in metres"),
        (cues.UNIT, "what does he earn per week"),
        (cues.UNIT, "cost of the mill (pounds)"),
        (cues.YES_NO, "Do drivers get fined?"),
        (cues.YES_NO_THEN, "Was the driver fined?"),
        (cues.PERIOD, "from 2014 to 2019"),
        (cues.PERIOD, "2014-2019"),
    ],
)
def test_cues_are_found(cue: re.Pattern[str], text: str) -> None:
    assert cue.search(text)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (cues.SCOPE, "the tallest ball"),
        (cues.LINK, "the necktie"),
        (cues.YES_NO, "Could you tell me the name?"),
        (cues.PERIOD, "in 2014"),
        (cues.ATTRIBUTE, "the colourful datebook"),
        (cues.PAIR, "the mill"),
        (cues.PAIR, "how do mills break"),
        (cues.ASIDE, "the mill and the owners"),
        (cues.UNIT, "what happened in the week"),
    ],
)
def test_parts_of_words_are_no_cues(cue: re.Pattern[str], text: str) -> None:
    assert not cue.search(text)


def test_no_cue_matches_nothing() -> None:
    for cue in (cues.AGGREGATE, cues.THEMES, cues.SCOPE, cues.FACT, cues.ATTRIBUTE, cues.OPEN, cues.LINK):
        assert not cue.search("?")
        assert not cue.search("")
