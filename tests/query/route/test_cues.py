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
        (cues.YES_NO, "Was the driver fined?"),
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
    ],
)
def test_parts_of_words_are_no_cues(cue: re.Pattern[str], text: str) -> None:
    assert not cue.search(text)


def test_no_cue_matches_nothing() -> None:
    for cue in (cues.AGGREGATE, cues.THEMES, cues.SCOPE, cues.FACT, cues.ATTRIBUTE, cues.OPEN, cues.LINK):
        assert not cue.search("?")
        assert not cue.search("")
