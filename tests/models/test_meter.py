from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from evigraph.errors import ModelTimeout
from evigraph.models.meter import Metered
from evigraph.models.ports import ChatReply, Message
from evigraph.testing.models import ScriptedChat

ASK = (Message(role="user", content="one two three"),)


def test_counts_calls_and_tokens_across_threads() -> None:
    metered = Metered(ScriptedChat(lambda messages: "four five"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: metered.complete(ASK), range(40)))
    assert (metered.calls, metered.failed, metered.unreported) == (40, 0, 0)
    assert (metered.prompt_tokens, metered.completion_tokens, metered.total_tokens) == (120, 80, 200)
    assert metered.name == "scripted"


def test_failed_calls_are_counted_and_passed_on() -> None:
    metered = Metered(ScriptedChat([ModelTimeout("late"), "fine"]))
    with pytest.raises(ModelTimeout):
        metered.complete(ASK)
    assert metered.complete(ASK, model="other").model == "other"
    assert (metered.calls, metered.failed, metered.total_tokens) == (2, 1, 4)


def test_replies_without_an_account_are_told_apart() -> None:
    class Silent:
        name = "silent"

        def complete(self, messages: object, *, model: str | None = None) -> ChatReply:
            return ChatReply(text="", model="silent")

    metered = Metered(Silent())
    metered.complete(ASK)
    assert (metered.unreported, metered.total_tokens) == (1, 0)
