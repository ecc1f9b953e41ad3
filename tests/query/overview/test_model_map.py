"""Replies of the map step: what counts as one."""

from __future__ import annotations

import pytest

from evigraph.query.overview.model_map import read_reply


@pytest.mark.parametrize("usefulness", [0, 100, 55, 55.4, 100.0])
def test_a_reply_as_asked_is_read(usefulness: float) -> None:
    assert read_reply(f'{{"answer": "Pumps stand. [3]", "usefulness": {usefulness}}}') == (
        "Pumps stand. [3]",
        round(usefulness),
    )


def test_text_around_the_object_does_no_harm() -> None:
    assert read_reply('Here it is:\n```json\n{"answer": "a [1]", "usefulness": 40,}\n```') == ("a [1]", 40)


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "",
        "80",
        "I cannot say.",
        '{"answer": "a [1]", "usefulness": 80',
        '{"answer": "a [1]"}',
        '{"usefulness": 80}',
        '{"answer": "a [1]", "usefulness": "80"}',
        '{"answer": "a [1]", "usefulness": "high"}',
        '{"answer": "a [1]", "usefulness": true}',
        '{"answer": "a [1]", "usefulness": null}',
        '{"answer": "a [1]", "usefulness": -1}',
        '{"answer": "a [1]", "usefulness": 101}',
        '{"answer": "a [1]", "usefulness": 1e999}',
        '{"answer": "a [1]", "usefulness": NaN}',
        '{"answer": ["a [1]"], "usefulness": 80}',
        '[{"answer": "a [1]", "usefulness": 80}, {"answer": "b", "usefulness": 8}]',
        '{"answer": "a [1]", "usefulness": 80} {"answer": "b [1]", "usefulness": 0}',
    ],
)
def test_anything_else_is_a_failed_step(reply: str | None) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_reply(reply)
