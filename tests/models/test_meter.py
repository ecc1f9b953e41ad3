from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from evigraph.errors import ModelBadResponse, ModelTimeout
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


def test_what_is_no_text_is_removed_from_any_reply_and_told() -> None:
    said: list[str] = []
    metered = Metered(ScriptedChat(["a\ud800\0b \ud83d\ude00\n\x1b", "fine"]), degrade=said.append)
    assert metered.complete(ASK).text == "ab 😀\n"
    assert said == ["chat model: characters that are no text were removed from its reply (3)"]
    assert metered.complete(ASK).text == "fine" and len(said) == 1
    assert Metered(ScriptedChat(["\udfff"])).complete(ASK).text == ""


def test_a_reply_without_text_is_a_bad_response_and_odd_counts_are_none() -> None:
    class Odd:
        name = "odd"
        text: object = None

        def complete(self, messages: object, *, model: str | None = None) -> ChatReply:
            return ChatReply(text=self.text, model="odd", prompt_tokens=-1, completion_tokens=10**400)  # type: ignore[arg-type]

    odd = Odd()
    metered = Metered(odd)
    with pytest.raises(ModelBadResponse, match="NoneType"):
        metered.complete(ASK)
    odd.text = "x"
    metered.complete(ASK)
    assert (metered.failed, metered.unreported, metered.total_tokens) == (1, 1, 0)
